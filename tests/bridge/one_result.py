"""What it means that two couplings give one result: every number of it, to the last bit."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

import bridge

__all__ = ["assert_one_result"]


def assert_one_result(result: bridge.Result, expected: bridge.Result) -> None:
    """Every column of every record, with its type, what was noted and measured; and nothing had to be tried again."""
    for records in ("jobs", "tasks", "transfers", "passes", "releases"):
        ours, theirs = getattr(result.ledger, records), getattr(expected.ledger, records)
        assert (ours is None) == (theirs is None), records
        for column in fields(theirs) if theirs is not None else ():
            left, right = np.asarray(getattr(ours, column.name)), np.asarray(getattr(theirs, column.name))
            assert left.dtype == right.dtype, (records, column.name)
            assert left.tobytes() == right.tobytes(), (records, column.name)
    assert list(result.jobs.columns) == list(expected.jobs.columns)
    for name in expected.jobs:
        assert result.jobs[name].equals(expected.jobs[name]), name
    assert dict(result.metrics) == dict(expected.metrics)
    assert result.coupling.get("retries", 0) == 0  # inline nothing can be tried again
