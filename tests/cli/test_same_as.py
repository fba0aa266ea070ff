"""``twolevel run --same-as``: a run held to the tables of an earlier one, and what went over the bridge in between."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import twolevel

RUN = ("run", "sample", "--select", "first:12", "--als", "gss", "--variation", "0.25", "--no-trace")


@pytest.fixture
def inline(here: Path) -> Path:
    assert twolevel(*RUN, "--tasks", "--out", "inline").code == 0
    return here


def record(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "run.json").read_text())
    return found


def test_processes_give_the_same_and_say_what_it_took(inline: Path) -> None:
    ran = twolevel(*RUN, "--tasks", "--coupling", "process", "--same-as", "inline", "--out", "apart")
    assert ran.code == 0, ran.err
    assert "as in inline            jobs.parquet, tasks.parquet: the same bytes\n" in ran.out
    assert record("apart")["same_as"] == {
        "run": "inline",
        "tables": {"jobs.parquet": True, "tasks.parquet": True},
        "only_here": [],
        "only_there": [],
    }
    assert "same_as" not in record("inline")
    cost = record("apart")["coupling"]
    assert cost["processes"] == 12
    # Each job's end is told, and its bound before; the batch level has waited at least once for each start and each end.
    assert cost["injected"] == 24
    assert cost["resumes"] == cost["suspends"] >= 2
    sent = (cost["bytes_sent"] + cost["bytes_received"]) / 1e6
    said = re.search(
        r"^bridge +(\d+) suspends, (\d+) resumes, 24 injected events, (\d+) messages, (\S+) MB$", ran.out, re.M
    )
    assert said is not None
    assert [*map(int, said.groups()[:3])] == [cost["suspends"], cost["resumes"], cost["messages"]]
    assert float(said[4]) == pytest.approx(sent, rel=0.01)


def test_other_tables_are_named_and_kept(inline: Path) -> None:
    ran = twolevel(*RUN, "--seed", "7", "--tasks", "--same-as", "inline", "--out", "other")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == (
        "twolevel: --same-as: not the tables of inline: jobs.parquet, tasks.parquet; twolevel compare inline other says where"
    )
    assert record("other")["same_as"]["tables"] == {"jobs.parquet": False, "tasks.parquet": False}
    assert "the same bytes" not in ran.out
    assert twolevel("compare", "inline", "other").code == 0


def test_tables_of_one_run_alone_are_said(inline: Path) -> None:
    Path("inline", "mine.parquet").write_text("of somebody else")
    ran = twolevel(*RUN, "--nodes", "--same-as", "inline", "--out", "other")
    assert ran.code == 0, ran.err
    alone = "only here, and not compared: nodes.parquet; only there, and not compared: tasks.parquet"
    assert f"jobs.parquet: the same bytes; {alone}\n" in ran.out
    assert record("other")["same_as"] == {
        "run": "inline",
        "tables": {"jobs.parquet": True},
        "only_here": ["nodes.parquet"],
        "only_there": ["tasks.parquet"],
    }
