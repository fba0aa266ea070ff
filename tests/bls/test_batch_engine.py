"""The batch engine: the slow reference, cases by hand, and the protocol of promises and outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import batch
from scenarios import Case, cases, done

import bridge
from bls import engine
from bls.allocators import ALLOCATORS
from bls.policies import POLICIES
from bls.simulator import BatchSimulator
from bls.workload import Workload
from traces.errors import InputError
from traces.time import MAX_NS, NS_PER_S

Schedule = list[tuple[int, int, list[tuple[int, int]]]]


@settings(max_examples=1500)
@given(case=cases(recorded=True, max_jobs=14))
def test_recorded_run_times_as_the_slow_reference(case: Case) -> None:
    assert done(case.simulated()) == case.expected()


def schedule(simulator: BatchSimulator) -> Schedule:
    state = simulator.state
    ends = zip(state.start_ns.tolist(), state.end_ns.tolist(), strict=True)
    return [(start, end, list(simulator.allocation(row))) for row, (start, end) in enumerate(ends)]


def simulator_of(case: Case, *, recorded: bool = False) -> BatchSimulator:
    options = case.options()
    return BatchSimulator(
        case.workload(),
        len(case.core_speeds),
        POLICIES[case.policy],
        ALLOCATORS[options["allocator"]],
        slack=case.slack,
        recorded=recorded,
        requested=options["requested"],
    )


def with_known_run_times(case: Case) -> Schedule:
    simulator = simulator_of(case, recorded=True)
    assert simulator.advance(10**6) == engine.DONE
    return schedule(simulator)


@settings(max_examples=300)
@given(case=cases(recorded=True, max_jobs=14), pause=st.integers(0, 3))
def test_pauses_and_immediate_outcomes_change_nothing(case: Case, pause: int) -> None:
    simulator, run_ns = simulator_of(case), case.workload().run_ns.tolist()
    status, ended = engine.PAUSED, 0
    while status != engine.DONE:
        status = simulator.advance(pause)
        assert simulator.ended >= ended
        ended = simulator.ended
        for row in simulator.started() if status == engine.STARTED else []:
            assert simulator.outcome(row, simulator.now_ns + run_ns[row])
    assert schedule(simulator) == with_known_run_times(case)
    assert ended == len(run_ns)


@settings(max_examples=500)
@given(case=cases(recorded=True, max_jobs=14), data=st.data())
def test_promises_and_late_outcomes_in_any_order_change_nothing(case: Case, data: st.DataObject) -> None:
    """Each job that starts gets its outcome, or a promise, at once, in any order. Whoever waits for a due job may hear of
    others first, and of that job only a later promise; what is true gives the one schedule, however it is told."""
    simulator, run_ns = simulator_of(case), case.workload().run_ns.tolist()
    promised: dict[int, int] = {}  # running jobs that have no outcome yet

    def end(row: int) -> None:
        promised.pop(row, None)
        assert simulator.outcome(row, int(simulator.state.start_ns[row]) + run_ns[row])

    def tell(row: int) -> None:
        if data.draw(st.booleans()):
            end(row)
        else:
            # Now and then a promise that says nothing new.
            least = max(promised.get(row, 0), simulator.now_ns)
            most = int(simulator.state.start_ns[row]) + run_ns[row]
            promised[row] = data.draw(st.sampled_from((least, most)) | st.integers(least, most))
            assert simulator.promise(row, promised[row])

    clock = -1
    while (status := simulator.advance(data.draw(st.integers(1, 5)))) != engine.DONE:
        assert simulator.now_ns >= clock
        clock = simulator.now_ns
        if status == engine.STARTED:
            for row in data.draw(st.permutations(simulator.started())):
                tell(row)
        elif status == engine.DUE:
            assert promised[simulator.due] == clock
            for row in data.draw(st.lists(st.sampled_from(sorted(promised)), max_size=3, unique=True)):
                tell(row)
            if promised.get(simulator.due) == clock:
                end(simulator.due)
        # An outcome may come at any other time too.
        for row in sorted(promised):
            if data.draw(st.integers(0, 4)) == 0:
                end(row)
    assert not promised
    assert schedule(simulator) == with_known_run_times(case)


def jobs(*rows: tuple[int, float, float, int, float]) -> Workload:
    """(number, submit s, run s, cores, estimate s)"""
    return Workload.from_jobs(rows)


def ready(workload: Workload, n_cores: int = 4, **options: Any) -> BatchSimulator:
    return BatchSimulator(workload, n_cores, POLICIES["fcfs"], ALLOCATORS["lowest"], **options)


def test_the_engine_runs_on_to_the_earliest_promise_only() -> None:
    """Two jobs of 2 cores run on 4; nothing is asked of the first before its promise, though the third waits for it."""
    simulator = ready(jobs((1, 0, 9, 2, 9), (2, 0, 9, 2, 9), (3, 4, 1, 2, 1)))
    assert simulator.advance(100) == engine.STARTED
    assert simulator.started() == [0, 1]
    assert simulator.promise(0, 7 * NS_PER_S)
    assert simulator.started() == [1]
    assert simulator.outcome(1, 6 * NS_PER_S)
    assert simulator.advance(100) == engine.STARTED  # the third starts at 6 s, on the second's cores
    assert (simulator.now_ns, simulator.started()) == (6 * NS_PER_S, [2])
    assert simulator.outcome(2, 20 * NS_PER_S)
    assert simulator.advance(100) == engine.DUE
    assert (simulator.now_ns, simulator.due) == (7 * NS_PER_S, 0)
    assert simulator.advance(100) == engine.DUE  # it stays so until there is an answer
    assert simulator.promise(0, 8 * NS_PER_S)
    assert simulator.advance(100) == engine.DUE
    assert simulator.now_ns == 8 * NS_PER_S
    assert simulator.outcome(0, 8 * NS_PER_S)
    assert simulator.advance(100) == engine.DONE
    assert schedule(simulator) == [
        (0, 8 * NS_PER_S, [(0, 2)]),
        (0, 6 * NS_PER_S, [(2, 4)]),
        (6 * NS_PER_S, 20 * NS_PER_S, [(2, 4)]),
    ]


def test_what_cannot_be_true_is_refused_and_changes_nothing() -> None:
    simulator = ready(jobs((1, 5, 9, 4, 9), (2, 6, 9, 4, 9)))
    assert simulator.advance(100) == engine.STARTED
    now = 5 * NS_PER_S
    assert not simulator.promise(0, now - 1), "in the past"
    assert not simulator.outcome(0, now - 1), "in the past"
    assert not simulator.promise(0, MAX_NS + 1), "beyond the end of time"
    assert not simulator.outcome(0, MAX_NS + 1), "beyond the end of time"
    assert not simulator.promise(1, now + 5), "not started"
    assert not simulator.outcome(1, now + 5), "not started"
    assert simulator.started() == [0]
    assert simulator.promise(0, now + 3)
    assert not simulator.promise(0, now + 2), "takes a promise back"
    assert not simulator.outcome(0, now + 2), "before its promise"
    assert simulator.outcome(0, now + 3)
    assert not simulator.outcome(0, now + 3), "twice"
    assert not simulator.promise(0, now + 4), "after the outcome"
    assert simulator.advance(100) == engine.STARTED
    assert simulator.outcome(1, now + NS_PER_S)
    assert simulator.advance(100) == engine.DONE
    assert [end for _, end, _ in schedule(simulator)] == [now + 3, now + NS_PER_S]


def test_a_job_may_end_at_the_instant_at_which_it_starts() -> None:
    """An application may say so; the next in the queue then starts at that instant too."""
    simulator = ready(jobs((1, 3, 9, 4, 9), (2, 3, 9, 4, 9)))
    assert simulator.advance(100) == engine.STARTED
    assert simulator.outcome(0, 3 * NS_PER_S)
    assert simulator.advance(100) == engine.STARTED
    assert simulator.now_ns == 3 * NS_PER_S
    assert simulator.outcome(1, 4 * NS_PER_S)
    assert simulator.advance(100) == engine.DONE


def test_ends_come_before_arrivals_and_both_before_one_pass() -> None:
    """At 10 s the machine falls free and a shorter job arrives: under SJF it goes before the one that has waited."""
    workload = jobs((1, 0, 10, 4, 10), (2, 1, 8, 4, 8), (3, 10, 2, 4, 2))
    result = bridge.simulate(workload, _four_cores(), bls="sjf", als="recorded")
    assert (result.jobs.start_ns // NS_PER_S).tolist() == [0, 12, 10]


def test_the_head_blocks() -> None:
    """Job 2 asks for all cores; job 3 asks for one, which is free, and waits behind it."""
    workload = jobs((1, 0, 10, 3, 10), (2, 1, 5, 4, 5), (3, 2, 1, 1, 1))
    result = bridge.simulate(workload, _four_cores(), als="recorded")
    assert (result.jobs.start_ns // NS_PER_S).tolist() == [0, 10, 15]


def test_jobs_take_the_lowest_numbered_free_cores_wherever_they_are() -> None:
    workload = jobs((1, 0, 1, 1, 1), (2, 0, 9, 1, 9), (3, 0, 1, 1, 1), (4, 0, 9, 1, 9), (5, 1, 3, 2, 3))
    result = bridge.simulate(workload, _four_cores(), als="recorded")
    assert result.jobs.allocation.tolist() == ["0", "1", "2", "3", "0 2"]


def _four_cores() -> Any:
    from bls.platform import HostGroup, Platform

    return Platform((HostGroup(1, 4, 4.0),))


#: (number, submit, cores, estimate, run) and the starts under FCFS with a blocking head, on M cores; all in seconds.
#: Ends come before submissions at equal times. These are the first column of vectors made to tell EASY backfilling
#: from its imitations, where job 2 is the head that everything else turns on.
FCFS_VECTORS = [
    (4, [(1, 0, 3, 10, 10), (2, 1, 4, 5, 5), (3, 2, 1, 8, 8), (4, 3, 1, 9, 9)], [0, 10, 15, 15]),
    (6, [(1, 0, 4, 10, 10), (2, 1, 4, 5, 5), (3, 2, 2, 100, 100), (4, 3, 2, 4, 4)], [0, 10, 10, 15]),
    (4, [(1, 0, 3, 500, 100), (2, 1, 4, 50, 50), (3, 2, 1, 98, 98), (4, 3, 1, 600, 600)], [0, 100, 150, 150]),
    (4, [(1, 1, 3, 5, 5), (2, 1, 2, 3, 3), (3, 2, 3, 1, 1), (4, 2, 2, 1, 1), (5, 3, 1, 5, 5)], [1, 6, 9, 10, 10]),
    (4, [(1, 0, 2, 6, 6), (2, 0, 3, 1, 1), (3, 0, 2, 5, 5), (4, 0, 4, 2, 2), (5, 1, 1, 3, 3)], [0, 6, 7, 12, 14]),
]


@pytest.mark.parametrize(("n_cores", "rows", "starts"), FCFS_VECTORS)
def test_fcfs_vectors(n_cores: int, rows: list[tuple[int, int, int, int, int]], starts: list[int]) -> None:
    workload = jobs(*((number, submit, run, cores, estimate) for number, submit, cores, estimate, run in rows))
    simulator = ready(workload, n_cores, recorded=True)
    assert simulator.advance(100) == engine.DONE
    assert [start // NS_PER_S for start, _, _ in schedule(simulator)] == starts
    # The reference is held to them as well.
    listed = [batch.Job(number, submit, run, cores, estimate) for number, submit, cores, estimate, run in rows]
    placed = batch.simulate(listed, n_cores, "fcfs", 2.0, lambda row, start, _: start + listed[row].run)
    assert [job.start for job in placed] == starts


def test_a_job_wider_than_the_machine_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="job 2 asks for 5 cores; the platform has 4"):
        ready(jobs((1, 0, 1, 1, 1), (2, 0, 1, 5, 1)))


@pytest.mark.parametrize(("submit", "run"), [(MAX_NS, 1), (MAX_NS, MAX_NS), (1, MAX_NS)])
def test_the_end_of_time_is_an_error(submit: int, run: int) -> None:
    column = [np.array([value], np.int64) for value in (7, submit, run, 1, 1, 1)]
    late = Workload.from_lines(column, header=(), rejects={}, source="w", n_lines=1)
    with pytest.raises(InputError, match=f"job 7 would end beyond the last simulated instant, {MAX_NS} ns"):
        ready(late, recorded=True).advance(100)
    last = late.take(np.array([0]), submit_ns=np.array([MAX_NS - 5]), run_ns=np.array([5]))
    simulator = ready(last, recorded=True)
    assert simulator.advance(100) == engine.DONE
    assert simulator.now_ns == MAX_NS


def test_more_allocations_than_there_is_room_for() -> None:
    """Every second core of 64 is held for long, so each of many jobs of 32 cores takes 32 intervals."""
    pins = [(n, 0.0, 10**6 if n % 2 else 1.0, 1, 1.0) for n in range(64)]
    wide = [(100 + n, 1.0, 1.0, 32, 1.0) for n in range(400)]
    simulator = ready(jobs(*pins, *wide), 64, recorded=True)
    room = len(simulator.state.pool_lo)
    assert simulator.advance(10**6) == engine.DONE
    assert len(simulator.state.pool_lo) > room
    holes = [(core, core + 1) for core in range(0, 64, 2)]
    found = schedule(simulator)
    assert [(start, held) for start, _, held in found[64:]] == [((1 + n) * NS_PER_S, holes) for n in range(400)]
    first, lo, hi = simulator.allocations()
    assert first[-1] == 64 + 400 * 32
    assert list(zip(lo[-32:].tolist(), hi[-32:].tolist(), strict=True)) == holes


def test_room_runs_out_within_a_pass_that_waits_for_answers() -> None:
    simulator = ready(jobs(*((n, 0.0, 1.0, 1, 1.0) for n in range(8))), 8)
    tight = {"pool_lo": np.empty(3, np.int64), "pool_hi": np.empty(3, np.int64)}
    simulator.state = simulator.state._replace(**tight)
    started = []
    while simulator.advance(100) == engine.STARTED:
        for row in simulator.started():
            started.append(row)
            assert simulator.outcome(row, NS_PER_S)
    assert started == list(range(8))
    assert schedule(simulator) == [(0, NS_PER_S, [(core, core + 1)]) for core in range(8)]


def test_a_started_job_that_is_told_nothing_is_not_forgotten() -> None:
    workload = Workload.from_jobs([(1, 0, 5, 1, 5)])
    simulator = BatchSimulator(workload, 4, POLICIES["fcfs"], ALLOCATORS["lowest"])
    assert simulator.advance(1) == engine.STARTED
    with pytest.raises(RuntimeError, match="await an outcome or a promise"):
        simulator.advance(1)
    assert simulator.outcome(0, 5 * NS_PER_S)
    assert simulator.advance(10) == engine.DONE
