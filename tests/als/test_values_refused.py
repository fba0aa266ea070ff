"""Texts that are refused in one line: names of techniques, lengths, graphs, speeds and networks, the DOT language, programs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_graph_readers import parsed
from test_network import network

from als.core_speeds import core_speeds
from als.graphs import graph_model
from als.lengths import lengths
from als.network import network_model
from als.programs.program import MAX_PHASES
from als.programs.tasks import MAX_TASKS_PER_JOB
from als.programs.text import program_of
from als.techniques import technique
from traces.base.errors import InputError

HERE = Path(__file__).parent

KINDS: dict[str, Callable[[str], Any]] = {
    "technique": technique,
    "lengths": lengths,
    "graph": graph_model,
    "speeds": lambda text: core_speeds([text], 4, 7),
    "network": network_model,
    "topology": lambda text: network(text, 16),
    "dot": parsed,
}
#: Kinds of files.
FILES: dict[str, Callable[[Path], Any]] = {
    "trace": lambda path: core_speeds([f"trace:{path},periodic=60s"], 4, 7),
    "length_file": lambda path: lengths(f"file:{path}"),
}


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        pytest.param(kind, *row, id=f"{kind} {row[0][:60]}")
        for kind, rows in tomllib.loads((HERE / "refused.toml").read_text(encoding="utf-8")).items()
        for row in rows
    ],
)
def test_a_text_is_refused_in_one_line(kind: str, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        KINDS[kind](text) if kind in KINDS else FILES[kind](path)
    pattern = ".*".join(map(re.escape, words.replace("{}", str(path)).split("…")))
    match = re.fullmatch if kind == "length_file" else re.match
    assert match(pattern, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
    if kind == "graph":
        with pytest.raises(InputError, match=r"^map\.toml: line 3: "):
            graph_model(text, "map.toml: line 3")


SERIAL = {"kind": "serial", "share": 1}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        *tomllib.loads((HERE / "refused_programs.toml").read_text(encoding="utf-8"))["refused"],
        ({"name": "a" * 101}, r"x\.name: .*; allowed: up to 100"),
        ({"phases": [SERIAL] * 101}, rf"x\.phases: 101 phases; allowed: 1 to {MAX_PHASES}"),
        ({"tasks": 10**9}, rf"x\.tasks: 1000000000 is out of range; allowed: 1 to {MAX_TASKS_PER_JOB}"),
    ],
)
def test_a_mistake_in_a_program_is_one_line_that_names_the_key(table: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"^(?:{words})") as caught:
        program_of(table, "x")
    assert "\n" not in str(caught.value)
