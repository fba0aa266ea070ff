"""Policies and programs that direct running jobs: their speeds, widths, ends, which cores others wait for, and all at once."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_traces import read_batch
from directing import KINDS, PLATFORM, TOLD, Follows, LastOfEach, TurnSpeeds, TurnWidths, changed_toy, command_rows
from one_result import assert_one_result
from tables import kept, table_rows, table_text
from test_power_runs import commanded_states

import bridge
from als.programs.table import Programs
from als.techniques.contract import Technique
from bls import ConstraintOptions, HostGroup, Platform, Power, Rules
from bls.machine.host_power import HostPower
from bls.workloads.workload import Workload
from bridge.couplings import inline
from bridge.couplings.inline_state import SavedStates
from bridge.scenarios.application_map import parse_application_map
from bridge.scenarios.scenario import Application
from traces.base.errors import InputError, PeerError, PluginError
from traces.checks.ledger import check_ledger

pytestmark = pytest.mark.whole

S = 10**9
FOUR = Platform((HostGroup(1, 4, 4.0),))
HINT, DECIDE = Rules(coordination="hint"), Rules(resize="decide")
MALLEABLE = ConstraintOptions(malleable="1:0.5:2")
ONE = Workload.from_jobs([(7, 0, 10, 2, 100)])


#: Seeds that once differed: a release at the instant of a promise; two messages at one instant; requests of idle cores;
#: losses that were taken back; tasks that a stop had cut which was put off.
ONCE = (33, 56, 136, 236, 575, 869)
OFTEN = {"constraints": ConstraintOptions(failures="mtbf:100s,mttr:5s"), "keep_tasks": False}
GRAPHS = table_text(__file__, "graphs")
OF_GRAPHS = {"application": Application(applications=parse_application_map(GRAPHS, "graphs"))}
PLANNED = {
    "application": Application(
        speeds=("square:period=3s,low=0.4,duty=0.3",),
        applications=parse_application_map(GRAPHS.replace('"ss"', '"heft"'), "planned"),
    )
}
CHOICES = {"als": "select:ss,gss,static,every=2s", "tasks_per_core": 8}


@pytest.mark.parametrize(
    ("name", "seeds", "options", "least"),
    [
        ("speeds", range(2), {}, {"scales": 30}),
        ("everything", range(5), {}, dict.fromkeys(TOLD, 30)),
        ("limits", range(5), {}, dict.fromkeys(TOLD, 20)),
        ("receive hints", (*range(4), *ONCE), {}, {"hints": 60}),
        ("receive hints", (305,), OFTEN, {"hints": 0}),  # room is made before later attempts have rows
        ("receive hints", (0,), CHOICES, {"hints": 0}),
        ("evolving", range(4), {}, {"widths": 30}),
        ("everything", range(3), OF_GRAPHS, {"scales": 30, "widths": 30}),
        ("receive hints", range(3), OF_GRAPHS, {"hints": 30}),
        ("speeds", range(2), PLANNED, {"scales": 30}),
        ("widths", range(2), PLANNED, {"widths": 30}),
    ],
)
def test_in_place_or_simulated_again_it_is_the_same(
    name: str, seeds: Sequence[int], options: dict[str, Any], least: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = dict.fromkeys(TOLD, 0)
    for seed in seeds:
        kept = KINDS[name].simulated(seed, **options)
        with monkeypatch.context() as patch:
            patch.setattr(Technique, "by_memo", False)
            assert_one_result(kept, KINDS[name].simulated(seed, **options))
        if name == "limits":
            commanded_states(kept)
        for table, rows in command_rows(kept).items():
            told[table] += rows
    assert all(told[table] > count for table, count in least.items()), told


def test_applications_that_are_kept_go_as_their_jobs_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is found by leaving out jobs that have ended, and grows only with those that run."""
    made, sizes = [], []
    new, make_room = inline.new_inline_state, SavedStates.make_room

    def noted(*given: Any, **options: Any) -> Any:
        made.append(new(*given, **options))
        return made[-1]

    def made_room(saved: SavedStates, running: Any) -> None:
        make_room(saved, running)
        sizes.append((len(saved.words), len(running)))
        assert (saved.first[np.setdiff1d(np.arange(len(saved.first)), running)] == -1).all()

    monkeypatch.setattr(inline, "new_inline_state", noted)
    monkeypatch.setattr(SavedStates, "make_room", made_room)
    workload = Workload.from_jobs([(number, 20 * number, 10, 8, 20) for number in range(1, 201)])
    options: dict[str, Any] = {"als": "ss", "tasks_per_core": 8, "rules": HINT, "keep_tasks": False}
    bridge.simulate(workload, PLATFORM, **options)
    # One runs at a time; each needs some 730 words, and there was room for 22 of them.
    assert len(sizes) >= 5
    assert {running for _, running in sizes} == {1}
    assert len({size for size, _ in sizes}) == 1
    with monkeypatch.context() as patch:
        patch.setattr(Technique, "by_memo", False)
        bridge.simulate(workload, PLATFORM, **options)
    kept, again = made  # which way a run takes shows in what there is room for
    assert len(kept.saved.flags) > 0
    assert len(kept.journal.instant) == len(again.saved.flags) == 0


