"""Both levels together, inline: the slow reference, the literature's examples, and what must hold of every run."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from application_features import GRAPH_FEATURES, MAPS
from hypothesis import given, settings
from hypothesis import strategies as st
from one_result import assert_one_result
from scenarios import Case, assert_as_expected, cases, crowd
from tables import kept, table_rows

import bls
import bridge
from als.techniques import Technique, technique_kernel
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.couplings import inline
from bridge.scenarios.scenario import Application
from traces.base.errors import InputError, PluginError, TwolevelError
from traces.compiled import jit_enabled

pytestmark = pytest.mark.whole

S = 10**9


@settings(max_examples=1000)
@given(case=cases())
def test_both_levels_as_the_slow_reference(case: Case) -> None:
    assert_as_expected(case.simulated(), case.expected())


# The two-level paper's section 4.2: four jobs of three tasks on five resources. In each job the first two tasks
# together are as long as the third: here 1, 2 and 3 s of work on resources of 1 GFLOP/s. J0 and J1 arrive at 0, J2 at
# 1 s and J3 at 2 s. They request {R0, R1}, {R2, R3}, {R2, R4} and {R0, R4}.
PAPER_JOBS = Workload.from_jobs([(0, 0, 3, 2, 3), (1, 0, 3, 2, 3), (2, 1, 3, 2, 3), (3, 2, 3, 2, 3)])
PAPER_PLATFORM = Platform((HostGroup(1, 5, 5.0),))
PAPER_CORES = {0: "0-1", 1: "2-3", 2: "2 4", 3: "0 4"}

#: STATIC gives a job's first two tasks to one core and the third to the other: they are even. J2 waits for R2, which J1 holds;
#: J3 waits for R4, which J2 holds, though R0 is free from 3 s on. SS gives the longest task last, to the first core that is
#: free: each job ends a second later, and J3 starts two later than under STATIC.
PAPER_LOGS = kept(__file__, "paper_logs")


@pytest.mark.parametrize("technique", PAPER_LOGS)
def test_the_papers_four_jobs(technique: str, tmp_path: Path) -> None:
    lengths, applications = tmp_path / "lengths.txt", tmp_path / "map.toml"
    lengths.write_text("1\n2\n3\n")
    applications.write_text("[default]\ntasks = 3\n")
    level = Application(lengths=f"file:{lengths},scale=no", applications=applications)
    said: dict[str, Any] = {"als": technique, "allocator": "given", "requested": PAPER_CORES, "application": level}
    tasks = bridge.simulate(PAPER_JOBS, PAPER_PLATFORM, **said).tasks.sort_values(["job_id", "task"])
    log = [f"J{t.job_id} T{t.task} on R{t.core} {t.start_ns // S}-{t.end_ns // S}" for t in tasks.itertuples()]
    assert log == [line.strip() for line in PAPER_LOGS[technique].split(",")]


@settings(max_examples=200)
@given(
    runs_ns=st.lists(
        st.integers(1, 2 * 10**6).map(lambda seconds: seconds * S) | st.integers(1, 2 * 10**15), min_size=1, max_size=4
    ),
    cores=st.integers(1, 6),
    speed=st.sampled_from((46.875, 3.3)) | st.floats(1e-3, 1e6),
)
def test_without_variation_a_job_lasts_its_recorded_run_time(runs_ns: list[int], cores: int, speed: float) -> None:
    """To the nanosecond, at any speed, up to run times of two million seconds."""
    n, lasts = len(runs_ns), np.array(runs_ns)
    columns = [np.arange(n), np.zeros(n, int), lasts, np.full(n, cores), lasts, np.arange(n) + 1]
    workload = Workload.from_lines(columns, header=(), rejects={}, source="w", n_lines=n)
    platform = Platform((HostGroup(1, 6, speed * 6),))
    jobs = bridge.simulate(workload, platform, als="fac", keep_tasks=False).ledger.jobs
    assert (jobs.end_ns - jobs.start_ns).tolist() == runs_ns
    assert (jobs.tasks == cores).all()
    recorded = bridge.simulate(workload, platform, als="recorded").ledger.jobs
    assert jobs.start_ns.tolist() == recorded.start_ns.tolist()


def test_without_task_records_the_jobs_are_the_same() -> None:
    case = crowd(5, 60, technique="fac", variation=0.25)
    with_tasks, without = case.simulated(), case.simulated(keep_tasks=False)
    assert without.jobs.equals(with_tasks.jobs)
    assert without.metrics == with_tasks.metrics
    with pytest.raises(InputError, match="this result has no tasks"):
        _ = without.tasks


def test_room_for_graphs_that_turns_out_too_small_grows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    feature = GRAPH_FEATURES["a map"]
    expected = feature.simulated(tmp_path)
    made, growing, grown = inline.new_inline_state, inline.with_room, []

    def small(*arguments: Any, **keywords: Any) -> Any:
        state = made(*arguments, **keywords)
        room = state.room._replace(source=np.empty(1, np.int64), target=np.empty(1, np.int64), bytes=np.empty(1))
        return inline.with_application(state._replace(room=room), state.application._replace(lengths=np.empty(1)))

    def grow(*arguments: Any) -> Any:
        state = growing(*arguments)
        grown.append(len(state.room.source))
        return state

    monkeypatch.setattr(inline, "new_inline_state", small)
    monkeypatch.setattr(inline, "with_room", grow)
    assert_one_result(feature.simulated(tmp_path), expected)
    assert len(grown) > 1
    assert grown == sorted(set(grown))


@technique_kernel
def _one_more_each_time(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    memo[0] += 1.0
    return min(int(memo[0]), remaining)


def test_every_job_begins_with_an_empty_memo() -> None:
    growing = Technique("growing", _one_more_each_time, memo_size=1)
    jobs = [(number, 0, 1, 2, 1) for number in range(5)]
    result = bridge.simulate(Workload.from_jobs(jobs), als=growing, tasks_per_core=5)
    sizes = [np.bincount(part.chunk).tolist() for _, part in result.tasks.groupby("job_id")]
    assert sizes == [[1, 2, 3, 4]] * 5


@technique_kernel
def _greedy(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return remaining + (1 if n_tasks == 3 else 0)


def test_a_technique_at_fault_is_named_with_the_job() -> None:
    workload = Workload.from_jobs([(4, 0, 1, 2, 1), (17, 0, 1, 3, 1)])
    with pytest.raises(PluginError) as caught:
        bridge.simulate(workload, als=Technique("greedy", _greedy))
    assert str(caught.value) == (
        "job 17: application technique greedy gave a chunk of 4; allowed: 0 to the remaining tasks, 3"
    )


def tiny_tables() -> str:
    """The tables of small runs, with every digit."""
    jobs = [(5, 0, 3, 2, 4), (6, 0, 2, 3, 2), (7, 1, 1e-6, 1, 9), (8, 2.5, 4, 4, 4), (9, 2.5, 1, 1, 1)]
    options: dict[str, Any] = {"bls": "sjf", "variation": 0.5, "seed": 2**64 - 3, "tasks_per_core": 3, "overhead_ns": 7}
    platform = Platform((HostGroup(1, 2, 4.0), HostGroup(2, 1, 3.0)))
    runs = [
        bridge.simulate(Workload.from_jobs(jobs), platform, als=als, **options)
        for als in ("static", "ss", "gss", "fac")
    ]
    return "".join(table.to_csv() for run in runs for table in (run.jobs, run.tasks))


def test_uncompiled_the_same_code_gives_the_same_tables() -> None:
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    script = (
        "import test_simulate as t, traces.compiled as c; assert not c.jit_enabled(); print(t.tiny_tables(), end='')"
    )
    # A warning, as of an integer that overflows, is an error there too.
    command = [sys.executable, "-W", "error", "-c", script]
    assert jit_enabled()
    assert subprocess.run(command, env=plain, check=True, capture_output=True, text=True).stdout == tiny_tables()


def test_a_job_wider_than_a_message_is_refused() -> None:
    jobs, platform = Workload.from_jobs([(1, 0, 5, 2**20 + 1, 5)]), Platform((HostGroup(2, 2**20, 1e6),))
    with pytest.raises(InputError, match="coupling='pool': a job requests 1048577 cores"):
        bridge.simulate(jobs, platform, coupling="pool", keep_tasks=False)


@pytest.mark.parametrize(("keywords", "said"), table_rows(__file__, "errors_name_keywords_and_no_options"))
def test_errors_name_keywords_and_no_options(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(TwolevelError) as found:
        bridge.simulate(**{"workload": "sample", "select": "first:3", **keywords})
    assert str(found.value).startswith(said)
    assert "--" not in str(found.value)


def test_parts_of_a_scenario_and_keywords_say_the_same() -> None:
    chosen = {"select": "first:40", "als": "gss", "seed": 3}
    flat = bridge.simulate("sample", bls="sjf", malleable="0.5", **chosen)
    assert flat.scenario.options.batch.resized == "expand+shrink"
    nested = bridge.Scenario.flat(workload="sample", batch=bls.Batch(policy="sjf"), **chosen)
    assert bridge.simulate(nested, malleable="0.5").jobs.equals(flat.jobs)
    assert bridge.simulate(nested, batch=bls.Batch(policy="sjf", malleable="0.5")).jobs.equals(flat.jobs)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (lambda: bridge.run(bridge.Scenario("sample")), "scenario: .*; allowed: a bridge.ReadyScenario"),
        (lambda: bridge.Simulation(bridge.Scenario("sample")), "scenario: .*; allowed: a bridge.ReadyScenario"),
        (lambda: bridge.Scenario(batch="sjf"), "batch: 'sjf'; allowed: a bls.Batch"),
        (lambda: bridge.Scenario.flat(kill_at_walltime=5), "kill_at_walltime=True: 5; allowed: True or False"),
        (lambda: bridge.simulate(bridge.Scenario()), "workload: None; allowed: a workload"),
        (lambda: bls.Batch("sjf"), "backfill: 'sjf'; allowed: none, easy"),
        (lambda: bridge.Application(variation=-1.0), "variation"),
        (lambda: bridge.Application(speeds=5), "speeds: 5; allowed: a sequence of strings"),
        (lambda: bridge.Application(applications=5), "applications: 5; allowed: an ApplicationMap, or a file"),
        (lambda: bridge.Execution(listen=5), "listen: 5; allowed: a string"),
        (lambda: bridge.Execution(als_command=["x"]), r"als_command: \['x'\]; allowed: a string"),
        (lambda: bridge.Scenario(bridge.JobSelection(preset=1)), "preset=True: 1; allowed: True or False"),
        (lambda: bridge.Scenario(seed=1.5), "seed=1.5: 1.5 is not a whole number"),
        (lambda: bls.Rules(coordination=np.arange(2)), "coordination=.*; known: none, release"),
        (lambda: bls.ConstraintOptions(failures=Path("x")), "failures: .*; allowed: a string"),
        (lambda: bls.ConstraintOptions(requests=5), "requests: 5; allowed: a string or path"),
        (lambda: bridge.simulate("sample", coupling=["x"]), "coupling=.*unknown coupling"),
    ],
)
def test_what_is_no_scenario_is_refused(given: Callable[[], object], said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}"):
        given()


def test_forks_and_more_room_keep_the_phases_of_the_current_program(tmp_path: Path) -> None:
    # Kept applications of a job, also those of a fork, share these phases (``inline_kept``).
    path = tmp_path / "map.toml"
    path.write_text(MAPS["parts"], encoding="utf-8")
    options = bridge.Scenario.flat(applications=path, coordination="hint", platform="paper")
    ready = bridge.ReadyScenario.of(Workload.from_jobs([(1, 0, 60, 4, 60), (2, 0, 60, 254, 60)]), Platform(), options)
    whole, paused = bridge.run(ready), bridge.Simulation(ready).run(S)
    state = paused._run.inline
    forked = inline.with_application(state, state.application).shared.app.phases
    assert np.array_equal(forked.kind, state.shared.app.phases.kind)
    assert paused.fork().result().jobs.equals(whole.jobs)


def test_a_seed_may_be_a_number_of_numpy() -> None:
    jobs = Workload.from_jobs([(1, 0, 60, 4, 60)])
    found = [bridge.simulate(jobs, variation=0.5, seed=seed).jobs for seed in (np.int64(3), 3)]
    assert found[0].equals(found[1])


def test_records_that_memory_cannot_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.runs.simulation.free_memory_bytes", lambda: 100)
    with pytest.raises(InputError, match="the records of about 4 tasks need"):
        bridge.simulate(Workload.from_jobs([(1, 0, 1, 4, 1)]))
    assert len(bridge.simulate(Workload.from_jobs([(1, 0, 1, 4, 1)]), keep_tasks=False).jobs) == 1
