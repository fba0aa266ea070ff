"""Reports requested by a command: repeats of the replay, or an earlier replay, and all runs compared with it."""

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bls.workloads.header import Calendar
from bridge.options.declared import BESIDE, FORCE, OUT, RATE, RATES, REPEATS, REPORT, SIZES
from bridge.options.slurm import ReportOptions
from bridge.replay.chosen import SlurmChoice
from bridge.replay.report.sides import SLURM, Side, engines, median_side, of_result, of_table, parse_beside, recorded
from bridge.replay.report.written import LATE, Attempt, SlurmReport, write_report
from bridge.runs.directory import ours_in, put_aside, read_record, remove_files, write_record
from bridge.runs.simulation import run
from bridge.scenarios.conflicts import REPLAY
from bridge.scenarios.ready import ReadyScenario
from bridge.standard_error import on_command_line
from bridge.watches import Watch
from traces.base.errors import InputError, TwolevelError, parse_list, parse_real, shown
from traces.base.given_file import parse_json
from traces.base.options import check
from traces.compiled import Array
from traces.tables import read_jobs

FOLDER = "report"  # the folder of a report within that of a replay
_TABLES = ("tasks_table", "trace")  # options whose values do not matter: they select further tables
Cost = Mapping[str, Any]  # of a replay, as in its record


def finished(folder: Path, scenario: ReadyScenario, arguments: Mapping[str, Any], *, force: bool) -> tuple[Side, Cost]:
    """Schedule and cost of the replay in a folder, which must be that of a scenario; ``arguments`` as in its record. Raises
    InputError if there is none, it was made with other options, or it has a report and ``force`` is off."""
    record = read_record(folder, what="replay")
    if not isinstance(record.get("replay"), dict):
        raise InputError(f"{REPORT:only}: {folder} has a run of our engine; allowed: a replay")
    was, wanted = record["arguments"], parse_json(json.dumps({**arguments, **scenario.options.names()}), "options")
    for key in wanted:
        if key not in _TABLES and was.get(key) != wanted[key]:
            made = f"{key} {shown(was.get(key))}, not {shown(wanted[key])}"
            raise InputError(f"{REPORT:only}: {folder} was made with {made}; allowed: the same options")
    if (had := record["workload"]["jobs"]) != (n := len(scenario.workload)):
        raise InputError(f"{REPORT:only}: {folder} has {had} jobs, the workload now {n}; allowed: the same")
    if (folder / FOLDER).exists() and not force:
        raise InputError(f"{OUT}: {folder / FOLDER} exists; replace it with {FORCE}")
    frame = read_jobs(folder / "jobs.parquet")
    return of_table(SLURM, frame, int(record["metrics"].get("state_killed") or 0)), record["replay"]


