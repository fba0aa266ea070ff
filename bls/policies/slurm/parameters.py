"""The parameters of Slurm's cycle, in Slurm's names and units. The policy itself is made for a run.

The algorithm is that of slurmctld 22.05 (``job_scheduler.c`` and ``controller.c`` of ``src/slurmctld``, ``sched/backfill``,
``select`` and ``priority`` of ``src/plugins``), which was read, and is written anew here; replays are its reference
(``docs/explanation/slurm-and-ours.md``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from traces.base.errors import InputError, one_of, whole
from traces.base.time import NS_PER_S, format_ns

if TYPE_CHECKING:
    from bls.policies.contract import FollowingPolicy
    from bls.seen.answers import Choice
    from bls.view import View

_MINUTE_S = 60

SCHEDULERS = ("backfill", "builtin")
SELECTS = ("auto", "linear", "cons_tres")
PRIORITIES = ("basic", "multifactor")

#: Time from the start of slurmctld to the first submit, here and in a replay: then it is in the middle of its cycles of 1 s,
#: 30 s and 60 s, so that jobs wait neither the longest nor the shortest time for them.
LEAD_NS = 75_500_000_000

#: The least and the most of each number.
_RANGES = {
    "weight_job_size": (0, 2**32 - 1), "bf_interval": (0, 10_800), "bf_resolution": (1, 3600), "bf_window": (1, 43_200),
    "bf_max_job_test": (1, 1_000_000), "default_queue_depth": (0, 10**9), "sched_interval": (1, 10**6),
    "sched_min_interval": (0, 10**9), "batch_sched_delay": (0, 10**6), "tick": (0, 1), "minute": (1, 60),
    "kill_interval": (0, 3600), "message": (0, 10**6),
}  # fmt: skip


@dataclass(frozen=True)
class SlurmCycle:
    """Slurm's cycle; ``bls slurm:bf_interval=60`` changes it as ``SchedulerParameters`` of slurm.conf do."""

    scheduler: str = "backfill"  # {"backfill", "builtin"}: ``SchedulerType``
    # ``SelectType``: linear, hosts of one core each; cons_tres, cores; auto, as a replay: linear if all hosts have one core
    select: str = "auto"
    priority: str = "basic"  # ``PriorityType``: basic, by submit; multifactor, by size, as without slurmdbd
    weight_job_size: int = 0  # ``PriorityWeightJobSize``, of multifactor
    favor_small: bool = False  # ``PriorityFavorSmall``
    small_relative_to_time: bool = False  # flag ``SMALL_RELATIVE_TO_TIME``: sizes are cores by minutes of the limit
    bf_interval: int = 30  # seconds between two cycles of backfilling; 0: one behind each pass of the main scheduler
    bf_resolution: int = 60  # seconds; plans are rounded down to its multiples
    bf_window: int = 1440  # minutes; no plans beyond
    bf_max_job_test: int = 500  # most jobs that a cycle considers
    # most jobs that a pass of the main scheduler considers, except the one every ``sched_interval``
    default_queue_depth: int = 100
    sched_interval: int = 60  # seconds between two passes that consider all
    sched_min_interval: int = 2  # microseconds between two passes at least
    batch_sched_delay: int = 3  # seconds between two passes that submissions ask for
    # seconds between two looks of slurmctld's background for passes that were asked for; Slurm's is 1 always; 0: at once
    tick: int = 1
    minute: int = 60  # seconds that time limits are rounded up to multiples of; Slurm's is 60 always
    # seconds between two looks for jobs beyond their limit; Slurm's is 30 always; 0: they are killed at it
    kill_interval: int = 30
    message: int = 1  # microseconds that slurmctld waits before it answers a message; Slurm's is 1 always
    # time from the first submit to a cycle of backfilling, as ``replay phase``; -1: slurmctld comes up 75.5 s before
    phase_ns: int = -1
    name: str = "slurm"

    unaware_of: ClassVar = (
        *("allocator", "partitions", "windows", "licences", "switches", "power", "dependencies"),
        *("failures", "coordination", "estimates", "decision costs"),
    )

    def __post_init__(self) -> None:
        for name, allowed in (("scheduler", SCHEDULERS), ("select", SELECTS), ("priority", PRIORITIES)):
            if getattr(self, name) not in allowed:
                raise one_of(name, getattr(self, name), allowed, "batch policy slurm")
        for name, (least, most) in _RANGES.items():
            whole(f"batch policy slurm: {name}", getattr(self, name), least, most)
        for name in ("weight_job_size", "favor_small", "small_relative_to_time"):
            if self.priority == "basic" and getattr(self, name):
                raise InputError(f"batch policy slurm: {name}: not with priority=basic; allowed: priority=multifactor")
        if self.phase_ns >= 0 and not self.phase_ns < self.bf_interval * NS_PER_S:
            phase = format_ns(self.phase_ns)
            raise InputError(f"batch policy slurm: phase: {phase}; allowed: 0 up to below bf_interval")

    @property
    def lead_ns(self) -> int:
        """How long before the first submit slurmctld comes up."""
        return LEAD_NS if self.phase_ns < 0 else 2 * self.bf_interval * NS_PER_S - self.phase_ns

    def priority_of(self, cores: int, limit_s: int, n_nodes: int, n_cores: int) -> int:
        """The priority of a job on a machine, at least 1, the highest first; with ``priority=basic`` the same for all. Without
        slurmdbd the plug-in knows no age and no fair-share: it is by size, from the submit on."""
        if self.priority == "basic":
            return 1
        return max(1, int(self.weight_job_size * self._size(cores, limit_s, n_nodes, n_cores)))

    def _size(self, cores: int, limit_s: int, n_nodes: int, n_cores: int) -> float:
        # A job requests at least one node. The steps of the arithmetic are Slurm's, as rounding depends on the last digit.
        if self.small_relative_to_time:
            found = max(n_cores / n_nodes, float(cores)) / (limit_s / _MINUTE_S) / n_cores
            found = 1.0 - found if self.favor_small else found
        elif self.favor_small:
            found = ((n_nodes - 1) / n_nodes + (n_cores - cores) / n_cores) / 2
        else:
            found = (1 / n_nodes + cores / n_cores) / 2
        return min(1.0, max(0.0, found))

    def for_run(self) -> FollowingPolicy:
        """The policy of one run."""
        from bls.policies.slurm.run import SlurmRun

        return SlurmRun(self)

    def decide(self, view: View) -> Iterable[Choice]:
        """Who starts now: of a scheduler that has just come up."""
        return self.for_run().decide(view)
