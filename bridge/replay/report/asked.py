"""A report as a command asks for it, and all that is done for one."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bls.workloads.calendar import Calendar
from bridge.couplings import Watch
from bridge.options.declared import BESIDE, RATE, RATES, REPEATS, SIZES
from bridge.replay.chosen import SlurmChoice
from bridge.replay.report.finished import Finished
from bridge.replay.report.measures import median_side
from bridge.replay.report.repeats import Attempt, Plan, attempts
from bridge.replay.report.sides import SLURM, Side, engines, of_result, parse_beside, recorded
from bridge.replay.report.written import SlurmReport, write_report
from bridge.replay.run import Replay
from bridge.runs.simulation import run
from bridge.scenarios.conflicts import REPLAY
from bridge.scenarios.ready import ReadyScenario
from traces.base.conflicts import check
from traces.base.errors import InputError, shown
from traces.base.ranges import parse_real
from traces.compiled import Array


@dataclass(frozen=True)
class ReportRequest:
    """What a report is to have."""

    ways: tuple[tuple[str, str], ...]  # tuple of (str, str), policies and backfilling of our engine
    plan: Plan

    def check(self, scenario: ReadyScenario, known_jobs: Array) -> None:
        """See that it can be done for a scenario, before anything is run; ``known_jobs`` are all numbers of the log's
        jobs. Raises InputError if our engine has no such policy, or there are not so many jobs."""
        if max(self.plan.sizes, default=0) >= (n := len(scenario.workload)):
            raise InputError(f"{SIZES}: there are {n} jobs; allowed: fewer")
        engines(scenario, self.ways, known_jobs)

    def write(
        self,
        scenario: ReadyScenario,
        choice: SlurmChoice,
        done: Replay,
        folder: Path,
        known_jobs: Array,
        watch: Watch,
        tell: Callable[[str], None],
    ) -> None:
        """Run what else is needed, and write the report of a replay into a folder that is not there. Raises
        TwolevelError if an exact repeat fails."""
        ours, first = self._ours(scenario, known_jobs), _first(of_result(SLURM, done.result), scenario, done.cost)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".repeats-") as place:
            found = attempts(
                scenario, choice, self.plan, Path(place), first=first, known_jobs=known_jobs, watch=watch, tell=tell
            )
        self._write(scenario, ours, found, done.cost, folder)

    def write_again(self, scenario: ReadyScenario, finished: Finished, folder: Path, known_jobs: Array) -> None:
        """Write the report of a replay that was made before, into a folder that is not there; Slurm is not needed."""
        first = _first(finished.side, scenario, finished.cost)
        self._write(scenario, self._ours(scenario, known_jobs), [first], finished.cost, folder)

    def _ours(self, scenario: ReadyScenario, known_jobs: Array) -> list[Side]:
        beside = engines(scenario, self.ways, known_jobs)
        return [of_result(label, run(one, keep_tasks=False)) for label, one in beside.items()]

    def _write(
        self, scenario: ReadyScenario, ours: list[Side], found: list[Attempt], cost: Mapping[str, Any], folder: Path
    ) -> None:
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

    def _words(self, scenario: ReadyScenario, cost: Mapping[str, Any], repeats: int) -> tuple[str, ...]:
        cores = scenario.platform.n_cores
        hosts = len(scenario.platform.first_core) - 1
        slurm = f"Slurm {cost['release']}, under a clock that stands still while it computes"
        if repeats > 1:
            slurm += f"; of {repeats} repeats each job has its median start and run time"
        als = scenario.options.names()["als"]
        level = "jobs last as recorded" if als == "recorded" else f"applications are simulated: {als}"
        return (f"{len(scenario.workload):,} jobs, {hosts:,} hosts, {cores:,} cores; {level}", slurm)


def _first(side: Side, scenario: ReadyScenario, cost: Mapping[str, Any]) -> Attempt:
    # The replay itself, beside which there may be repeats.
    elapsed_s = cost["start_s"] + cost["replay_s"]
    return Attempt(0.0, 0, len(scenario.workload), elapsed_s, side.makespan_ns, side=side)


def _numbers(text: str | None, where: str) -> list[str]:
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    if len(set(words)) < len(words):
        raise InputError(f"{where}: {shown(text)} has one twice; allowed: each once")
    return words


def given_plan(
    report: bool,
    beside_: str,
    repeats: int,
    rates: str | None,
    sizes: str | None,
    rate: float,
    phase: float | None = None,
    *,
    only: bool = False,
) -> ReportRequest | None:
    """What is asked for; None without a report. ``only``: of a replay that is there already. Raises InputError if one
    is out of its range, or there without ``--report``, or two cannot be together."""
    report = report or only
    asked = {
        "report": report,
        "report_only": only,
        "beside": beside_,
        "repeats": repeats,
        "rates": rates,
        "sizes": sizes,
    }
    check(REPLAY, asked | {"rate": rate, "phase": phase})
    if not report:
        return None
    found_rates = []
    for word in _numbers(rates, str(RATES)):
        try:
            found_rates.append(RATE.check(parse_real(word), str(RATES)))
        except ValueError:
            raise InputError(f"{RATES}: {shown(word)}; allowed: numbers, as 10,30,100") from None
        if not found_rates[-1]:
            raise InputError(f"{RATES}: 0 is no clock that runs; allowed: above 0")
    found_sizes = []
    for word in _numbers(sizes, str(SIZES)):
        if not re.fullmatch("[0-9]{1,18}", word) or not int(word):
            raise InputError(f"{SIZES}: {shown(word)}; allowed: numbers of jobs, as 50,100")
        found_sizes.append(int(word))
    plan = Plan(REPEATS.check(repeats), tuple(sorted(found_rates)), tuple(sorted(found_sizes)))
    return ReportRequest(parse_beside(beside_, str(BESIDE)), plan)
