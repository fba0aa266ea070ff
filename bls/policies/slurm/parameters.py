"""The parameters of Slurm's cycle, with Slurm's names and units. The policy itself is made for a run.

The algorithm is that of slurmctld 22.05 (``job_scheduler.c`` and ``controller.c`` of ``src/slurmctld``, ``sched/backfill``,
``select`` and ``priority`` of ``src/plugins``), implemented again here; replays are its reference
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

#: Time from the start of slurmctld to the first submit, here and in a replay. The first submit is then in the middle of the
#: cycles of 1 s, 30 s and 60 s: the first job waits for them neither the longest nor the shortest time.
LEAD_NS = 75_500_000_000

#: The smallest and the largest value of each number.
_RANGES = {
    "weight_job_size": (0, 2**32 - 1), "bf_interval": (0, 10_800), "bf_resolution": (1, 3600), "bf_window": (1, 43_200),
    "bf_max_job_test": (1, 1_000_000), "default_queue_depth": (0, 10**9), "sched_interval": (1, 10**6),
    "sched_min_interval": (0, 10**9), "batch_sched_delay": (0, 10**6), "tick": (0, 1), "minute": (1, 60),
    "kill_interval": (0, 3600), "message": (0, 10**6),
}  # fmt: skip


@dataclass(frozen=True)
class SlurmCycle:
    """Slurm's cycle; ``bls slurm:bf_interval=60`` has the same effect as ``SchedulerParameters`` of slurm.conf."""

    scheduler: str = "backfill"  # {"backfill", "builtin"}: ``SchedulerType``
    # ``SelectType``: linear, for hosts of one core each; cons_tres, by cores; auto: linear if all hosts have one core
    select: str = "auto"
    priority: str = "basic"  # ``PriorityType``: basic, by submit; multifactor, by size, as without slurmdbd
    weight_job_size: int = 0  # ``PriorityWeightJobSize``, of multifactor
    favor_small: bool = False  # ``PriorityFavorSmall``
    small_relative_to_time: bool = False  # flag ``SMALL_RELATIVE_TO_TIME``: size is cores / minutes of the limit
    bf_interval: int = 30  # seconds between two cycles of backfilling; 0: one after each pass of the main scheduler
    bf_resolution: int = 60  # seconds; plans are rounded down to its multiples
    bf_window: int = 1440  # minutes; there are no plans beyond
    bf_max_job_test: int = 500  # largest number of jobs that a cycle considers
    # largest number of jobs that a pass of the main scheduler considers, except the pass every ``sched_interval``
    default_queue_depth: int = 100
    sched_interval: int = 60  # seconds between two passes that consider all jobs
    sched_min_interval: int = 2  # least microseconds between two passes
    batch_sched_delay: int = 3  # seconds between two passes that submissions request
    # seconds between two checks for requested passes by slurmctld's background thread; always 1 in Slurm; 0: at once
    tick: int = 1
    minute: int = 60  # time limits are rounded up to multiples of this number of seconds; always 60 in Slurm
    # seconds between two checks for jobs beyond their limit; always 30 in Slurm; 0: they are killed at their limit
    kill_interval: int = 30
    message: int = 1  # microseconds that slurmctld waits before it answers a message; always 1 in Slurm
    # time from the first submit to a cycle of backfilling, as ``replay phase``; -1: slurmctld starts 75.5 s before the submit
    phase_ns: int = -1
    name: str = "slurm"

    unaware_of: ClassVar = (
        *("allocator", "partitions", "windows", "licences", "switches", "power", "dependencies"),
        *("failures", "coordination", "estimates", "presets", "decision costs"),
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
        """Time from the start of slurmctld to the first submit."""
        return LEAD_NS if self.phase_ns < 0 else 2 * self.bf_interval * NS_PER_S - self.phase_ns

    def priority_of(self, cores: int, limit_s: int, n_nodes: int, n_cores: int) -> int:
        """The priority of a job on a machine, at least 1, the highest first; with ``priority=basic`` the same for all. Without
        slurmdbd there is no age and no fair-share: the priority depends on the size and does not change."""
        if self.priority == "basic":
            return 1
        return max(1, int(self.weight_job_size * self._size(cores, limit_s, n_nodes, n_cores)))

    def _size(self, cores: int, limit_s: int, n_nodes: int, n_cores: int) -> float:
        # A job requests at least one node. The order of operations is Slurm's, since rounding depends on it.
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
        """The jobs to start now, decided by a scheduler that has just started."""
        return self.for_run().decide(view)
