"""Answers of a policy in Python besides starts, and its notifications."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tables import table_rows

import bridge
from bls import ConstraintOptions, Rules, SeenJob, Start, View
from bls.allocators import ALLOCATORS
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES, AnyPolicy
from bls.policies.contract import for_one_run
from bls.seen.news import AnyNews, HostChanged, JobEnded, JobExpected, JobStarted
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from bridge.runs.record import write_rows
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.errors import PluginError
from traces.checks.ledger import check_ledger
from traces.ledger import STATES

S = 10**9
MACHINE = Platform((HostGroup(2, 2, 2.0),))
JOBS = [(1, 0, 10, 2, 10), (2, 0, 10, 3, 10), (3, 1, 10, 2, 10), (4, 2, 10, 4, 10), (5, 2, 5, 1, 5)]


def simulated(order: Any, jobs: list[Any] = JOBS, platform: Platform = MACHINE, **options: Any) -> bridge.Result:
    result = bridge.simulate(Workload.from_jobs(jobs), platform, bls=order, **{"als": "recorded"} | options)
    check_ledger(result.ledger)
    return result


class Counts:
    """Starts what fits in the order of arrival, and counts its decisions in its own state."""

    name = "counts"

    def __init__(self) -> None:
        self.decisions = 0

    def decide(self, view: View) -> Iterator[Any]:
        free = view.free_cores
        self.decisions += 1
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                yield Start(job, because=f"decision {self.decisions}")


def test_a_class_makes_another_policy_for_each_run() -> None:
    """Also where one scenario is run again."""
    scenario = ReadyScenario.of(Workload.from_jobs(JOBS), MACHINE, Scenario.flat(bls=Counts, als="recorded"))  # type: ignore[arg-type]
    first, second = bridge.run(scenario), bridge.run(scenario)
    assert first.jobs.equals(second.jobs)
    assert first.jobs.started_because.tolist()[0] == "decision 1"
    assert first.scenario.policy is not second.scenario.policy
    assert first.scenario.policy.decisions == second.scenario.policy.decisions > 1  # type: ignore[union-attr]


class Maker:
    name = "maker"

    def for_run(self) -> Counts:
        return Counts()

    def decide(self, view: View) -> Any:
        raise AssertionError("another decides")


def test_the_registry_shares_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "known", Maker())  # type: ignore[arg-type]
    scenario = ReadyScenario.of(Workload.from_jobs(JOBS), MACHINE, Scenario.flat(bls="known", als="recorded"))
    for result in (bridge.run(scenario), bridge.run(scenario), simulated("known")):
        assert result.jobs.started_because.tolist()[0] == "decision 1"


def test_for_run_gives_a_policy_that_decides() -> None:
    class Wrong(Maker):
        def for_run(self) -> Any:
            return 7

    with pytest.raises(PluginError, match=r"^batch policy maker: for_run\(\) gave 7; allowed: a policy with a name"):
        simulated(Wrong())
    with pytest.raises(PluginError, match=r"^batch policy Needs\(\) cannot be made: TypeError"):
        for_one_run(type("Needs", (Counts,), {"__init__": lambda self, more: None}))


def test_the_reason_is_shown(tmp_path: Path) -> None:
    class Says(Counts):
        def decide(self, view: View) -> Iterator[Any]:
            free = view.free_cores
            for job in view.waiting:
                if job.cores <= free:
                    free -= job.cores
                    if job.job_id == 1:
                        yield job, [3, 0], "went past nobody"
                    elif job.job_id == 2:
                        yield job
                    elif job.job_id == 3:
                        yield job, None, " planned\x1b "
                    else:
                        yield Start(job, None, "fallback") if job.cores > 1 else Start(job)

    result = simulated(Says)
    assert result.jobs.started_because.tolist() == ["went past nobody", "", "planned\\x1b", "fallback", ""]
    assert result.jobs.allocation.tolist()[0] == "0 3"
    assert "; reason of the policy: went past nobody" in result.story(1)
    assert "reason of the policy" not in result.story(2)


def test_without_reasons_there_is_no_such_column() -> None:
    silent = type("Silent", (Counts,), {"decide": lambda self, view: [one.job for one in Counts.decide(self, view)]})
    assert not {"started_because", "rejected_because"} & {*simulated(silent).jobs}


def refused(decide: Any, base: type = Counts, **attributes: Any) -> str:
    wrong = type("Wrong", (base,), {"decide": decide, **attributes})
    with pytest.raises(PluginError) as caught:
        simulated(wrong)
    return str(caught.value)


class Notes(Counts):
    decision_columns = {"status": str, "z": Fraction, "bound": float, "modelled": int}  # noqa: RUF012

    def decide(self, view: View) -> Iterator[Any]:
        chosen = list(super().decide(view))
        if view.now_ns == 0:
            view.note(status="x", z=Fraction(1, 3), modelled=view.n_waiting)
            view.note(status="optimal\x07", bound=np.float64(0.25))
        elif view.now_ns == 1 * S:
            view.note(z=2, modelled=np.int64(2**62), bound=None)
        yield from chosen


def test_notes_are_rows_of_their_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = simulated(Notes, rules=Rules(keep_decisions=True))
    table = result.decisions
    assert list(table) == ["now_ns", "waiting", "started", "decision_ns", "status", "z", "z_exact", "bound", "modelled"]
    assert table.now_ns.tolist()[:3] == [0, 1 * S, 2 * S]
    assert table.status.tolist()[0] == "optimal\\x07"
    assert table.status.isna().tolist()[1:] == [True] * (len(table) - 1)
    assert table.z.tolist()[:2] == [1 / 3, 2.0]
    assert table.z_exact.tolist()[:2] == ["1/3", "2"]
    assert table.bound.isna().tolist()[:2] == [False, True]
    assert table.modelled.tolist()[:2] == [2, 2**62]
    write_rows(result.notes.decision_columns, tmp_path / "d.parquet")
    written = pd.read_parquet(tmp_path / "d.parquet", dtype_backend="numpy_nullable")
    assert list(written) == list(table)
    assert written.dtypes.astype(str).tolist() == ["Int64"] * 4 + ["string", "Float64", "string", "Float64", "Int64"]
    assert written.modelled.tolist()[:2] == [2, 2**62]
    assert written.z_exact.tolist()[:2] == ["1/3", "2"]


@pytest.mark.parametrize(
    ("noted", "message"),
    [
        *table_rows(__file__, "wrong_notes"),
        ({"z": Fraction(1, 2**14_000)}, "allowed: Fraction or int, of up to 14000 bits"),
        ({"status": "x" * 201}, "allowed: str of up to 200 characters"),
        ({"statsu": "x"}, "batch policy counts, at 0 ns: note(): unknown column 'statsu'; known: st"),
    ],
)
def test_wrong_notes(noted: dict[str, Any], message: str) -> None:
    """They are checked where no table is kept, too."""
    assert message in refused(lambda self, view: [view.note(**noted)], Notes)
    assert len(simulated(Notes).decisions) == 0


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (["status"], "['status']; allowed: a mapping of names to int, float, str, Fraction"),
        ({"z": bool}, "z: <class 'bool'>; allowed: int, float, str, Fraction"),
        ({"waiting": int}, "'waiting': there is a column waiting already"),
        ({"z": Fraction, "z_exact": str}, "'z_exact': there is a column z_exact already"),
        ({"a b": int}, "'a b'; allowed: names"),
    ],
)
def test_wrong_columns(declared: Any, message: str) -> None:
    said = refused(Counts.decide, decision_columns=declared)
    assert said.startswith(f"batch policy counts: decision_columns: {message}")


def test_only_policies_with_declared_columns_may_note() -> None:
    assert "note() is for a batch policy with decision_columns" in refused(lambda self, view: [view.note(x=1)])


GPUS = Platform((HostGroup(2, 4, 4.0, {"gpu": 2}),))  # type: ignore[arg-type]


class Pooled:
    name = "pooled"
    may_not_fit = True

    def decide(self, view: View) -> Iterator[SeenJob]:
        free, cards = view.free_cores, int(view.free_resources.sum())
        for job in view.waiting:
            asked = job.request.units * job.request.resources["gpu"]
            if job.cores <= free and asked <= cards:
                free, cards = free - job.cores, cards - asked
                yield job


def requests(tmp_path: Path) -> ConstraintOptions:
    # Jobs of one unit: the first two leave one card on each host, and the third wants both of its on one.
    table = tmp_path / "r.csv"
    table.write_text("job_id,unit_cores,gpu\n1,2,1\n2,3,1\n3,1,2\n4,1,0\n")
    return ConstraintOptions(requests=str(table))


SPREAD = [(1, 0, 10, 2, 10), (2, 0, 20, 3, 20), (3, 1, 5, 1, 5), (4, 2, 5, 1, 5)]


def test_jobs_without_a_place_wait_and_are_counted(tmp_path: Path) -> None:
    constraints = requests(tmp_path)
    result = simulated(Pooled, SPREAD, GPUS, constraints=constraints, rules=Rules(keep_decisions=True))
    # At 1 s and 2 s job 3 is chosen, and no host has two cards; job 4, chosen after it, starts all the same.
    assert (result.jobs.start_ns // S).tolist() == [0, 0, 10, 2]
    table = result.decisions
    assert table.now_ns.tolist()[:4] == [0, 1 * S, 2 * S, 7 * S]
    assert table.did_not_fit.tolist()[:4] == [0, 1, 1, 1]
    assert table.started.tolist()[:3] == [2, 0, 1]
    assert result.notes.decisions["did_not_fit"] == table.did_not_fit.sum() == 3
    strict = type("Strict", (Pooled,), {"may_not_fit": False})
    with pytest.raises(PluginError, match="gave job 3, which does not fit"):
        simulated(strict, SPREAD, GPUS, constraints=constraints)
    assert "did_not_fit" not in simulated(Counts, rules=Rules(keep_decisions=True)).decisions


def test_may_not_fit_is_true_or_false() -> None:
    said = refused(Pooled.decide, Pooled, may_not_fit="yes")
    assert said.startswith("batch policy pooled: may_not_fit: 'yes'; allowed: True, False")


FOUR_CORES = Platform((HostGroup(1, 4, 1.0),))


class NoWideOnes:
    """Starts what fits in the order of arrival; rejects what requests more than half of the machine."""

    name = "no-wide-ones"

    def decide(self, view: View) -> Iterator[Any]:
        free = view.free_cores
        for job in view.waiting:
            if 2 * job.cores > view.n_cores:
                view.reject(job, f"requests {job.cores} of {view.n_cores} cores")
            elif job.cores <= free:
                free -= job.cores
                yield job


def ran(order: AnyPolicy, jobs: list[Any] = JOBS, **options: Any) -> bridge.Result:
    return simulated(order, jobs, FOUR_CORES, **options)


def test_rejected_jobs_never_run() -> None:
    result = ran(NoWideOnes(), als="static", variation=0.0)
    table = result.jobs
    assert table.state.tolist() == ["completed", "rejected", "completed", "rejected", "completed"]
    assert table.why.tolist() == ["head", "never", "head", "never", "head"]
    assert table.start_ns.tolist() == [0, -1, S, -1, 10 * S]
    assert table.rejected_because.tolist() == ["", "requests 3 of 4 cores", "", "requests 4 of 4 cores", ""]
    assert result.ledger.jobs.left_ns.tolist() == [-1, 0, -1, 2 * S, -1]
    assert (result.metrics["state_rejected"], result.metrics["jobs"]) == (2, 3)
    assert "rejected by the policy: requests 4 of 4 cores" in result.story(4)


def test_dependent_jobs_become_eligible() -> None:
    jobs = [
        {"job_id": 1, "submit_s": 3, "run_s": 10, "cores": 4},
        {"job_id": 2, "submit_s": 4, "run_s": 10, "cores": 1, "preceding": 1, "think_s": 20},
        {"job_id": 3, "submit_s": 0, "run_s": 10, "cores": 1, "preceding": 1},
    ]
    result = ran(NoWideOnes(), jobs, constraints=ConstraintOptions(dependencies=True))
    by_number = dict(zip(result.jobs.job_id.tolist(), (result.jobs.start_ns // S).tolist(), strict=True))
    assert by_number == {1: -1, 2: 23, 3: 3}


def test_an_attempt_may_be_rejected(tmp_path: Path) -> None:
    class OneTry:
        name = "one-try"

        def decide(self, view: View) -> Iterator[Any]:
            for job in view.waiting:
                if job.attempt:
                    view.reject(job, "was cut before")
                elif view.free_cores >= job.cores:
                    yield job

    failures = tmp_path / "f.csv"
    failures.write_text("host,down_s,up_s\n0,5,8\n")
    result = ran(OneTry(), [(1, 0, 10, 2, 10)], constraints=ConstraintOptions(failures=str(failures)))
    assert result.jobs.state.tolist() == ["requeued", "rejected"]
    assert result.jobs.rejected_because.tolist() == ["", "was cut before"]
    assert result.ledger.jobs.left_ns.tolist() == [-1, 5 * S]


THREE = [
    {"job_id": n, "submit_s": at, "run_s": 10, "cores": cores} for n, at, cores in ((1, 3, 1), (2, 5, 4), (3, 5, 1))
]


def test_a_run_with_rejected_jobs_only() -> None:
    result = simulated("reject", THREE, rules=Rules(keep_decisions=True))
    assert result.jobs.allocation.tolist() == [""] * 3
    assert result.ledger.jobs.left_ns.tolist() == [3 * S, 5 * S, 5 * S]
    assert (result.decisions.waiting.tolist(), result.decisions.started.tolist()) == ([1, 2], [0, 0])
    metrics = result.metrics
    assert sum(metrics[f"state_{name}"] for name in STATES) == 3
    assert metrics["mean_wait_ns"] is metrics["mean_slowdown"] is None
    assert "rejected_core_hours" not in metrics  # it would always be 0
    result = simulated("reject", THREE, als="gss")  # an application level has nothing to do
    assert result.jobs.state.tolist() == ["rejected"] * 3
    assert result.jobs.tasks.tolist() == [0] * 3


#: Number, submit, run time, cores, estimate: the second waits for the first, the third does not follow it.
JOBS_NEWS = [(7, 0, 10, 3, 10), (8, 2, 5, 3, 5), (9, 2, 4, 1, 4)]


class Keeps:
    name = "keeps"

    def __init__(self) -> None:
        self.events: list[tuple[int, list[AnyNews]]] = []
        self.calls: list[str] = []

    def __enter__(self) -> None:
        self.calls.append("enter")

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        self.calls.append("exit" if kind is None else f"exit {kind.__name__}")

    def decide(self, view: View) -> list[SeenJob]:
        self.events.append((view.now_ns // S, view.news()))
        free, chosen = view.free_cores, []
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                chosen.append(job)
        return chosen

    def finish(self, view: View) -> None:
        self.events.append((view.now_ns // S, view.news()))
        self.calls.append("finish")


def simulated_news(policy: Any, **options: Any) -> bridge.Result:
    return simulated(policy, JOBS_NEWS, FOUR_CORES, **options)


def text(news: AnyNews) -> str:
    number = "" if isinstance(news, HostChanged) else str(news.job.job_id)
    words = [type(news).__name__.removeprefix("Job").lower(), number]
    if isinstance(news, JobStarted):
        words.append(" ".join(f"{lo}-{hi}" for lo, hi in news.cores))
    if isinstance(news, JobEnded):
        words += [f"{news.end_ns // S} s", news.how]
    return " ".join(words)


def test_news_are_complete_and_in_order() -> None:
    policy = Keeps()
    simulated_news(policy)
    assert [(at, [text(one) for one in news]) for at, news in policy.events if news] == [
        (0, ["submitted 7"]),
        (2, ["started 7 0-3", "submitted 8", "submitted 9"]),
        (6, ["started 9 3-4", "ended 9 6 s completed"]),
        (10, ["ended 7 10 s completed"]),
        (15, ["started 8 0-3", "ended 8 15 s completed"]),
    ]
    assert policy.calls == ["enter", "finish", "exit"]


def test_news_state_how_jobs_end() -> None:
    policy = Keeps()
    ran(policy, [(7, 0, 10, 3, 4), (8, 2, 5, 3, 5)], rules=Rules(kill_at_walltime=True))
    ends = [text(one) for _, news in policy.events for one in news if isinstance(one, JobEnded)]
    assert ends == ["ended 7 4 s killed", "ended 8 9 s completed"]


def test_news_are_for_policies_with_a_finish() -> None:
    said = refused(lambda self, view: view.news())
    assert said == "batch policy counts, at 0 ns: news() is for a batch policy with a method finish(view)"

    class Curious:
        name = "curious"
        every_ns = S

        def look(self, view: View) -> dict[str, float]:
            return {"news": float(len(view.news()))}

    with pytest.raises(PluginError, match=r"curious.*news"):
        simulated_news(Keeps(), observers=[Curious()])


@pytest.mark.parametrize(
    ("where", "what", "message"),
    [
        ("finish", lambda: 1 / 0, r"^batch policy keeps: finish\(\) failed: ZeroDivisionError: division by zero"),
        ("decide", lambda: 1 / 0, r"^batch policy keeps, at 0 ns: decide\(\) failed: ZeroDivisionError"),
    ],
)
def test_a_policy_that_fails_is_left_all_the_same(where: str, what: Callable[[], object], message: str) -> None:
    policy = Keeps()
    setattr(policy, where, lambda view: what())
    with pytest.raises(PluginError, match=message):
        simulated_news(policy)
    assert policy.calls == ["enter", "exit PluginError"]


def test_a_woken_policy_knows_why() -> None:
    class Wakes(Keeps):
        def decide(self, view: View) -> list[SeenJob]:
            self.events.append((view.now_ns // S, view.woken))  # type: ignore[arg-type]
            view.wake_at(3 * S) if view.now_ns < 3 * S else None
            return super().decide(view) if view.now_ns >= 3 * S else []

    policy = Wakes()
    simulated_news(policy)
    assert [one for one in policy.events if isinstance(one[1], bool)] == [
        (0, False), (2, False), (3, True), (7, False), (13, False), (18, False),
    ]  # fmt: skip


@pytest.mark.parametrize("observed", [False, True])
def test_news_have_promises_and_their_changes(observed: bool) -> None:
    """Job 7 has promised to end at 10 s, until it receives a command as job 8 starts: then it will at 30 s."""
    policy = Keeps()
    seen: list[tuple[int, list[int]]] = []

    class Looks:
        name = "looks"
        every_ns = None

        def look(self, view: View) -> None:
            seen.append((view.now_ns // S, [job.expected_end_ns // S for job in view.running]))

    jobs = Workload.from_jobs([(7, 0, 10, 3, 50), (8, 2, 5, 1, 50), (9, 3, 4, 3, 50)])
    rules, looking = Rules(estimates="application"), [Looks()] if observed else []
    batch = BatchSimulator(jobs, FOUR_CORES, policy, ALLOCATORS["first-fit"], rules=rules, observers=looking)
    ends = {7: 10, 8: 7, 9: 34}
    while (status := batch.advance(2**62)) != BatchStatus.DONE:
        assert status == BatchStatus.STARTED
        for row in batch.started():
            assert batch.outcome(row, ends[batch.job_number(row)] * S)
        if batch.now_ns == 2 * S:
            assert batch.take_back(0)
            assert batch.outcome(0, 30 * S)
    events = [
        (at, type(one).__name__, one.job.job_id, one.job.expected_end_ns // S)
        for at, news in policy.events
        for one in news
        if isinstance(one, JobStarted | JobExpected)
    ]
    assert events == [
        (2, "JobStarted", 7, 10), (3, "JobStarted", 8, 7), (3, "JobExpected", 7, 30), (34, "JobStarted", 9, 34),
    ]  # fmt: skip
    assert seen == ([(0, [10]), (2, [30, 7]), (3, [30, 7]), (7, [30]), (30, [34]), (34, [])] if observed else [])
