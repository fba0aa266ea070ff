"""Requests for traces: formats, part of the run, and detail."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from bls.workloads.job_words import JobWords
from bridge.options.declared import NO_FORMATS, TRACE_CORES, TRACE_DETAIL, TRACE_FORMATS, TRACE_WINDOW
from bridge.options.output import RunOutput
from traces.base.errors import InputError, parse_list, shown
from traces.base.options import PART_JOBS
from traces.base.time import MAX_NS, parse_duration_ns, parse_instant_ns
from traces.compiled import Array
from traces.exporters import WITH_ROWS, exporter
from traces.exporters.shown.part import WHOLE, Excerpt, automatic_detail, cut_ledger, cut_machine, with_detail
from traces.intervals import check_ends, parse_intervals
from traces.ledger import Ledger, MachineShape


@dataclass(frozen=True)
class TraceRequest:
    """Requested traces: their formats, detail (``traces.exporters.shown.part``), and part of the run."""

    formats: tuple[str, ...] = (TRACE_FORMATS.default,)
    detail: str = TRACE_DETAIL.default
    part: Excerpt = WHOLE

    def needs_tasks(self, machine: MachineShape) -> bool:
        """Whether records of tasks are needed for the traces of a run on this machine."""
        return any(self._detail(name, self._within(machine)) in ("chunk", "task") for name in self.formats)

    def note(self, machine: MachineShape, instead: str) -> str | None:
        """A line if these traces have no rows of cores although the user did not request that; ``instead``: how to get them."""
        machine = self._within(machine)
        details = {self._detail(name, machine) for name in self.formats}
        if self.detail != TRACE_DETAIL.default or details <= {"task"}:
            return None
        rows = "jobs and hosts" if "host" in details else "jobs"
        return f"trace: shows {rows} only, since few viewers can open {machine.n_cores:,} rows of cores; {instead}"

    def _detail(self, name: str, machine: MachineShape) -> str:
        if self.detail != TRACE_DETAIL.default:
            return self.detail
        return automatic_detail(machine) if name in WITH_ROWS else "task"

    def _within(self, machine: MachineShape) -> MachineShape:
        return machine if self.part.cores is None else cut_machine(machine, self.part.cores)[0]

    def checked(self) -> Self:
        """The same request. Raises InputError or PluginError if a format is unknown."""
        for name in self.formats:
            exporter(name, str(TRACE_FORMATS))
        return self

    def check_cores(self, n_cores: int) -> None:
        """Refuse cores that the machine does not have, before anything is simulated. Raises InputError, naming them."""
        check_ends(self.part.cores or (), n_cores, str(TRACE_CORES), f"the machine has cores 0 to {n_cores - 1}")

    def write(self, ledger: Ledger, folder: Path) -> list[Path]:
        """Write the traces of a ledger; return the files for viewers. Raises InputError if the part is empty, or there is a
        trace."""
        ledger = cut_ledger(ledger, self.part)
        details = [(name, self._detail(name, ledger.machine)) for name in self.formats]
        return [exporter(name)(with_detail(ledger, detail), folder) for name, detail in details]


def requested(options: RunOutput) -> TraceRequest | None:
    """The traces that the options of a run request; None without a trace. Raises InputError or PluginError."""
    detail = TRACE_DETAIL.check(options.trace_detail)
    part = part_of(options.trace_window, options.trace_cores, None, JobWords())
    return TraceRequest(formats_of(options.trace), detail, part).checked() if options.traced else None


def further_traces(formats: str | None, detail: str) -> TraceRequest | None:
    """The traces that ``--trace`` requests, in this detail; None without it. Raises InputError or PluginError."""
    if formats is None or formats == NO_FORMATS:
        return None
    return TraceRequest(formats_of(formats), detail).checked()


def formats_of(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list of formats, each once. Raises InputError if one is empty."""
    if not text:
        raise InputError(f"{TRACE_FORMATS}: {shown(text)} names no format; allowed: e.g. otf2,perfetto")
    names = tuple(dict.fromkeys(parse_list(text, str(TRACE_FORMATS))))
    if names == (NO_FORMATS,):  # which only a run accepts
        raise InputError(f"{TRACE_FORMATS}: {shown(text)}: there is nothing to write; allowed: e.g. otf2,perfetto")
    if NO_FORMATS in names:
        raise InputError(f"{TRACE_FORMATS}: {shown(text)}: {NO_FORMATS} cannot be combined with formats")
    return names


def part_of(window: str | None, cores: str | None, jobs: str | None, words: JobWords) -> Excerpt:
    """A part of a run; None selects all, and ``words`` reads names of jobs. Raises InputError if an argument is not allowed."""
    return Excerpt(
        None if window is None else window_ns(window, str(TRACE_WINDOW)),
        None if cores is None else _intervals(cores, str(TRACE_CORES)),
        None if jobs is None else tuple(words.intervals(jobs, str(PART_JOBS))),
        jobs or "",
    )


def _intervals(text: str, where: str) -> tuple[tuple[int, int], ...]:
    found = tuple(parse_intervals(text, where))
    if not found:
        raise InputError(f"{where}: {shown(text)} names none; allowed: e.g. 0-63 128")
    return found


def window_ns(text: str, where: str) -> tuple[int, int]:
    """A window of time: ``2h..3h``, ``2h+90s``, ``2h..`` or ``..3h``; a bare number is seconds. Raises InputError."""
    begin, dots, end = text.partition("..")
    if dots:
        since = parse_instant_ns(begin, where) if begin.strip() else 0
        until = parse_instant_ns(end, where) if end.strip() else MAX_NS
    else:
        begin, plus, length = text.partition("+")
        if not plus:
            raise InputError(f"{where}: {shown(text)} is not a window; allowed: e.g. 2h..3h, 2h+90s, 2h.. or ..3h")
        since = parse_instant_ns(begin, where)
        until = min(since + parse_duration_ns(length, where), MAX_NS)
    if until <= since:
        raise InputError(f"{where}: {shown(text)} ends before it begins; allowed: e.g. 2h..3h")
    return since, until


def technique_labels(als: str, columns: Mapping[str, Any], rows: int) -> tuple[tuple[str, ...], Array]:
    """Labels of jobs in a trace, and the index of each row's label (int32): its application, the technique that a selection
    chose, else the technique. ``columns``: of the table of jobs."""
    applications, chosen = columns.get("application"), columns.get("chosen")
    place: dict[str, int] = {}
    which = np.zeros(rows, np.int32)
    if applications is None and chosen is None:
        return (als,), which
    for row in range(rows):
        application = "default" if applications is None else applications[row]
        label = als if application == "default" else f"application {application}"
        if chosen is not None and chosen[row]:
            label = chosen[row] if application == "default" else f"{label}: {chosen[row]}"
        which[row] = place.setdefault(label, len(place))
    return tuple(place), which
