"""What simulators that break the protocol send in place of what they should: frames in, spoiled frames out."""

from __future__ import annotations

import struct
from typing import Any

from msgspec import msgpack

__all__ = ["HELLOS", "spoiled"]

#: Hellos that are refused.
HELLOS = ("future version", "another name", "another token", "other conservation")

_GARBAGE = struct.pack(">I", 5) + b"\xc1tea\xc1"
_OVERSIZED = struct.pack(">I", 2**31) + b"and so on"
_S = 10**9


def spoiled(kind: str, data: bytes, outcomes: int, which: int) -> tuple[bytes, int, bool | None]:
    """Spoil outcome ``which`` of whole frames: return frames, outcomes so far, and whether it dies (None: nothing spoiled)."""
    sent, gone = b"", None
    while data:
        size = 4 + int.from_bytes(data[:4], "big")
        one, data = data[:size], data[size:]
        message = msgpack.decode(one[4:])
        if message["type"] == "hello" and kind in HELLOS:
            one, gone = _frame(_hello(kind, message)), False
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
        return False  # nobody knows how early a graph may end, and would notice
    return outcomes == which


def _frame(message: dict[str, Any]) -> bytes:
    payload = msgpack.encode(message)
    return len(payload).to_bytes(4, "big") + payload


def _hello(kind: str, hello: dict[str, Any]) -> dict[str, Any]:
    return (
        hello
        | {
            "future version": {"version": hello["version"] + 1},
            "another name": {"worker": "nobody"},
            "another token": {"token": "guessed"},
            "other conservation": {"conserves_work": not hello["conserves_work"]},
        }[kind]
    )


def _outcome(kind: str, outcome: dict[str, Any], as_it_is: bytes) -> bytes:
    job = outcome["job"]
    if kind == "twice":
        return as_it_is * 2
    if kind == "garbage":
        return _GARBAGE
    if kind == "oversized":
        return _OVERSIZED
    if kind == "unknown message":
        return _frame({"type": "coffee", "job": job})
    if kind == "another job":
        return _frame(outcome | {"job": job + 1000})
    if kind == "another attempt":
        return _frame(outcome | {"attempt": outcome["attempt"] + 1})
    if kind == "too early":
        early = struct.pack("<q", outcome["end_ns"] // 2) * (len(outcome["finish_ns"]) // 8)
        return _frame(outcome | {"end_ns": outcome["end_ns"] // 2, "finish_ns": early})
    if kind in ("failed", "failed after records"):
        return _frame({"type": "failed", "job": job, "reason": "out of luck", "blame": "application"})
    if kind == "false promise":
        return _frame({"type": "promise", "job": job, "not_before_ns": outcome["end_ns"] + _S})
    raise ValueError(kind)
