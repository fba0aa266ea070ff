"""Fixtures of tests of processes."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_runs import descendants


@pytest.fixture
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # Before: such as what a study of an earlier test has left to Python.
    before, opened = descendants(), os.listdir("/proc/self/fd")
    yield
    assert descendants().keys() <= before.keys()
    assert list(tmp_path.glob("twolevel-*")) == []
    assert len(os.listdir("/proc/self/fd")) <= len(opened)
