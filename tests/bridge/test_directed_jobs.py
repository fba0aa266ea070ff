"""Policies that reach running jobs, scale the speeds of their cores and end them: both ways inline, in processes, by hand."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from directors import Director
from test_reaching import PLATFORM, drawn, jobs

import bridge
from als.techniques.contract import Technique
from bls import Rules
from bls.workloads.workload import Workload
from bridge.scenarios.application_level import ApplicationLevel
from traces.base.errors import InputError, PluginError
from traces.checks.ledger import check_ledger
from traces.ledger_tables import SCALES

S = 10**9


def scenario(seed: int) -> tuple[Workload, dict[str, Any]]:
    """A workload, and what a director does to it; whatever else may happen, too."""
    chance, options = random.Random(-seed - 7), drawn(seed)
    options["rules"] = Rules(
        coordination=chance.choice(("none", "none", "release", "release:host")),
        kill_at_walltime=options["rules"].kill_at_walltime,
        max_attempts=1000,
    )
    options["bls"] = Director(seed, 0.9 if chance.random() < 0.3 else 0.4)
    return jobs(random.Random(~seed), 24), options


def tables(result: bridge.Result) -> list[pd.DataFrame]:
    """What came of it."""
    check_ledger(result.ledger)
    found = [result.jobs, result.scales]
    found += [result.releases] if result.ledger.releases is not None else []
    return found + ([result.tasks] if result.ledger.tasks is not None else [])


def assert_same(one: bridge.Result, other: bridge.Result) -> None:
    for mine, theirs in zip(tables(one), tables(other), strict=True):
        pd.testing.assert_frame_equal(mine, theirs, check_exact=True)


@pytest.mark.parametrize("part", range(4))
def test_in_place_or_simulated_again_it_is_the_same(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled = 0
    for seed in range(part, 20, 4):
        workload, options = scenario(seed)
        kept = bridge.simulate(workload, PLATFORM, **options)
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_same(kept, bridge.simulate(workload, PLATFORM, **options))
        scaled += len(kept.scales)
    assert scaled > 300


@pytest.mark.parametrize(("seed", "coupling"), [(0, "pool"), (1, "pool"), (2, "process"), (5, "pool")])
def test_in_every_coupling(seed: int, coupling: str) -> None:
    workload, options = scenario(seed)
    reference = bridge.simulate(workload, PLATFORM, **options)
    assert_same(reference, bridge.simulate(workload, PLATFORM, coupling=coupling, workers=2, **options))
    assert len(reference.scales) > 20


class Steps:
    """First come, first served; all that runs is scaled every few minutes, now and then by very much."""

    name, directs = "steps", ("speeds",)

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def decide(self, view: Any) -> Iterator[Any]:
        chance, free = random.Random(f"{self.seed} {view.now_ns}"), view.free_cores
        for job in view.waiting:
            if job.cores > free:
                break
            free -= job.cores
            yield job
        view.scale(view.running, chance.choice((1.0, 0.75, 0.7, 0.6, 0.6, 0.001)))
        if view.n_running:
            view.wake_after(chance.choice((1, 50, 1000, S // 10, 7 * S)) + chance.randrange(1000))


@pytest.mark.parametrize("als", ["static", "gss", "fac"])
def test_many_tasks_of_a_chunk_are_rounded_each(als: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a chunk of hundreds of equal tasks is known but for as many ns: no end is promised too late."""
    for seed in range(6):
        chance = random.Random(seed)
        rows = [(k + 1, chance.randrange(40), 5, chance.choice((1, 2, 3, 8)), 60) for k in range(12)]
        said: dict[str, Any] = {"als": als, "tasks_per_core": chance.choice((97, 300)), "keep_tasks": True}
        said |= {"variation": chance.choice((0.0, 0.0, 0.3))}
        kept = bridge.simulate(Workload.from_jobs(rows), PLATFORM, bls=Steps(seed), **said)
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_same(kept, bridge.simulate(Workload.from_jobs(rows), PLATFORM, bls=Steps(seed), **said))
        assert len(kept.scales) > 40


