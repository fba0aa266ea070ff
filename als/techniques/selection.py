"""``select:gss,fac,awf-b``: several techniques, of which the one runs that does best in a simulation ahead (SimAS).

As a loop begins the engine simulates it with every candidate, from inside the application level: with the lengths of its
tasks, the speeds that the cores have at that instant and all costs, but without knowing what will happen to the cores
later. The candidate whose loop ends first runs; of equal ones the first named. With ``every=60s`` what is left of the loop
is simulated again at the first request after each such time, and the rest may go to another.

Source: Mohammed and Ciorba, "SimAS: A Simulation-assisted Approach for the Scheduling Algorithm Selection under
Perturbations", Concurrency and Computation 32(15), 2020, doi:10.1002/cpe.5648.
"""

from __future__ import annotations

from dataclasses import dataclass

from als.techniques.contract import Technique
from traces.base.errors import InputError

#: What a selection begins with.
PREFIX = "select:"


@dataclass(frozen=True)
class Selection:
    """A choice among techniques.

    Attributes
    ----------
    candidates : tuple of Technique
        At least two.
    every_ns : int
        How long a choice stands at least; 0: for the whole loop.
    name : str
        As it was written.
    written : tuple of str
        What each candidate is called in tables: as it was written; default: the candidates' names.

    Raises
    ------
    InputError
        If there are fewer than two candidates, or one twice.
    """

    candidates: tuple[Technique, ...]
    every_ns: int = 0
    name: str = "select"
    written: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.candidates) < 2:
            raise InputError(f"{self.name}: {len(self.candidates)} candidates; allowed: two or more, as select:gss,fac")
        if not self.written:
            object.__setattr__(self, "written", tuple(candidate.name for candidate in self.candidates))
        seen = [(candidate.name, candidate.params) for candidate in self.candidates]
        for place, one in enumerate(seen):
            if one in seen[:place]:
                raise InputError(f"{self.name}: {one[0]} twice")

    @property
    def only_cores(self) -> int | None:
        """The only number of cores that its candidates are for; None: any."""
        return next((one.only_cores for one in self.candidates if one.only_cores is not None), None)
