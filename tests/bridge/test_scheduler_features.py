"""Whatever a run may have, a scheduler of the user receives it, and can repeat what the own engine does."""

import json
import re
import shlex
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from batch_features import BATCH_FEATURES, BatchFeature
from directing import changed_toy
from hypothesis import given, settings
from hypothesis import strategies as st
from test_scheduler_runs import rows_of_jobs

import bridge
from bls import ConstraintOptions, Rules, SeenJob, View
from bls.engine.features.releases.records import ReleaseRecords
from bls.machine.platform import HostGroup, Platform
from bls.running_jobs import moment_of
from bls.seen.news import CoresReleased, HostChanged, JobEligible, JobEnded, JobExpected, JobStarted, JobSubmitted
from bls.workloads.workload import Workload
from traces.checks.ledger import check_ledger
from traces.ledger import STATES

pytestmark = pytest.mark.whole

HERE = Path(__file__).parent

#: Not those that need the head of the queue, which a policy that decides itself has none of.
FEATURES = {
    name: feature
    for name, feature in BATCH_FEATURES.items()
    if not {"hints", "widths", "evolving"} & set(re.split("[^a-z]+", name))
}

#: By number and attempt, the instant at which a start is decided, and the cores; and when to decide even if nothing happens.
Schedule = tuple[dict[str, tuple[int, list[list[int]]]], list[int]]


def noting_decisions(feature: BatchFeature) -> BatchFeature:
    rules = replace(feature.options.get("rules", Rules()), keep_decisions=True)
    if "backfill" in feature.options:
        rules = replace(rules, backfill=feature.options["backfill"])
    options = {name: value for name, value in feature.options.items() if name != "backfill"}
    return replace(feature, options=options | {"rules": rules})


def decided_by(feature: BatchFeature, **who: Any) -> BatchFeature:
    """The same run, with somebody else who decides."""
    options = {name: value for name, value in feature.options.items() if name not in ("bls", "backfill")}
    options["rules"] = replace(options.get("rules", Rules()), backfill="none")
    return replace(feature, options=options | who)


def schedule_of(result: bridge.Result) -> Schedule:
    """Decisions with their instants, without jobs running from the beginning.

    Where deciding takes time, a job starts later than that: when the scheduler is done, or at the instant at which it is cut
    before. In between there is no other decision.
    """
    jobs, decisions = result.ledger.jobs, result.decisions
    rules = result.scenario.options.batch
    side: Literal["left", "right"] = "left" if rules.charges_decisions else "right"
    passes = decisions.now_ns.to_numpy()
    starting = passes[decisions.started.to_numpy() > 0]
    # Where a decision takes time it delays others: then those are made, too, for which only the one who decides has a reason,
    # as the instant of a reservation or one that a policy in Python requests.
    wakes = passes if rules.charges_decisions else starting
    preset = result.scenario.workload.preset
    found = {}
    for row, start in enumerate(jobs.start_ns.tolist()):
        if start >= 0 and not (row < len(preset) and preset[row]):
            span = slice(int(jobs.allocation_first[row]), int(jobs.allocation_first[row + 1]))
            cores = [
                list(pair)
                for pair in zip(jobs.allocation_lo[span].tolist(), jobs.allocation_hi[span].tolist(), strict=True)
            ]
            decided = int(starting[np.searchsorted(starting, start, side) - 1])
            found[f"{jobs.job_id[row]}/{jobs.attempt[row]}"] = (decided, cores)
    return found, wakes.tolist()


def assert_same_but_why(result: bridge.Result, reference: bridge.Result) -> None:
    """The tables that there are; only the reason of a start is another's."""
    mine, theirs = (one.jobs.drop(columns="why") for one in (result, reference))
    assert list(mine.columns) == list(theirs.columns)
    for name in mine.columns:
        assert mine[name].equals(theirs[name]), name
    if result.scenario.technique is not None:
        assert result.tasks.equals(reference.tasks)


