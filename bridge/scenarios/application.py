"""The application level of a scenario, as a user declares it: technique, lengths, costs, the applications' map, core speeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from als import options as a
from traces.base.declaration import holds, recorded

if TYPE_CHECKING:
    from als.schedulers import AnyScheduler
    from bridge.scenarios.application_map import ApplicationMap

#: The name that skips the application level.
RECORDED = "recorded"


@dataclass(frozen=True)
class Application:
    """How jobs are computed.

    Attributes
    ----------
    technique : str, Technique, Selection or Planner
        Application technique: ``static``, ``ss``, ``gss``, ``fsc:h=1e-6`` …, ``FILE.py:NAME``, an installed one,
        ``select:gss,fac`` (``als.techniques``), or ``recorded``.
    variation : float
        Task variation factor: standard deviation over mean of a job's task lengths.
    tasks_per_core : int
        Mean number of tasks a core, >= 1.
    lengths : str
        Distribution of task lengths (``als.lengths``); empty: normal, as in the paper.
    applications : str, Path, ApplicationMap or None
        Which program each job runs (``bridge.scenarios.application_map``); None: all the same loop.
    overhead_ns : int
        What a core pays before each chunk.
    latency_ns : int
        What a request message between two hosts takes, one way, 0 to 10**12 ns; the master is on the job's first host.
    assignment : str
        ``distributed`` or ``master``: who calculates chunks, and so who pays the overhead.
    resize_ns : int
        What a change of its width costs each core of a job, once, before its next chunk.
    speeds : tuple of str
        How core speeds change (``als.core_speeds``).
    network : str
        What data between the tasks of a graph take (``als.network``): ``none``, ``hockney``, ``cm02``, ``lv08``.

    Raises
    ------
    InputError
        If one of them cannot be.
    """

    technique: str | AnyScheduler = holds(replace(a.ALS, help=f"{a.ALS.help}; or recorded: none"))
    variation: float = holds(a.VARIATION)
    tasks_per_core: int = holds(a.TASKS_PER_CORE)
    applications: str | Path | ApplicationMap | None = holds(a.APPLICATIONS)
    speeds: tuple[str, ...] = holds(a.SPEEDS)
    lengths: str = holds(a.LENGTHS)
    overhead_ns: int = holds(a.OVERHEAD)
    latency_ns: int = holds(a.LATENCY)
    assignment: str = holds(a.ASSIGNMENT)
    network: str = holds(a.NETWORK)
    resize_ns: int = holds(a.RESIZE_COST)

    def __post_init__(self) -> None:
        from als.network import network_model

        object.__setattr__(self, "overhead_ns", a.OVERHEAD.check(self.overhead_ns))
        object.__setattr__(self, "latency_ns", a.LATENCY.check(self.latency_ns))
        a.ASSIGNMENT.check(self.assignment)
        a.VARIATION.check(self.variation)
        a.TASKS_PER_CORE.check(self.tasks_per_core)
        object.__setattr__(self, "resize_ns", a.RESIZE_COST.check(self.resize_ns))
        speeds: object = self.speeds
        object.__setattr__(self, "speeds", (speeds,) if isinstance(speeds, str) else tuple(self.speeds))
        network_model(self.network)
        if isinstance(self.applications, str | Path):
            from bridge.scenarios.application_map import load_application_map

            object.__setattr__(self, "applications", load_application_map(self.applications))

    @property
    def simulated(self) -> bool:
        """Whether jobs are computed, and do not last as long as recorded."""
        return self.technique != RECORDED

    @property
    def map(self) -> ApplicationMap | None:
        """The applications' map, read."""
        assert not isinstance(self.applications, str | Path)
        return self.applications

    @property
    def master(self) -> bool:
        """Whether a master calculates chunks."""
        return self.assignment == "master"

    def names(self) -> dict[str, object]:
        """The options as plain values, for a record of the run."""
        return recorded(self)
