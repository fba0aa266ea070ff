"""Workloads that are made: like a given log, or by a published model.

>>> from bls.generators import generate_lublin
>>> len(generate_lublin(100, seed=1, n_cores=256))
100
"""

from __future__ import annotations

from bls.generators.accasim import METHODS, generate_like
from bls.generators.lublin import BATCH, INTERACTIVE, TYPELESS, Lublin, LublinJobs, generate_lublin
from bls.generators.machines import LIMITS, Gpus
from bls.generators.sizes import Sizes

__all__ = [
    "BATCH",
    "INTERACTIVE",
    "LIMITS",
    "METHODS",
    "TYPELESS",
    "Gpus",
    "Lublin",
    "LublinJobs",
    "Sizes",
    "generate_like",
    "generate_lublin",
]
