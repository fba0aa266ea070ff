"""The rules about contents: what breaks one is neither sent nor accepted."""

from typing import Any

import pytest
from conversation import (
    JOB,
    SERIAL,
    Pair,
    change,
    changed,
    edges,
    graph,
    lengths,
    loop,
    measurement,
    network,
    outcome,
    promise,
    recipe,
    records,
    resume,
    start,
    suspended,
    transfers,
)
from session_invariants import check_session

from bridge.protocol import job_rules
from bridge.protocol.messages import MAX_EDGES, Lengths, Placement, SimulateJob, WidthRange, Wish, sender_of
from bridge.protocol.packing import pack_float64 as f64
from bridge.protocol.packing import pack_int32 as i32
from bridge.protocol.packing import pack_int64 as i64
from bridge.protocol.session import LocalProtocolError, ProtocolError
from bridge.protocol.vocabulary import Message
from traces.base.time import MAX_NS

#: Columns of records in which the last task never ran.
TWO_RAN: dict[str, Any] = {
    "start_ns": i64([100, 200, -1]),
    "end_ns": i64([300, 300, -1]),
    "core": i32([0, 1, -1]),
    "chunk": i32([0, 1, -1]),
}


def evolving() -> SimulateJob:
    """The start of a job that may wish for two to five cores."""
    return start(resizes=(), wishes=WidthRange(least=2, most=5))


def wish(at_ns: int, cores: int = 2) -> Wish:
    return Wish(job=JOB, at_ns=at_ns, cores=cores)


def spans(*tasks: tuple[int, int]) -> dict[str, bytes]:
    """When tasks began and ended."""
    starts, ends = zip(*tasks, strict=True)
    return {"start_ns": i64(starts), "end_ns": i64(ends)}


TOLD = [start(), lengths()]
ASKED = [start(records=True), lengths()]
UNTIL = [start(until_ns=200), lengths()]
GRAPH = [graph(), lengths()]
LINKED = [*GRAPH, edges()]
RAN = [*LINKED, records()]

