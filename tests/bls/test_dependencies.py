"""Jobs that are held: dependencies and begin times, by hand and against a slow search; circles are named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from batch_drives import finish
from refusing import refusals
from tables import kept, table_rows

import bridge
from bls.allocators import ALLOCATORS
from bls.constraints.dependencies import dependencies
from bls.constraints.job_constraints import constrain
from bls.machine.platform import HostGroup, Platform
from bls.metrics.batch import schedule_metrics
from bls.metrics.schedule import Schedule
from bls.policies import POLICIES
from bls.scheduler_options import ConstraintOptions
from bls.simulator import BatchSimulator
from bls.workloads.merge import merge
from bls.workloads.reshape import scale
from bls.workloads.selection import select
from bls.workloads.workload import Workload
from bls.workloads.writers.swf import result_as_workload
from traces.base.errors import PluginError
from traces.exporters.shown.part import Excerpt, cut_ledger
from traces.series import load_series

NS = 10**9


def workload(preceding: dict[int, int], **changes: dict[int, int]) -> Workload:
    """Jobs submitted in the order given; keys are job numbers, values their preceding jobs."""
    return Workload.from_jobs(
        {"job_id": job, "submit_s": place, "run_s": 1, "cores": 1, "preceding": before, "think_s": 3}
        | {key: values[job] for key, values in changes.items() if job in values}
        for place, (job, before) in enumerate(preceding.items())
    )


WITHDRAWN = kept(__file__, "withdrawn")


@pytest.mark.parametrize("job", WITHDRAWN.values(), ids=WITHDRAWN.keys())
@pytest.mark.parametrize("backfill", ["conservative"])
def test_a_job_withdrawn_before_it_is_eligible_never_waits(job: dict[str, int], backfill: str) -> None:
    """Job 1 runs on one of two cores from 0 to 100, job 3 on both from 120 on; no other job is ever queued."""
    plain = {"run_s": 100, "cores": 1, "estimate_s": 100}
    jobs = [plain | {"job_id": 1, "submit_s": 0}, plain | {"job_id": 2} | job]
    jobs.append(plain | {"job_id": 3, "submit_s": 120, "cores": 2})
    jobs.sort(key=lambda one: one["submit_s"])
    result = bridge.simulate(
        Workload.from_jobs(jobs),
        Platform((HostGroup(1, 2, 2.0),)),
        als="recorded",
        backfill=backfill,
        keep_decisions=True,
        dependencies=True,
    )
    assert result.jobs.set_index("job_id").eligible_ns[[1, 2, 3]].tolist() == [0, -1, 120 * NS]
    names = ("mean_queue_length", "max_queue_length", "mean_queued_cores", "max_queued_cores", "loss_of_capacity")
    assert [result.metrics[name] for name in names] == [0] * 5
    assert not load_series(result.ledger).queue_length.any()
    assert not load_series(cut_ledger(result.ledger, Excerpt(window_ns=(20 * NS, 110 * NS)))).queue_length.any()
    assert result.decisions.waiting.max() == 1  # a pass in which it starts


def several(*rows: tuple[int, ...]) -> Workload:
    """Jobs 1, 2, … on one core each, submitted at 0; a row is a run time in s and the jobs that precede it."""
    jobs = [
        {"job_id": k, "submit_s": 0, "run_s": run, "cores": 1, "preceding": before or None, "think_s": 3}
        for k, (run, *before) in enumerate(rows, 1)
    ]
    return Workload.from_jobs(jobs)


def test_by_hand() -> None:
    found = dependencies(several((10,), (20,), (5, 1, 2), (5, 9, 3), (5, 9, 8), (5, 2, 2)))
    assert found.depends_on.tolist() == [-1, -1, 0, 2, -1, 1]
    assert found.waits_for.tolist() == [0, 0, 2, 1, 0, 1]
    assert found.think_ns.tolist() == [0, 0, 3 * NS, 3 * NS, 0, 3 * NS]
    assert (found.child_first.tolist(), found.child_row.tolist()) == ([0, 1, 3, 4, 4, 4, 4], [2, 2, 5, 3])
    assert (found.missing, len(found), found.several) == (2, 3, True)
    with pytest.raises(ValueError, match="read-only"):
        found.depends_on[0] = 1


S = 10**9
EIGHT = Platform((HostGroup(1, 8, 100.0),))


def jobs(**more: Any) -> Workload:
    """Two jobs as wide as the machine; the second may start from 7210 s on."""
    first = {"job_id": 1, "submit_s": 0, "run_s": 3600, "cores": 8, "estimate_s": 7200}
    second = {"job_id": 2, "submit_s": 10, "run_s": 3600, "cores": 8, "estimate_s": 7200, "begin_s": 7210}
    return Workload.from_jobs([first, second | more])


def ran(workload: Workload, policy: Any = POLICIES["fcfs"], **options: Any) -> BatchSimulator:
    simulator = BatchSimulator(workload, EIGHT, policy, ALLOCATORS["first-fit"], recorded=True, **options)
    finish(simulator)
    return simulator


def test_waits_count_from_the_begin_and_the_makespan_from_the_submit() -> None:
    times = {
        "submit_ns": [0, 10],
        "start_ns": [5, 120],
        "end_ns": [15, 130],
        "begin_ns": [0, 100],
        "eligible_ns": [0, 100],
    }
    columns = {name: [value * S for value in values] for name, values in times.items()}
    found = schedule_metrics(Schedule(cores=[1, 1], n_cores=8, **columns))
    assert (found["mean_wait_ns"], found["max_wait_ns"], found["makespan_ns"]) == (12.5 * S, 20 * S, 130 * S)
    assert found["mean_response_ns"] == 22.5 * S
    assert (found["mean_queue_length"], found["max_queue_length"]) == (25 / 130, 1)


def test_a_job_is_held_until_its_begin_and_a_policy_is_notified() -> None:
    class Watches:
        name = "watches"

        def decide(self, view: Any) -> list[Any]:
            seen.append((view.now_ns // S, [(job.job_id, job.begin_ns // S) for job in view.held]))
            return view.waiting

    seen: list[Any] = []
    ran(jobs(), Watches())
    assert seen[:3] == [(0, []), (3600, [(2, 7210)]), (7210, [])]

    class Hasty:
        name = "hasty"

        def decide(self, view: Any) -> list[Any]:
            return [*view.waiting, *view.held]

    with pytest.raises(PluginError, match=r"gave job 2, which may not start before 7210000000000 ns$"):
        ran(jobs(), Hasty())


@pytest.mark.parametrize(("text", "begins"), table_rows(__file__, "a_file_of_requests_says_it_above_the_log"))
def test_a_file_of_requests_says_it_above_the_log(tmp_path: Path, text: str, begins: list[float]) -> None:
    (tmp_path / "r.csv").write_text(text)
    made, _ = constrain(jobs(), EIGHT, ConstraintOptions(requests=tmp_path / "r.csv"))
    assert made.begin_ns.tolist() == [int(begin * S) if begin >= 0 else -1 for begin in begins]


def test_a_window_takes_the_begin_along() -> None:
    def job(number: int, submit_s: float, **more: Any) -> dict[str, Any]:
        return {"job_id": number, "submit_s": submit_s, "run_s": 100, "cores": 1, **more}

    log = Workload.from_jobs(
        [
            job(1, 0, wait_s=50, begin_s=40),  # runs at 100
            job(2, 10, wait_s=200, begin_s=60),  # waits at 100
            job(3, 20, wait_s=200, begin_s=150),  # may not start yet
            job(4, 110, wait_s=0, begin_s=110),
            job(5, 120, wait_s=90, begin_s=190),
        ]
    )
    found = select(log, "window:100+1h", preset=True)
    assert found.preset.tolist() == [1, 0, 0, 0, 0]
    assert (found.begin_ns / S).round(9).tolist() == [-1e-9, -1e-9, 50, 10, 90]
    assert found.held.tolist() == [False, False, True, False, True]
    assert (select(log, "window:100+1h", preset=False).earliest_ns // S).tolist() == [10, 90]


def test_merging_and_scaling_keep_for_how_long_jobs_are_held() -> None:
    log = jobs()
    calendar = [replace(log, header=(f"; UnixStartTime: {start}",)) for start in (1000, 4000)]
    assert (merge(calendar).earliest_ns // S).tolist() == [0, 7210, 3000, 10210]
    dense = scale(log, load=2)
    assert (dense.submit_ns // S).tolist() == [0, 5]
    assert (dense.begin_ns // S).tolist() == [-1, 7205]


def test_a_result_says_since_when_jobs_have_waited(tmp_path: Path) -> None:
    found = bridge.simulate(jobs(), platform=EIGHT, als="recorded")
    assert (found.jobs["begin_ns"] // S).tolist() == [0, 7210]
    assert found.metrics["max_wait_ns"] == 0
    assert "eligible, 2 h 00 min after its submit: its e" in found.story(2)
    again = result_as_workload({name: found.jobs[name].to_numpy() for name in found.jobs}, jobs())
    assert (again.begin_ns // S).tolist() == [-1, 7210]
    assert "begin_ns" not in bridge.simulate("sample", als="recorded", select="first:3").jobs


def one_job(**changes: Any) -> object:
    return Workload.from_jobs([{"job_id": 1, "submit_s": 0, "run_s": 1, "cores": 1} | changes])


def of_file(text: str) -> object:
    Path("r.csv").write_text(text)
    return constrain(jobs(), EIGHT, ConstraintOptions(requests="r.csv"))


def fairly(log: Workload) -> object:
    return bridge.simulate(log, als="recorded", constraints=ConstraintOptions(dependencies=True)).fair_start_ns


test_bad_input_is_refused = refusals(
    __file__,
    {
        "circles": lambda preceding: dependencies(workload(preceding)),
        "several": lambda *rows: dependencies(several(*rows)),
        "lists": (lambda preceding: one_job(preceding=preceding), "jobs[0]: preceding: "),
        "begins": (lambda value: jobs(begin_s=value), "jobs[1]: begin_s: "),
        "presets": lambda changes: one_job(**changes),
        "files": (of_file, "r.csv: "),
        "fair starts": fairly,
    },
    {
        "circles": [
            ({4: 4}, "^[^:]*: job 4 names itself as its preceding job$"),
            ({1: -1, 4: 6, 6: 4, 9: 4}, "4 before 6 before 4|6 before 4 before 6"),
            ({1: 2, 2: 3, 3: 1}, "(1 before 3 before 2|3 before 2 before 1|2 before 1 before 3) before [123]$"),
            ({k: k % 30 + 1 for k in range(1, 31)}, r"before … \(20 more\) before [0-9]+$"),
        ],
        "several": [((1,), (1, 1, 3), (1, 1, 2), (1, 3, 1), "jobs wait for each other: 2 before 3 before 2")],
        "lists": [([], "an empty list"), ([1, 0.5], "0.5 is not a whole"), ([1, "2"], "'2' is not a whole")],
        "begins": [(value, "") for value in (-2, "soon", float("nan"), True)],
        "presets": [({"preset": 1, "begin_s": 1}, "preset job 1 begins after time 0")],
        "files": [("job_id,begin_s\n2,soon\n", "line 2: begin_s: 'soon'")],
        "fair starts": [
            (several((10,), (20,), (5, 1, 2)), "fair_start=True: not with jobs that wait for several others")
        ],
    },
)
