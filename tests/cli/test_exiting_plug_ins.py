"""A plug-in that calls ``sys.exit(0)``: the command says whose it was, and does not end as if all were well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from command_line import everything_in, twolevel

from als.graphs import graph_model
from als.graphs.trial import try_out as try_graph
from als.planners import PLANNERS
from als.planners.trial import try_out as try_planner
from bls.workloads import read_workload
from traces.base.errors import PluginError

RUN = ("run", "sample", "--select", "first:3", "--no-trace", "--out", "r")
SAID = "failed: SystemExit: 0"

WRITTEN = """
import sys
{head}
class Mine:
    name = "mine"
    every_ns = None
{body}
"""


def written(here: Path, *, head: str = "", body: str = "    pass") -> str:
    """A file with a class ``Mine``; gives the name to use it by."""
    (here / "mine.py").write_text(WRITTEN.format(head=head, body=body))
    return "mine.py:Mine"


def refused(here: Path, *words: object) -> str:
    """What ``twolevel`` says of a plug-in that is to blame: one line."""
    before = everything_in(here)
    ran = twolevel(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1), ran.err
    assert everything_in(here) == before
    return ran.err.removeprefix("twolevel: ").removesuffix("\n")


def method(name: str) -> str:
    return f"    def {name}(self, *given, **named):\n        sys.exit(0)"


def test_while_it_is_loaded(here: Path) -> None:
    name = written(here, head="sys.exit(0)")
    assert "mine.py cannot be loaded: SystemExit: 0" in refused(here, *RUN, "--bls", name)
    name = written(here, body=method("__init__"))
    for option in ("--bls", "--als", "--allocator", "--estimates", "--observe", "--lengths"):
        assert "mine.py:Mine() cannot be made: SystemExit: 0" in refused(here, *RUN, option, name)


@pytest.mark.parametrize(
    ("option", "called", "message"),
    [
        ("--bls", "keys", f"batch policy mine: keys() {SAID}"),
        ("--bls", "decide", f"decide() {SAID}"),
        ("--als", "chunk", f"technique mine: chunk() {SAID}"),
        ("--estimates", "planned_ns", f"estimator mine: planned_ns() {SAID}"),
        ("--observe", "look", f"look() {SAID}"),
    ],
)
def test_when_it_is_asked(here: Path, option: str, called: str, message: str) -> None:
    assert message in refused(here, *RUN, option, written(here, body=method(called)))


def test_when_it_reads(here: Path) -> None:
    name = written(here, body=method("__call__"))
    with pytest.raises(PluginError, match=r"x\.log: reader mine\.py:Mine failed: SystemExit: 0"):
        read_workload("x.log", format=name)


def test_in_another_process(here: Path) -> None:
    name = written(here, body=method("chunk"))
    said = refused(here, *RUN, "--als", name, "--coupling", "pool", "--workers", 1)
    assert f"technique mine: chunk() {SAID}" in said


def test_in_a_cell_of_a_study(here: Path) -> None:
    name = written(here, body=method("keys"))
    ran = twolevel("grid", "sample", "--select", "first:3", "--bls", f"fcfs,{name}", "--als", "recorded", "--out", "g")
    assert ran.code == 1
    assert f"batch policy mine: keys() {SAID}" in ran.err


def test_where_nobody_asks_it_anything(here: Path) -> None:
    body = "    @property\n    def keys(self):\n        sys.exit(0)"
    assert "called sys.exit(0)" in refused(here, *RUN, "--bls", written(here, body=body))


def exits(*given: object) -> int:
    raise SystemExit(0)


def test_when_it_is_tried() -> None:
    with pytest.raises(PluginError, match="n_tasks raises SystemExit 0; allowed: an answer"):
        try_graph(replace(graph_model("cholesky:tiles=3"), n_tasks=exits))
    with pytest.raises(PluginError, match="floats raises SystemExit 0; allowed: a whole number"):
        try_planner(replace(PLANNERS["heft"], floats=exits))
