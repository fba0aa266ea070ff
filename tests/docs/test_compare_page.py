"""The page of comparisons says what the command prints and writes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from command_line import twolevel
from pages import ROOT, blocks, section, table

from bridge.compare.delay_causes import CAUSES

PAGE = ROOT / "docs" / "reference/compare.md"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's commands have been run; what they printed is in numbered files."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        printed = []
        for line in "".join(blocks(PAGE, "bash")).splitlines():
            ran = twolevel(*shlex.split(line)[1:])
            assert ran.code == 0, ran.err
            if " compare " in line:
                printed.append(ran.out)
    for number, text in enumerate(printed):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    return folder


def test_what_the_page_shows_is_printed(desk: Path) -> None:
    shown = blocks(PAGE, "text")
    assert len(shown) == 2
    for number, text in enumerate(shown):
        assert text == (desk / f"{number}.txt").read_text(encoding="utf-8")


def test_the_columns_are_those_of_the_page(desk: Path) -> None:
    schema = pq.read_schema(desk / "compared" / "delays.parquet")
    rows = table(section(PAGE, "delays.parquet"))
    described = {name: row for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert set(described) == set(schema.names)
    for name in schema.names:
        assert described[name][1] == str(schema.field(name).type).removeprefix("large_"), name
        assert (described[name][2] == "ns") == name.endswith("_ns"), name
    delays = pd.read_parquet(desk / "compared" / "delays.parquet")
    sums = delays["chain_run_ns"] + delays["chain_order_ns"] + delays["root_start_delta_ns"]
    assert (delays["start_delta_ns"] == sums).all()


def test_the_causes_and_the_record_are_those_of_the_page(desk: Path) -> None:
    assert {row[0].strip("`") for row in table(section(PAGE, "Causes"))} == set(CAUSES)
    (row,) = (row for row in table(section(PAGE, "Files")) if "comparison.json" in row[0])
    record = json.loads((desk / "compared" / "comparison.json").read_text(encoding="utf-8"))
    assert set(re.findall(r"`(\w+)`", row[1])) == set(record)
    assert (desk / "compared" / "chain.png").is_file()
