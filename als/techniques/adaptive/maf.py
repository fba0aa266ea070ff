"""mAF, modified adaptive factoring: AF by the time from each request on, with what it cost. See ``als.techniques.adaptive.af``.

Source: LB4OMP, where it is called ``af_a``.
"""

from __future__ import annotations

from als.techniques.adaptive.af import AdaptiveFactoring

__all__ = ["MAF"]

MAF = AdaptiveFactoring("maf").technique()
