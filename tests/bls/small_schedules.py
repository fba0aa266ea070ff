"""Small schedules that could be, drawn at random, with what there is at every instant said literally."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from bls.metrics.schedule import STATES, WHY, Allocations, Downtime, Schedule

__all__ = ["Row", "Small", "column", "small_schedules"]


def column(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@dataclass(frozen=True)
class Row:
    """One attempt; ``held`` are core numbers."""

    submit: int
    eligible: int
    start: int
    end: int
    asked: int
    held: tuple[int, ...]
    why: str = "head"
    state: str = "completed"
    left: int = -1

    @property
    def gone(self) -> int:
        return self.start if self.start >= 0 else self.left


@dataclass(frozen=True)
class Small:
    """Rows on hosts of so many cores, and when hosts were down: (host, from, to)."""

    sizes: tuple[int, ...]
    rows: tuple[Row, ...]
    downs: tuple[tuple[int, int, int], ...] = ()

    @property
    def host_first(self) -> np.ndarray:
        return np.cumsum((0, *self.sizes))

    @property
    def n_cores(self) -> int:
        return sum(self.sizes)

    def host_cores(self, host: int) -> set[int]:
        return set(range(int(self.host_first[host]), int(self.host_first[host + 1])))

    def schedule(self, unit: int = 1) -> Schedule:
        """Its columns, an instant being so many ns."""

        def instants(name: str) -> np.ndarray:
            return column(*(value * unit if (value := getattr(row, name)) >= 0 else -1 for row in self.rows))

        return Schedule.of(
            submit_ns=instants("submit"),
            start_ns=instants("start"),
            end_ns=instants("end"),
            cores=column(*(row.asked for row in self.rows)),
            n_cores=self.n_cores,
            held_cores=column(*(len(row.held) for row in self.rows)),
            why=column(*(WHY.index(row.why) for row in self.rows)),
            state=column(*(STATES.index(row.state) for row in self.rows)),
            eligible_ns=instants("eligible"),
            left_ns=instants("left"),
        )

    def allocations(self) -> Allocations:
        """Every core an interval of its own, which is as good as any."""
        first = np.cumsum([0, *(len(row.held) for row in self.rows)])
        lo = column(*(core for row in self.rows for core in row.held))
        return Allocations(first, lo, lo + 1)

    def downtime(self, unit: int = 1) -> Downtime:
        host = column(*(down[0] for down in self.downs))
        sizes = column(*self.sizes)
        return Downtime(host, sizes[host], *(column(*(down[k] for down in self.downs)) * unit for k in (1, 2)))

    def started(self) -> list[Row]:
        return [row for row in self.rows if row.start >= 0]

    def span(self) -> tuple[int, int]:
        ran = self.started()
        return (min(row.submit for row in ran), max(row.end for row in ran)) if ran else (0, 0)

    # At an instant t of whole numbers, which stands for [t, t + 1).

    def waiting(self, t: int) -> list[Row]:
        return [row for row in self.rows if 0 <= row.eligible <= t < row.gone]

    def busy(self, t: int) -> set[int]:
        return {core for row in self.rows if row.start <= t < row.end for core in row.held}

    def down(self, t: int) -> set[int]:
        return {core for host, begin, end in self.downs if begin <= t < end for core in self.host_cores(host)}

    def free(self, t: int) -> set[int]:
        return set(range(self.n_cores)) - self.busy(t) - self.down(t)


@st.composite
def small_schedules(draw: st.DrawFn) -> Small:
    """No core is held twice, or while its host is down; hosts may be down twice over."""
    sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    n_cores = sum(sizes)
    free_at = [0] * n_cores
    rows: list[Row] = []
    downs: list[tuple[int, int, int]] = []
    few = st.integers(0, 4)
    for what in draw(st.lists(st.sampled_from(("run", "run", "run", "preset", "never", "down")), max_size=7)):
        submit = draw(few)
        eligible = submit + draw(few)
        held = tuple(sorted(draw(st.sets(st.integers(0, n_cores - 1), min_size=1))))
        if what == "never":
            left = draw(st.sampled_from((-1, eligible + draw(few))))
            if left >= 0 and draw(st.booleans()):
                eligible = -1  # withdrawn before it was
            rows.append(Row(submit, eligible, -1, -1, len(held), (), "never", "cancelled", left))
        elif what == "down":
            host = draw(st.integers(0, len(sizes) - 1))
            first = sum(sizes[:host])
            cores = range(first, first + sizes[host])
            begin = max(eligible, *(free_at[core] for core in cores))
            end = begin + draw(st.integers(1, 4))
            downs += [(host, begin, end), (host, begin + draw(few), end)]
            for core in cores:
                free_at[core] = end
        else:
            start = max(eligible, *(free_at[core] for core in held))
            why = draw(st.sampled_from(("head", "backfill", "reserved")))
            state = draw(st.sampled_from(STATES))
            if what == "preset" and not any(free_at[core] for core in held):
                submit = eligible = start = 0
                why = "preset"
            end = start + draw(few)
            rows.append(Row(submit, eligible, start, end, draw(st.integers(1, len(held))), held, why, state))
            for core in held:
                free_at[core] = end
    return Small(sizes, tuple(rows), tuple(downs))
