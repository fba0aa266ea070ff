"""The part of a batch simulation that views read, and what a policy changes through them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bls.engine import state as b
from bls.engine.features.draws.draws import planned_more_mw, power_left
from bls.engine.features.hold import holds
from bls.engine.jobs import Jobs
from bls.running_jobs import RunReader
from traces.compiled import Array


@dataclass(frozen=True, eq=False)
class RunView(RunReader):
    """A run as its views read it: without the methods that advance or answer it."""

    @property
    def now_ns(self) -> int:
        """The simulated instant."""
        return self.state.now_ns

    @property
    def jobs(self) -> Jobs:
        """The columns of jobs; they change during the simulation."""
        return self.state.jobs

    @property
    def n_decisions(self) -> int:
        """Number of decisions in the table of decisions."""
        return self.state.decisions.n_passes

    @cached_property
    def ends_change(self) -> bool:
        """Whether expected ends of running jobs may change."""
        return self.dealings.scales or self.dealings.resizes or self.dealings.promises

    def may(self, part: int) -> bool:
        """Whether the policy directs this part of running jobs: ``SCALES`` or ``CUTS`` of ``bls.engine.state``."""
        return bool(self.state.settings.directs & part)

    @property
    def sets_widths(self) -> bool:
        """Whether the policy sets the widths of running jobs."""
        return self.state.settings.resizing == b.AS_DECIDED

    @property
    def sends_hints(self) -> bool:
        """Whether the policy sends hints to running jobs."""
        return self.state.settings.hints == b.BY_POLICY

    @property
    def limits_power(self) -> bool:
        """Whether starts depend on a power limit."""
        return bool(len(self.state.domains.limit_mw))

    @property
    def power_limit_mw(self) -> int:
        """The known power limit of the machine, mW; ``NEVER`` if there is none."""
        return int(min(self.state.domains.limit_mw[:1].tolist(), default=b.NEVER))

    @property
    def power_left_mw(self) -> int:
        """The power left under that limit, mW; ``NEVER`` if there is none."""
        return power_left(self.state)

    def more_power_mw(self, row: int, n_cores: int, cores: Iterable[int] | None) -> int:
        """The power above idle, mW, of a row's job on these cores, or on the ``n_cores`` cores with the least draw."""
        more = planned_more_mw(self.state, row)
        if cores is None:
            return n_cores * int(more.min())
        group = np.searchsorted(self.state.power.first_core[1:-1], list(cores), side="right")
        return int(more[group].sum())

    @property
    def on_hold(self) -> Array:
        """The rows that the policy holds: bool, all rows."""
        return holds.held(self.state)

    def set_hold(self, row: int, on: bool) -> bool:
        """Hold a waiting job from now on, or release it; False if nothing changes."""
        return holds.set_hold(self.state, row, on)

    def hold_text(self, row: int) -> str:
        """The text of the latest hold of a job; empty if it was never held, or released at once."""
        return holds.hold_text(self.state, row)

    def take_log(self) -> tuple[list[int], int, int]:
        """The arrivals, starts and ends since the last call, four times the row plus the kind, in order; the simulated instant;
        and the number of free cores. Empties the log."""
        state = self.state
        entries: list[int] = state.log[: state.n_log].tolist()
        if entries:
            state.n_log = 0
        return entries, state.now_ns, state.free_cores
