"""AWF-E, adaptive weighted factoring whose weights change at each chunk.

It measures the time from each request on, with what it cost. Rule, parameters and sources:
``als.techniques.adaptive.adaptive_weights``.
"""

from __future__ import annotations

from als.techniques.adaptive.adaptive_weights import ChunkWeights

__all__ = ["AWF_E"]

AWF_E = ChunkWeights("awf-e").technique()
