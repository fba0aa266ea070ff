"""The result folder of a run: writing run.json, the tables (also of host states over time) and the trace, and comparing tables
byte for byte with those of another run; one scenario has equal tables in every coupling."""

from __future__ import annotations

import filecmp
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bls.metrics.node_states import HOST_STATES, NO_WINDOWS, core_windows, host_states, host_windows
from bls.metrics.schedule import Allocations
from bls.workloads.workload import Workload
from bridge.options.declared import SAME_AS
from bridge.runs.directory import read_record, write_record
from bridge.runs.library_versions import versions
from bridge.runs.result import Result
from bridge.runs.stored import IDS
from bridge.runs.tracing import TraceRequest
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import InputError
from traces.base.process import give_back_memory, processor_model
from traces.compiled import Array
from traces.holdings import holdings
from traces.ledger import NodeRecords
from traces.ledger_tables import TASKS, TRANSFERS, LedgerTable
from traces.tables import read_rows, write_frame, write_jobs, write_rows

if TYPE_CHECKING:
    import pandas as pd

    from bls.power.accounting import HostPassages
    from bls.power.report import PowerReport
    from bls.stream import ArrivingJobs

#: States of hosts without jobs under power limits, named as in the table of power; by the numbers of ``bls.engine.state``.
POWER_STATES: Final = ("", "out", "stopping", "off", "booting")


def account_of_log(log: Workload | ArrivingJobs, jobs: int) -> dict[str, Any]:
    """The summary of a log for a record; ``jobs`` is the number of simulated jobs."""
    account = {"source": str(log.source), "lines": log.n_lines, "rejects": dict(log.rejects)}
    return account | {"reordered": log.reordered, "clamped": log.clamped, "jobs": jobs}


def _workload_record(workload: Workload) -> dict[str, Any]:
    return {
        **account_of_log(workload, len(workload)),
        **({"waiting": workload.waiting} if workload.waiting else {}),
        **({IDS: True} if workload.ids else {}),
        **({"window": asdict(workload.window)} if workload.window is not None else {}),
    }


def write_run(
    result: Result,
    folder: Path,
    arguments: Mapping[str, Any],
    *,
    tasks: bool,
    trace: TraceRequest | bool | None,
    nodes: bool = False,
) -> list[Path]:
    """Write run.json, tables and traces, by default a complete one in OTF2; return the files to open in ``trace``."""
    scenario = result.scenario
    metrics = dict(result.metrics)  # before the Parquet library takes its memory
    give_back_memory(len(result.ledger.jobs))
    write_jobs(result.ledger, folder / "jobs.parquet", result.further_columns)
    ledger = result.ledger
    of_tasks = [TASKS, *([] if ledger.transfers is None else [TRANSFERS])] if tasks else []
    for table in (*of_tasks, *(LedgerTable(type(events)) for events in ledger.events)):
        table.write(ledger, folder / table.file)
    if result.power is not None:
        for name, columns in result.power.tables.items():
            write_rows(columns, folder / f"{name}.parquet")
    if nodes:
        write_rows(node_columns(result), folder / "nodes.parquet")
    if scenario.options.batch.keep_decisions:
        write_rows(result.notes.decision_columns, folder / "decisions.parquet")
    if scenario.notes:
        write_frame(result.observations, folder / "observations.parquet")
    written: list[Path] = []
    if trace:
        request = TraceRequest() if trace is True else trace
        written = [path.relative_to(folder / "trace") for path in request.write(result.traced, folder / "trace")]
    notes, known = result.application_notes, scenario.options.application.map
    record = run_record(scenario, arguments, _workload_record(scenario.workload), metrics) | {
        "applications": {} if known is None else known.counts(scenario.application),
        "chosen": notes.times_chosen,
        "ahead_chunks": int(notes.ahead_chunks.sum()),
        "decisions": dict(result.notes.decisions),
        "missing_dependencies": result.notes.missing_dependencies,
        "coupling": dict(result.coupling),
    }
    if result.predicted_share is not None:
        record["predicted_share"] = result.predicted_share
    if result.power is not None:
        record["power"] = result.power.record()
    write_record(folder / "run.json", record)
    return written


