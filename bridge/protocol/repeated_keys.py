"""Keys that occur twice in a map of MessagePack, of which a decoder would keep the last without a word."""

from __future__ import annotations

from typing import Final

from bridge.encoding import msgpack

_MAP, _ARRAY, _STR, _NIL = 0x80, 0x90, 0xA0, 0xC0  # where the short forms begin, and where they end
_NEGATIVE: Final = 0xE0
_ARRAYS, _MAPS = (0xDC, 0xDD), (0xDE, 0xDF)

#: Bytes of a value behind its first byte: nil, booleans, numbers.
_FIXED: Final = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8} | {
    0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8
}  # fmt: skip

#: Bytes of the length behind the first byte: bin, str, array, map.
_SIZED: Final = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}


def entries(payload: bytes | memoryview) -> int:
    """How many entries the map has that is a payload."""
    kind = payload[0]
    return kind - _MAP if kind < _ARRAY else int.from_bytes(payload[1 : 1 + _SIZED[kind]], "big")


def repeated_key(payload: bytes | memoryview) -> str:
    """The first key that occurs twice in one map of a payload, or an empty string. ``payload``: a message that has been
    decoded, so that it is well formed and not deep."""
    try:
        _after(payload, 0)
    except _Repeated as error:
        return str(error)
    return ""


class _Repeated(Exception):
    """A key has occurred before."""


def _after(data: bytes | memoryview, at: int) -> int:
    """Where the value ends that begins at an index."""
    kind, at = data[at], at + 1
    if kind < _MAP or kind >= _NEGATIVE:
        return at
    if kind in _FIXED:
        return at + _FIXED[kind]
    if kind >= _NIL:
        width = _SIZED[kind]
        size, at = int.from_bytes(data[at : at + width], "big"), at + width
    else:
        size = kind - (_STR if kind >= _STR else _ARRAY if kind >= _ARRAY else _MAP)
    if kind < _ARRAY or kind in _MAPS:
        return _after_map(data, at, size)
    if kind < _STR or kind in _ARRAYS:
        for _ in range(size):
            at = _after(data, at)
        return at
    return at + size


def _after_map(data: bytes | memoryview, at: int, size: int) -> int:
    seen: set[str] = set()
    for _ in range(size):
        end = _after(data, at)
        key = msgpack.decode(data[at:end], type=str)
        if key in seen:
            raise _Repeated(key)
        seen.add(key)
        at = _after(data, end)
    return at
