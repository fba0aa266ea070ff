"""Random applications, and the engine's records in the words of the slow reference."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from reference.application import Ran, Run, run

from als.application import Application
from als.techniques import TECHNIQUES

KNOWN = ("static", "ss", "gss", "fac")


@dataclass(frozen=True)
class Case:
    """An application; lengths and speeds are such that tasks take from one to some hundred nanoseconds."""

    lengths: list[float]
    speeds: list[float]
    technique: str
    start: int
    overhead: int

    def application(self, *, keep_tasks: bool = True) -> Application:
        """The engine at the job's start."""
        return Application(
            self.lengths,
            self.speeds,
            TECHNIQUES[self.technique],
            start_ns=self.start,
            overhead_ns=self.overhead,
            keep_tasks=keep_tasks,
        )

    def expected(self, changes: list[tuple[int, int, float]] | None = None, stop: int | None = None) -> Run:
        """What the reference makes of it."""
        return run(
            self.lengths,
            self.speeds,
            self.technique,
            start=self.start,
            overhead=self.overhead,
            changes=changes or [],
            stop=stop,
        )


#: One to a hundred nanoseconds of work for a core of 1 GFLOP/s: whole and half ones, where rounding and ties show.
lengths = st.integers(1, 200).map(lambda half_ns: half_ns / 2e9) | st.floats(1e-12, 1e-7)
speeds = st.sampled_from((1.0, 1.0, 2.0, 0.5, 3.0, 46.875))


@st.composite
def cases(draw: st.DrawFn, *, max_tasks: int = 24) -> Case:
    """Up to six cores."""
    return Case(
        draw(st.lists(lengths, min_size=1, max_size=max_tasks)),
        draw(st.lists(speeds, min_size=1, max_size=6)),
        draw(st.sampled_from(KNOWN)),
        draw(st.sampled_from((0, 17, 10**18))),
        draw(st.sampled_from((0, 0, 0, 1, 8))),
    )


def ran(application: Application) -> Run:
    """What the engine has recorded."""
    state = application.state
    columns = (state.chunk, state.core, state.start_ns, state.end_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    tasks = [None if row[2:] == (-1, -1) else Ran(*row) for row in rows]
    return Run(tasks, state.finish_ns.tolist(), application.chunks)
