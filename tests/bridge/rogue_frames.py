"""Messages of simulators that break the protocol: frames in, spoiled frames out."""

import struct
from typing import Any

from msgspec import msgpack

_S = 10**9


def _early(outcome: dict[str, Any]) -> dict[str, Any]:
    end_ns = outcome["end_ns"] // 2
    return {"end_ns": end_ns, "finish_ns": struct.pack("<q", end_ns) * (len(outcome["finish_ns"]) // 8)}


#: Hellos that are refused: other fields.
HELLOS = {
    "future version": lambda hello: {"version": hello["version"] + 1},
    "another name": lambda hello: {"worker": "nobody"},
    "another token": lambda hello: {"token": "guessed"},
    "other conservation": lambda hello: {"conserves_work": not hello["conserves_work"]},
}

#: Outcomes: other fields; bytes; or another message about the job.
_FIELDS = {
    "another job": lambda outcome: {"job": outcome["job"] + 1000},
    "another attempt": lambda outcome: {"attempt": outcome["attempt"] + 1},
    "too early": _early,
}
_BYTES = {"garbage": struct.pack(">I", 5) + b"\xc1tea\xc1", "oversized": struct.pack(">I", 2**31) + b"and so on"}
_FAILED = {"type": "failed", "reason": "out of luck", "blame": "application"}
_MESSAGES = {
    "unknown message": lambda outcome: {"type": "coffee"},
    "failed": lambda outcome: _FAILED,
    "failed after records": lambda outcome: _FAILED,
    "false promise": lambda outcome: {"type": "promise", "not_before_ns": outcome["end_ns"] + _S},
}


def framed(message: dict[str, Any]) -> bytes:
    payload = msgpack.encode(message)
    return len(payload).to_bytes(4, "big") + payload


def spoiled(kind: str, data: bytes, outcomes: int, which: int) -> tuple[bytes, int, bool | None]:
    """Spoil outcome ``which`` of whole frames: return frames, outcomes so far, and whether it dies (None: nothing spoiled)."""
    sent, gone = b"", None
    while data:
        size = 4 + int.from_bytes(data[:4], "big")
        one, data = data[:size], data[size:]
        message = msgpack.decode(one[4:])
        if message["type"] == "hello" and kind in HELLOS:
            one, gone = framed(message | HELLOS[kind](message)), False
        elif message["type"] == "outcome":
            if kind not in HELLOS and _is_spoiled(kind, message, outcomes, which):
                one, gone = _outcome(kind, message, one), kind == "false promise"
            outcomes += 1
        elif message["type"] in ("records", "transfers") and outcomes == which and kind in ("failed", "false promise"):
            continue  # it fails, or promises, before it reports anything
        sent += one
    return sent, outcomes, gone


def _is_spoiled(kind: str, outcome: dict[str, Any], outcomes: int, which: int) -> bool:
    if kind == "failed after records":  # at best after transfers, too, which few jobs have
        return outcome["transfers"] > 0 or outcomes == which - 1
    if kind == "too early" and outcome["graph"] is not None:
        return False  # how early a graph may end is unknown to the bridge
    return outcomes == which


def _outcome(kind: str, outcome: dict[str, Any], as_it_is: bytes) -> bytes:
    if kind == "twice":
        return as_it_is * 2
    if kind in _BYTES:
        return _BYTES[kind]
    if kind in _FIELDS:
        return framed(outcome | _FIELDS[kind](outcome))
    return framed({"job": outcome["job"]} | _MESSAGES[kind](outcome))
