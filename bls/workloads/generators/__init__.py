"""Generated workloads: similar to a given log, or by a published model.

>>> from bls.workloads.generators import generate_lublin
>>> len(generate_lublin(100, seed=1, n_cores=256))
100
"""

from bls.workloads.generators.accasim import LIMITS, METHODS, Gpus, generate_like
from bls.workloads.generators.lublin import BATCH, INTERACTIVE, TYPELESS, Lublin, LublinJobs, generate_lublin
from bls.workloads.generators.made import JobSizes

__all__ = [
    "BATCH",
    "INTERACTIVE",
    "LIMITS",
    "METHODS",
    "TYPELESS",
    "Gpus",
    "Lublin",
    "LublinJobs",
    "JobSizes",
    "generate_like",
    "generate_lublin",
]
