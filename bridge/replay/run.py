"""A whole replay: start slurmctld in a folder, register all nodes, run the workload, write results and record."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bls.engine.status import BatchStatus
from bls.policies.slurm.parameters import LEAD_NS
from bls.workloads.header import Calendar
from bridge.couplings import Applications, nothing_done
from bridge.options.declared import SLURM_SET
from bridge.replay.clock import Clock, ClockPace
from bridge.replay.configuration import Configuration
from bridge.replay.controller import Controller
from bridge.replay.course import Course
from bridge.replay.installed import Slurm, clock_library, requests_program
from bridge.replay.level import SlurmLevel
from bridge.replay.nodes import NodeController
from bridge.replay.submissions import configured, log_words, submissions
from bridge.runs.directory import read_record, write_record
from bridge.runs.record import write_run
from bridge.runs.result import BatchNotes, Result
from bridge.runs.simulation import application_notes, ledger_of
from bridge.runs.stored import slurm_title
from bridge.runs.tracing import TraceRequest
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution, Scenario
from bridge.watches import Watch
from traces.base.errors import InputError
from traces.base.time import NS_PER_S, format_ns
from traces.base.written_file import write_text

if TYPE_CHECKING:
    from bridge.report.page import Page

#: Such as "Invalid SchedulerParameters bf_interval: 0".
_COMPLAINT = re.compile(r"^\[[^]]*\] (?:error: |warning: )?((?:invalid|ignoring) \w*Parameters\b.*)$", re.I | re.M)


def complaints(log: str) -> tuple[str, ...]:
    """Messages of a log about parameters that were not accepted, each once, in order."""
    return tuple(dict.fromkeys(said.strip() for said in _COMPLAINT.findall(log)))


def check_taken(log: Path, found: Configuration) -> tuple[str, ...]:
    """slurmctld's messages so far about a site's parameters that it has not accepted, which are the same on the real machine.
    Raises InputError if a parameter was given by ``--set`` instead of by a site."""
    said = complaints(log.read_text(encoding="utf-8", errors="replace")) if log.is_file() else ()
    if said and not found.site:
        allowed = "values that Slurm accepts, as it would use its default"
        raise InputError(f"{SLURM_SET}: slurmctld reports: {said[0]}; allowed: {allowed}")
    return tuple(f"slurmctld uses a default, as it reports: {one}" for one in said)


_STARTS_S = 5  # with a running clock, additional real time to start up and to register nodes

#: slurmctld does not start before this date: it reads 0 as no date, and cannot represent dates before 1970.
_FIRST_DATE_NS = 86_400 * NS_PER_S
_PAUSE_JOBS = 100  # number of ended jobs between two calls of the watch
KEPT = ("slurm.conf", "topology.conf", "slurmctld.log")  # files of slurmctld's folder that stay


@dataclass(frozen=True)
class ReplayOptions(Scenario):
    """Options of a run in which Slurm decides at the batch level."""

    def names(self) -> dict[str, object]:
        """The same, without options that Slurm's configuration replaces."""
        return super().names() | {"bls": "slurm", "backfill": "slurm", "allocator": "slurm"}


@dataclass(frozen=True)
class Replay:
    """The outcome of a replay."""

    result: Result  # like that of a run
    cost: dict[str, Any]  # for the record
    found: Configuration  # Slurm's configuration
    # remarks: data of the log that could not be used, and a site's parameters that Slurm has not accepted
    notes: tuple[str, ...]

    def report(self) -> Page:
        """The report page (docs/reference/report.md): ``save(path)`` writes it, and a notebook shows it."""
        from bridge.replay.report.page import page_of_replay

        return page_of_replay(self)