@pytest.mark.parametrize("als", ["heft", "ss"])
def test_task_graphs_are_scaled_too(als: str, tmp_path: Path) -> None:
    applications = tmp_path / "graphs.toml"
    applications.write_text(f'[default]\nals = "{als}"\ngraph = "cholesky:tiles=3,ccr=0.2"\n')
    workload = jobs(random.Random(4), 12)
    said: dict[str, Any] = {"als": "ss", "variation": 0.3, "rules": Rules(max_attempts=100)}
    said["level"] = ApplicationLevel(applications=str(applications), network="hockney")
    reference = bridge.simulate(workload, PLATFORM, bls=Director(5), **said)
    assert_same(reference, bridge.simulate(workload, PLATFORM, bls=Director(5), coupling="pool", workers=2, **said))
    assert len(reference.scales) > 10


class AtItsStart:
    """Starts what fits, at half its speed; a first attempt that is a second old is queued again."""

    name, directs = "at-its-start", ("speeds", "ends")

    def decide(self, view: Any) -> Iterator[Any]:
        for job in [*view.running, *view.waiting]:
            view.scale(job, 0.5)
        yield from view.waiting
        for job in view.running:
            if job.attempt == 0 and view.now_ns >= job.start_ns + S:
                view.requeue(job)
        if view.n_running or view.n_waiting:
            view.wake_after(S)


def test_what_is_released_as_a_job_starts_may_be_taken_back_there_and_then(tmp_path: Path) -> None:
    """Five cores have nothing to do, and are released at the instant at which their job starts, and is scaled."""
    applications = tmp_path / "three.toml"
    applications.write_text('[default]\nphases = [{ kind = "loop", tasks = 3 }]\n')
    result = bridge.simulate(
        Workload.from_jobs([(7, 0, 10, 8, 100)]),
        PLATFORM,
        bls=AtItsStart(),
        als="ss",
        level=ApplicationLevel(applications=applications),
        rules=Rules(coordination="release"),
    )
    check_ledger(result.ledger)
    assert (result.releases.released_ns == result.jobs.start_ns.iloc[0]).sum() == 5
    assert result.jobs.state.tolist() == ["requeued", "completed"]


def replayed_end(start: int, run: int, events: list[tuple[int, float | str]]) -> int:
    """When a job that is only replayed ends, by exact fractions."""
    left, scale, since = Fraction(run) * S, S, start
    end = start + run
    for at, what in events:
        if isinstance(what, str):
            return at + 1
        left -= (at - since) * scale
        since, scale = at, round(what * S)
        end = at + max(1, round(left / scale))
    return end


def test_recorded_run_times_stretch_exactly() -> None:
    events = 0
    for seed in range(60):
        workload, director = jobs(random.Random(seed), 15), Director(seed, whole=True)
        result = bridge.simulate(workload, PLATFORM, bls=director, als="recorded", rules=Rules(max_attempts=1000))
        check_ledger(result.ledger)
        run_ns = dict(zip(workload.job_id.tolist(), workload.run_ns.tolist(), strict=True))
        for row in result.jobs.itertuples():
            mine = [
                (at, what) for at, job, attempt, what in director.done if (job, attempt) == (row.job_id, row.attempt)
            ]
            assert row.end_ns == replayed_end(row.start_ns, run_ns[row.job_id], mine), (seed, row.job_id)
            events += len(mine)
    assert events > 1000


class Halves:
    """Starts what fits; at 4 s the one job that runs goes at half its speed, for 8 s."""

    name, directs = "halves", ("speeds",)

    def decide(self, view: Any) -> Iterator[Any]:
        yield from view.waiting
        for instant, factor in ((4 * S, 0.5), (12 * S, 1.0)):
            if view.now_ns == instant:
                for job in view.running:
                    view.scale(job, factor)
            elif view.now_ns < instant:
                view.wake_at(instant)