def put_report(folder: Path, write: Callable[[Path], None]) -> None:
    """Write a report, and move it into the folder of its replay, whose record then lists it. The files of an older report
    that its record lists are removed; other files with the same names get a ``~`` appended."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{FOLDER}.partial-") as place:
        made = Path(place) / FOLDER
        write(made)
        record = read_record(folder, what="replay")
        old = {name for name in ours_in(folder) if name.startswith(f"{FOLDER}/")}
        if (folder / FOLDER).is_symlink():  # a user's own folder in its place
            put_aside([folder / FOLDER])
        else:
            remove_files(folder, old)
        (folder / FOLDER).mkdir(exist_ok=True)
        files = [name for name in record.get("files", ()) if not name.startswith(f"{FOLDER}/")]
        for path in sorted(made.iterdir()):
            put_aside([folder / FOLDER / path.name])
            shutil.move(path, folder / FOLDER / path.name)
            files.append(f"{FOLDER}/{path.name}")
    write_record(folder / "run.json", record | {"files": sorted(files)})


@dataclass(frozen=True)
class ReportRequest:
    """The contents of a report."""

    ways: tuple[tuple[str, str], ...]  # tuple of (str, str), policies and backfilling of our engine
    repeats: int = 1  # number of repeats, each with its own phase; the first is the replay itself
    rates: tuple[float, ...] = ()  # rates of running clocks
    sizes: tuple[int, ...] = ()  # numbers of first jobs, in addition to all jobs

    def check(self, scenario: ReadyScenario, known_jobs: Array) -> None:
        """Check a scenario before anything is run; ``known_jobs`` are all numbers of the log's jobs. Raises InputError if our
        engine has no such policy, or there are not enough jobs."""
        if max(self.sizes, default=0) >= (n := len(scenario.workload)):
            raise InputError(f"{SIZES}: there are {n} jobs; allowed: fewer")
        engines(scenario, self.ways, known_jobs)

    def write(
        self,
        scenario: ReadyScenario,
        slurm: Side,
        cost: Cost,
        folder: Path,
        known_jobs: Array,
        choice: SlurmChoice | None = None,
        watch: Watch = lambda ended, now_ns: None,
        say: Callable[[str], None] = lambda step: None,
    ) -> None:
        """Write the report of a replay with this schedule and cost into a new folder, after all other runs; ``say`` is called
        with the present step. Without ``choice`` there are no repeats, and Slurm is not needed. Raises TwolevelError if an
        exact repeat fails."""
        scenarios = engines(scenario, self.ways, known_jobs)
        ours = [of_result(label, run(one, keep_tasks=False)) for label, one in scenarios.items()]
        elapsed_s = cost["start_s"] + cost["replay_s"]
        found = [Attempt(0.0, 0, len(scenario.workload), elapsed_s, slurm.makespan_ns, side=slurm)]
        if choice is not None:
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".repeats-") as place:
                self._repeat(scenario, choice, found, Path(place), known_jobs, watch, say)
        workload = scenario.workload
        slurms = [one.side for one in found if one.side is not None and one.jobs == len(workload)]
        side, log = slurms[0], recorded(workload)
        report = SlurmReport(
            name=Path(workload.source).name,
            words=self._words(scenario, cost, len(slurms)),
            sides=(*([log] if log else []), median_side(slurms, SLURM) if len(slurms) > 1 else side, *ours),
            slurms=tuple(slurms),
            attempts=tuple(found),
            n_cores=scenario.platform.n_cores,
            of_day_ns=Calendar.of(workload).of_day_ns,
        )
        write_report(report, folder)

    def _repeat(
        self,
        scenario: ReadyScenario,
        choice: SlurmChoice,
        found: list[Attempt],
        folder: Path,
        known_jobs: Array,
        watch: Watch,
        say: Callable[[str], None],
    ) -> None:
        """Add all repeats to ``found``, which has the exact replay of all jobs. ``folder``: for temporary files."""

        def attempt(part: ReadyScenario, repeat: int, rate: float, exact: Attempt | None) -> Attempt:
            clock = f" under a clock {rate:g} times as fast as real time" if rate else ""
            say(f"repeat {repeat + 1} of {len(part.workload)} jobs{clock}")
            chosen = replace(choice, rate=rate, settle=None) if rate else choice
            own, side, makespan_ns, failure = folder / "repeat", None, None, ""
            own.mkdir()
            began_s = time.monotonic()
            try:
                done = chosen.replay(part, own, repeat=repeat, keep_tasks=False, watch=watch)
                side = of_result(SLURM, done.result)
                makespan_ns = side.makespan_ns
            except TwolevelError as error:
                if not rate:
                    raise
                failure = " ".join(on_command_line(error.text).split())
            finally:
                shutil.rmtree(own, ignore_errors=True)
            if rate and makespan_ns is not None and exact is not None and exact.makespan_ns:
                late = makespan_ns / exact.makespan_ns - 1
                failure = f"{late:.0%} longer than the exact replay" if late > LATE else ""
            elapsed_s = time.monotonic() - began_s
            return Attempt(rate, repeat, len(part.workload), elapsed_s, makespan_ns, failure, None if rate else side)

        for n in self.sizes:
            first_jobs = scenario.workload.take(np.arange(n))
            part = ReadyScenario.of(first_jobs, scenario.platform, scenario.options, known_jobs=known_jobs)
            exact = attempt(part, 0, 0.0, None)
            running = [attempt(part, k, rate, exact) for rate in self.rates for k in range(self.repeats)]
            found += [exact, *running]
        first = found[0]
        found += [attempt(scenario, k, 0.0, None) for k in range(1, self.repeats)]
        found += [attempt(scenario, k, rate, first) for rate in self.rates for k in range(self.repeats)]

    def _words(self, scenario: ReadyScenario, cost: Cost, repeats: int) -> tuple[str, ...]:
        cores = scenario.platform.n_cores
        hosts = len(scenario.platform.first_core) - 1
        slurm = f"Slurm {cost['release']}, with a clock that stands still while it computes"
        if repeats > 1:
            slurm += f"; each job has its median start and run time over {repeats} repeats"
        als = scenario.options.names()["als"]
        level = "jobs last as recorded" if als == "recorded" else f"applications are simulated: {als}"
        return (f"{len(scenario.workload):,} jobs, {hosts:,} hosts, {cores:,} cores; {level}", slurm)


def _numbers(text: str | None, where: str) -> list[str]:
    words = parse_list(text, where) if text else []
    if len(set(words)) < len(words):
        raise InputError(f"{where}: {shown(text)} has a value twice; allowed: each once")
    return words


def given_plan(given: ReportOptions, rate: float, phase: float | None = None, **paper: object) -> ReportRequest | None:
    """The report that options request, for the rate and the phase of the replay; None without a report. ``paper``: how its
    figures are written. Raises InputError if one is out of its range, or lacks the report, or two contradict each other."""
    rates, sizes, repeats = given.rates, given.sizes, given.repeats
    check(REPLAY, asdict(given) | paper | {"rate": rate, "phase": phase})
    if REPORT.check(given.report) == REPORT.default:
        return None
    found_rates = []
    for word in _numbers(rates, str(RATES)):
        try:
            found_rates.append(RATE.check(parse_real(word), str(RATES)))
        except ValueError:
            raise InputError(f"{RATES}: {shown(word)}; allowed: numbers, as 10,30,100") from None
        if not found_rates[-1]:
            raise InputError(f"{RATES}: 0 is not the rate of a running clock; allowed: above 0")
    found_sizes = []
    for word in _numbers(sizes, str(SIZES)):
        if not re.fullmatch("[0-9]{1,18}", word) or not int(word):
            raise InputError(f"{SIZES}: {shown(word)}; allowed: numbers of jobs, as 50,100")
        found_sizes.append(int(word))
    ways, repeats = parse_beside(given.beside, str(BESIDE)), REPEATS.check(repeats)
    return ReportRequest(ways, repeats, tuple(sorted(found_rates)), tuple(sorted(found_sizes)))
