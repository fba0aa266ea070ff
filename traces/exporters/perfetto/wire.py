"""Perfetto's messages as bytes, many at once: the messages of ``perfetto/trace/perfetto_trace.proto`` written here.

A number is written as a varint with the number of bytes that the largest of its block needs, with leading zero groups; a length
with two bytes, or five. Protobuf allows this, and Perfetto's own writer (protozero) does it for lengths. So rows of one form
have the same length, and thousands are written at once (:mod:`traces.exporters.shown.rows`). The package ``perfetto`` makes an
object of each packet, and is 18 times slower (130,000 slices per second); a test reads the written packets with it.

Source: Protocol Buffers, "Encoding"; Perfetto, "Synthetic TrackEvent" and ``protos/perfetto/trace``.
"""

from collections.abc import Sequence

import numpy as np

from traces.compiled import Array
from traces.exporters.shown.rows import Rows, words

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4  #: TrackEvent.Type
_SEQUENCE = b"\x50\x01\x68\x02"  #: the only sequence of packets; all but the first need what was interned before


def varint(rows: Rows, values: Array) -> Rows:
    """Append whole numbers (int64; negative ones as two's complement) as varints of one length."""
    values = np.asarray(values, np.int64)
    width = 10
    if len(values) and values.min() >= 0:
        width = max(1, -(-int(values.max()).bit_length() // 7))
    elif not len(values):
        width = 1
    groups = np.empty((len(values), width), np.uint8)
    rest = values.astype(np.uint64)
    for place in range(width):
        groups[:, place] = rest & np.uint64(0x7F)
        rest = rest >> np.uint64(7)
    groups[:, :-1] |= 0x80
    return rows.put(groups)


def message(tag: bytes, content: Rows) -> Rows:
    """Return a field that is a message, or a text: its tag, its length, its content."""
    rows = Rows(content.n).put(tag)
    if (length := content.uniform) is not None:
        rows.put(_lengths(np.array([length])).tobytes())
    else:
        rows.put(_lengths(content.lengths))
    return rows.add(content)


def _lengths(lengths: Array) -> Array:
    # Two bytes, or five for very long names.
    width = 2 if int(lengths.max(initial=0)) < 1 << 14 else 5
    groups = (lengths[:, None] >> 7 * np.arange(width)) & 0x7F
    groups[:, :-1] |= 0x80
    return groups.astype(np.uint8)


def text(tag: bytes, known: Sequence[str]) -> Rows:
    """Return a field that is a text, different in each row."""
    content = Rows(len(known))
    return message(tag, content.word(words(known), np.arange(len(known))))


def packet(content: Rows, timestamp: Array | None = None) -> Rows:
    """Return Trace.packet: a TracePacket of the sequence, with the fields of ``content``."""
    rows = Rows(content.n)
    if timestamp is not None:
        varint(rows.put(b"\x40"), timestamp)
    return message(b"\x0a", rows.put(_SEQUENCE).add(content))


def event(kind: int, instant: Array, track: Array, content: Rows | None = None) -> Rows:
    """Return a packet with a TrackEvent of this type on tracks (uuid), with the fields of ``content``."""
    rows = varint(Rows(len(instant)).put(bytes([0x48, kind, 0x58])), track)
    return packet(message(b"\x5a", rows if content is None else rows.add(content)), instant)


def annotation(name: int, values: Array, *, string: bool = False) -> Rows:
    """Return TrackEvent.debug_annotations: a number, or the string with this iid, under the name with this iid."""
    rows = varint(Rows(len(values)).put(b"\x08"), np.full(len(values), name))
    return message(b"\x22", varint(rows.put(b"\x88\x01" if string else b"\x20"), values))


def interned(field: bytes, first: int, known: Rows) -> Rows:
    """Return packets that intern texts (field 2 of an entry, as from :func:`text`) under iids from ``first`` on."""
    entry = varint(Rows(known.n).put(b"\x08"), first + np.arange(known.n)).add(known)
    return packet(message(b"\x62", message(field, entry)))
