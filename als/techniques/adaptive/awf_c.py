"""AWF-C, adaptive weighted factoring whose weights change at each chunk.

It measures the time of the tasks alone. Rule, parameters and sources: ``als.techniques.adaptive.adaptive_weights``.
"""

from __future__ import annotations

from als.techniques.adaptive.adaptive_weights import ChunkWeights

__all__ = ["AWF_C"]

AWF_C = ChunkWeights("awf-c").technique()
