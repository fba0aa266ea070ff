"""Equality of the results of two couplings: every number, to the last bit."""

from dataclasses import fields
from typing import Any

import numpy as np

import bridge
from bls.engine.features.records import EVENTS

_RECORDS = ("jobs", "tasks", "transfers", "passes")


def different(result: bridge.Result, other: bridge.Result) -> str:
    """The first column of the tables that is not the same, byte for byte; empty if all are."""
    known: list[dict[str, Any]] = [
        {name: getattr(one.ledger, name) for name in _RECORDS} | {kind.name: one.ledger.of(kind) for kind in EVENTS}
        for one in (result, other)
    ]
    for records, ours in known[0].items():
        theirs = known[1][records]
        if (ours is None) != (theirs is None):
            return records
        for column in fields(theirs) if theirs is not None else ():
            if not _same(*(np.asarray(getattr(one, column.name)) for one in (ours, theirs))):
                return f"{records}: {column.name}"
    for note in fields(other.application_notes):
        if not _same(getattr(result.application_notes, note.name), getattr(other.application_notes, note.name)):
            return f"jobs: {note.name}"
    return ""


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, np.ndarray):
        return isinstance(right, np.ndarray) and left.dtype == right.dtype and left.tobytes() == right.tobytes()
    return bool(left == right)


def assert_one_result(result: bridge.Result, expected: bridge.Result) -> None:
    """Every column of every record, with its type, what was noted and measured; and nothing had to be tried again."""
    assert different(result, expected) == ""
    assert list(result.jobs.columns) == list(expected.jobs.columns)
    for name in expected.jobs:
        assert result.jobs[name].equals(expected.jobs[name]), name
    assert dict(result.metrics) == dict(expected.metrics)
    assert result.coupling.get("retries", 0) == 0  # inline nothing can be tried again
