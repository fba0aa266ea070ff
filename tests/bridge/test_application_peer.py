"""Our application simulator by the protocol, without a network: suspended, changed, stopped, resumed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import conversation
import pytest
from conversation import Pair, changed, recipe
from hypothesis import given
from hypothesis import strategies as st
from tables import table_text

from als.programs.program import Loop, Program
from bridge.protocol import messages
from bridge.protocol.messages import Change, Failed, Outcome, SimulateJob, Suspended
from bridge.protocol.packing import pack_float64, pack_int64, unpack_int64
from bridge.protocol.vocabulary import Message
from bridge.workers import application_peer
from bridge.workers.application_peer import ApplicationPeer
from traces.base.time import MAX_NS

START_NS, S = 5 * 10**9, 10**9

#: Its room grows with the jobs of all examples.
PEER = ApplicationPeer()


def start(seed: int = 1, how: str = "ss", program: str = "", **fields: Any) -> SimulateJob:
    """About twelve tasks of 1 GFLOP on three cores of 1, 2 and 1 GFLOP/s."""
    given_fields: dict[str, Any] = {
        "seed": seed,
        "job_number": 9,
        "cores": 3,
        "n": 12,
        "variation": 0.5,
        "total_gflop": 12.0,
        "core_gflop": 4.0,
        "bytes_per_gflop": 1e9,
        "program": program,
    }
    job: dict[str, Any] = {"job": 4, "attempt": 2, "start_ns": START_NS, "technique": how, "records": True}
    speeds = pack_float64([1.0, 2.0, 1.0])
    return conversation.start(
        "recipe", **job | {"core_speed_gflops": speeds, "recipe": recipe(**given_fields)} | fields
    )


class Played:
    """A bridge and an application, connected; both sessions judge every message."""

    def __init__(self) -> None:
        self.pair, self.peer = Pair("recipe"), ApplicationPeer()

    def answers(self, order: Message) -> list[Message]:
        self.pair.say(order)
        answers = []
        for answer in self.peer.answers(order):
            self.pair.say(answer)
            answers.append(answer)
        return answers

    def run(self, order: SimulateJob, resumes: Iterable[messages.Resume] = ()) -> list[Message]:
        """The answers after the last suspension, if there are any suspensions at all."""
        answers = self.answers(order)
        for resume in resumes:
            if not isinstance(answers[-1], Suspended):
                break
            answers = self.answers(resume)
        return answers


def resume(**fields: Any) -> messages.Resume:
    return conversation.resume(job=4, **fields)


def test_a_stop_at_the_start() -> None:
    *_, shown = Played().run(start(records=False, stop_ns=START_NS))
    assert isinstance(shown, Outcome)
    assert (shown.end_ns, shown.stopped, shown.ran, shown.chunks) == (START_NS, True, 0, 0)
    assert shown.tasks > 0
    assert shown.length_gflop >= 12.0


@given(
    how=st.sampled_from(["static", "ss", "gss", "fac", "rnd", "awf-c", "fac-mu-sigma", "static-steal"]),
    work=st.tuples(st.integers(1, 300), st.integers(1, 40), st.sampled_from([0.0, 0.3, 2.0])),
    costs=st.fixed_dictionaries({"overhead_ns": st.sampled_from([0, S // 3]), "master": st.booleans()}),
    latency_ns=st.sampled_from([None, 7]),
    stop=st.sampled_from([None, 0, S, 20 * S]),
    seed=st.sampled_from([0, 1, 2**64 - 1]),
)
def test_a_plain_job_is_reported_as_an_application_is(
    how: str, work: tuple[int, int, float], costs: dict[str, Any], latency_ns: int | None, stop: int | None, seed: int
) -> None:
    cores, tasks_per_core, variation = work
    n, speeds = cores * tasks_per_core, [1.0 if c == 0 else float(c % 3) for c in range(cores)]  # of speed 0: not there
    drawn = {
        "cores": cores,
        "n": n,
        "variation": variation,
        "total_gflop": float(n),
        "core_gflop": float(tasks_per_core),
    }
    order = start(
        how=how,
        core_speed_gflops=pack_float64(speeds),
        recipe=recipe(seed=seed, **drawn),
        latency_ns=None if latency_ns is None else pack_int64([latency_ns] * cores),
        stop_ns=None if stop is None else START_NS + stop,
        **costs,
    )
    of_an_application = Played().run(changed(order, until_ns=MAX_NS))
    assert PEER.plain_answers(order) == of_an_application
    assert PEER.plain_answers(changed(order, records=False)) == of_an_application[-1:]


@pytest.mark.parametrize(
    "fields",
    [
        {"releases": True},
        {"until_ns": START_NS + S},
        {"resizes": ()},
        {"changes": (Change(at_ns=START_NS, core=0, speed_gflops=2.0),)},
        {"how": "select:ss,fac"},
        {"how": "wf:weights=1/2/1"},
        {"how": "heft"},
        {"how": "no-such-technique"},
        {"program": Program((Loop("ss"),), steps=2).to_json()},
    ],
)
def test_other_jobs_are_not_plain(fields: dict[str, Any]) -> None:
    assert PEER.plain_answers(start(**fields)) is None


def test_a_suspended_job_promises_what_its_cores_hold() -> None:
    # One chunk a core: the last to be through ends the job, and that is known at once.
    played = Played()
    (suspended,) = played.answers(start(how="static", until_ns=START_NS + 1))
    *_, ended = played.answers(resume())
    assert isinstance(suspended, Suspended)
    assert isinstance(ended, Outcome)
    assert (suspended.now_ns, suspended.not_before_ns) == (START_NS + 1, ended.end_ns)
    # A promise counts on changes and on a stop that the job knows.
    at_ns = START_NS + 2 * S
    faster = (Change(at_ns=at_ns, core=messages.ALL_CORES, speed_gflops=9.0),)
    for shown in ({"changes": faster}, {"stop_ns": at_ns}):
        (suspended,) = Played().answers(start(how="static", until_ns=START_NS + S, **shown))
        assert isinstance(suspended, Suspended)
        assert suspended.not_before_ns == at_ns


@pytest.mark.parametrize("later", [-1, 0, 1, S // 2])
def test_a_job_has_ended_with_its_last_task_though_messages_are_under_way(later: int) -> None:
    order = start(latency_ns=pack_int64([S, S, S]))
    *_, natural = Played().run(order)
    assert isinstance(natural, Outcome)
    until_ns = natural.end_ns + later
    *_, first = Played().answers(changed(order, until_ns=until_ns))
    assert isinstance(first, Suspended if later <= 0 else Outcome)
    *_, shown = Played().run(changed(order, until_ns=until_ns), [resume()])
    assert shown == natural


def test_a_resume_keeps_pending_changes_and_adds_or_removes_a_stop() -> None:
    half_s, until_ns, stop_ns = S // 2, START_NS + S // 2, START_NS + 3 * S
    changes = tuple(Change(at_ns=START_NS + at * half_s, core=1, speed_gflops=1.0 / at) for at in (2, 3))
    whole = {"stop_ns": stop_ns, "changes": changes}
    *_, ended = answers = Played().run(start(**whole))
    assert isinstance(ended, Outcome)
    assert ended.stopped
    assert all(answers != Played().run(start(stop_ns=stop_ns, changes=(change,))) for change in changes)
    assert Played().run(start(until_ns=until_ns), [resume(**whole)]) == answers
    first, last = changes
    pending = start(until_ns=until_ns, changes=(last,))
    assert Played().run(pending, [resume(stop_ns=stop_ns, changes=(first,))]) == answers
    stopped = start(until_ns=until_ns, stop_ns=START_NS + 2 * S)
    assert Played().run(stopped, [resume()]) == Played().run(start())


#: Two loops; as each begins the job wishes for other cores: for four, then for one.
WISHING = Program((Loop("ss", cores=2.0), Loop("ss", cores=0.3)), steps=2).to_json()

GREEDY = table_text(__file__, "greedy")


@pytest.mark.parametrize(
    ("order", "blame", "reason"),
    [
        (start(core_speed_gflops=pack_float64([0.0] * 3)), "user", "all cores are lost,"),
        (start(program='{"als": "sss"}'), "user", "program.als: unknown application technique 'sss'"),
        (start(how="sss"), "user", "technique: unknown application technique 'sss'; known: ss, "),
        (start(how="plugin.py:GREEDY"), "application",
         "application technique greedy gave a chunk of 13; allowed: 0 to the remaining tasks"),
        (start(program=WISHING, resizes=(), wishes=messages.WidthRange(least=2, most=4)), "user",
         "it requests cores 4 times; allowed: up to 3; use inline"),
        (MemoryError(), "application", "MemoryError:"),
        (ZeroDivisionError("a\nbug"), "application", "ZeroDivisionError: a bug"),
    ],
)  # fmt: skip
def test_a_job_that_fails(
    order: SimulateJob | Exception, blame: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugin.py").write_text(GREEDY)
    monkeypatch.setattr(application_peer.m, "MAX_WISHES", 3)
    if isinstance(order, Exception):

        def broken(*arguments: Any, error: Exception = order, **options: Any) -> Any:
            raise error

        monkeypatch.setattr(application_peer, "ApplicationSimulator", broken)
    *_, failed = Played().answers(order if isinstance(order, SimulateJob) else start(until_ns=MAX_NS))
    assert isinstance(failed, Failed)
    assert failed.blame == blame
    assert failed.reason.startswith(reason)


def test_requests_are_sent_before_all_else_and_within_the_width() -> None:
    answers = Played().run(start(program=WISHING, resizes=(), wishes=messages.WidthRange(least=2, most=4)))
    wishes = [answer for answer in answers if isinstance(answer, messages.Wish)]
    assert answers[: len(wishes)] == wishes
    assert [wish.cores for wish in wishes] == [4, 2, 4, 2]
    assert wishes[0].at_ns == START_NS
    (records,) = (answer for answer in answers if isinstance(answer, messages.Records))
    assert unpack_int64(records.start_ns).min() == START_NS + 1
    never = Played().run(start(program=WISHING, resizes=()))
    assert not any(isinstance(answer, messages.Wish) for answer in never)
