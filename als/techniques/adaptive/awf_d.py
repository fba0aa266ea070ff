"""AWF-D, adaptive weighted factoring whose weights change at each batch of P requests.

It measures the time from each request on, with what it cost. Rule, parameters and sources:
``als.techniques.adaptive.adaptive_weights``.
"""

from __future__ import annotations

from als.techniques.adaptive.adaptive_weights import BatchWeights

__all__ = ["AWF_D"]

AWF_D = BatchWeights("awf-d").technique()
