"""The application engine by calls: what is refused, techniques at fault, metrics, and checks of its state."""

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from applications import ran
from hypothesis import given, settings
from hypothesis import strategies as st
from inside import code, column, number
from pages import ROOT, section, table
from tables import table_rows

from als.application import ApplicationSimulator
from als.application_faults import lost_error
from als.application_parts import Edges, GraphPart
from als.engine.codes import SUSPENDED
from als.engine.injected_changes import MOST_FRUITLESS
from als.engine.requests import set_loop_facts
from als.engine.rule_table import MOMENTS
from als.engine.scaling import hands_out, rescale, rescale_all, set_scale
from als.engine.state import ApplicationState
from als.engine.validation import validate
from als.metrics import GRAPH_METRICS
from als.metrics.loops import LOOP_METRICS, application_metrics, by_name, finish_cov, finish_imbalance, measure
from als.network import network_model, network_state
from als.planners import planner
from als.planners.contract import MAPPED
from als.techniques import TECHNIQUES, Selection, Technique, technique, technique_kernel
from als.techniques.python_technique import Ask, PythonTechnique
from als.workers import WorkerKind, WorkerSlots, with_devices
from traces.base.errors import InputError, PluginError
from traces.base.scale import WHOLE
from traces.base.time import MAX_NS
from traces.checks.faults import InvariantError
from traces.compiled import jit_enabled

SS, STATIC = TECHNIQUES["ss"], TECHNIQUES["static"]
NS, TEN = 1e-9, 1e-8  # GFLOP: one and ten nanoseconds at 1 GFLOP/s
INF, NAN = np.inf, np.nan

LENGTHS = "lengths_gflop: allowed: at least one number, all finite and above 0"
SPEEDS = "core_speed_gflops: allowed: at least one number, all finite and none below 0"
LATENCIES = "latency_ns: allowed: a number for each of 2 cores, 0 to 1000000000000"


def is_message(caught: pytest.ExceptionInfo[InputError], words: str) -> bool:
    """Whether the error says so; "…" at the end stands for any words."""
    return str(caught.value).startswith(words[:-1]) if words.endswith("…") else str(caught.value) == words


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *table_rows(__file__, "impossible_applications_are_refused"),
        *(({"lengths_gflop": one}, LENGTHS) for one in ([], [[1.0]], [1.0, 0.0], [1.0, INF], [NAN, 1.0])),
        *(({"core_speed_gflops": one}, SPEEDS) for one in ([], [[1.0]], [1.0, -1.0], [1.0, INF], [1.0, NAN])),
        *(({"latency_ns": one}, LATENCIES) for one in ([0], [0, -1], [10**12 + 1, 0])),
        ({"technique": None}, "technique: allowed: a technique, or phases…"),
        ({"phases": [SS]}, "technique: allowed: a technique, or phases…"),
        ({"technique": None, "phases": []}, "part_tasks: 1 parts; allowed: all 0 phases…"),
        ({"technique": None, "phases": [None]}, "part_tasks[0]: 2 is out of range; allowed: 1 to 1…"),
        ({"technique": None, "phases": [None, SS]}, "part_tasks: 1 parts; allowed: all 2 phases…"),
        ({"technique": technique("wf:weights=1/1/1")}, "technique wf: its weights are for 3 cores, not 2…"),
        (
            {"technique": None, "phases": [SS, SS], "part_tasks": [1, 1], "wishes": [1]},
            "wishes: 1 numbers; allowed: one for each of 2 phases…",
        ),
    ],
)
def test_impossible_applications_are_refused(wrong: dict[str, Any], words: str) -> None:
    fit: dict[str, Any] = {"lengths_gflop": [1.0, 2.0], "core_speed_gflops": [1.0, 1.0], "technique": SS}
    assert ApplicationSimulator(**fit).advance()
    with pytest.raises(InputError) as caught:
        ApplicationSimulator(**(fit | wrong))
    assert is_message(caught, words)