#: What comes before, a message that breaks a rule, and words of the error.
BAD: list[tuple[list[Message], Message, str]] = [
    ([], start("recipe"), "does not match what the hello requested: lengths"),
    ([], start(tasks=None), "what the hello requested"),
    ([], start(core_speed_gflops=bytes(9)), "core_speed_gflops has 9 bytes; allowed: a mul"),
    ([], start(parts=(loop(2),)), "parts have 2 tasks; the job has 3"),
    ([], start(parts=(SERIAL, changed(SERIAL, tasks=2))),
     "part 1 is serial and has 2 tasks, 0 edges and order index; allowed: 1 task, no edges and index"),
    ([], start(latency_ns=bytes(8)), "latency_ns has 8 bytes; 2 cores need 16"),
    ([], start(latency_ns=i64([5, -1])), "latency_ns goes from -1 to 5; allowed: 0 to 4611686018427387904"),
    ([], start(until_ns=99), "until_ns is 99; allowed: from now, 100 on"),
    ([], start(changes=(change(120), change(110))), "is 110; allowed: .* 120 on"),
    ([], start(changes=(change(100, 2),)), "change is 2; allowed: -1 to 1"),
    ([start()], lengths(first=1, count=1), "begin at task 1; expected: 0"),
    ([start()], lengths(count=4), "up to task 3; the job has 3 tasks"),
    ([start()], Lengths(job=JOB, first=0, length_gflop=bytes(9)), "9 bytes"),
    ([start(), lengths(), promise(150)], promise(149), "149; allowed: .* promise, 150 on"),
    ([start(stop_ns=200), lengths()], promise(201), "201; allowed: up to stop_ns, 200"),
    (TOLD, promise(99), "from the earlier promise, 100 on"),
    ([], start(wishes=WidthRange(least=1, most=2)), "wishes, and resizes nil; allowed: nil"),
    ([], start(resizes=(), wishes=WidthRange(least=3, most=2)), "wishes: least 3, most 2; allowed: least up to most"),
    ([], start(parts=(loop(2), changed(SERIAL, cores=4))), "part 1 has cores, and wishes is nil"),
    ([start(resizes=()), lengths()], wish(150), "a wish for 2 cores, but start said wishes = nil"),
    ([evolving(), lengths()], wish(150, 6), "a wish for 6 cores; allowed: 2 to 5"),
    ([evolving(), lengths()], wish(99), "at_ns of a wish is 99; allowed: from the start, 100 on"),
    ([evolving(), lengths(), wish(150)], wish(150, 3),
     "at_ns of a wish is 150; allowed: from 1 ns after the previous wish, 151 on"),
    ([evolving(), lengths(), wish(301)], outcome(), "end_ns is 300; allowed: from its last wish, 301, on"),
    (TOLD, suspended(200, 200), "the order was to run to the end"),
    (UNTIL, suspended(201, 201), "up to until_ns, 200"),
    ([start(until_ns=200), lengths(), suspended(150, 150), resume(until_ns=200)], suspended(149, 150),
     "now_ns is 149; allowed: from the earlier now, 150 on"),
    (UNTIL, suspended(200, 199), "not_before_ns is 199; allowed: from now_ns, 200 on"),
    ([start(until_ns=200), lengths(), promise(300)], suspended(200, 299), "from the earlier promise, 300 on"),
    ([start(until_ns=200, stop_ns=250), lengths()], suspended(200, 251),
     "not_before_ns is 251; allowed: up to stop_ns, 250"),
    ([start(until_ns=200), lengths(), suspended(200, 200)], resume(until_ns=199),
     "until_ns is 199; allowed: from now, 200 on"),
    ([start(until_ns=200), lengths(), suspended(200, 200)], resume(changes=(change(199),)), "at_ns of a change is 199"),
    ([start(until_ns=200), lengths(), suspended(200, 200)], resume(stop_ns=199), "stop_ns is 199"),
    (TOLD, records(), "none were requested"),
    (ASKED, records(first=1, count=1), "task 1; expected: 0"),
    (ASKED, records(count=4), "task 3; .* most 3 tasks"),
    (ASKED, records(start_ns=bytes(9)), "start_ns has 9 bytes"),
    (ASKED, records(length_gflop=f64([1, 1, 0])), "length_gflop has a value that is not positive"),
    (ASKED, records(start_ns=i64([100, 99, 100])),
     "task 1 has start_ns 99, end_ns 200, core 0, chunk 0; allowed: 100 <= start_ns"),
    (ASKED, records(core=i32([0, 2, 1])), "task 1 .* core 0 to 1"),
    ([start(records=True), lengths(), records(start_ns=i64([100, 100, -1]), end_ns=i64([300, 300, -1]))],
     outcome(ran=2), "ran is 2; allowed: in a job that was not stopped, and not lost, all tasks, 3"),
    ([start(records=True, changes=(change(250, 0, speed_gflops=None),)), lengths(),
      records(start_ns=i64([100, 100, -1]), end_ns=i64([300, 300, -1]))],
     outcome(ran=1, last_lost=0), "tasks is 3 and ran is 1, but 3 were recorded and 2 of them ran"),
    ([start(stop_ns=300), lengths()], outcome(stopped=True, last_lost=1),
     "last_lost is 1, stopped, too; allowed: an end before a stop"),
    ([start(stop_ns=300), lengths()], outcome(last_lost=-1),
     "last_lost is -1, at stop_ns, 300; allowed: an end before a stop"),
    (TOLD, outcome(ran=2, last_lost=0), "last_lost is 0, but core 0 was not taken away up to end_ns, 300; allowed: nil"),
    ([start(changes=(change(250, 1, speed_gflops=None),)), lengths()], outcome(ran=2, last_lost=0),
     "last_lost is 0, but core 0 was not taken away up to end_ns, 300; allowed: nil"),
    ([start(changes=(change(301, 1, speed_gflops=0.0),)), lengths()], outcome(ran=2, last_lost=-1),
     "last_lost is -1, but a core was not taken away up to end_ns, 300; allowed: nil"),
    (TOLD, outcome(ahead_chunks=10**12),
     "ahead_chunks is 1000000000000; allowed: up to 0, a chunk per task, choice and technique"),
    (TOLD, outcome(chosen=(1, 1), ahead_chunks=13),
     "ahead_chunks is 13; allowed: up to 12, a chunk per task, choice and technique"),
    (TOLD, outcome(length_cov=1.5), "length_cov is 1.5; allowed: up to 1.41421, the largest of 3 lengths"),
    (TOLD, outcome(attempt=3), "attempt is 3; expected: 4"),
    (TOLD, outcome(end_ns=99, finish_ns=i64([99, 99])), "end_ns is 99; allowed: from the start, 100 on"),
    ([start(), lengths(), promise(301)], outcome(), "from the promise, 301 on"),
    ([start(until_ns=300), lengths()], outcome(), "300; allowed: before until_ns, 300"),
    ([start(stop_ns=299), lengths()], outcome(), "allowed: up to stop_ns, 299"),
    (TOLD, outcome(stopped=True), "stopped at 300; no stop was ordered"),
    ([start(stop_ns=301), lengths()], outcome(stopped=True), "stopped at 300; expected: at stop_ns, 301"),
    ([start(stop_ns=300), lengths()], outcome(ran=2), "ran is 2; allowed: .*, all tasks, 3"),
    ([start(stop_ns=300), lengths()], outcome(stopped=True, ran=4), "ran is 4; .* up to tasks, 3"),
    ([start(records=True, stop_ns=300), lengths(), records(**TWO_RAN)], outcome(stopped=True),
     "tasks is 3 and ran is 3, but 3 were recorded and 2 of them ran"),
    (TOLD, outcome(finish_ns=bytes(24)), "finish_ns has 24 bytes; 2 cores need 16"),
    (TOLD, outcome(finish_ns=i64([300, 99])), "from 99 to 300; allowed: from 100 on, and exactly to end_ns, 300"),
    (TOLD, outcome(finish_ns=i64([299, 100])), "to 299"),
    (TOLD, outcome(released_ns=i64([300, 300])), "released_ns is given, but start said releases = false; allowed: nil"),
    ([start(releases=True), lengths()], outcome(),
     "released_ns is nil, but start said releases = true; allowed: 2 instants"),
    ([start(releases=True), lengths()], outcome(released_ns=bytes(8)), "released_ns has 8 bytes; 2 cores need 16"),
    ([start(releases=True), lengths()], outcome(released_ns=i64([249, 300])),
     "released_ns of core 0 is 249; allowed: from its finish_ns, 300, on"),
    (TOLD, outcome(busy_ns=bytes(8)), "busy_ns has 8 bytes; 2 cores need 16"),
    (TOLD, outcome(busy_ns=i64([-1, 0])), "busy_ns goes from -1 to 0; allowed: 0 to 4611686018427387904"),
    (TOLD, outcome(tasks=4), "tasks is 4; the job has 3"),
    (TOLD, outcome(chunks=4), "chunks is 4; allowed: up to tasks, 3"),
    ([start(changes=(change(150, speed_gflops=0.5),)), lengths()], outcome(chunks=4),
     "chunks is 4; allowed: up to tasks, 3"),
    ([start(core_speed_gflops=f64([1, 0]), changes=(change(150, 1),)), lengths()], outcome(chunks=4),
     "chunks is 4; allowed: up to tasks, 3"),
    ([start(records=True), lengths(), records(count=2)], outcome(),
     "tasks is 3 and ran is 3, but 2 were recorded and 2 of them ran"),
    ([start(records=True), lengths(), records(end_ns=i64([150, 200, 301]))], outcome(),
     "go to 301 ns and chunk 0; allowed: up to end_ns, 300, and chunk 1"),
    ([start(records=True), lengths(), records(chunk=i32([0, 1, 2]))], outcome(), "and chunk 2; allowed: .* and chunk 1"),
    ([start(records=True), lengths(), records(start_ns=i64([100, 149, 200]))], outcome(),
     "core 0 works on two tasks at once: task 0 from 100 to 150, task 1 from 149 to 200; allowed: one after the other"),
    ([start(records=True), lengths(), records(count=2), records(2, 1, start_ns=i64([199]))], outcome(),
     "two tasks at once: task 1 from 150 to 200, task 2 from 199 to 250"),
    ([start(records=True), lengths(), records(**spans((100, 200), (150, 150), (200, 250)))], outcome(),
     "two tasks at once: task 0 from 100 to 200, task 1 from 150 to 150"),
    (TOLD, outcome(busy_ns=i64([150, 1])), "busy_ns of core 1 is 1; allowed: up to its finish_ns less start_ns, 0"),
    ([start(records=True), lengths(), records()], outcome(busy_ns=i64([149, 0])),
     "busy_ns of core 0 is 149; allowed: from 150 on, as its tasks were recorded"),
    ([start(records=True), lengths(), records()], outcome(finish_ns=i64([249, 300]), busy_ns=i64([149, 0])),
     "finish_ns of core 0 is 249; allowed: from 250 on"),
    (TOLD, outcome(scheduling_ns=2**63 - 1),
     "scheduling_ns is 9223372036854775807; allowed: up to 250, the time in which cores were not busy"),
    ([start(stop_ns=300, overhead_ns=7, latency_ns=i64([0, 5])), lengths()],
     outcome(stopped=True, scheduling_ns=250 + 2 * (2 * 7 + 2 * 5) + 1), "scheduling_ns is 299; allowed: up to 298"),
    # Graphs: their edges, transfers and measurements.
    ([], start(core_host=i32([0, 2])), "one without the other"),
    ([], graph(core_host=i32([0])), "core_host has 4 bytes; 2 cores need 8"),
    ([], graph(core_host=i32([0, 3])), "core_host goes from 0 to 3"),
    ([], start(parts=(loop(3, edges=1),)), "part 0 has 1 edges .* no network"),
    ([], start(parts=(loop(3, order="rank"),)), "order rank, but there is no network"),
    ([], graph(parts=(changed(SERIAL, order="rank"), loop(2))),
     "part 0 is serial and has 1 tasks, 0 edges and order rank; allowed: 1 task, no edges and index"),
    ([], graph(parts=(loop(1, edges=MAX_EDGES), loop(2, edges=1))),
     f"parts have {MAX_EDGES + 1} edges; allowed: up to {MAX_EDGES}"),
    ([graph()], changed(lengths(), length_gflop=f64([1, 0, -1])), "not at least 0"),
    (GRAPH, edges(first=1, count=1), "begin at edge 1; expected: 0"),
    (GRAPH, edges(count=3), "up to edge 2; the job has 2 edges"),
    (GRAPH, edges(source=bytes(9)), "source has 9 bytes; allowed: a multiple of 4"),
    (GRAPH, edges(target=bytes(4)), "target has 4 bytes; 2 edges need 8"),
    (GRAPH, edges(bytes=f64([1, -1])), "bytes has a value that is not at"),
    (GRAPH, edges(target=i32([1, 3])), "edge 1 goes from 0 to 3; allowed: between two tasks of part 0, 0 to 2"),
    ([graph(parts=(loop(2, edges=1), SERIAL)), lengths()], edges(count=1, target=i32([2])),
     "edge 0 goes from 0 to 2; allowed: .* part 0, 0 to 1"),
    (GRAPH, edges(target=i32([0, 2])), "edge 0 goes from 0 to 0"),
    (GRAPH, edges(target=i32([1, 1])), "edge 1 goes from 0 to 1; .* asc"),
    ([graph(network=network(kind="none")), lengths(), edges(), records()], transfers(),
     "transfers, but there is no network"),
    (RAN, transfers(first=1), "begin at transfer 1; expected: 0"),
    (RAN, transfers(count=3, target=i32([1, 2, 0])), "at most 2 transfers"),
    (RAN, transfers(source=bytes(6)), "source has 6 bytes"),
    (RAN, transfers(bytes=f64([0.0])), "bytes has a value that is not positive"),
    (RAN, transfers(target=i32([3])), "transfer 0 has source 0, target 3, .* allowed: two tasks, 0 to 2"),
    (RAN, transfers(sent_ns=i64([99])), "sent_ns 99, .* 100 <= sent_ns"),
    (RAN, transfers(arrived_ns=i64([149])), "arrived_ns 149; .* <= arrived_ns"),
    (RAN, transfers(count=2, target=i32([2, 1])), "transfer 1 .* ascending"),
    (RAN, outcome(transfers=1), "transfers is 1, but 0 were recorded"),
    ([*RAN, transfers()], outcome(), "transfers is 0, but 1 were recorded"),
    ([*RAN, transfers(arrived_ns=i64([301]))], outcome(transfers=1),
     "the transfers go to 301 ns; allowed: up to end_ns, 300"),
    (TOLD, outcome(graph=measurement()), "graph is given, but no part"),
    ([*RAN, transfers()], outcome(transfers=1, graph=measurement(transfer_wait_ns=401)),
     "transfer_wait_ns is 401; allowed: up to 400, the total time of all cores"),
    (TOLD, outcome(length_gflop=0.0), "length_gflop is 0; allowed: above 0"),
    (TOLD, outcome(length_cov=None), "length_cov is nil, and length_gflop 3.0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "message", "words"), BAD, ids=[f"{type(m).__name__}: {words}" for _, m, words in BAD]
)
def test_contents_that_break_a_rule_are_neither_sent_nor_accepted(
    before: list[Message], message: Message, words: str
) -> None:
    pair = Pair()
    pair.say(*before)
    role = sender_of(message)
    states = [end.book.job_state(JOB) for end in pair.ends.values()]
    with pytest.raises(LocalProtocolError, match=f"cannot be sent: job 7: .*{words}"):
        pair.ends[role].send(message)
    assert [end.book.job_state(JOB) for end in pair.ends.values()] == states
    check_session(pair.ends[role])
    receiver = pair.forge(message)
    with pytest.raises(ProtocolError, match=words) as caught:
        receiver.next_event()
    assert (caught.value.blame, caught.value.job) == (role, JOB)
    check_session(receiver)


@pytest.mark.parametrize(
    ("hosts", "words"), [([0], "core_host has 4 bytes; 2 cores need 8"), ([0, 3], "core_host goes from 0 to 3")]
)
def test_hosts_of_devices_are_those_of_the_network(hosts: list[int], words: str) -> None:
    placement = Placement(core_host=i32(hosts), network=network())
    with pytest.raises(LocalProtocolError, match=words):
        Pair("recipe").bridge.send(start("recipe", recipe=recipe(placement=placement)))


def test_messages_that_the_bridge_cannot_send() -> None:
    shown, words = (
        start("recipe", parts=(loop(3),)),
        "job 7: parts, but the hello requested a recipe, whose program defines them",
    )
    with pytest.raises(LocalProtocolError, match=words):
        Pair("recipe").bridge.send(shown)
    with pytest.raises(ProtocolError, match=words):
        Pair("recipe").forge(shown).next_event()
    with pytest.raises(LocalProtocolError, match=r"start cannot be sent: job 7: not a message: .*start_ns"):
        Pair().bridge.send(start(start_ns=-1))
    with pytest.raises(LocalProtocolError, match="promise is not a message of the bridge"):
        Pair().bridge.send(promise(1))


LOST = change(250, 1, speed_gflops=0.0)
COSTLY: dict[str, Any] = {"overhead_ns": 7, "latency_ns": i64([0, 5])}
#: Cores of tasks that never ran: they may say which core they had been assigned to.
CUT: dict[str, Any] = {"core": i32([0, 1, 0]), "chunk": i32([0, 1, 1])}
STOPPED = start(records=True, stop_ns=300)

#: Conversations in which all is well.
GOOD: dict[str, list[Message]] = {
    "a stop cuts a task": [
        *(STOPPED, lengths(), records(**TWO_RAN)),
        outcome(stopped=True, ran=2, finish_ns=i64([300, 300]), busy_ns=i64([200, 100])),
    ],
    "the last task ends at the stop": [STOPPED, lengths(), records(), outcome(stopped=False)],
    "the last task is cut at the stop": [STOPPED, lengths(), records(), outcome(stopped=True)],
    "a stop at the start": [
        *(start(stop_ns=100), lengths()),
        outcome(end_ns=100, stopped=True, ran=0, chunks=0, finish_ns=i64([100, 100]), busy_ns=i64([0, 0])),
    ],
    "records in slices, and jobs side by side": [
        *(start(records=True), lengths(0, 1), changed(start(), job=8), lengths(1, 2), changed(lengths(), job=8)),
        *(records(0, 1), changed(outcome(), job=8), records(1, 2), outcome()),
    ],
    "a task that ran, and two that did not": [
        *(STOPPED, lengths(), records(**spans((100, 200), (-1, -1), (-1, -1)), **CUT), outcome(stopped=True, ran=1))
    ],
    "tasks in another order than they ran": [
        *(start(records=True), lengths(), records(**spans((200, 250), (150, 150), (100, 150))), outcome())
    ],
    "a chunk that a stop forestalls has cost something": [
        *(start(stop_ns=300, **COSTLY), lengths(), outcome(stopped=True, scheduling_ns=298))
    ],
    "and so has one that a loss forestalls": [
        *(start(changes=(change(150, 1, speed_gflops=0.0),), **COSTLY), lengths(), outcome(scheduling_ns=298))
    ],
    "more chunks than tasks, as a core is lost": [
        *(start(until_ns=200, changes=(LOST,)), lengths(), suspended(200, 200), resume(changes=()), outcome(chunks=5))
    ],
    "cores that are not there yet, parts, messages and a master": [
        start(
            core_speed_gflops=f64([0, 0]), parts=(SERIAL, loop(2, "static")), latency_ns=i64([0, MAX_NS]), master=True,
            changes=(change(120, -1),),
        ),
        lengths(),
        outcome(busy_ns=i64([200, 0]), scheduling_ns=200, chosen=(1, 0), ahead_chunks=6),
    ],
    "tasks of a graph without work": [
        *(graph(), changed(lengths(), length_gflop=f64([0.0] * 3)), edges(), records(length_gflop=f64([0.0] * 3))),
        outcome(length_gflop=0.0, length_cov=None, graph=measurement(critical_path_ns=0.0, parallelism=None)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_what_the_rules_permit(name: str) -> None:
    pair = Pair()
    pair.say(*GOOD[name])
    assert pair.bridge.book.open_jobs() == []


def test_a_promise_rises_and_a_change_takes_it_back_to_where_it_takes_effect() -> None:
    pair = Pair()
    for messages, not_before_ns in (
        ([start(until_ns=200), lengths()], 100),
        ([promise(180), suspended(200, 500), resume(until_ns=210)], 500),
        ([suspended(210, 500), resume(until_ns=220, changes=(change(400), change(450)))], 400),
        ([suspended(220, 600), resume(stop_ns=350, changes=(change(400),))], 350),
    ):
        pair.say(*messages)  # type: ignore[misc]
        assert (
            pair.bridge.book.open_job(JOB).not_before_ns
            == pair.application.book.open_job(JOB).not_before_ns
            == not_before_ns
        )
    pair.say(outcome(end_ns=350, finish_ns=i64([350, 350])))
    with pytest.raises(LocalProtocolError, match="job 7 is not open"):
        pair.bridge.book.open_job(JOB)


def test_promises_and_wishes_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_rules.m, "MAX_PROMISES", 3)
    monkeypatch.setattr(job_rules.m, "MAX_WISHES", 2)
    pair = Pair()
    pair.say(start(until_ns=200), lengths(), promise(150), promise(150), suspended(190, 190), resume(until_ns=200))
    for message in (promise(199), suspended(199, 199)):
        with pytest.raises(LocalProtocolError, match="job 7: promise 4; allowed: up to 3 for a job"):
            pair.application.send(message)
    pair.say(suspended(200, 200), resume(until_ns=210), suspended(210, 210), resume(), outcome())
    pair.say(evolving(), lengths(), promise(150), promise(150), promise(150), wish(150), wish(160, 5))
    with pytest.raises(LocalProtocolError, match="job 7: wish 3; allowed: up to 2 for a job"):
        pair.application.send(wish(170))
    with pytest.raises(ProtocolError, match="promise 4; allowed: up to 3 for a job"):
        pair.forge(promise(151)).next_event()


def test_an_application_that_conserves_work_can_be_held_to_a_bound() -> None:
    """It need not know the bound, which does not hold beyond a stop or a change."""
    pair = Pair()
    pair.say(start(), lengths())
    for bound_ns in (301, 250):
        pair.bridge.book.open_job(JOB).hold(bound_ns)
        assert pair.bridge.book.open_job(JOB).not_before_ns == 301
    with pytest.raises(ProtocolError, match="end_ns is 300; allowed: from the promise, 301 on"):
        pair.forge(outcome()).next_event()
    pair = Pair()
    pair.say(start(stop_ns=250), lengths())
    pair.bridge.book.open_job(JOB).hold(301)
    assert pair.bridge.book.open_job(JOB).not_before_ns == 250
    pair.say(outcome(end_ns=250, stopped=True, finish_ns=i64([250, 100])), start(until_ns=200), lengths())
    pair.bridge.book.open_job(JOB).hold(290)
    pair.say(promise(150), suspended(200, 200), resume(until_ns=250), suspended(250, 250))
    assert pair.bridge.book.open_job(JOB).not_before_ns == 290
    pair.say(resume(changes=(change(260),)))
    assert pair.bridge.book.open_job(JOB).not_before_ns == 260
    pair.say(outcome(end_ns=270, finish_ns=i64([270, 100])))