def replayed(feature: BatchFeature, folder: Path, coupling: str) -> None:
    feature = noting_decisions(feature)
    reference = feature.simulated(folder)
    feature.check(reference)
    plan = folder / "schedule.json"
    plan.write_text(json.dumps(schedule_of(reference)))
    command = shlex.join([sys.executable, str(HERE / "replaying_scheduler.py"), str(plan)])
    more = {} if coupling == "inline" else {"workers": 2}
    result = decided_by(feature, bls_command=command).simulated(folder, coupling=coupling, **more)
    assert_same_but_why(result, reference)
    if reference.scenario.options.batch.charges_decisions:
        assert result.decisions.drop(columns="decision_ns").equals(reference.decisions.drop(columns="decision_ns"))
    jobs = reference.ledger.jobs
    names = [f"{number}/{attempt}" for number, attempt in zip(jobs.job_id.tolist(), jobs.attempt.tolist(), strict=True)]
    shown = json.loads(plan.with_suffix(".ends").read_text())
    assert shown == dict(zip(names, [STATES[state] for state in jobs.state.tolist()], strict=True))


#: Between them all kinds of messages; a policy in Python receives the same of the others.
SPOKEN = {
    "inline": ("promises, everything",),
    "pool": ("all", "preset"),
    "process": ("releases by host, failures, kills",),
}


@pytest.mark.parametrize(
    ("name", "coupling"), [(name, coupling) for coupling, names in SPOKEN.items() for name in names]
)
def test_a_scheduler_repeats_a_schedule(name: str, coupling: str, tmp_path: Path) -> None:
    replayed(FEATURES[name], tmp_path, coupling)


GPUS = BatchFeature(
    {"bls": "fcfs", "backfill": "easy"},
    platform=Platform(
        (
            HostGroup(2, 4, 40.0, gpus=2, gpu="a"),
            HostGroup(2, 4, 60.0, gpus=1, gpu="b"),
            HostGroup(1, 4, 60.0),
        )
    ),
    files={
        "requests": "job_id,gpus,gpus_per_host,gpus_per_task,gpu_milli,gpu_kind\n"
        "100,,,1,,\n103,,2,,,\n105,,,1,500,\n110,2,,,,a|b\n112,,,1,,b\n117,,1,,250,a\n124,1,,,,\n"
    },
)
#: What the scheduler receives of these: how many GPUs per unit or host, thousandths, kinds.
REQUESTED = {
    100: (1, "unit", 1000, []),
    103: (2, "host", 1000, []),
    105: (1, "unit", 500, []),
    110: (2, "unit", 1000, []),  # one unit, and both kinds are all kinds
    112: (1, "unit", 1000, ["b"]),
    117: (1, "host", 250, ["a"]),
    124: (1, "unit", 1000, []),
}


def test_a_scheduler_receives_gpus_of_hosts_requests_and_starts(tmp_path: Path) -> None:
    replayed(GPUS, tmp_path, "inline")
    shown = json.loads((tmp_path / "schedule.gpus").read_text())
    asked = {int(name.split("/")[0]): one and tuple(one.values()) for name, (one, _) in shown.items()}
    assert {job: one for job, one in asked.items() if one} == REQUESTED
    ledger = noting_decisions(GPUS).simulated(tmp_path).ledger
    assert ledger.gpus is not None
    assert len(ledger.gpus) >= len(REQUESTED)
    for row, job in enumerate(ledger.jobs.job_id.tolist()):
        held = slice(*ledger.gpus.first[row : row + 2])
        milli = REQUESTED.get(job, (0, "", 1000, []))[2]
        times = ledger.gpus.milli[held] // milli
        given = shown[f"{job}/{ledger.jobs.attempt[row]}"][1] or []  # some never start
        assert given == np.repeat(ledger.gpus.gpu[held], times).tolist()