@pytest.mark.parametrize(("call", "arguments", "options", "message"), table_rows(__file__, "calls_that_are_refused"))
def test_calls_that_are_refused(call: str, arguments: list[Any], options: dict[str, int], message: str) -> None:
    application = ApplicationSimulator([TEN] * 5, [1.0, 1.0], SS)
    application.advance(5)
    with pytest.raises(InputError) as caught:
        getattr(application, call)(*arguments, **options)
    assert is_message(caught, message)
    assert application.run_to_stop(MAX_NS)
    assert application.run_to_stop(4)  # it ended long ago
    assert application.end_ns == 30


@pytest.mark.parametrize(
    ("work", "start", "overhead"),
    [(1e30, 0, 0), (1e30, MAX_NS - 1, 0), (1e30, MAX_NS, 0), (1e-9, MAX_NS, MAX_NS), (1e-9, MAX_NS - 1, 0)],
)
@pytest.mark.parametrize("keep_tasks", [False, True])
def test_the_end_of_time_is_an_error(work: float, start: int, overhead: int, keep_tasks: bool) -> None:
    application = ApplicationSimulator(
        [work] * 2, [1.0], STATIC, start_ns=start, overhead_ns=overhead, keep_tasks=keep_tasks
    )
    with pytest.raises(InputError, match=f"would not end before the last simulated instant, {MAX_NS} ns"):
        application.advance()


def test_the_end_of_time_is_an_error_on_a_device() -> None:
    for changed in ({"launch_ns": 3600 * 10**9}, {"in_bytes": 1e18}, {"out_bytes": 1e18}, {"speed": 1e-12}):
        kind = WorkerKind(**{"bandwidth_gbps": 1e-9} | changed)
        speed, workers = with_devices([kind], np.ones(2))
        on = replace(workers, on=np.array([2]))
        application = ApplicationSimulator([1.0], speed, SS, start_ns=MAX_NS - 3600 * 10**9, workers=on)
        with pytest.raises(InputError, match="would not end before the last simulated instant"):
            application.advance()


def test_workers_that_are_no_cores_do_not_change() -> None:
    speed, workers = with_devices([WorkerKind(streams=2)], np.ones(4))
    application = ApplicationSimulator([1.0] * 8, speed, SS, workers=workers)
    application.advance(1)
    for call, arguments in (("set_speed", (1.0,)), ("scale", (0.5,)), ("lose", ()), ("resize", ((), (0,)))):
        with pytest.raises(InputError, match=f"^{call}: some workers are no cores; allowed: cores alone$"):
            getattr(application, call)(*arguments)
    assert application.advance()


