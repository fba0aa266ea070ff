"""The figures of a result in Python: ``result.plot.gantt(jobs="40-60")``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.base.options import PART_CORES, PART_JOBS
from traces.intervals import parse_intervals

if TYPE_CHECKING:
    from bridge.runs.result import Result
    from traces.figures.drawing.canvas import Figure


class Plots:
    """Draws a result: each method gives a matplotlib figure, which a notebook shows and ``savefig`` writes.

    ``jobs`` and ``cores`` are numbers as ``1542-1546 1600``; without them all are drawn. ``title`` is written above.
    The figures are those of ``twolevel figures``; those of tasks need their records (``keep_tasks``), and an
    application level. Raises InputError if there is nothing to draw.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def utilisation(self, *, title: str = "") -> Figure:
        """The use of the machine and the queue over time, of all jobs."""
        return self._drawn("utilisation", None, None, title)

    def waits(self, *, jobs: str | None = None, title: str = "") -> Figure:
        """How long jobs waited, and their bounded slowdowns."""
        return self._drawn("waits", jobs, None, title)

    def imbalance(self, *, jobs: str | None = None, title: str = "") -> Figure:
        """The load imbalance of jobs."""
        return self._drawn("imbalance", jobs, None, title)

    def held(self, *, jobs: str | None = None, cores: str | None = None, title: str = "") -> Figure:
        """How much of the time hosts were held by jobs."""
        return self._drawn("held", jobs, cores, title)

    def heat(self, *, jobs: str | None = None, cores: str | None = None, title: str = "") -> Figure:
        """How much of the time hosts computed tasks."""
        return self._drawn("heat", jobs, cores, title)

    def gantt(self, *, jobs: str | None = None, cores: str | None = None, title: str = "") -> Figure:
        """Cores as rows, tasks over time, jobs as colours."""
        return self._drawn("gantt", jobs, cores, title)

    def chunks(self, *, jobs: str | None = None, title: str = "") -> Figure:
        """The sizes of chunks."""
        return self._drawn("chunks", jobs, None, title)

    def lengths(self, *, jobs: str | None = None, title: str = "") -> Figure:
        """The lengths of tasks."""
        return self._drawn("lengths", jobs, None, title)

    def power(self, *, title: str = "") -> Figure:
        """What the machine draws over time, and its limit; below it the level, or how many hosts are not in service."""
        return self._drawn("power", None, None, title)

    def decisions(self, *, title: str = "") -> Figure:
        """What scheduling passes cost, by the number of waiting jobs (needs ``keep_decisions``)."""
        return self._drawn("decisions", None, None, title)

    def _drawn(self, name: str, jobs: str | None, cores: str | None, title: str) -> Figure:
        from bls.workloads.job_words import JobWords
        from bridge.runs.figures import RUN_FIGURES, FigureView
        from traces.figures.run.gantt import chosen_cores

        kind, result = RUN_FIGURES[name], self._result
        machine = result.ledger.machine
        view = FigureView(
            machine.first_core,
            list(machine.host_names),
            None
            if jobs is None
            else JobWords.of(result.ledger.jobs.job_id, result.notes.names).intervals(jobs, str(PART_JOBS)),
            None if cores is None else parse_intervals(cores, str(PART_CORES)),
            title,
            None if result.ledger.releases is None else result.releases,
            None if result.ledger.widths is None else result.widths,
            int(result.ledger.jobs.end_ns.max()),
            None if result.power is None or not result.power.plan.domains else result.power_of_domains,
        )
        chosen_cores(view.first_core, view.cores)
        table = {"power": "power_over_time"}.get(kind.needs, kind.needs)
        return kind.draw(getattr(result, table), view)