@pytest.mark.parametrize(
    "options",
    [
        {"als": "select:ss,gss,every=1s", "tasks_per_core": 6, "variation": 0.5},
        {"als": "ss", "application": OF_GRAPHS["application"]},
    ],
    ids=["a choice", "graphs"],
)
def test_applications_that_are_kept_outlive_the_room_for_others(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room for one application grows while others are kept, also in forks of simulations that are gone."""
    room, grown = Programs.room, []
    with_room = inline.with_room

    def noted(*given: Any) -> Any:
        grown.append(int((given[0].saved.first >= 0).sum()))
        return with_room(*given)

    monkeypatch.setattr(Programs, "room", lambda *given: tuple(min(size, 20) for size in room(*given)))
    monkeypatch.setattr(inline, "with_room", noted)
    workload = Workload.from_jobs([(n, n - 1, 4 + n, (1 + n) % 9 + 1, 60) for n in range(1, 9)])
    kept = bridge.simulate(workload, PLATFORM, rules=HINT, **options)
    assert max(grown) > 0
    simulation = bridge.Simulation(kept.scenario)
    for instant in np.unique(kept.jobs.start_ns).tolist():
        fork = simulation.run(instant).fork()
        run = simulation._run
        del simulation
        run.inline.saved._slab[:] = 0x5A
        simulation = fork
    assert_one_result(kept, simulation.result())
    with monkeypatch.context() as patch:
        patch.setattr(Technique, "by_memo", False)
        assert_one_result(kept, bridge.simulate(workload, PLATFORM, rules=HINT, **options))


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *(("everything", 2), ("limits", 9)),
        *(pytest.param(*one, marks=pytest.mark.release) for one in (("speeds", 0), ("widths", 5), ("hints", 8))),
    ],
)
def test_in_processes_it_is_the_same(name: str, seed: int) -> None:
    reference = KINDS[name].simulated(seed)
    assert_one_result(reference, KINDS[name].simulated(seed, coupling="pool", workers=2))
    assert sum(command_rows(reference).values()) > 20


def test_a_policy_learns_which_cores_jobs_are_given() -> None:
    policy = Follows(5)
    KINDS["widths"].simulated(5, bls=policy)
    assert policy.given > 20


#: What the toy in Python does to running jobs.
SCALES_TOLD = kept(__file__, "scale_commands")
#: It checks its books, too.
RESIZES = kept(__file__, "resizes")
#: It wants of each running job the last of two cores or more, while some wait.
HINTS = kept(__file__, "hints")
PROGRAMS = {"speeds": (TurnSpeeds, SCALES_TOLD), "widths": (TurnWidths, RESIZES), "hints": (LastOfEach, HINTS)}


@pytest.mark.parametrize(
    ("name", "seed", "coupling"), [("speeds", 9, "pool"), ("widths", 11, "pool"), ("hints", 2, "inline")]
)
def test_another_program_directs_like_a_policy_in_python(name: str, seed: int, coupling: str, tmp_path: Path) -> None:
    policy, changes = PROGRAMS[name]
    options = KINDS[name].draw(seed)
    if name == "speeds":
        options = {"als": "gss", "variation": 0.3, "tasks_per_core": 3}
    workload, command = KINDS[name].workload(seed), changed_toy(tmp_path, changes)
    reference = bridge.simulate(workload, PLATFORM, **options | {"bls": policy()})
    assert sum(command_rows(reference).values()) > 10
    options = {key: value for key, value in options.items() if key != "bls"} | {"coupling": coupling, "workers": 2}
    assert_one_result(reference, bridge.simulate(workload, PLATFORM, bls_command=command, **options))


def test_what_another_program_may_not(tmp_path: Path) -> None:
    one, two = ONE, Workload.from_jobs([(7, 0, 10, 2, 100), (8, 1, 10, 15, 100)])
    wide: dict[str, Any] = {"rules": DECIDE, "constraints": MALLEABLE}
    no_head = r"its queue has no head; allowed: none, .*; or a policy or a scheduler that direc"

    def resizes(cores: int) -> dict[str, str]:
        told = f'"resize": [{{"job": job, "cores": {cores}}} for job in running]'
        return RESIZES | {'"resize": []': told, '"wake_ns": []': '"wake_ns": [message["now_ns"] + 10**9]'}

    strange = {name: text.replace("max(cores)", "min(free)") for name, text in HINTS.items()}
    for changes, workload, options, kind, message in (
        ({}, one, wide, InputError, r"resize='decide': batch policy .* does not set the widths of jobs; allowed: .* hello"),
        (resizes(9), one, wide, PeerError, "it resizes job 0 .number 7. to 9 cores; allowed: 1 to 4$"),
        (resizes(0), one, wide, PeerError, "not a message.*resize"),
        (resizes(1), one, {}, PeerError, "it resizes job 0 .number 7.; allowed: if machine has resizes = true"),
        ({}, two, {"rules": HINT}, InputError, no_head),
        (strange, two, {"rules": HINT}, PeerError,
         r"scheduler '.*', at 1000000000 ns: hint\(\) of job 7: core 2; allowed: cores that it hol"),
    ):  # fmt: skip
        with pytest.raises(kind, match=message):
            bridge.simulate(workload, PLATFORM, bls_command=changed_toy(tmp_path, changes), als="ss", **options)


class Does:
    """Does something to running jobs of which the engine is to say that it cannot be; job 8 waits."""

    name = "does"

    def __init__(self, what: Any, *directs: str) -> None:
        self.what, self.directs = what, directs

    def decide(self, view: Any) -> Iterator[Any]:
        waiting, free = list(view.waiting), view.free_cores
        for job in view.running:
            self.what(view, job, waiting)
        for job in waiting:
            if job.cores <= free and job.job_id != 8:
                free -= job.cores
                yield job
        view.wake_after(S)


@pytest.mark.parametrize(
    ("directs", "what", "message"),
    [
        ("speeds", lambda v, j, w: v.scale(j, 3), r"scale\(\) of job 7: factor: 3 is out of range; allowed: 0.001 to 2$"),
        ("speeds", lambda v, j, w: v.scale(j, 1, [0, 5]), r"scale\(\) of job 7: core 5; allowed: cores that it holds$"),
        ("speeds", lambda v, j, w: v.scale(j, 1, 3), r"scale\(\) of job 7: cores: 3; allowed: numbers of cores, as \[3, 4\]$"),
        ("speeds", lambda v, j, w: [v.scale(j, 1, [0]), v.scale(j, 1)],
         "all of its cores after some of them in one pass; allowed: all first$"),
        ("speeds", lambda v, j, w: v.scale(w[0], 1), "directs job 8, which does not run, and which it "),
        ("ends", lambda v, j, w: [v.cancel(j), v.requeue(j)], "job 7 is ended twice in one pass; allowed: "),
        ("ends", lambda v, j, w: v.cancel(7), r"cancel\(\) was given 7; allowed: jobs of view.running"),
        ("ends", lambda v, j, w: v.scale(j, 1), r"scale\(\) is for a batch policy whose directs has "),
        ("power", None, "batch policy does: directs: 'power'; allowed: one of 'speeds', 'ends', 'wid"),
        ("widths", lambda v, j, w: v.resize(j, 5), r"resize\(\) of job 7: cores: 5 is out of range; allowed: 1 to 4$"),
        ("hints", lambda v, j, w: v.hint(j, [5], w[0]), r"hint\(\) of job 7: core 5; allowed: cores that it holds and"),
        ("hints", lambda v, j, w: v.hint(j, [1]),
         r"hint\(\) of job 7: waiting: None; allowed: the job that waits for these cores$"),
        ("hints", lambda v, j, w: [v.hint(j), v.hint(j)], r"hint\(\) of job 7 twice in one pass; allowed: once$"),
        ("hints", lambda v, j, w: v.hint(w[0]), r"hint\(\) was given job 8, which does not run; allowed: jobs of view.runn"),
        ("hints", lambda v, j, w: v.hint(j, [1], w[1]), r"decide\(\) hints to job 7 that job 9 waits, which it starts$"),
    ],
)  # fmt: skip
def test_what_cannot_be(directs: str, what: Any, message: str) -> None:
    workload = Workload.from_jobs([(7, 0, 10, 2, 100), (8, 1, 10, 3, 100), (9, 1, 10, 1, 100)])
    given = {"widths": {"rules": DECIDE, "constraints": MALLEABLE}, "hints": {"rules": HINT}}.get(directs, {})
    with pytest.raises(PluginError, match=message):
        bridge.simulate(workload, FOUR, bls=Does(what, directs), als="ss", **given)


def test_what_it_cannot_be_combined_with() -> None:
    workload = Workload.from_jobs([(7, 0, 10, 2, 100), (8, 0, 10, 2, 100)])
    scales, resizes = Does(lambda v, j, w: v.scale(j, 1, [0]), "speeds"), Does(lambda v, j, w: v.resize(j, 2), "widths")
    hints, five = Does(lambda v, j, w: v.hint(j), "hints"), Does(None)
    five.directs = 5  # type: ignore[assignment]
    for policy, options, message in (
        (five, {}, "batch policy does: directs: 5; allowed: one of 'speeds', "),
        (scales, {"als": "recorded"}, r"scale\(\) of job 7: cores; allowed: all of its cores, since it is replayed"),
        (resizes, {}, r"resize\(\) is for a batch policy whose directs has 'widths', with "),
        (resizes, {"rules": Rules(resize="equal"), "constraints": MALLEABLE},
         "resize='equal': batch policy does decides itself which jobs start, and its queue has no head; allowed: decide, none"),
        (hints, {}, r"hint\(\) is for a batch policy whose directs has 'hints', with "),
    ):  # fmt: skip
        with pytest.raises((InputError, PluginError), match=message):
            bridge.simulate(workload, PLATFORM, bls=policy, **{"als": "ss"} | options)
    with pytest.raises(InputError, match="no scaled speeds: neither its policy nor a limit to power directs"):
        _ = bridge.simulate(workload, PLATFORM).scales


class Paced:
    """Starts what fits; at some instants (s) all jobs that run get another speed."""

    name, directs = "paced", ("speeds",)

    def __init__(self, factors: dict[int, float]) -> None:
        self.factors = factors

    def decide(self, view: Any) -> Iterator[Any]:
        yield from view.waiting
        for instant, factor in ((at * S, factor) for at, factor in self.factors.items()):
            if view.now_ns == instant:
                for job in view.running:
                    view.scale(job, factor)
            elif view.now_ns < instant:
                view.wake_at(instant)


@pytest.mark.parametrize("als", ["ss", "recorded"])
def test_by_hand(als: str) -> None:
    """Two cores have ten tasks of 2 s, or run for 10 s. At 4 s each has done two; two more take 4 s; the last begin at 12."""
    more: dict[str, Any] = {} if als == "recorded" else {"tasks_per_core": 5}
    result = bridge.simulate(ONE, PLATFORM, bls=Paced({4: 0.5, 12: 1.0}), als=als, **more)
    assert result.jobs.end_ns.tolist() == [14 * S]
    assert list(result.scales) == ["row", "job_id", "attempt", "command_ns", "core", "factor"]
    assert result.scales.to_numpy().tolist() == [[0, 7, 0, 4 * S, -1, 0.5], [0, 7, 0, 12 * S, -1, 1]]
    assert "from here on all of its cores run at 0.5 times their own speed" in result.story(7)


@pytest.mark.parametrize("coupling", ["inline", "pool"])
def test_scales_between_requests_by_hand(coupling: str, tmp_path: Path) -> None:
    """Two jobs, from 0 s and from 1 s, have a task of 20 s on one core and three of 4 s on the other, one after another.

    All run at half of their speed from 2 to 7 s and from 9 to 16 s. No change is visible before the long tasks end, so that the
    applications defer them, also across requests. The short tasks of job 1 do 2 s until 2 and 2 s until 6; 1/2 s until 7, 2 s
    until 9 and 3/2 s until 12; 2 s until 16 and 2 s until 18. Those of job 2 do 1, 5/2 and 1/2 s until 7.5; 3/2 and 5/2 s until
    14; 1 and 3 s until 19. The one that begins at 7.5 would end at 11.5 if the scale of 9 s were not applied to it. The long
    tasks do 2, 5/2, 2, 7/2 and 10 s until 26; and 1, 5/2, 2, 7/2 and 11 s until 27.
    """
    (tmp_path / "lengths.txt").write_text("20\n4\n4\n4\n")
    jobs = Workload.from_jobs([(1, 0, 16, 2, 100), (2, 1, 16, 2, 100)])
    options: dict[str, Any] = {"tasks_per_core": 2, "lengths": f"file:{tmp_path / 'lengths.txt'}", "coupling": coupling}
    found = bridge.simulate(jobs, FOUR, bls=Paced({2: 0.5, 7: 1.0, 9: 0.5, 16: 1.0}), als="ss", **options).tasks
    ends_s = (found["end_ns"] / S).groupby(found["job_id"]).apply(sorted).to_dict()
    assert ends_s == {1: [6, 12, 18, 26], 2: [7.5, 14, 19, 27]}


class Ends:
    """Starts what fits; ends all that runs at an instant."""

    name, directs = "ends", ("ends",)

    def __init__(self, how: str, at_ns: int) -> None:
        self.how, self.at_ns = how, at_ns

    def decide(self, view: Any) -> Iterator[Any]:
        yield from (job for job in view.waiting if job.cores <= view.free_cores)
        if view.now_ns < self.at_ns:
            view.wake_at(self.at_ns)
        for job in view.running if view.now_ns == self.at_ns else ():
            getattr(view, self.how)(job)


@pytest.mark.parametrize(("how", "state", "als", "words"), table_rows(__file__, "jobs_are_ended"))
def test_jobs_are_ended(how: str, state: str, als: str, words: str) -> None:
    """One ns later; one that is queued again begins again at that instant."""
    result = bridge.simulate(ONE, PLATFORM, bls=Ends(how, 3 * S), als=als)
    check_ledger(result.ledger)
    ended = [[3 * S + 1, state, "the batch policy ended it"], [13 * S + 1, "completed", ""]]
    columns = result.jobs[["end_ns", "state", "cut_because"]]
    assert columns.to_numpy().tolist() == ended[: 1 + (how == "requeue")]
    assert words in result.story(7)


@pytest.mark.parametrize(("at_s", "how", "als"), table_rows(__file__, "ended_as_hosts_boot"))
def test_jobs_are_ended_as_their_hosts_boot(at_s: int, how: str, als: str, tmp_path: Path) -> None:
    """The failure, which comes before the job could start, cuts it; it runs again when the host is back."""
    (tmp_path / "fails.csv").write_text("host,down_s,up_s\n0,110,112\n")
    draws = HostPower(50, [(1, 100)], base_w=10, off_w=5, shutdown=("10s", 80), boot=("20s", 90))
    jobs, machine = Workload.from_jobs([(1, 0, 10, 2, 10), (2, 100, 30, 2, 30)]), HostGroup(1, 2, 2.0, power=draws)
    result = bridge.simulate(
        jobs,
        Platform((machine,)),
        bls=Ends(how, at_s * S),
        als=als,
        power=Power(sleep_after_ns=0),
        failures=str(tmp_path / "fails.csv"),
    )
    columns = result.jobs[["start_ns", "end_ns", "state"]]
    cut = [110 * S, 110 * S, "requeued"], [112 * S, 142 * S, "completed"]
    assert columns.to_numpy().tolist() == [[0, 10 * S, "completed"], *cut]


def test_the_trace_shows_all_of_it(tmp_path: Path) -> None:
    result = KINDS["everything"].simulated(2)
    shown = read_batch(result.write_trace(tmp_path))[0]["batch scheduler"]
    assert [one.name for one in result.ledger.events] == ["hints", "widths", "scales", "releases"]
    for one in result.ledger.events:
        name, frame, declared = one.name, getattr(result, one.name), one.table_columns()
        assert [str(kind).replace("float64", "double") for kind in frame.dtypes] == [
            column.stored for column in declared.values()
        ]
        at = frame["released_ns" if name == "releases" else "command_ns"]
        together = [frame["row"], at] if name in ("widths", "releases") else [frame.index]
        assert len(frame)
        assert [start for _, start, _, _ in shown[name]] == sorted(at.groupby(together).first().tolist())
        assert {region for region, *_ in shown[name]} == {name.removesuffix("s")}
    of = {tuple(values) for *_, values in (one for name in TOLD for one in shown[name])}
    assert of == {
        ("running job", "waiting job", "lack", "wanted"),
        ("running job", "given", "asked", "wished"),
        ("running job", "core", "parts per billion"),
    }


class OnceEach:
    """Job 7 starts alone; at 4 s it receives all commands at once."""

    name, directs = "once-each", ("speeds", "widths", "hints", "ends")

    def decide(self, view: Any) -> Iterator[Any]:
        yield from [job for job in view.waiting if job.job_id == 7]
        if view.now_ns < 4 * S:
            view.wake_at(4 * S)
        if view.now_ns == 4 * S:
            (job,), (waits,) = view.running, view.waiting
            view.scale(job, 0.5)
            view.resize(job, 4)
            view.hint(job, [1], waits)
        if view.now_ns > 4 * S and not view.n_running:
            yield from view.waiting


@pytest.mark.parametrize("coupling", ["inline", "pool"])
def test_all_directions_by_hand(coupling: str, tmp_path: Path) -> None:
    """Eight tasks of 2 s. At 4 s two cores have done four of them; with four, 1 ns later, at half speed, the rest take 4 s."""
    widths = tmp_path / "widths.csv"
    widths.write_text("job_id,min_cores,max_cores\n7,1,4\n")
    said: dict[str, Any] = {"als": "ss", "tasks_per_core": 4, "coupling": coupling}
    said |= {"rules": Rules(resize="decide", coordination="hint"), "constraints": ConstraintOptions(malleable=widths)}
    workload = Workload.from_jobs([(7, 0, 8, 2, 100), (8, 1, 1, 4, 100)])
    found = bridge.simulate(workload, FOUR, bls=OnceEach(), **said)
    check_ledger(found.ledger)
    assert found.tasks.start_ns.tolist()[:8] == [0, 0, 2 * S, 2 * S, 4 * S, 4 * S, 4 * S + 1, 4 * S + 1]
    assert found.jobs.end_ns.tolist()[0] == 8 * S + 1
    assert found.widths[["command_ns", "core", "change"]].to_numpy().tolist() == [[4 * S, 2, 1], [4 * S, 3, 1]]
    assert found.hints[["command_ns", "waiting_job_id", "lack", "wanted"]].to_numpy().tolist() == [[4 * S, 8, 4, 1]]
    assert found.scales[["command_ns", "core", "factor"]].to_numpy().tolist() == [[4 * S, -1, 0.5]]
