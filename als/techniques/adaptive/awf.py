"""AWF, adaptive weighted factoring: weighted factoring whose weights are learned from one time step to the next.

In the first time step all weights are 1; at the start of each further one they are w_p = P·(1/π_p) / Σ_q (1/π_q), with
π_p = Σ_s s·t(p,s) / Σ_s s·n(p,s), where core p spent t(p,s) on n(p,s) tasks in step s = 1, 2, …. Within a step the weights
stay, and a chunk is ⌈w·⌈R/(2P)⌉⌉, R taken at the start of each batch of P requests. A loop that is run once is so
scheduled like FAC2. ``als.techniques.adaptive.adaptive_weights`` has the details.

Parameters: ``time=work`` (default: the tasks alone) or ``total`` (from each request on, with what it cost; LB4OMP takes all the
time from the loop's start until the core leaves it); ``base``, ``round`` and ``min`` as there.

Source: Banicescu, Velusamy and Devaprasad, Cluster Computing 6, 2003, doi:10.1023/A:1023588520138.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.techniques.adaptive.adaptive_weights import weighted
from als.techniques.contract import Technique

__all__ = ["AWF", "StepWeights"]


@dataclass(frozen=True)
class StepWeights:
    """Parameters of AWF.

    Raises
    ------
    InputError
        If one cannot be; the message names the technique and the parameter.
    """

    name: ClassVar[str] = "awf"
    time: str = "work"
    base: str = "remaining"
    round: str = "up"
    min: int = 1

    def __post_init__(self) -> None:
        self.technique()

    def technique(self) -> Technique:
        """The technique with these parameters."""
        return weighted(self, self.time, self.base, self.round, self.min)


AWF = StepWeights().technique()
