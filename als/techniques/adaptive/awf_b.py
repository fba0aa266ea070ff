"""AWF-B, adaptive weighted factoring whose weights change at each batch of P requests.

It measures the time of the tasks alone. Rule, parameters and sources: ``als.techniques.adaptive.adaptive_weights``.
"""

from __future__ import annotations

from als.techniques.adaptive.adaptive_weights import BatchWeights

__all__ = ["AWF_B"]

AWF_B = BatchWeights("awf-b").technique()
