"""Messages and their frames: read as they were written, all else is refused, the specification lists the same fields."""

import re
import struct
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from conversation import JOB, ROLES, Pair, graph, loop, network, transfers
from hypothesis import given, settings
from hypothesis import strategies as st
from lengths_peer import ToldPeer
from msgspec import inspect
from test_protocol_page import example_messages

import bridge.protocol.messages as said
from als.metrics import GRAPH_METRICS
from bridge.protocol.framing import MAX_FRAME, MAX_FRAME_BEFORE_HELLO, FrameError, FrameReader, frame
from bridge.protocol.messages import (
    APPLICATION_MESSAGES,
    EdgeSlice,
    Hello,
    Lengths,
    Promise,
    Quit,
    Refused,
    Transfers,
    decode,
    encode,
    sender_of,
)
from bridge.protocol.network_fields import state_of
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64, unpack_float64, unpack_int32, unpack_int64
from bridge.protocol.session import ProtocolError
from bridge.protocol.tables import JobState, Role
from bridge.protocol.task_payload import TaskPayload, check_payload
from bridge.protocol.vocabulary import Greeting, MessageError, name_of
from traces.base.errors import InputError
from traces.base.scale import HIGHEST, LOWEST
from traces.base.time import MAX_NS

PROTOCOL = Path(said.__file__).parents[1] / "PROTOCOL.md"


def least_of(kind: inspect.Type) -> Any:
    """The least value that a field of this type may have, as a plain map has it; nil if it may be that."""
    match kind:
        case inspect.NoneType():
            return None
        case inspect.BoolType():
            return False
        case inspect.IntType(ge=least):
            return least
        case inspect.FloatType(ge=least):
            return 1.0 if least is None else float(least)
        case inspect.StrType(min_length=least):
            return "x" * (least or 0)
        case inspect.BytesType(min_length=least):
            return bytes(least or 0)
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.VarTupleType():
            return []
        case inspect.UnionType(includes_none=True):
            return None
        case inspect.StructType(fields=fields):
            return {field.name: least_of(field.type) for field in fields}
    raise AssertionError(kind)


def least(kind: type, **changed: Any) -> dict[str, Any]:
    """The least map of a type."""
    return least_of(inspect.type_info(kind)) | changed  # type: ignore[no-any-return]


MESSAGES = APPLICATION_MESSAGES.types

#: One of each, as plain maps, from which the cases below break something.
PLAIN = {name: least(kind) for name, kind in MESSAGES.items()}
CHANGE, RECIPE, PART, NETWORK, MEASUREMENT = map(
    least, (said.Change, said.Recipe, said.Part, said.NetworkFields, said.Measurement)
)
encoded = msgspec.msgpack.encode


def plain(name: str, /, **changed: Any) -> bytes:
    return msgspec.msgpack.encode({"type": name, **PLAIN[name], **changed})


def role_of(name: str) -> Role:
    return APPLICATION_MESSAGES.senders[MESSAGES[name]]


@pytest.mark.parametrize("name", list(MESSAGES))
def test_each_message_belongs_to_one_sender_and_has_its_fields_only(name: str) -> None:
    role, fields = role_of(name), PLAIN[name]
    message = decode(plain(name), role)
    assert type(message) is MESSAGES[name]
    assert (name_of(message), sender_of(message)) == (name, role)
    for payload, words in (
        (plain(name, extra=1), "extra"),
        (plain(name) + b"\xc0", "trailing"),
        (plain(name)[:-1], "not a message"),
        *((encoded({"type": name} | {key: fields[key] for key in fields if key != one}), one) for one in fields),
        *((plain(name, **{one: {"a": 1}}), one) for one in fields),
    ):
        with pytest.raises(MessageError, match=words):
            decode(payload, role)
    with pytest.raises(MessageError, match="not a message"):
        decode(plain(name), Role.BRIDGE if role is Role.APPLICATION else Role.APPLICATION)


def twice(fields: dict[str, Any], key: str, *, long: bool = False) -> bytes:
    """A map in which a key occurs once more at its end, perhaps in the long forms that MessagePack has for all of it."""
    pairs = [*fields.items(), (key, fields[key])]
    size = struct.pack(">BI", 0xDF, len(pairs)) if long else bytes([0x80 | len(pairs)])
    if not long and len(pairs) > 15:
        size = struct.pack(">BH", 0xDE, len(pairs))
    heads = [struct.pack(">BB", 0xD9, len(name)) + name.encode() if long else encoded(name) for name, _ in pairs]
    return size + b"".join(head + encoded(value) for head, (_, value) in zip(heads, pairs, strict=True))


