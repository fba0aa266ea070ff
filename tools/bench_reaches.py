"""What it costs to reach running jobs: all of them, at every event."""

from __future__ import annotations

from collections.abc import Iterator

from bls.view import SeenJob, View
from bridge.runs.simulation import run
from bridge.scenarios.scenario import Options, Scenario, load_workload
from tools.bench_batch import CURIES_OWN
from tools.bench_rows import CURIE, Row, log, row, timed

__all__ = ["Levels", "all_at_every_event"]


class Levels:
    """First come, first served, with EASY backfilling; in each pass all that runs is set to the other of two levels."""

    name = "levels"
    directs = ("speeds",)

    def __init__(self) -> None:
        self.passes = 0

    def decide(self, view: View) -> Iterator[SeenJob]:
        """Start what may start, and set the level."""
        free, waiting, starts = view.free_cores, list(view.waiting), []
        while waiting and waiting[0].cores <= free:
            free -= waiting[0].cores
            starts.append(waiting.pop(0))
        if waiting and free:
            self._backfill(view, free, waiting, starts)
        yield from starts
        self.passes += 1
        view.scale([*view.running, *starts], (1.0, 0.99)[self.passes % 2])

    def _backfill(self, view: View, free: int, waiting: list[SeenJob], starts: list[SeenJob]) -> None:
        now_ns, head, left = view.now_ns, waiting[0], free
        ends = [(job.expected_end_ns, job.cores) for job in view.running]
        ends += [(now_ns + job.estimate_ns, job.cores) for job in starts]
        shadow_ns, coming = now_ns, sorted(ends)
        while coming and left < head.cores:
            shadow_ns, cores = coming.pop(0)
            left += cores
        extra = left - head.cores
        for job in waiting[1:]:
            before = now_ns + job.estimate_ns <= shadow_ns
            if job.cores <= free and (before or job.cores <= extra):
                extra -= 0 if before else job.cores
                free -= job.cores
                starts.append(job)
            if free == 0:
                break


def all_at_every_event() -> list[Row]:
    """The busiest day of CEA-Curie on its own cores, inline: every running job's speed is set in every pass."""
    workload = load_workload(log(CURIE), CURIES_OWN, selection="busiest:24h", preset=False)
    rows = []
    for als in ("static", "gss"):
        reaches: list[int] = []

        def work(als: str = als, reaches: list[int] = reaches) -> float:
            result = run(Scenario.of(workload, CURIES_OWN, Options(bls=Levels(), als=als, variation=0.25)))
            assert result.ledger.scales is not None
            reaches.append(len(result.ledger.scales.job))
            return float(result.coupling["simulation_s"])

        seconds = timed(work, 3)
        assert len(set(reaches)) == 1
        note = (
            f"{reaches[0]:,} reaches, {1e6 * min(seconds) / reaches[0]:.1f} µs each, the policy's own time among them"
        )
        rows.append(
            row(f"every running job at every event, busiest day of CEA-Curie, {als}", "≤ 20 s", seconds, note=note)
        )
    return rows