def run_record(
    scenario: ReadyScenario, arguments: Mapping[str, Any], workload: Mapping[str, Any], metrics: Mapping[str, Any]
) -> dict[str, Any]:
    """The record of a run of the batch level alone, without decision costs; ``workload`` is the summary of the log."""
    machine = scenario.platform.machine()
    shape = {"host_names": list(machine.host_names), "first_core": machine.first_core.tolist()}
    if machine.first_gpu is not None:
        shape["first_gpu"] = machine.first_gpu.tolist()
    return {
        "arguments": dict(arguments) | scenario.options.names(),
        "seed": scenario.model.seed,
        "versions": versions(),
        "processor": processor_model(),
        "platform": scenario.platform.as_dict(),
        "machine": shape,
        "workload": dict(workload),
        "rejects": dict(workload["rejects"]),
        "applications": {},
        "chosen": {},
        "ahead_chunks": 0,
        "metrics": dict(metrics),
        "decisions": {},
        "missing_dependencies": 0,
        "coupling": {},
    }


def node_columns(result: Result) -> dict[str, Any]:
    """Intervals of equal state of each host, ``host, begin_ns, end_ns, state``, and its energies if known; none if nothing
    ran."""
    jobs, first_core, down = result.ledger.jobs, result.ledger.machine.first_core, result.notes.downtime
    begin_ns = int(jobs.submit_ns.min())
    until_ns = max(begin_ns, int(jobs.end_ns.max()))
    windows = result.scenario.constraints.windows
    maintenance = reservations = NO_WINDOWS
    if windows is not None:
        window = np.repeat(np.arange(len(windows)), np.diff(windows.core_first))
        columns = (windows.core_lo, windows.core_hi, windows.begin_ns[window], windows.end_ns[window])
        reserved = windows.is_reservation[window] == 1
        reservations = core_windows(*(column[reserved] for column in columns))
        maintenance = core_windows(*(column[~reserved] for column in columns))
    held = holdings(result.ledger)
    states = host_states(
        host_first=first_core,
        start_ns=held.start_ns,
        end_ns=held.end_ns,
        allocations=Allocations(held.first, held.lo, held.hi),
        begin_ns=begin_ns,
        until_ns=until_ns,
        outages=host_windows(first_core, down.host, down.down_ns, down.up_ns),
        maintenance=maintenance,
        reservations=reservations,
    )
    names = [*HOST_STATES, *POWER_STATES[1:]]
    found = states.host, states.begin_ns, states.end_ns, states.state.astype(np.int64)
    power = result.power
    if power is not None and power.stopped is not None:
        found = _with_stopped(*found, power.stopped, until_ns)
    host, begin, end, state = found
    values = [host, begin, end, np.array(names)[state].tolist()]
    values += [] if power is None else _energies(power, host, begin, end)
    return dict(zip(NodeRecords.columns(), values, strict=False))


def _with_stopped(
    host: Array, begin: Array, end: Array, state: Array, stopped: HostPassages, until_ns: int
) -> tuple[Array, Array, Array, Array]:
    # An idle host that did not stay up has the state that it had then.
    if not len(host):
        return host, begin, end, state
    of, became, since, until = stopped.spans(until_ns)
    some = (became > 0) & (until > since)
    of, became, since, until = of[some], became[some], since[some], until[some]
    # A new interval begins wherever a state or one of these passages begins or ends, within the host's time.
    low, high = int(begin.min()), int(end.max())
    instants = np.concatenate([begin, np.clip(since, low, high), np.clip(until, low, high)])
    cuts = np.stack([np.concatenate([host, of, of]), instants])
    cuts = np.unique(cuts[:, cuts[1] < high], axis=1)
    at_host, at = cuts
    row = _latest(host, begin, at_host, at)
    new = state[row]
    span = _latest(of, since, at_host, at)
    inside = span >= 0
    inside[inside] = at[inside] < until[span[inside]]
    unused = np.isin(new, [HOST_STATES.index("idle"), HOST_STATES.index("reserved")])
    shown = inside & unused
    new[shown] = len(HOST_STATES) - 1 + became[span[shown]]
    another = np.append(True, (at_host[1:] != at_host[:-1]) | (new[1:] != new[:-1]))
    at_host, at, new = at_host[another], at[another], new[another]
    ends = np.append(at[1:], high)
    ends[:-1][at_host[1:] != at_host[:-1]] = high
    return at_host, at, ends, new


