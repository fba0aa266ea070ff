"""The role of schedulers in the protocol: its pages, its session, and what an answer is held to."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

import bridge.protocol.session
from bridge.protocol import scheduler_messages
from bridge.protocol.framing import MAX_FRAME_BEFORE_HELLO, frame
from bridge.protocol.packing import pack_int32
from bridge.protocol.scheduler_book import SchedulerBook
from bridge.protocol.scheduler_messages import SCHEDULER_MESSAGES, Decided
from bridge.protocol.session import NEED_DATA, ConnectionClosed, LocalProtocolError, ProtocolError, Refusal, Session
from bridge.protocol.tables import ConnectionState, Role, ScheduledJob
from bridge.protocol.vocabulary import Message
from traces.ledger import STATES

PROTOCOL = Path(bridge.protocol.session.__file__).parents[1] / "PROTOCOL.md"
SECTION = PROTOCOL.read_text(encoding="utf-8").partition("\n## 15. ")[2]
TOKEN = "s3cret"
TYPES = SCHEDULER_MESSAGES.types
BRIDGE, SCHEDULER = Role.BRIDGE, Role.SCHEDULER


def example() -> Iterator[tuple[Role, dict[str, Any]]]:
    """Who says what in the example of the page."""
    listing = re.search(r"```scheduler-session\n(.*?)```", SECTION, re.DOTALL)
    assert listing

    def packed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: packed(one) for name, one in value.items()}
        if isinstance(value, list):
            return [packed(one) for one in value]
        if isinstance(value, str) and value.startswith("<int32"):
            return pack_int32([int(number) for number in value.strip("<>").split()[1:]])
        return value

    for line in listing[1].splitlines():
        speaker, _, text = line.partition("  ")
        yield Role(speaker.partition(" → ")[0]), packed(json.loads(text))


EXAMPLE = list(example())


#: What an answer has that does nothing.
LISTS = dict.fromkeys(("start", "reject", "wake_ns", "scale", "end", "resize", "hint"), ())


class Pair:
    """Both ends; each receives what the other sends."""

    def __init__(self, until: int = 0, **changed: dict[str, Any]) -> None:
        self.ends = {BRIDGE: Session(SchedulerBook, BRIDGE, TOKEN), SCHEDULER: Session(SchedulerBook, SCHEDULER)}
        for speaker, fields in EXAMPLE[:until]:
            said = fields | changed.get(fields["type"], {})
            self.say(speaker, SCHEDULER_MESSAGES.decode(msgspec.msgpack.encode(said), speaker))

    def say(self, speaker: Role, message: Message) -> Any:
        return self.hear(speaker, self.ends[speaker].send(message))

    def hear(self, speaker: Role, data: bytes) -> Any:
        other = self.ends[SCHEDULER if speaker is BRIDGE else BRIDGE]
        other.receive_data(data)
        return other.next_event()

    def answer(self, **fields: Any) -> Any:
        said = {"type": "decided", "decision": 1, **LISTS, **fields}
        return self.hear(SCHEDULER, frame(msgspec.msgpack.encode({key: one for key, one in said.items() if one != ""})))


def test_how_a_job_has_ended_is_said_as_in_the_ledger() -> None:
    assert get_args(scheduler_messages.How) == STATES
    (row,) = re.findall(r"^\| `ended` \| .*$", SECTION, re.MULTILINE)[:1]
    assert set(re.findall(r'`"(\w+)"`', row)) == set(STATES)


def test_the_example_of_the_page_is_a_session() -> None:
    pair = Pair(len(EXAMPLE))
    assert {end.state for end in pair.ends.values()} == {ConnectionState.CLOSING}
    said = {fields["type"] for _, fields in EXAMPLE}
    assert set(TYPES) - said == {"refused", "failed", "eligible", "expected", "released", "given", "host"}
    for end in pair.ends.values():
        end.receive_data(b"")
        assert end.next_event() == ConnectionClosed()


FIRST = {fields["type"]: (speaker, fields) for speaker, fields in EXAMPLE}
OTHERS: dict[str, tuple[Role, dict[str, Any]]] = {
    "refused": (BRIDGE, {"reason": "r", "blame": "bridge"}),
    "failed": (SCHEDULER, {"reason": "r", "blame": "user"}),
    "eligible": (BRIDGE, {"job": 0, "eligible_ns": 1, "estimate_ns": 1}),
    "expected": (BRIDGE, {"job": 0, "expected_end_ns": 1}),
    "released": (BRIDGE, {"job": 0, "cores": pack_int32([2, 3])}),
    "given": (BRIDGE, {"job": 0, "cores": pack_int32([1, 2])}),
    "host": (BRIDGE, {"host": 0, "down": True, "up_again_ns": None}),
}


@pytest.mark.parametrize("name", TYPES)
def test_nothing_else_may_be_said_then(name: str) -> None:
    """At every step of the example, every message that the table does not have is refused by both ends."""
    speaker, fields = (FIRST | OTHERS)[name]
    message = SCHEDULER_MESSAGES.decode(msgspec.msgpack.encode({"type": name, **fields}), speaker)
    for at in range(len(EXAMPLE)):
        pair = Pair(at)
        if name not in SCHEDULER_MESSAGES.steps[pair.ends[speaker].state]:
            with pytest.raises(LocalProtocolError, match="is not allowed while the connection is in the state"):
                pair.ends[speaker].send(message)
            with pytest.raises(ProtocolError):
                pair.hear(speaker, frame(SCHEDULER_MESSAGES.encode(message)))


def submitted(**fields: Any) -> scheduler_messages.Submitted:
    """The job of the example, with other fields."""
    return msgspec.convert(FIRST["submitted"][1] | fields, scheduler_messages.Submitted)


def decide(decision: int, now_ns: int, free_cores: int) -> scheduler_messages.Decide:
    return scheduler_messages.Decide(
        decision=decision,
        now_ns=now_ns,
        free_cores=free_cores,
        free_gpus=pack_int32([1000, 1000]),
        power_left_mw=None,
        woken=False,
    )


NOW = 5_000_000_000


@pytest.mark.parametrize("left", [[], [1000], [1000, 1001], [-1, 0], [0, 0, 0]])
def test_what_is_left_of_gpus_is_a_number_for_each(left: list[int]) -> None:
    question = msgspec.structs.replace(decide(1, NOW, 4), free_gpus=pack_int32(left))
    place = next(at for at, (_, fields) in enumerate(EXAMPLE) if fields["type"] == "decide")
    said = f"free_gpus: {4 * len(left)} bytes; allowed: int32 from 0 to 1000 for each of 2 GPUs"
    with pytest.raises(ProtocolError, match=said):
        Pair(place).hear(BRIDGE, frame(SCHEDULER_MESSAGES.encode(question)))


_WAITING = "; allowed: waiting jobs, "
_INTERVALS = "allowed: half-open intervals, ascending and disjoint, of cores 0 to 3"
_HERE = "it places job 0 (number 17)"


def starts(*cores: Any) -> dict[str, Any]:
    """Job 0 is started, as often as there are columns."""
    return {"start": [{"job": 0, "cores": column} for column in cores]}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"decision": 2}, "decided 2; expected: 1"),
    ({"decision": 0}, "decided 0; expected: 1"),
    ({"start": [{"job": 1, "cores": None}]}, f"it starts job 1, which does not exist{_WAITING}0"),
    (starts(None, None), f"it starts job 0 (number 17), which this answer already starts{_WAITING}none"),
    (starts(None) | {"reject": [{"job": 0, "reason": "no"}]},
     f"it starts job 0 (number 17), which this answer already rejects{_WAITING}none"),
    ({"reject": [{"job": 4, "reason": "no"}]}, f"it rejects job 4, which does not exist{_WAITING}0"),
    ({"reject": [{"job": 0, "reason": "\t"}]}, "it rejects job 0 (number 17) without a reason; allowed: 1 to 200 characters"),
    *((starts(pack_int32([0, n])), f"{_HERE} on {n} cores; the request is 2") for n in (1, 3)),
    (starts(b"123"), f"{_HERE}: cores: 3 bytes; allowed: 8 for each interval, and at least one"),
    *((starts(pack_int32([end for pair in pairs for end in pair])), f"{_HERE}: cores: {pairs}; {_INTERVALS}")
      for pairs in ([(3, 5)], [(-1, 1)], [(2, 2)], [(2, 3), (0, 1)], [(0, 2), (1, 2)])),
    ({"wake_ns": [NOW]}, f"it asks to decide at {NOW} ns; allowed: later than now, {NOW}"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "reason"), WRONG)
def test_what_an_answer_is_held_to(fields: dict[str, Any], reason: str) -> None:
    pair = Pair(5)
    with pytest.raises(ProtocolError) as caught:
        pair.answer(**fields)
    assert (caught.value.reason, caught.value.blame) == (reason, "scheduler")
    farewell = pair.ends[SCHEDULER]
    farewell.receive_data(caught.value.farewell)
    assert farewell.next_event() == scheduler_messages.GivenUp(reason=reason, blame="scheduler")
    with pytest.raises(ProtocolError):  # again, at every later call
        pair.ends[BRIDGE].next_event()


@pytest.mark.parametrize(
    ("gpus", "reason"),
    [
        (b"123", "gpus: 3 bytes; allowed: 4 for each GPU"),
        *((pack_int32(gpus), f"gpus: {gpus}; allowed: ascending numbers below 2") for gpus in ([0, 2], [-1], [1, 0])),
    ],
)
def test_which_gpus_a_job_cannot_get(gpus: bytes, reason: str) -> None:
    said = FIRST["started"][1] | {"gpus": gpus}
    with pytest.raises(LocalProtocolError, match=re.escape(reason)):
        Pair(6).say(BRIDGE, SCHEDULER_MESSAGES.decode(msgspec.msgpack.encode(said), BRIDGE))


def test_a_key_twice_is_no_answer() -> None:
    fields = {"type": "decided", "decision": 1, **LISTS}
    pairs = [*fields.items(), ("decision", 1)]
    twice = bytes([0x80 | len(pairs)]) + b"".join(msgspec.msgpack.encode(one) for pair in pairs for one in pair)
    with pytest.raises(ProtocolError, match="not a message: the key 'decision' occurs twice"):
        Pair(5).hear(SCHEDULER, frame(twice))


def directing(directs: str, *, resizes: bool = False, hints: bool = False) -> Pair:
    """Asked for decision 2: job 0 runs and may have 1 to 4 cores, 1 waits, and so does 2, which is rigid."""
    widths, machine = {"min_cores": 1, "max_cores": 4}, {"resizes": resizes, "hints": hints}
    pair = Pair(7, hello={"directs": directs.split()}, machine=machine, submitted=widths)
    pair.say(BRIDGE, submitted(job=1, number=18, **widths))
    pair.say(BRIDGE, submitted(job=2, number=19))
    pair.say(BRIDGE, decide(2, NOW + 1, 2))
    return pair


def resized(*cores: int, job: int = 0) -> dict[str, Any]:
    return {"decision": 2, "resize": [{"job": job, "cores": one} for one in cores]}


LAST_CORE = pack_int32([2, 3])


def hinted(job: int = 0, cores: Any = LAST_CORE, waiting: Any = 1, times: int = 1) -> dict[str, Any]:
    return {"decision": 2, "hint": times * [{"job": job, "cores": cores, "waiting": waiting}]}


SCALED = {"decision": 2, "scale": [{"job": 0, "factor": 0.5, "cores": None}]}
_RUNS = "which is not running; allowed: running jobs"


WIDE: dict[str, Any] = {"directs": "widths", "resizes": True}
HINTS: dict[str, Any] = {"directs": "hints", "hints": True}
STARTS_1, STARTS_2 = ({"start": [{"job": job, "cores": None}]} for job in (1, 2))
_SCALES, _RESIZES, _HINTS = (f"it {verb} job 0 (number 17)" for verb in ("scales", "resizes", "hints to"))

#: How it says that it directs, an answer, and why the answer is refused, if it is.
DIRECTED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"directs": "speeds"}, SCALED, ""),
    ({"directs": "speeds ends"}, SCALED | {"end": [{"job": 0, "requeue": True}]}, ""),
    (WIDE, resized(4), ""),
    (WIDE, resized(1, job=1) | STARTS_1, ""),
    (HINTS, hinted(), ""),
    (HINTS, hinted(cores=None), ""),
    (HINTS, hinted(cores=None, waiting=None), ""),
    ({"directs": "ends"}, SCALED, f"{_SCALES}; allowed: if its hello has 'speeds' in directs"),
    ({"directs": "widths"}, resized(3), f"{_RESIZES}; allowed: if machine has resizes = true"),
    ({"directs": "hints"}, hinted(), f"{_HINTS}; allowed: if machine has hints = true"),
    (HINTS, resized(3), f"{_RESIZES}; allowed: if its hello has 'widths' in directs"),
    (WIDE, resized(3, 4), f"{_RESIZES} twice; allowed: once"),
    (WIDE, resized(3, job=1), f"it resizes job 1 (number 18), {_RUNS}, or jobs that it starts"),
    (WIDE, resized(5), f"{_RESIZES} to 5 cores; allowed: 1 to 4"),
    (WIDE, resized(2, job=2) | STARTS_2, "it resizes job 2 (number 19) to 2 cores; allowed: jobs whose width may change"),
    (HINTS, hinted(times=2), f"{_HINTS} twice; allowed: once"),
    (HINTS, hinted(job=2) | STARTS_2, f"it hints to job 2 (number 19), {_RUNS}"),
    (HINTS, hinted(cores=pack_int32([2, 5])), f"{_HINTS}: cores: [(2, 5)]; {_INTERVALS}"),
    (HINTS, hinted(waiting=None), f"{_HINTS}: waiting: nil; allowed: the job that waits for these cores"),
    (HINTS, hinted() | STARTS_1,
     f"{_HINTS} that job 1 (number 18) waits, which this answer already starts; allowed: waiting jobs, 2"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "fields", "reason"), DIRECTED)
def test_what_it_may_do_to_jobs_that_run(given: dict[str, Any], fields: dict[str, Any], reason: str) -> None:
    pair = directing(**given)
    if not reason:
        assert isinstance(pair.answer(**fields), Decided)
        return
    with pytest.raises(ProtocolError) as caught:
        pair.answer(**fields)
    assert (caught.value.reason, caught.value.blame) == (reason, "scheduler")


@pytest.mark.parametrize("directs", [["width"], ["speeds", "power"], ["ends", "ends"]])
def test_what_a_hello_may_not_direct(directs: list[str]) -> None:
    pair = Pair()
    with pytest.raises(ProtocolError, match=r"^the scheduler broke .*; allowed: some of 'speeds', 'ends', 'widths', "):
        pair.hear(SCHEDULER, frame(msgspec.msgpack.encode(EXAMPLE[0][1] | {"directs": directs})))


@pytest.mark.parametrize(
    ("fields", "reason", "blame"),
    [
        ({"token": "guessed"}, "wrong token", "stranger"),
        ({"token": "guessed", "version": 9}, "wrong token", "stranger"),
        ({"version": 1}, "version 1 of the scheduler role is not supported; supported: 6", "scheduler"),
        ({"role": "planner"}, "role is 'planner'; expected: 'scheduler'", "scheduler"),
        ({"role": None}, "role is missing; expected: 'scheduler'", "scheduler"),
    ],
)
def test_who_is_refused(fields: dict[str, Any], reason: str, blame: str) -> None:
    pair = Pair()
    said = {name: value for name, value in (EXAMPLE[0][1] | fields).items() if value is not None}
    refusal = pair.hear(SCHEDULER, frame(msgspec.msgpack.encode(said)))
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.blame) == (reason, blame)
    assert pair.ends[BRIDGE].next_event() == ConnectionClosed()


def test_cores_of_two_jobs_and_of_whole_hosts() -> None:
    pair = Pair(4)
    pair.say(BRIDGE, submitted(job=1, number=18))
    pair.say(BRIDGE, decide(1, NOW, 4))
    with pytest.raises(ProtocolError, match=r"it places job 0 \(number 17\) and job 1 \(number 18\) on core 1$"):
        pair.answer(start=[{"job": 1, "cores": pack_int32([1, 3])}, {"job": 0, "cores": pack_int32([0, 2])}])
    pair = Pair(5, machine={"whole_hosts": True})  # which may be more than a job requests
    assert isinstance(pair.answer(start=[{"job": 0, "cores": pack_int32([0, 4])}]), Decided)
    assert pair.ends[BRIDGE].book.job_state(0) is ScheduledJob.CHOSEN


def test_a_run_or_a_scheduler_that_gives_up() -> None:
    pair = Pair(5)
    pair.ends[BRIDGE].send(scheduler_messages.SchedulerQuit(complete=False))
    assert pair.answer(decision=99) is NEED_DATA  # dropped, unjudged
    assert pair.ends[BRIDGE].state is ConnectionState.CLOSING
    pair, said = Pair(5), scheduler_messages.SchedulerFailed(reason="no partitions", blame="user")
    assert pair.say(SCHEDULER, said) == said
    assert pair.ends[BRIDGE].next_event() == ConnectionClosed()


def test_the_end_of_the_stream() -> None:
    for at, words in ((3, "before the run was over"), (5, "and has not answered")):
        end = Pair(at).ends[BRIDGE]
        end.receive_data(b"")
        with pytest.raises(ProtocolError, match=rf"it closed the connection {words}$"):
            end.next_event()


def test_strangers_cannot_make_the_bridge_keep_much() -> None:
    end = Session(SchedulerBook, BRIDGE, TOKEN)
    end.receive_data(b"\0\0\x20\0" + b"x" * MAX_FRAME_BEFORE_HELLO)
    with pytest.raises(ProtocolError, match="a frame of 8192 bytes; allowed: 1 to 4096"):
        end.next_event()