@pytest.mark.parametrize("als", ["ss", "recorded"])
def test_by_hand(als: str) -> None:
    """Two cores have ten tasks of 2 s, or run for 10 s. At 4 s each has done two; two more take 4 s; the last begin at 12."""
    workload = Workload.from_jobs([(7, 0, 10, 2, 100)])
    more: dict[str, Any] = {} if als == "recorded" else {"tasks_per_core": 5}
    result = bridge.simulate(workload, PLATFORM, bls=Halves(), als=als, **more)
    assert result.jobs.end_ns.tolist() == [14 * S]
    assert result.scales.to_dict("list") == {
        "row": [0, 0],
        "job_id": [7, 7],
        "attempt": [0, 0],
        "told_ns": [4 * S, 12 * S],
        "core": [-1, -1],
        "factor": [0.5, 1.0],
    }
    assert "from here on all of its cores run at 0.5 times their own speed" in result.story(7)


class Ends:
    """Starts what fits; at 3 s it ends all that runs, the first time."""

    name, directs = "ends", ("ends",)

    def __init__(self, how: str) -> None:
        self.how = how

    def decide(self, view: Any) -> Iterator[Any]:
        yield from view.waiting
        if view.now_ns < 3 * S:
            view.wake_at(3 * S)
        for job in view.running if view.now_ns == 3 * S else ():
            getattr(view, self.how)(job)


@pytest.mark.parametrize("als", ["ss", "recorded"])
@pytest.mark.parametrize(("how", "state"), [("cancel", "cancelled"), ("requeue", "requeued")])
def test_jobs_are_ended(how: str, state: str, als: str) -> None:
    """One ns later; one that is queued again begins anew there and then."""
    result = bridge.simulate(Workload.from_jobs([(7, 0, 10, 2, 100)]), PLATFORM, bls=Ends(how), als=als)
    check_ledger(result.ledger)
    again = [10 * S + 3 * S + 1] if how == "requeue" else []
    assert result.jobs.end_ns.tolist() == [3 * S + 1, *again]
    assert result.jobs.state.tolist() == [state, *(["completed"] if again else [])]
    assert result.jobs.cut_because.tolist() == ["the batch policy ended it", *([""] if again else [])]
    words = (
        "was cut: the batch policy ended it; put back into the queue" if again else "was cancelled: the batch policy"
    )
    assert words in result.story(7)


class Does:
    """Does something of which the engine is to say that it cannot be."""

    name, directs = "does", ("speeds", "ends")

    def __init__(self, what: Any, **said: Any) -> None:
        self.what = what
        self.__dict__ |= said

    def decide(self, view: Any) -> Iterator[Any]:
        yield from [job for job in view.waiting if job.job_id != 8]
        view.wake_after(S)
        for job in view.running:
            self.what(view, job)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            Does(lambda view, job: view.scale(job, 3)),
            r"scale\(\) of job 7: factor: 3 is out of range; allowed: 0.001 to 2$",
        ),
        (
            Does(lambda view, job: view.scale(job, 1, [0, 5])),
            r"scale\(\) of job 7: core 5; allowed: cores that it holds$",
        ),
        (Does(lambda view, job: [view.scale(job, 1), view.scale(job, 1)]), "all of its cores twice in one pass$"),
        (Does(lambda view, job: [view.scale(job, 1, [1, 1])]), "core 1 twice in one pass$"),
        (Does(lambda view, job: [view.cancel(job), view.requeue(job)]), "job 7 is ended twice in one pass; allowed: "),
        (
            Does(lambda view, job: view.scale(job, 1, 3)),
            r"scale\(\) of job 7: cores: 3; allowed: numbers of cores, as \[3, 4\]$",
        ),
        (
            Does(lambda view, job: view.scale([job], 1, [0])),
            r"scale\(\) of several jobs: cores; allowed: none, all of ",
        ),
        (
            Does(lambda view, job: [view.scale(job, 1, [0]), view.scale(job, 1)]),
            "all of its cores behind some of them in one pass; allowed: all first$",
        ),
        (Does(lambda view, job: view.cancel(7)), r"cancel\(\) was given 7; allowed: jobs of view.running"),
        (
            Does(lambda view, job: view.scale(next(iter(view.waiting)), 1)),
            "directs job 8, which does not run, and which it ",
        ),
        (
            Does(lambda view, job: view.scale(job, 1), directs=("ends",)),
            r"scale\(\) is for a batch policy whose directs has ",
        ),
        (Does(None, directs=("power",)), "batch policy does: directs: 'power'; allowed: one of 'speeds', 'ends', 'wid"),
        (Does(None, directs=5), "batch policy does: directs: 5; allowed: one of 'speeds', "),
    ],
)
def test_what_cannot_be(policy: Any, message: str) -> None:
    workload = Workload.from_jobs([(7, 0, 10, 2, 100), (8, 0, 10, 2, 100)])
    with pytest.raises(PluginError, match=message):
        bridge.simulate(workload, PLATFORM, bls=policy, als="ss")


