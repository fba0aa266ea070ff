"""What is chosen for the application level beside its technique: lengths, costs, the applications' map, core speeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from als.network import network_model
from als.options import ASSIGNMENT, LATENCY, LENGTHS, NETWORK, RESIZE_COST, SPEEDS
from bridge.scenarios.application_map import ApplicationMap, load_application_map

#: Data are at once where they are needed.
NO_NETWORK = NETWORK.default

#: Who calculates chunks: each core for itself, or a master one request after another.
ASSIGNMENTS = ASSIGNMENT.choices


@dataclass(frozen=True)
class ApplicationLevel:
    """How jobs are computed.

    Attributes
    ----------
    lengths : str
        Distribution of task lengths (``als.lengths``); empty: normal, as in the paper.
    latency_ns : int
        What a request message between two hosts takes, one way, 0 to 10**12 ns; the master is on the job's first host.
    assignment : str
        ``distributed`` or ``master``: who calculates chunks, and so who pays the overhead.
    applications : str, Path, ApplicationMap or None
        Which program each job runs (``bridge.scenarios.application_map``); None: all the same loop.
    speeds : tuple of str
        How core speeds change (``als.core_speeds``).
    network : str
        What data between the tasks of a graph take (``als.network``): ``none``, ``hockney``, ``cm02``, ``lv08``.
    resize_ns : int
        What a change of its width costs each core of a job, once, before its next chunk.

    Raises
    ------
    InputError
        If one of them cannot be.
    """

    lengths: str = LENGTHS.default
    latency_ns: int = LATENCY.default
    assignment: str = ASSIGNMENT.default
    applications: str | Path | ApplicationMap | None = None
    speeds: tuple[str, ...] = SPEEDS.default
    network: str = NETWORK.default
    resize_ns: int = RESIZE_COST.default

    def __post_init__(self) -> None:
        object.__setattr__(self, "latency_ns", LATENCY.check(self.latency_ns))
        ASSIGNMENT.check(self.assignment)
        object.__setattr__(self, "resize_ns", RESIZE_COST.check(self.resize_ns))
        object.__setattr__(self, "speeds", tuple(self.speeds))
        network_model(self.network)
        if isinstance(self.applications, str | Path):
            object.__setattr__(self, "applications", load_application_map(self.applications))

    @property
    def map(self) -> ApplicationMap | None:
        """The applications' map, read."""
        return self.applications if isinstance(self.applications, ApplicationMap) else None

    @property
    def master(self) -> bool:
        """Whether a master calculates chunks."""
        return self.assignment == "master"

    def names(self) -> dict[str, object]:
        """The options as plain values, for a record of the run."""
        return {
            "lengths": self.lengths,
            "latency_ns": self.latency_ns,
            "assignment": self.assignment,
            "applications": None if self.map is None else self.map.source,
            "speeds": list(self.speeds),
            "network": self.network,
            "resize_ns": self.resize_ns,
        }