TWO = WorkerKind(streams=2)
HOSTS = "core_host: allowed: a host for each of 3 slots, ascending, 0 to 3"


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda: with_devices([TWO], np.ones(2)), "workers: 2 cores drive devices, of 2; allowed: fewer"),
        (
            lambda: WorkerSlots((TWO,), np.array([0, 2]), np.array([-1, 0])),
            "workers: kind, device: allowed: one number a slot",
        ),
        (lambda: WorkerSlots((TWO,), np.array([0, 1]), np.array([-1, -1])), "workers: device: allowed: -1 for cores"),
        (lambda: WorkerSlots((TWO,), np.array([0, 1]), np.array([-1, 0])), "workers: device 0: allowed: as many slots"),
        (lambda: mixed(speeds=2), "workers: 3 slots; allowed: one for each of 2 speeds"),
        *((lambda hosts=hosts: shared(hosts), HOSTS) for hosts in ([0, 1], [0, 1, 0], [-1, 0, 0], [0, 1, 4])),
        (lambda: mixed(on=[1, 1]), "workers: on: 2 numbers; allowed: one for each of 1 phases"),
        (lambda: mixed(on=[4]), "workers: on: phase 0: 4; allowed: bits of kinds that there are"),
        (
            lambda: mixed(planner("heft"), WorkerKind(), on=[1]),
            "workers: on: phase 0: 1; allowed: cores in a serial part",
        ),
        (lambda: mixed(gflop=[[1.0, 1.0]]), "workers: gflop: 1 rows; allowed: 2"),
        (lambda: mixed(planner("heft")), "workers: gpu: with a graph; allowed"),
        (
            lambda: mixed(planner("heft"), WorkerKind(), gflop=[[1.0, 1.0]]),
            "workers: gflop: 1 rows; allowed: 2",
        ),
        (
            lambda: mixed(planner("heft"), WorkerKind(), gflop=[[math.inf, 1.0], [math.inf, 1.0]]),
            "workers: task 0 cannot run on any of the workers that are there",
        ),
        (
            lambda: mixed(GraphPart(SS), WorkerKind(), gflop=[[1.0, 1.0], [1.0, math.inf]]),
            "ss: task 1 cannot run on gpu; allowed: a planner",
        ),
        (lambda: mixed(GraphPart(SS, by_rank=True), WorkerKind(), gflop=[[1.0, 1.0]] * 2), "by_rank: not with a work"),
        (
            lambda: mixed(replace(planner("heft"), unlike=None), WorkerKind(), gflop=[[1.0, 1.0]] * 2),
            "planner heft: cannot plan tasks with a work on each kind of workers",
        ),
    ],
)
def test_workers_that_are_refused(work: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=f"^{words}"):
        work()


def shared(hosts: list[int]) -> ApplicationSimulator:
    """A core and two devices that share a link where they are on one of four hosts."""
    network = network_state(network_model("hockney"), "full", hosts=4, bandwidth_gbps=1.0, latency_ns=1.0)
    speed, workers = with_devices([WorkerKind(count=2, link="host")], np.ones(3))
    return ApplicationSimulator([1.0], speed, SS, workers=workers, core_host=hosts, network=network)


def mixed(
    phase: Any = SS,
    kind: WorkerKind = TWO,
    *,
    speeds: int = 0,
    on: list[int] | None = None,
    gflop: list[list[float]] | None = None,
) -> ApplicationSimulator:
    """Two tasks on a core and a device."""
    given = {name: None if values is None else np.array(values) for name, values in (("on", on), ("gflop", gflop))}
    speed, workers = with_devices([kind], np.ones(1 + kind.streams), **given)
    return ApplicationSimulator([1.0, 1.0], np.ones(speeds) if speeds else speed, phases=[phase], workers=workers)


def test_values_at_the_limits_are_accepted() -> None:
    for application, end in (
        (ApplicationSimulator([1e-9], [1.0], SS, start_ns=MAX_NS - 2), MAX_NS - 1),
        (ApplicationSimulator([1.0], [1.0], SS, latency_ns=[10**12]), 2 * 10**12 + 10**9),
        (ApplicationSimulator([1.0], [1.0, 1.0], phases=[None]), 10**9),
    ):
        assert application.advance()
        assert application.end_ns == end
    slow = ApplicationSimulator([1.0], [1.0], SS)
    slow.advance(1)
    with pytest.raises(InputError, match=f"would not end before the last simulated instant, {MAX_NS} ns"):
        slow.set_speed(1e-12)


# Techniques at fault, and techniques of Python.