def test_what_it_cannot_be_combined_with() -> None:
    workload = Workload.from_jobs([(7, 0, 10, 2, 100)])
    with pytest.raises(
        InputError, match="charge_decisions=True: batch policy halves directs running jobs, which takes no time"
    ):
        bridge.simulate(workload, PLATFORM, bls=Halves(), rules=Rules(charge_decisions=True))
    with pytest.raises(
        InputError, match=r"estimates=.application.: batch policy halves directs running jobs, and what these"
    ):
        bridge.simulate(workload, PLATFORM, bls=Halves(), rules=Rules(estimates="application"))
    with pytest.raises(
        PluginError, match=r"scale\(\) of job 7: cores; allowed: all of its cores, as it is only replayed"
    ):
        bridge.simulate(workload, PLATFORM, bls=Does(lambda view, job: view.scale(job, 1, [0])), als="recorded")


class Turns:
    """First come, first served; whatever runs is scaled by one of three factors, by the number of the decision."""

    name, directs = "turns", ("speeds",)

    def __init__(self) -> None:
        self.decision = 0

    def decide(self, view: Any) -> Iterator[Any]:
        self.decision += 1
        free = view.free_cores
        for job in view.waiting:
            if job.cores > free:
                break
            free -= job.cores
            yield job
        for job in view.running:
            view.scale(job, (0.5, 1.0, 0.75)[(job.row + self.decision) % 3])


@pytest.mark.parametrize("coupling", ["inline", "pool"])
def test_another_program_scales(coupling: str, tmp_path: Path) -> None:
    """The toy in Python, which scales like a policy in Python, has the tables of that."""
    toy = (Path(__file__).parent / "toy_scheduler.py").read_text()
    scales = '[{"job": j, "factor": (0.5, 1.0, 0.75)[(j + message["decision"]) % 3], "cores": None} for j in running]'
    (tmp_path / "scales.py").write_text(
        toy.replace('"scale": []', f'"scale": {scales}').replace("directs=[]", 'directs=["speeds"]')
    )
    workload = jobs(random.Random(9), 20)
    said: dict[str, Any] = {"als": "gss", "variation": 0.3, "tasks_per_core": 3}
    reference = bridge.simulate(workload, PLATFORM, bls=Turns(), **said)
    command = f"{sys.executable} {tmp_path / 'scales.py'}"
    assert_same(reference, bridge.simulate(workload, PLATFORM, bls_command=command, coupling=coupling, **said))
    assert len(reference.scales) > 30


def test_the_table_is_written_and_read(tmp_path: Path) -> None:
    result = bridge.simulate(*scenario(3)[:1], PLATFORM, **scenario(3)[1])

    SCALES.write(result.ledger, tmp_path / "scales.parquet")
    found = SCALES.read(tmp_path / "scales.parquet")
    assert tuple(found.columns) == SCALES.columns
    pd.testing.assert_frame_equal(found, result.scales)
    with pytest.raises(InputError, match="no scaled speeds: neither its policy nor a limit to power directs"):
        _ = bridge.simulate(Workload.from_jobs([(7, 0, 10, 2, 100)]), PLATFORM).scales