def _latest(host: Array, since: Array, at_host: Array, at: Array) -> Array:
    # The place of the last row, by host and instant, that begins no later on the same host; -1 if there is none.
    rank = np.unique(np.concatenate([since, at]), return_inverse=True)[1].reshape(-1)
    width = int(rank.max(initial=0)) + 1
    place = np.searchsorted(host * width + rank[: len(since)], at_host * width + rank[len(since) :], side="right") - 1
    other = place < 0
    other[~other] = host[place[~other]] != at_host[~other]
    found: Array = np.where(other, -1, place)
    return found


def _energies(power: PowerReport, host: Array, begin: Array, end: Array) -> list[Array]:
    from bls.power.accounting import HostIntervals, host_energies  # not needed by most runs

    used = host_energies(power.run, HostIntervals(host, begin, end))
    return [one.joules() for one in (used.total, used.jobs, used.idle_cores, used.base, used.off)]


#: The table that every run has, named first; and the table with measured values, which differ: the cost of deciding, and
#: times that a deciding policy has noted, which are all columns in ns except for the simulated instant.
_JOBS, _DECISIONS, _INSTANT = "jobs.parquet", "decisions.parquet", "now_ns"


@dataclass(frozen=True)
class SameTables:
    """Result of comparing the tables of a run with those of an earlier one."""

    run: Path  # the folder of the earlier one
    # for each table in both, whether its bytes are equal; in ``decisions.parquet`` without measured times
    tables: dict[str, bool]
    # tables that only the run has, or only the earlier one
    only_here: tuple[str, ...]
    only_there: tuple[str, ...]

    @property
    def others(self) -> list[str]:
        """Tables in both that differ."""
        return [name for name, same in self.tables.items() if not same]

    def rows(self) -> list[tuple[str, str]]:
        """Rows for the summary of the run; empty if a table differs."""
        if self.others:
            return []
        words = [f"identical {', '.join(self.tables)}"]
        for where, names in (("here", self.only_here), ("there", self.only_there)):
            if names:
                words.append(f"only {where}, not compared: {', '.join(names)}")
        return [(f"compared with {self.run}", "; ".join(words))]


def check_other(other: Path) -> None:
    """Refuse a folder that is not the result of a run, before another run begins. Raises InputError."""
    read_record(other)
    if not (other / _JOBS).is_file():
        raise InputError(f"{SAME_AS}: {other} has no {_JOBS}")


def note_same(folder: Path, other: Path) -> SameTables:
    """Compare the tables of two runs, and note the outcome in the record of the first."""
    record = read_record(folder)
    here, there = _tables(folder), _tables(other)
    same = SameTables(
        other,
        {name: _same(name, folder, other) for name in here if name in there},
        tuple(name for name in here if name not in there),
        tuple(name for name in there if name not in here),
    )
    noted = {"run": str(other), "tables": same.tables, "only_here": same.only_here, "only_there": same.only_there}
    write_record(folder / "run.json", record | {"same_as": noted})
    return same


def _tables(folder: Path) -> list[str]:
    # Of a complete result only its own files: users may have added others.
    named = read_record(folder).get("files")
    found = sorted(path.name for path in folder.glob("*.parquet") if not isinstance(named, list) or path.name in named)
    return sorted(found, key=lambda name: name != _JOBS)


def _same(name: str, folder: Path, other: Path) -> bool:
    if filecmp.cmp(folder / name, other / name, shallow=False):
        return True
    return name == _DECISIONS and _simulated(folder / name).equals(_simulated(other / name))


def _simulated(path: Path) -> pd.DataFrame:
    frame = read_rows(path)
    return frame.drop(columns=[name for name in frame if str(name).endswith("_ns") and name != _INSTANT])