@technique_kernel
def _below(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return -1


@technique_kernel
def _too_many(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return remaining + 1


@technique_kernel
def _one_each(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1 if request < n_cores else 0


@pytest.mark.parametrize(
    ("kernel", "fault"),
    [
        (_below, "gave a chunk of -1; allowed: 0 to the remaining tasks, 5"),
        (_too_many, "gave a chunk of 6; allowed: 0 to the remaining tasks, 5"),
        (_one_each, "sent every core away with tasks left, 3 of them"),
    ],
)
def test_an_impossible_answer_names_the_technique(kernel: Any, fault: str) -> None:
    mine = Technique("mine", kernel)
    application = ApplicationSimulator([1.0] * 5, [1.0, 1.0], mine)
    for _ in range(2):  # and it stays at fault
        with pytest.raises(PluginError) as caught:
            application.advance()
        assert str(caught.value) == f"application technique mine {fault}"
    with pytest.raises(PluginError, match=f"technique mine {fault}"):  # nor is another chosen instead
        ApplicationSimulator([1.0] * 5, [1.0, 1.0], Selection((mine, TECHNIQUES["gss"]))).advance()


def test_objects_that_are_not_techniques_are_refused() -> None:
    fault = pytest.raises(PluginError, match=r"technique plain: .* use technique_kernel")
    with fault if jit_enabled() else nullcontext():  # in a debugger everything is plain
        ApplicationSimulator([1.0], [1.0], Technique("plain", lambda n, p, core, request, left, memo: 1))
    words = "technique plain: next_chunk takes 1 arguments; allowed: n_tasks, n_cores, core"
    with pytest.raises(InputError, match=words):
        Technique("plain", lambda *arguments: 1)


class Growing:
    """Each chunk is one task more than the one before, over all time steps: it remembers."""

    def __init__(self) -> None:
        self.size = 0

    def chunk(self, ask: Ask) -> int:
        self.size += 1
        return min(self.size, ask.remaining)


@pytest.mark.parametrize(("steps", "every_ns"), [(1, 0), (2, 0), (1, 30), (3, 7)])
def test_simulation_ahead_does_not_change_a_rule_in_python(steps: int, every_ns: int) -> None:
    """It wins every time over one that takes a task for twenty times as long to hand out."""
    given = {"lengths_gflop": [NS * 4] * 40 * steps, "core_speed_gflops": [1.0, 1.0], "part_tasks": [40] * steps}
    alone = ApplicationSimulator(phases=[PythonTechnique(Growing)], overhead_ns=50, **given)
    choosing = ApplicationSimulator(
        phases=[Selection((PythonTechnique(Growing), SS), every_ns)], overhead_ns=50, **given
    )
    assert alone.advance()
    assert choosing.advance()
    assert ran(choosing).tasks == ran(alone).tasks
    assert choosing.chosen["Growing"] >= steps


# Lost cores and widths.


def test_a_job_whose_core_never_comes_is_an_error() -> None:
    application = ApplicationSimulator([TEN] * 3, [1.0], SS)
    application.advance(15)
    application.set_speed(0.0)
    assert not application.advance(1000)
    with pytest.raises(InputError, match="all cores are lost, with 2 tasks left"):
        application.advance()


def test_an_application_whose_cores_never_stay_for_a_task_ends_with_the_last_loss_of_many() -> None:
    """A task of 10 ns, and a core that is there for 5 ns at a time."""
    application = ApplicationSimulator([TEN], [1.0], SS)
    column(application.state, "fruitless")[...] = MOST_FRUITLESS - 3  # almost the limit
    for now in (5, 9):
        application.advance(now)
        application.set_speed(0.0, 0)
        application.set_speed(1.0, 0)
    application.advance(13)
    assert not application.finished
    application.set_speed(0.0, 0)
    assert (application.finished, application.lost, application.last_lost, application.end_ns) == (True, True, -1, 13)
    application.set_speed(1.0, 0)  # there is nothing more for it to do
    assert application.advance()
    said = "1 tasks are left, and cores are lost before any of them ends; allowed: cores that stay longer"
    assert str(lost_error(application.state)) == said


@pytest.mark.parametrize("by", [SS, GraphPart(SS), GraphPart(planner("heft"))], ids=["loop", "graph", "planned"])
def test_the_last_core_stays(by: Any) -> None:
    """Core 1 is to leave; core 0 is lost for good meanwhile."""
    application = ApplicationSimulator([TEN] * 4, [1.0, 1.0], phases=[by])
    application.advance(6)
    application.resize(taken=[1])
    application.lose(0)
    application.validate()
    assert application.advance()
    assert application.state.core.tolist() == [1, 1, 1, 1]
    assert sorted(application.state.end_ns.tolist()) == [10, 20, 30, 40]


def test_scales_are_of_some_cores_and_of_those_that_come() -> None:
    """Core 1 runs at half its speed from 10 ns on; then all at a quarter, also the one that comes at 31 ns."""
    application = ApplicationSimulator([TEN] * 8, [1.0, 1.0], SS, max_cores=3)
    application.advance(11)
    application.scale(0.5, [1], at_ns=10)
    application.advance(31)
    application.scale(0.25, at_ns=30)
    application.advance(31)
    assert application.resize([(2, 2.0, 0)]) == [2]
    assert application.advance()
    assert application.state.start_ns.tolist() == [0, 0, 10, 10, 20, 30, 30, 31]
    assert application.state.end_ns.tolist() == [10, 10, 20, 30, 30, 70, 70, 51]


@settings(max_examples=500)
@given(st.integers(0, 2**32))
def test_scales_at_many_instants_are_applied_in_one_step(seed: int) -> None:
    """Where requests concern their core alone; then one after another, so that all that cores held before counts."""
    chance = np.random.default_rng(seed)
    n_cores, tasks = int(chance.integers(1, 7)), int(chance.integers(1, 5))
    lengths = chance.integers(3, 40, tasks * n_cores) * TEN
    speed = chance.choice([1.0, 2.0, 3.0], n_cores)
    scheduler = TECHNIQUES[chance.choice(["static", "gss", "fac", "ss"])]
    one, other = (ApplicationSimulator(lengths, speed, scheduler, overhead_ns=3) for _ in range(2))
    at = 0
    for round_ in range(4):
        at += int(chance.integers(1, 40))
        factor = chance.choice([0.25, 0.5, 0.999, 1.0, 1.5], int(chance.integers(1, 6)))
        at_ns = np.sort(at + chance.integers(0, 80, len(factor)))
        at = int(at_ns[-1]) + 1
        for application in (one, other):
            application.advance(int(at_ns[0]) + 1)
        in_one_step = round_ % 2 == 0 and not hands_out(other.state, at)
        for application in (one,) if in_one_step else (one, other):
            for instant, value in zip(at_ns.tolist(), factor.tolist(), strict=True):
                if not application.advance(instant + 1):
                    application.scale(value, at_ns=instant)
        if one.finished:  # no step goes beyond the end
            return
        if in_one_step:
            set_scale(other.state, -1, WHOLE)
            assert rescale_all(other.state, speed, at_ns, factor, len(factor), np.empty(n_cores)) == SUSPENDED
            other.advance(at)
            set_scale(other.state, -1, round(factor[-1] * WHOLE))
            assert rescale(other.state, speed, at - 1) == SUSPENDED or other.finished
    assert one.advance()
    assert other.advance()
    for name in ("start_ns", "end_ns", "core", "cores.busy_ns", "cores.finish_ns", "speed"):
        assert column(one.state, name).tolist() == column(other.state, name).tolist(), name


@pytest.mark.parametrize(("name", "concerns"), [("static", False), ("gss", False), ("awf-b", True)])
def test_requests_concern_others_while_there_are_tasks_or_somebody_learns(name: str, concerns: bool) -> None:
    application = ApplicationSimulator([TEN] * 6, [1.0, 1.0], TECHNIQUES[name], overhead_ns=0)
    assert hands_out(application.state, 0)  # no core has any task yet
    while column(application.state, "taken")[:6].min() == 0:
        application.advance(application.now_ns + 1)
    assert not application.finished
    assert hands_out(application.state, application.now_ns) == concerns


def test_without_tasks_a_technique_gets_no_moments() -> None:
    application = ApplicationSimulator([TEN] * 2, [1.0, 1.0], TECHNIQUES["fac-mu-sigma"], overhead_ns=0)
    while number(application.state, "n_left") > 0:
        application.advance(application.now_ns + 1)
    facts = column(application.state, "facts").tolist()
    set_loop_facts(application.state, MOMENTS)
    assert column(application.state, "facts").tolist() == facts


def test_tasks_that_have_places_have_no_other_width() -> None:
    application = ApplicationSimulator([TEN] * 2, [1.0, 1.0], phases=[GraphPart(MAPPED, core=np.zeros(2, np.int64))])
    with pytest.raises(InputError, match="resize: a graph whose tasks have hosts or cores of their own, mapped"):
        application.resize(taken=[0])


def _loop() -> ApplicationState:
    # Four cores in the middle of a loop; one was lost, and what it had was put back.
    application = ApplicationSimulator(np.arange(1.0, 41.0), [1.0, 1.0, 1.0, 1.0], TECHNIQUES["gss"])
    application.advance(9_000_000_000)
    application.set_speed(0.0, 2)
    return application.state


def _graph() -> ApplicationState:
    # Two rows of six tasks, each of the second after two of the first.
    source = np.repeat(np.arange(6), 2)
    target = 6 + (source + np.tile([0, 1], 6)) % 6
    target = target[np.lexsort((target, source))]
    edges = Edges(np.array([0, 12]), source, target, np.zeros(12))
    application = ApplicationSimulator(
        np.arange(1.0, 13.0), [1.0, 1.0, 1.0], phases=[GraphPart(TECHNIQUES["ss"])], edges=edges
    )
    application.advance(8_000_000_000)
    return application.state


def _ask_core(state: ApplicationState) -> int:
    return int(state.cores.ask_core[0])


def _begun(state: ApplicationState) -> int:
    return int(np.flatnonzero(state.start_ns >= 0)[0])


def _computing(state: ApplicationState) -> int:
    return int(np.flatnonzero(column(state, "graph.cores.does") == code(state.graph, "COMPUTES"))[0])


def _held_twice(state: ApplicationState) -> None:
    first, stop, size = (column(state, f"cores.held_{name}") for name in ("first", "stop", "size"))
    one, other = np.flatnonzero(stop > first)[:2].tolist()
    for row in (first, stop, size):
        row[one] = row[other]


def _other_owner(state: ApplicationState) -> None:
    column(state, "graph.tasks.at")[column(state, "graph.cores.task")[_computing(state)]] += 1


def _absent(state: ApplicationState) -> None:
    state.speed[0] = 0.0
    column(state, "n_present")[...] -= 1


def _taken(state: ApplicationState) -> None:
    state.taken[int(np.flatnonzero(state.taken == 0)[0])] = 1
    column(state, "n_left")[...] -= 1


def _waits(state: ApplicationState) -> None:
    sizes = column(state, "graph.pools.waiting_size")
    sizes[0] += 1
    state.graph.waiting[sizes[0] - 1] = 11
    column(state, "graph.n_waiting")[...] += 1


#: Rows of a column, the place in it, what is added, and what is found; or a function, and what is found.
IN_LOOPS: list[Any] = [
    *table_rows(__file__, "in_loops"),
    ("cores.ask_ns", 0, 10**12, "heap of requests: entry "),
    ("cores.ask_ns", 0, -(10**12), "should have been served at -9"),
    (lambda one: np.copyto(one.cores.ask_core[1:2], one.cores.ask_core[:1]), "is 2 times among those that ask"),
    ("cores.away", _ask_core, 1, "asks 1 times, and was sent away"),
    (_held_twice, "hold the same task of "),
    (lambda one: one.taken.__setitem__(0, 0), "tasks that are left: "),
    ("start_ns", _begun, 10**18, " runs from "),
    ("core", _begun, 99, "is on core 99"),
    ("chunk", _begun, 99, "is of chunk 99"),
    ("cores.busy_ns", 1, -(10**18), "core 1 has been busy for -"),
    ("speed", 0, np.nan, "core 0 has speed nan"),
]

IN_GRAPHS: list[Any] = [
    *table_rows(__file__, "in_graphs"),
    (
        lambda one: column(one, "graph.cores.task").__setitem__(_computing(one), 11),
        "computes task 11, which core -1 has",
    ),
    (_other_owner, " computes task "),
    (
        lambda one: column(one, "graph.cores.does").__setitem__(_computing(one), code(one.graph, "IDLES")),
        "and its next event is of kind 0",
    ),
    (_absent, "of speed 0.0, is 1 times among those that ask"),
    (_taken, "and core -1 has it"),
    (
        lambda one: np.copyto(column(one, "graph.cores.queued")[:1], 1 - column(one, "graph.cores.queued")[:1]),
        "times among those that wait for tasks",
    ),
    (_waits, "task 11 is 1 times among those that wait for a core"),
]


@pytest.mark.parametrize(
    ("make", "fault"), [(make, tuple(row)) for make, rows in ((_loop, IN_LOOPS), (_graph, IN_GRAPHS)) for row in rows]
)
def test_a_planted_fault_is_found(make: Callable[[], ApplicationState], fault: tuple[Any, ...]) -> None:
    state = make()
    validate(state)
    *where, words = fault
    if len(where) == 1:
        where[0](state)
    else:
        path, at, amount = where
        of = column(state, path)
        of[at(state) if callable(at) else at if at >= 0 else ...] += amount
    with pytest.raises(InvariantError) as caught:
        validate(state, "job 7")
    assert words in str(caught.value)
    assert str(caught.value).startswith("job 7 at ")


def test_an_application_is_checked_between_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    application = ApplicationSimulator(np.ones(20), [1.0, 1.0], TECHNIQUES["ss"])
    application.checks = 2
    checked: list[int] = []
    monkeypatch.setattr("als.engine.validation.validate", lambda state: checked.append(number(state, "now_ns")))
    for until in (1, 2, 3, 4, 5):
        application.advance(until * 10**9)
    assert application.advance()
    assert checked == [2 * 10**9, 4 * 10**9, 10**10]


def test_totals_leave_out_jobs_without_an_application_level() -> None:
    some, loops = np.array([0.5, math.nan, 0.0]), np.full((len(LOOP_METRICS), 3), math.nan)
    loops[NAMES.index("computing_ns")] = [30.0, math.nan, 15.0]
    figures = application_metrics(np.array([3, 0, 4]), np.array([2, 0, 4]), some, 2 * some, loops, 60.0, detail=False)
    counts = {"tasks": 7, "chunks": 6, "computing_utilisation": 0.75}
    assert figures == counts | {"mean_imbalance": 0.25, "max_imbalance": 0.5, "mean_cov": 0.5, "max_cov": 1.0}
    none, zero = np.full(1, math.nan), np.zeros(1, np.int64)
    figures = application_metrics(zero, zero, none, none, np.full((len(LOOP_METRICS), 1), math.nan), 60.0)
    assert {figures[name] for name in ("computing_utilisation", "mean_imbalance", "max_cov")} == {None}


NAMES = [name for name, _ in LOOP_METRICS]


def measured(
    finish: Any, busy: Any, speed: Any = None, start: int = 0, more: Any = (1.0, 0.25, 0, 1)
) -> dict[str, float]:
    """Metrics of a loop from ``start`` on; ``more``: its work, the spread of its lengths, scheduling and chunks."""
    values = np.empty(len(LOOP_METRICS))
    speeds = np.ones(len(finish)) if speed is None else np.array(speed)
    measure(values, start, np.array(finish, np.int64), np.array(busy, np.int64), speeds, *more)
    return by_name(LOOP_METRICS, values)


def test_all_metrics_by_hand() -> None:
    # Four cores from 10 s on. t = 2, 4, 6 and 8 s, the mean 5 s, σ² = 5 s², the sample's 20/3 s².
    # They spent 2, 3, 6 and 7 s in tasks, in all 18 s, and 1 s in scheduling; 24 GFLOP at 1, 1, 2 and 2 GFLOP/s.
    finish, busy = ([k * 10**9 for k in row] for row in ((12, 14, 16, 18), (2, 3, 6, 7)))
    found = measured(finish, busy, [1.0, 1.0, 2.0, 2.0], 10**10, (24.0, 0.125, 10**9, 9))
    by_hand = {
        "cov": math.sqrt(5) / 5,
        "imbalance": 8 / 5 - 1,
        "load_balance": 5 / 8,
        "percent_imbalance": (8 - 5) / 8 * 4 / 3,
        "max_minus_mean_ns": 3e9,
        "sakellariou_lr": 1 - 18 / (4 * 7),
        "efficiency": 24 / (8 * 6),
        "scheduling_ns": 1e9,
        "scheduling_share": 1 / (4 * 8),
        "rounds": 9.0,
        "length_cov": 0.125,
        "computing_ns": 18e9,
    }
    assert list(found) == list(by_hand) == NAMES
    assert found == pytest.approx(by_hand, rel=1e-14)


def test_values_without_a_number_are_refused() -> None:
    assert all(math.isnan(value) for value in measured([7, 7], [0, 0], start=7).values())
    assert math.isnan(finish_imbalance(np.full(7, 3, np.int64), 3))
    assert math.isnan(finish_cov(np.full(7, 3, np.int64), 3))
    only_scheduling = measured([9, 7], [0, 0], None, 7, (1.0, 0.25, 2, 1))
    assert [name for name, value in only_scheduling.items() if math.isnan(value)] == ["sakellariou_lr"]
    assert math.isnan(measured([9, 7], [1, 0], [0.0, 0.0])["efficiency"])


def test_the_distribution_over_jobs() -> None:
    k = len(LOOP_METRICS)
    nothing = np.full(k, math.nan)
    jobs = [np.arange(k) + 10.0 * j for j in (3, 0, 4, 1, 2)]
    jobs[0][NAMES.index("sakellariou_lr")] = math.nan  # a job of which no core was busy
    loops = np.array([jobs[0], nothing, *jobs[1:], nothing]).T
    zeros, none = np.zeros(7, np.int64), np.full(7, math.nan)
    distribution = application_metrics(zeros, zeros, none, none, loops, 0.0)["distribution"]
    assert list(distribution) == NAMES
    words = ("mean", "median", "p10", "p90", "max")
    for at, name in enumerate(NAMES):
        numbers = (17.5, 15.0, 3.0, 34.0, 40.0) if name == "sakellariou_lr" else (20.0, 20.0, 4.0, 36.0, 40.0)
        expected = {word: number + at for word, number in zip(words, numbers, strict=True)}
        assert distribution[name] == pytest.approx(expected, rel=1e-14), name
    empty = application_metrics(zeros, zeros, none, none, np.full((k, 7), math.nan), 0.0)["distribution"]
    assert empty["cov"] == dict.fromkeys(words)
    assert empty.keys() == distribution.keys()


def test_the_page_defines_every_metric() -> None:
    text = section(ROOT / "docs" / "reference/metrics.md", "The application level")
    for rest, unit, metrics in (
        (text, "fraction", LOOP_METRICS),
        (text[text.index("### Graphs") :], "ratio", GRAPH_METRICS),
    ):
        rows = table(rest[rest.index("| metric |") :])
        assert [(row[1].strip("`"), row[2].replace(unit, "1")) for row in rows] == list(metrics)


def test_a_graph_after_a_loop_is_planned_for_the_cores_that_stay() -> None:
    phases = [SS, planner("heft")]
    application = ApplicationSimulator([TEN] * 8, [1.0, 1.0], phases=phases, part_tasks=[4, 4], max_cores=3)
    application.advance(6)
    application.resize([(7, 1.0, 0)], [1])
    assert application.advance()
    assert application.state.core.tolist() == [0, 1, 7, 0, 0, 7, 0, 7]