def test_a_scheduler_receives_what_is_left_of_gpus(tmp_path: Path) -> None:
    """Job 1 has both GPUs of host 0, and job 2 from 1 to 3 s a quarter of one of host 1, which is down from 5 to 15 s."""
    (tmp_path / "gpus.csv").write_text("job_id,gpus_per_task,gpu_milli\n1,1,\n2,1,250\n")
    (tmp_path / "fails.csv").write_text("host,down_s,up_s\n1,5,15\n")
    shown = tmp_path / "left"
    note = f"""def decide():
    with open({str(shown)!r}, "a") as file:
        print(message["now_ns"] // 10**9, *struct.unpack("<4i", message["free_gpus"]), file=file)
"""
    jobs = [(1, 0, 20, 2, 20), (2, 1, 2, 1, 2), (3, 2, 1, 1, 1), (4, 6, 1, 1, 1)]
    given = ConstraintOptions(requests=str(tmp_path / "gpus.csv"), failures=str(tmp_path / "fails.csv"))
    machine, command = Platform((HostGroup(2, 2, 4.0, gpus=2),)), changed_toy(tmp_path, {"def decide():\n": note})
    bridge.simulate(Workload.from_jobs(jobs), machine, bls_command=command, als="recorded", constraints=given)
    left = {}
    for line in shown.read_text().splitlines():
        second, *gpus = map(int, line.split())
        left.setdefault(second, gpus)
    expected = {0: [1000] * 4, 1: [0, 0, 1000, 1000], 2: [0, 0, 750, 1000], 6: [0, 0, 0, 0], 15: [0, 0, 1000, 1000]}
    assert left == left | expected


class Bookkeeper:
    """Repeats a schedule, and compares its messages with what it sees, in every decision and at the end."""

    name = "bookkeeper"

    def __init__(self, plan: Schedule, n_cores: int) -> None:
        self._plan, self._wakes = plan
        self._free = set(range(n_cores))
        self._waiting: dict[int, SeenJob] = {}
        self._held: dict[int, SeenJob] = {}
        self._running: dict[int, set[int]] = {}
        self._down: set[int] = set()
        self.kinds: set[type] = set()
        self.finished = 0

    def decide(self, view: View) -> Iterable[tuple[SeenJob, list[int]]]:
        self._hear(view)
        later = [instant for instant in self._wakes if instant > view.now_ns]
        if later:
            view.wake_at(min(later))
        for job in view.waiting:
            decided, cores = self._plan.get(f"{job.job_id}/{job.attempt}", (-1, []))
            if decided == view.now_ns:
                yield job, [core for lo, hi in cores for core in range(lo, hi)]

    def finish(self, view: View) -> None:
        self.finished += 1
        self._hear(view)
        assert not self._waiting
        assert not self._running
        assert not self._held

    def _hear(self, view: View) -> None:
        for one in view.news():
            self.kinds.add(type(one))
            self._note(one)
        assert view.news() == []
        assert list(self._waiting) == [job.row for job in view.waiting] or set(self._waiting) == {
            job.row for job in view.waiting
        }
        assert self._running.keys() == {job.row for job in view.running}
        for job in view.running:
            assert self._running[job.row] == {core for lo, hi in view.allocation(job) for core in range(lo, hi)}
        assert self._down == set(view.down)
        moment, held = moment_of(view._run), {job.row: set[int]() for job in view.running}
        for row, lo, hi in zip(moment.holder.tolist(), moment.lo.tolist(), moment.hi.tolist(), strict=True):
            held[row] |= set(range(lo, hi))
        assert held == self._running
        assert set(moment.down.tolist()) == self._down
        assert (moment.now_ns, moment.waiting) == (view.now_ns, len(self._waiting))
        free = {core for host in view.hosts for core in host.free_cores}
        assert free <= self._free

    def _note(self, one: Any) -> None:
        if isinstance(one, JobSubmitted):
            (self._held if one.job.eligible_ns < 0 else self._waiting)[one.job.row] = one.job
        elif isinstance(one, JobEligible):
            self._waiting[one.job.row] = self._held.pop(one.job.row)
        elif isinstance(one, JobStarted):
            self._waiting.pop(one.job.row)
            cores = {core for lo, hi in one.cores for core in range(lo, hi)}
            assert cores <= self._free
            self._running[one.job.row], self._free = cores, self._free - cores
        elif isinstance(one, JobExpected):
            raise AssertionError("nobody promises anything else later")
        elif isinstance(one, CoresReleased):
            gone = {core for lo, hi in one.cores for core in range(lo, hi)}
            assert gone < self._running[one.job.row]
            self._running[one.job.row] -= gone
            self._free |= gone
        elif isinstance(one, JobEnded):
            self._waiting.pop(one.job.row, None)
            self._held.pop(one.job.row, None)
            self._free |= self._running.pop(one.job.row, set())
        else:
            assert isinstance(one, HostChanged)
            (self._down.add if one.is_down else self._down.discard)(one.host)


