"""Perfetto's messages as bytes, many at once: the few of ``perfetto/trace/perfetto_trace.proto`` that are written here.

A number is written as a varint of as many bytes as the largest of its block needs, with leading groups of zero; a length as
one of two bytes, or of five. Protobuf allows that, and Perfetto's own writer (protozero) does it for lengths: so that rows of
one form have one length, and thousands are written at once (:mod:`traces.exporters.shown.rows`). The definitions of the
package ``perfetto`` make an object of each packet, and write some 130,000 slices per second, an eighteenth of what is written
here; a test reads back with them what is written.

Source: Protocol Buffers, "Encoding"; Perfetto, "Synthetic TrackEvent" and ``protos/perfetto/trace``.
"""

from collections.abc import Sequence

import numpy as np

from traces.compiled import Array
from traces.exporters.shown.rows import Rows, words

#: TrackEvent.Type
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4

#: The one sequence of packets, of which all but the first need what was interned before.
_SEQUENCE = b"\x50\x01\x68\x02"


def varint(rows: Rows, values: Array) -> Rows:
    """Append whole numbers (int64; one below 0 as its two's complement) as varints of one length."""
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
    """A field that is a message, or a text: its tag, its length, itself."""
    rows = Rows(content.n).put(tag)
    if (length := content.uniform) is not None:
        rows.put(_lengths(np.array([length])).tobytes())
    else:
        rows.put(_lengths(content.lengths))
    return rows.add(content)


def _lengths(lengths: Array) -> Array:
    # Two bytes, and five where a name is so long that these do not do.
    width = 2 if int(lengths.max(initial=0)) < 1 << 14 else 5
    groups = (lengths[:, None] >> 7 * np.arange(width)) & 0x7F
    groups[:, :-1] |= 0x80
    return groups.astype(np.uint8)


def text(tag: bytes, known: Sequence[str]) -> Rows:
    """A field that is a text, in each row another."""
    content = Rows(len(known))
    return message(tag, content.word(words(known), np.arange(len(known))))


def packet(content: Rows, timestamp: Array | None = None) -> Rows:
    """Trace.packet: a TracePacket of the sequence, with the fields of ``content``."""
    rows = Rows(content.n)
    if timestamp is not None:
        varint(rows.put(b"\x40"), timestamp)
    return message(b"\x0a", rows.put(_SEQUENCE).add(content))


def event(kind: int, instant: Array, track: Array, content: Rows | None = None) -> Rows:
    """A packet with a TrackEvent of this type on tracks (uuid), with the fields of ``content``."""
    rows = varint(Rows(len(instant)).put(bytes([0x48, kind, 0x58])), track)
    return packet(message(b"\x5a", rows if content is None else rows.add(content)), instant)


def annotation(name: int, values: Array, *, string: bool = False) -> Rows:
    """TrackEvent.debug_annotations: a number, or the string of this iid, under the name of this iid."""
    rows = varint(Rows(len(values)).put(b"\x08"), np.full(len(values), name))
    return message(b"\x22", varint(rows.put(b"\x88\x01" if string else b"\x20"), values))


def interned(field: bytes, first: int, known: Rows) -> Rows:
    """Packets that intern texts (the field 2 of an entry, as :func:`text` has it) under iids from ``first`` on."""
    entry = varint(Rows(known.n).put(b"\x08"), first + np.arange(known.n)).add(known)
    return packet(message(b"\x62", message(field, entry)))
