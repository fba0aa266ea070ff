"""The tool that plans days of a log ahead: its table, and that no policy is better than its plan."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bls import sample_path
from tools.plan_ahead import main


def test_a_plan_is_no_worse_than_any_policy_and_its_table_obeys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan.csv"
    words = [
        "--select",
        "first:60",
        "--load",
        "4",
        "--policies",
        "fcfs+easy",
        "list",
        "--lists",
        "100",
        "--out",
        str(out),
    ]
    assert main([str(sample_path()), *words]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    slowdown = {line[:20].strip(): float(line[20:].split()[0]) for line in lines}
    assert list(slowdown) == ["fcfs+easy", "list", "ahead, 0 lists", "ahead, 100 lists"]
    assert list(slowdown.values())[3] <= list(slowdown.values())[2] <= min(list(slowdown.values())[:2])
    n_cores = int(head.split()[2])
    with out.open(encoding="utf-8", newline="") as table:
        jobs = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(table)]
    assert len(jobs) == 60
    assert all(job["submit_s"] <= job["start_s"] < job["end_s"] for job in jobs)
    for one in jobs:
        there = [job["cores"] for job in jobs if job["start_s"] <= one["start_s"] < job["end_s"]]
        assert sum(there) <= n_cores


def test_an_unknown_policy_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(sample_path()), "--policies", "best"]) == 2
    said = capsys.readouterr().err
    assert "--policies: unknown dispatcher 'best'" in said
    assert said.count("\n") == 1