@pytest.mark.parametrize("name", FEATURES)
def test_a_policy_in_python_receives_all_that_it_sees(name: str, tmp_path: Path) -> None:
    feature = noting_decisions(FEATURES[name])
    reference = feature.simulated(tmp_path)
    keeper = Bookkeeper(schedule_of(reference), feature.platform.n_cores)
    result = decided_by(feature, bls=keeper).simulated(tmp_path)
    assert_same_but_why(result, reference)
    assert keeper.finished == 1
    expected: set[type] = {JobSubmitted, JobStarted, JobEnded}
    if "failures" in feature.files or "windows" in feature.files:
        expected.add(HostChanged)
    if reference.ledger.of(ReleaseRecords) is not None:
        expected.add(CoresReleased)
    if feature.options.get("dependencies"):
        expected.add(JobEligible)
    assert keeper.kinds == expected


EASY = shlex.join([sys.executable, str(HERE / "easy_scheduler.py")])
SMALL = Platform((HostGroup(1, 4, 4.0), HostGroup(1, 2, 2.0)))


def of_rows(rows: list[tuple[int, int, int, int]]) -> Workload:
    return Workload.from_jobs([(k, q, p, n, r) for k, (q, p, n, r) in enumerate(rows)])


PROMISED = {"variation": 0.5, "tasks_per_core": 3}
GIVEN: dict[str, dict[str, Any]] = {
    "requested": {"als": "recorded"},
    "requested, killed": {"als": "recorded", "rules": Rules(kill_at_walltime=True)},
    "recorded": {"als": "recorded", "rules": Rules(estimates="application")},
    "requested, simulated": {"als": "gss", "variation": 0.4, "tasks_per_core": 3},
    "simulated": {"als": "gss", **PROMISED, "rules": Rules(estimates="application")},
    "killed": {"als": "ss", **PROMISED, "rules": Rules(estimates="application", kill_at_walltime=True)},
    "released": {"als": "static", **PROMISED, "rules": Rules(estimates="application", coordination="release")},
}


def as_easy(rows: list[tuple[int, int, int, int]], how: str, **more: Any) -> None:
    """EASY as a scheduler, planning with what was requested, or with what running applications promise, is EASY."""
    given = {"rules": Rules()} | GIVEN[how]
    by_scheduler = bridge.simulate(of_rows(rows), SMALL, seed=5, bls_command=EASY, **given, **more)
    given["rules"] = replace(given["rules"], backfill="easy")
    assert_same_but_why(by_scheduler, bridge.simulate(of_rows(rows), SMALL, seed=5, **given))
    check_ledger(by_scheduler.ledger)


@settings(max_examples=80)
@given(rows=rows_of_jobs, how=st.sampled_from(list(GIVEN)))
def test_easy_as_a_scheduler_is_easy(rows: list[tuple[int, int, int, int]], how: str) -> None:
    """Jobs end before their estimates, and after; at one instant, and not."""
    as_easy(rows, how)


@settings(max_examples=12)
@given(rows=rows_of_jobs, coupling=st.sampled_from(["pool", "process"]), how=st.sampled_from(list(GIVEN)[3:]))
def test_it_is_received_in_every_coupling(rows: list[tuple[int, int, int, int]], coupling: str, how: str) -> None:
    """Where the end of a job is known only when its process reports it, and the scheduler is asked meanwhile."""
    as_easy(rows, how, coupling=coupling, workers=2)