MAPS: list[tuple[str, str, dict[str, Any], Any]] = [
    ("start", "changes", CHANGE, lambda raw: [CHANGE, raw]),
    ("start", "recipe", RECIPE, lambda raw: raw),
    ("start", "parts", PART, lambda raw: [PART, PART, raw]),
    ("start", "network", NETWORK, lambda raw: raw),
    ("resume", "changes", CHANGE, lambda raw: [raw]),
    ("outcome", "graph", MEASUREMENT, lambda raw: raw),
]


@pytest.mark.parametrize("long", [False, True])
def test_a_key_that_occurs_twice_is_refused_in_a_message_and_in_its_maps(long: bool) -> None:
    cases = [
        (name, key, twice({"type": name, **PLAIN[name]}, key, long=long)) for name in MESSAGES for key in PLAIN[name]
    ]
    for name, field, fields, within in MAPS:
        raws = ((key, msgspec.Raw(twice(fields, key, long=long))) for key in fields)
        cases += [(name, key, plain(name, **{field: within(raw)})) for key, raw in raws]
    for name, key, payload in cases:
        with pytest.raises(MessageError, match=f"^not a message: the key '{key}' occurs twice$"):
            decode(memoryview(payload), role_of(name))


def test_a_message_in_other_forms_than_ours_is_the_same_message() -> None:
    """Other keys first, a float of 4 bytes, an integer of 8, text, columns and maps with long lengths."""
    text, longest = "x" * 300, "y" * 70_000
    recipe = RECIPE | {"program": longest, "n": 40_000, "seed": 2**40, "mean_gflop": 2, "variation": 0.1}
    fields = {
        **PLAIN["start"],
        "technique": text,
        "changes": [CHANGE] * 20,
        "network": NETWORK,
        "core_host": bytes(300),
    }
    fields |= {"recipe": recipe, "tasks": None, "core_speed_gflops": bytes(70_000), "until_ns": 70_000, "master": True}
    fields["parts"] = [PART] * 16
    reordered = dict(reversed({"type": "start", **fields}.items()))
    payload = encoded(reordered).replace(encoded(2**40), struct.pack(">Bq", 0xD3, 2**40))
    payload = payload.replace(encoded(1.0), struct.pack(">Bf", 0xCA, 1.0))
    assert decode(payload, Role.BRIDGE) == decode(plain("start", **fields), Role.BRIDGE)


