"""``twolevel run --check``: a run whose engines are checked while they run."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import twolevel

from traces.checks.jobs import InvariantError


@pytest.mark.parametrize("coupling", ["inline", "pool"])
def test_a_run_that_is_checked_has_the_same_results(here: Path, monkeypatch: pytest.MonkeyPatch, coupling: str) -> None:
    calls: list[str] = []
    for name in ("bls.engine.validation.validate", "traces.checks.ledger.check_ledger"):
        monkeypatch.setattr(name, lambda _, name=name: calls.append(name))
    options = ("run", "sample", "--select", "first:40", "--als", "ss", "--no-trace", "--tasks", "--coupling", coupling)
    assert twolevel(*options, "--check", "--out", "checked").code == 0
    assert calls.count("traces.checks.ledger.check_ledger") == 1
    assert len(calls) > 20
    assert twolevel(*options, "--out", "plain").code == 0
    for name in ("jobs.parquet", "tasks.parquet"):
        assert (here / "checked" / name).read_bytes() == (here / "plain" / name).read_bytes()


def test_a_run_that_fails_its_check_says_so_and_leaves_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise InvariantError("batch engine at 5 ns: job 1 holds core 3 twice")

    monkeypatch.setattr("bls.engine.validation.validate", fail)
    ran = twolevel("run", "sample", "--select", "first:5", "--als", "recorded", "--check", "--no-trace", "--out", "r")
    assert ran.code == 1
    assert "job 1 holds core 3 twice" in ran.err
    assert not (here / "r").exists()
