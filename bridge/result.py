"""The result of a run: tables, metrics and a trace over one frozen ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from als.metrics import application_metrics
from bls.metrics import batch_metrics
from bridge.scenario import Scenario
from traces import tables
from traces.ledger import Ledger
from traces.time import format_ns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result"]


@dataclass(frozen=True, eq=False)
class Result:
    """What one run did. In a notebook it shows itself.

    Attributes
    ----------
    scenario : Scenario
        What was simulated.
    ledger : Ledger
        What happened.
    coupling : mapping
        The coupling's name and what it cost.
    """

    scenario: Scenario
    ledger: Ledger
    coupling: Mapping[str, Any]

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row a job (``traces.tables.JOB_COLUMNS``), in workload order."""
        return tables.jobs_frame(self.ledger)

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """One row a task (``traces.tables.TASK_COLUMNS``).

        Raises
        ------
        InputError
            If task records were not kept, or there was no application level.
        """
        return tables.tasks_frame(self.ledger)

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """Batch and application metrics by name (``bls.metrics``, ``als.metrics``); times in ns, fractions as such."""
        jobs = self.ledger.jobs
        batch = batch_metrics(jobs.submit_ns, jobs.start_ns, jobs.end_ns, jobs.cores, self.ledger.machine.n_cores)
        return MappingProxyType(batch | application_metrics(jobs.tasks, jobs.chunks, jobs.imbalance, jobs.cov))

    def write_trace(self, path: str | Path) -> Path:
        """Write the merged OTF2 trace into the folder ``path`` (made if missing); returns the path of ``traces.otf2``."""
        from traces.exporters import exporter

        return exporter("otf2")(self.ledger, Path(path))

    def summary(self) -> list[tuple[str, str]]:
        """The figures that a person looks at first: (name, text)."""
        metrics, options = self.metrics, self.scenario.options.names()

        def text(name: str, form: str) -> str:
            return "–" if metrics[name] is None else format(metrics[name], form)

        return [
            ("batch × application", f"{options['bls']} × {options['als']}"),
            ("variation, seed", f"{options['variation']:g}, {options['seed']}"),
            ("jobs on cores", f"{metrics['jobs']} on {self.ledger.machine.n_cores}"),
            ("tasks, chunks", f"{metrics['tasks']}, {metrics['chunks']}"),
            ("makespan", format_ns(metrics["makespan_ns"])),
            ("mean wait", format_ns(metrics["mean_wait_ns"])),
            ("mean response", format_ns(metrics["mean_response_ns"])),
            ("mean bounded slowdown", text("mean_bounded_slowdown", ".4g")),
            ("utilisation", text("utilisation", ".4f")),
            ("mean imbalance", text("mean_imbalance", ".4f")),
        ]

    def __repr__(self) -> str:
        return "<twolevel result: " + ", ".join(f"{name} {value}" for name, value in self.summary()) + ">"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self.summary()
        )
        return f"<table>{rows}</table>"