OUT_OF_RANGE: list[tuple[str, dict[str, Any]]] = [
    *(("hello", changed) for changed in ({"tasks": "both"}, {"version": 1.0}, {"token": "x" * 201})),
    *(("promise", {"job": job}) for job in (-1, True)),
    *(("outcome", changed) for changed in (
        {"last_lost": said.MAX_CORES}, {"length_gflop": float("nan")}, {"busy_ns": b""}, {"finish_ns": "8 bytes."},
        {"chosen": [0] * 1001}, {"graph": {**MEASUREMENT, "slr": float("nan")}},
    )),
    *(("start", changed) for changed in (
        {"changes": [{**CHANGE, "core": -2}]}, {"changes": [{**CHANGE, "more": 0}]}, {"recipe": {**RECIPE, "core_gflop": 0.0}},
        {"recipe": {**RECIPE, "program": "x" * (2**20 + 1)}}, {"parts": [PART] * (said.MAX_PARTS + 1)},
        {"core_host": bytes(4 * said.MAX_CORES + 4)}, {"network": {**NETWORK, "topology": "x" * 501}},
    )),
    ("edges", {"bytes": bytes(8 * said.EDGES_PER_FRAME + 8)}),
    ("transfers", {"target": bytes(4 * said.RECORDS_PER_FRAME + 4)}),
    ("lengths", {"length_gflop": bytes(8 * said.LENGTHS_PER_FRAME + 8)}),
    ("records", {"core": bytes(4 * said.RECORDS_PER_FRAME + 4)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changed"), OUT_OF_RANGE)
def test_a_value_out_of_range_is_refused(name: str, changed: dict[str, Any]) -> None:
    (field,) = changed
    with pytest.raises(MessageError, match=field):
        decode(plain(name, **changed), role_of(name))


@pytest.mark.parametrize("sender", ROLES)
def test_what_is_no_message_is_refused_in_one_short_line(sender: Role) -> None:
    deep, endless = b"\x82\xa1q" + b"\x91" * 4000 + b"\xc0\xa4type\xa4quit", b"\x82\xa1q\xdd\xff\xff\xff\xff"
    short = (b"", b"\xc1", b"\x80", b"\x90", b"\x81\xa4type\xa4nope", b"\x81\xa4type\x07", b"\x81\xa4type\xa1\xff")
    spoilt = plain("cancel", **{"\n\x1b[31m" * 10_000: 1})
    for payload in (*short, deep, endless, b"\x82\xa1q\xc6\xff\xff\xff\xff", spoilt):
        for read in (lambda p: decode(p, sender), *[APPLICATION_MESSAGES.greeting] * (payload != spoilt)):
            with pytest.raises(MessageError) as caught:
                read(payload)
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 250


def test_a_greeting_is_read_from_a_hello_of_any_version() -> None:
    future = {"type": "hello", "version": 13, "token": "t", "jobs_at_once": 4, "tasks": 7}
    assert APPLICATION_MESSAGES.greeting(msgspec.msgpack.encode(future)) == Greeting(version=13, token="t")
    with pytest.raises(MessageError):
        APPLICATION_MESSAGES.greeting(encode(Quit()))


def test_columns_are_little_endian_and_come_back() -> None:
    for pack, unpack, column, packed in (
        (pack_float64, unpack_float64, [1.0, -2.5], "000000000000f03f 00000000000004c0"),
        (pack_int64, unpack_int64, [1, -1], "0100000000000000 ffffffffffffffff"),
        (pack_int32, unpack_int32, [1, -1], "01000000 ffffffff"),
    ):
        assert pack(np.array(column)) == bytes.fromhex(packed)
        assert unpack(pack(column)).tolist() == column
    assert not unpack_int64(pack_int64([1])).flags.writeable


def largest_of(kind: inspect.Type) -> Any:
    """The value of a field of this type that needs most bytes."""
    match kind:
        case inspect.BoolType():
            return True
        case inspect.IntType(le=most, lt=end):
            return most or (end or 2**64) - 1
        case inspect.FloatType():
            return 1.5
        case inspect.StrType(max_length=most):
            return "\U0001f600" * (most or 1000)
        case inspect.BytesType(max_length=most):
            return bytes(most or 8 * said.MAX_CORES)
        case inspect.LiteralType(values=values):
            return max(values, key=len)
        case inspect.VarTupleType(item_type=item, max_length=most):
            return (largest_of(item),) * most
        case inspect.UnionType(types=kinds):
            return largest_of(next(one for one in kinds if not isinstance(one, inspect.NoneType)))
        case inspect.StructType(cls=cls, fields=fields):
            return cls(**{field.name: largest_of(field.type) for field in fields})
    raise AssertionError(kind)


def test_the_largest_messages_fit_into_a_frame() -> None:
    largest = {name: largest_of(inspect.type_info(kind)) for name, kind in MESSAGES.items()}
    n = said.MAX_RESIZED // said.MAX_RESIZES
    resize = said.WidthChange(
        at_ns=MAX_NS, places=bytes(4 * n), speed_gflops=bytes(8 * n), latency_ns=bytes(8 * n), asked=bytes(4 * n)
    )
    part = msgspec.structs.replace(largest["start"].parts[0], technique="/home/somebody/" + "x" * 60)
    start = msgspec.structs.replace(
        largest.pop("start"),
        parts=None,
        tasks=None,
        hints=(said.Hint(at_ns=MAX_NS, cores=bytes(4 * said.MAX_HINTED // said.MAX_HINTS)),) * said.MAX_HINTS,
        resizes=None,
        scales=(said.Scale(at_ns=MAX_NS, cores=bytes(4 * said.MAX_SCALED // said.MAX_SCALES), factor=1.5),)
        * said.MAX_SCALES,
    )
    # Hosts of cores are in one place only.
    placed, start = start, msgspec.structs.replace(start, recipe=msgspec.structs.replace(start.recipe, placement=None))
    starts = [
        start,
        msgspec.structs.replace(placed, network=None, core_host=None),
        msgspec.structs.replace(start, network=None, core_host=None, hints=(), resizes=(resize,) * said.MAX_RESIZES),
        msgspec.structs.replace(start, recipe=None, tasks=said.MAX_TASKS, parts=(part,) * said.MAX_PARTS),
    ]
    for message in (*starts, *largest.values()):
        payload = encode(message)
        assert len(payload) <= (MAX_FRAME_BEFORE_HELLO if isinstance(message, Hello | Refused) else MAX_FRAME)
        assert decode(payload, sender_of(message)) == message


#: Numbers as the specification writes them, and the types of integers of which it states no range beside the field.
LIMITS = ("MAX_CORES", "MAX_EDGES", "MAX_HOSTS", "MAX_TASKS")
NUMBERS = {
    "−1": -1,
    "the last core": said.MAX_CORES - 1,
    "`tasks`": said.MAX_TASKS,
    "`least`": 1,
    "2⁶⁴ − 1": None,
    "up": None,
}
NUMBERS |= {"2²⁰": 2**20, "2³¹ − 1": 2**31 - 1, "2⁶³ − 1": 2**63 - 1, "the job's run time times its cores": 2**63 - 1}
NUMBERS |= {f"`{name}`": getattr(said, name) for name in LIMITS}
NUMBERS |= {str(number): number for number in (0, 1, 200, 500, 1000)}


def most_of(name: str) -> int:
    return 2**63 - 1 if name in ("job", "transfer_wait_ns") else MAX_NS if name.endswith("_ns") else said.MAX_TASKS


def check_stated(name: str, stated: str, kind: inspect.Type) -> None:
    nullable = re.search(r"or nil$", stated) is not None
    if isinstance(kind, inspect.UnionType):
        assert nullable, name
        (kind,) = (one for one in kind.types if not isinstance(one, inspect.NoneType))
    else:
        assert not nullable, name
    stated = re.sub(r",? or nil$", "", stated)
    first, last = re.fullmatch(r".*?(?:, (\S+) to (.+))?", stated).groups()  # type: ignore[union-attr]
    match kind:
        case inspect.IntType(ge=low, le=high, lt=end):
            ends = (NUMBERS[first], NUMBERS[last]) if first else (0, most_of(name))
            assert (low, high if end is None else end - 1) == ends, (name, stated)
        case inspect.FloatType(gt=above, ge=low, le=high):
            bounds = (LOWEST, HIGHEST) if stated == "float, 0.001 to 2" else (0, sys.float_info.max)
            above_0 = "above 0" in stated and "from 0" not in stated
            assert (above, low, high) == ((0, None, bounds[1]) if above_0 else (None, *bounds)), (name, stated)
        case inspect.StrType(min_length=low, max_length=high):
            assert (low, high) == (NUMBERS[first], NUMBERS[last]), (name, stated)
        case inspect.BytesType(min_length=low):
            assert low in (None, 8 if "64" in stated else 4), (name, stated)
        case inspect.VarTupleType(min_length=low):
            assert low == (1 if "1 to" in stated else None), (name, stated)
        case _:
            words = {inspect.BoolType: "bool", inspect.LiteralType: "str", inspect.StructType: "map"}
            assert stated == words[type(kind)], (name, stated)


MAPS_OF_THE_PAGE = (
    said.Recipe, said.Placement, said.Part, said.NetworkFields, said.Measurement, said.Change, said.Hint, said.WidthChange,
    said.WidthRange, said.Scale,
)  # fmt: skip


@pytest.mark.parametrize("kind", [*MESSAGES.values(), *MAPS_OF_THE_PAGE])
def test_the_specification_lists_every_field_in_order_with_its_range(kind: type) -> None:
    text = PROTOCOL.read_text(encoding="utf-8")
    assert re.findall(r"^### (\w+)$", text, re.MULTILINE) == list(MESSAGES)
    named = {said.WidthRange: "width range", said.WidthChange: "resize", said.NetworkFields: "network"}
    name = kind.__struct_config__.tag or named.get(kind, kind.__name__.lower())
    heading = f"### {name}" if name in MESSAGES else rf"A \*{name}\*(?:, .*?)?:\n"
    section = re.search(rf"^{heading}\n(.*?)(?=^#|^A \*|\Z)", text, re.DOTALL | re.MULTILINE)
    assert section, heading
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section[1], re.MULTILINE)
    fields = {field.name: field.type for field in inspect.type_info(kind).fields}  # type: ignore[attr-defined]
    assert [field for field, _ in rows] == list(fields)
    for field, stated in rows:
        check_stated(field, stated, fields[field])


def test_measurements_are_the_metrics_of_graphs() -> None:
    assert list(said.Measurement.__struct_fields__) == [name for name, _ in GRAPH_METRICS]


def test_the_specification_says_who_sends_what() -> None:
    text = PROTOCOL.read_text(encoding="utf-8")
    for name in MESSAGES:
        arrow = re.search(rf"^### {name}\n\n(\w+) → (\w+)[.,]", text, re.MULTILINE)
        assert arrow, name
        assert arrow[1].lower() == role_of(name)


# Frames


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.binary(min_size=1, max_size=300), max_size=12), st.data())
def test_any_chunking_gives_back_the_payloads(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(frame(payload) for payload in payloads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=20)))
    reader = FrameReader(limit=max(map(len, payloads), default=1), spare=len(stream))
    got: list[bytes] = []
    for first, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[first:stop])
        if data.draw(st.booleans()):
            got += iter(lambda: reader.take(bytes), None)
    got += iter(lambda: reader.take(bytes), None)
    assert got == payloads
    assert reader.waiting == 0


def test_a_length_outside_the_limits_is_refused_before_its_payload_comes_and_never_sent() -> None:
    for header in (b"\0\0\0\0", b"\0\0\0\x11", b"\xff\xff\xff\xff"):
        reader = FrameReader(limit=16, spare=0)
        reader.feed(header)
        with pytest.raises(FrameError, match="allowed: 1 to 16"):
            reader.take(bytes)
    for size in (0, 17):
        with pytest.raises(FrameError, match=f"a frame of {size} bytes; allowed: 1 to 16"):
            frame(bytes(size), limit=16)


def test_a_frame_whose_reading_fails_stays() -> None:
    reader = FrameReader(limit=16, spare=0)
    reader.feed(frame(b"ab", limit=16))

    def fail(payload: memoryview) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        reader.take(fail)
    assert reader.take(bytes) == b"ab"


def test_the_bytes_shown_in_the_specification_are_the_ones_we_send() -> None:
    listing = re.search(r"```hex\n(.*?)```", PROTOCOL.read_text(encoding="utf-8"), re.DOTALL)
    assert listing
    shown = bytes.fromhex(listing[1])
    assert shown == frame(encode(Promise(job=7, not_before_ns=1000)))
    assert len(shown) == 40


# Graphs

# Commands are kept

EDGES = TaskPayload(
    np.ones(6),
    (loop(2, edges=1), loop(1), loop(3, edges=2)),
    np.array([0, 0, 1]),
    np.array([1, 2, 2]),
    np.array([5.0, 0.0, 7.0]),
)


def test_transfers_are_along_the_edges_of_the_messages() -> None:
    def along(pairs: list[tuple[int, int]], n_bytes: list[float]) -> Transfers:
        instants = pack_int64([200] * len(pairs))
        source, target = (pack_int32(column) for column in zip(*pairs, strict=True))
        columns = {"source": source, "target": target, "bytes": pack_float64(n_bytes)}
        return transfers(**columns, sent_ns=instants, arrived_ns=instants)

    check_payload(EDGES, along([(0, 1), (4, 5)], [5.0, 7.0]))
    check_payload(EDGES, along([(3, 5)], [0.0]))
    # One of the last part is counted within it, not from 0 on.
    for (source, target), n_bytes in {(0, 1): 5.5, (0, 2): 5.0, (1, 2): 7.0, (5, 4): 7.0, (3, 4): 0.0}.items():
        other = along([(source, target)], [n_bytes])
        check_payload(None, other)
        with pytest.raises(ProtocolError, match="job 7: transfers along other edges, or with other bytes") as caught:
            check_payload(EDGES, other)
        assert (caught.value.blame, caught.value.job) == ("application", JOB)


def test_what_messages_state_of_tasks_and_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.protocol.messages.LENGTHS_PER_FRAME", 4)
    monkeypatch.setattr("bridge.protocol.messages.EDGES_PER_FRAME", 2)
    pair, sent = Pair(), list(EDGES.messages(JOB))
    pair.say(graph(tasks=6, parts=EDGES.parts), *sent)
    assert [(type(message), message.first) for message in sent] == [
        (Lengths, 0),
        (Lengths, 4),
        (EdgeSlice, 0),
        (EdgeSlice, 2),
    ]
    assert pair.application.book.job_state(JOB) is JobState.RUNNING
    assert (EDGES.total_gflop, EDGES.cov) == (6.0, 0.0)


# Networks


@pytest.mark.parametrize(
    "fields", [{"topology": "ring"}, {"topology": "fat-tree:down=4x4,up=1x2,cables=1x1", "hosts": 17}]
)
def test_a_network_that_cannot_be(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        state_of(network(**fields))


def test_the_graph_of_the_example_is_what_the_engine_makes_of_it() -> None:
    peer, said = ToldPeer(), [message for message in example_messages() if getattr(message, "job", None) == 8]
    answers = [answer for told in said if sender_of(told) is Role.BRIDGE for answer in peer.answers(told)]
    assert answers == [message for message in said if sender_of(message) is Role.APPLICATION]