def replay(
    scenario: ReadyScenario,
    found: Configuration,
    slurm: Slurm,
    folder: Path,
    *,
    settle_ns: int = 0,
    rate: float = 0.0,
    phase_ns: int | None = None,
    cleanup_ns: int = 0,
    recorded_priorities: bool = False,
    keep_tasks: bool = False,
    watch: Watch,
) -> Replay:
    """Run the workload of a scenario through slurmctld, on the nodes of a configuration, which are its hosts in their order.
    ``slurm.conf`` and ``slurmctld.log`` stay in ``folder``. After an idle time of ``settle_ns`` the date jumps (0: never). The
    clock runs ``rate`` times as fast as real time (0: it stands still while slurmctld computes). A pass of backfilling occurs
    ``phase_ns`` after the first submit; by default Slurm has come to rest before, and checks once a second. Nodes clean up
    for ``cleanup_ns`` after a job. Raises InputError if Slurm does not accept a job or a parameter, or never starts a job; or
    a part in C cannot be built. Raises PeerError if slurmctld dies, hangs or behaves unexpectedly."""
    began_s = time.monotonic()
    folder = folder.absolute()
    workload = scenario.workload
    found = configured(found, scenario)
    asked = submissions(scenario, found, log_words(workload), recorded_priorities=recorded_priorities)
    # The first pass is a cycle after the start-up; the next one a cycle later, if jobs were submitted by then.
    lead_ns = LEAD_NS if phase_ns is None else 2 * found.backfills_ns - phase_ns
    before_ns = int(workload.submit_ns.min()) - lead_ns - round(rate * _STARTS_S) * NS_PER_S
    origin_ns, said = _origin(Calendar.of(workload), before_ns)
    begin_ns = origin_ns + before_ns
    mode = folder.stat().st_mode
    folder.chmod(0o700)
    (folder / "state").mkdir()
    for name, text in found.files(len(workload)).items():
        write_text(folder / name, text)
    libraries = clock_library(folder), requests_program(slurm.release, folder)
    clock = Clock(folder / "clock", libraries[0], begin_ns, rate)
    with closing(NodeController(folder, slurm.version)) as nodes:
        with closing(Controller(folder, slurm, clock, libraries, nodes)) as controller:
            controller.begin()
            check_taken(folder / "slurmctld.log", found)
            course = Course(scenario, controller, found.nodes, ClockPace(origin_ns, settle_ns, cleanup_ns), asked)
            level = SlurmLevel(scenario, course)
            up_s = time.monotonic()
            applications = _run(scenario, level, keep_tasks, watch)
            cost = {
                "release": slurm.release,
                "start_s": up_s - began_s,
                "replay_s": time.monotonic() - up_s,
                "slurmctld_processor_s": controller.processor_s,
                "simulated_s": (level.now_ns - int(workload.submit_ns.min())) / NS_PER_S,
                "wakes": clock.shared.wakes,
                "turns": clock.shared.turns,
                "jumps": course.jumps,
                "messages": sum(nodes.messages.values()),
            }
        course.book.note_reasons((folder / "slurmctld.log").read_text(encoding="utf-8", errors="replace"))
        untaken = check_taken(folder / "slurmctld.log", found)  # some parameters are read only after the clock starts
        _tidy(folder, mode)
    ledger = ledger_of(scenario, level, applications)
    names, depends = workload.names, scenario.constraints.dependencies
    origin = level.column("origin")
    notes = BatchNotes(
        decisions={},
        decision_columns={},
        observations=[],
        downtime=level.downtime(),
        missing_dependencies=0 if depends is None else depends.missing,
        names=[names.get(number, "") for number in workload.application[origin].tolist()] if names else None,
    )
    spent = {"name": "slurm", "simulation_s": cost["replay_s"], **applications.cost}
    known = application_notes(scenario, origin, applications, ledger)
    return Replay(Result(scenario, ledger, spent, notes, known), cost, found, (*said, *asked.notes, *untaken))


def _origin(calendar: Calendar, before_ns: int) -> tuple[int, tuple[str, ...]]:
    # The date of time 0, and a remark on it; slurmctld starts this much earlier, if that is negative.
    if calendar.date_ns + before_ns >= _FIRST_DATE_NS:
        return calendar.date_ns, ()
    said = f"the log's date, {calendar.date(0):%Y-%m-%d}, is too early for Slurm; time 0 becomes {Calendar().date(0):%Y-%m-%d}"
    return Calendar().date_ns, (said,)


def _run(scenario: ReadyScenario, level: SlurmLevel, keep_tasks: bool, watch: Watch) -> Applications:
    if scenario.technique is not None:
        from bridge.couplings.processes import run_pool  # not needed for recorded run times

        # An end must be known before Slurm continues: one process is enough.
        return run_pool(scenario, level, keep_tasks=keep_tasks, watch=watch, execution=Execution(workers=1))
    while level.advance(_PAUSE_JOBS) != BatchStatus.DONE:
        watch(level.ended, level.now_ns)
    return nothing_done(scenario, level)


def _tidy(folder: Path, mode: int) -> None:
    # Remove files of slurmctld and its clock; the others get the permissions of results.
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.name in KEPT and path.parent == folder:
            continue
        path.rmdir() if path.is_dir() else path.unlink()
    (folder / "slurmctld.log").chmod((folder / "slurm.conf").stat().st_mode)
    folder.chmod(mode)


def write_replay(
    done: Replay,
    folder: Path,
    arguments: Mapping[str, Any],
    *,
    tasks: bool,
    trace: TraceRequest | bool | None,
    nodes: bool = False,
) -> None:
    """Write the results like those of a run (``bridge.runs.record.write_run``); ``run.json`` also has a key ``replay``."""
    write_run(done.result, folder, arguments, tasks=tasks, trace=trace, nodes=nodes)
    record = read_record(folder)
    record["replay"] = replay_account(done)
    write_record(folder / "run.json", record)


def replay_account(done: Replay) -> dict[str, Any]:
    """The key ``replay`` of its record: its cost, and Slurm's configuration."""
    return {**done.cost, "keys": dict(done.found.keys), "replaced": [*done.found.replaced, *done.notes]}


def replay_rows(done: Replay) -> list[tuple[str, str]]:
    """The main figures of a replay: (name, text)."""
    # As for a run; but Slurm must not be confused with the policy ``slurm``, and backfills and places by its own rules.
    title = slurm_title(done.cost["release"])
    renamed = {"batch × application": f"{title} × {done.result.scenario.options.names()['als']}"}
    rows = [(name, renamed.get(name, text)) for name, text in done.result.summary() if name != "backfilling, allocator"]
    cost = done.cost
    chosen = {key.lower(): value for key, value in done.found.keys.items()}
    plugins = [chosen[key] for key in ("selecttype", "schedulertype", "prioritytype") if key in chosen]
    span = format_ns(round(cost["simulated_s"] * NS_PER_S))
    speed = cost["simulated_s"] / cost["replay_s"]
    jumps = f", {cost['jumps']} jumps" if cost["jumps"] else ""
    return [
        *rows,
        ("Slurm", ", ".join([cost["release"], *plugins])),
        ("replayed", f"{span} in {format_ns(round(cost['replay_s'] * NS_PER_S))}, {speed:,.0f}×{jumps}"),
    ]
