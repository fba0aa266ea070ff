"""The pages on loop scheduling say what the techniques do: names, parameters, numbers, examples, and the study's tables.

Their commands are run with those of the other pages, in ``test_examples.py``.
"""

import re
import runpy
from dataclasses import fields
from itertools import groupby, product
from pathlib import Path

import pandas as pd
import pytest
from command_line import twolevel
from pages import ROOT, blocks, section, table
from tables import table_rows

from als.application import ApplicationSimulator
from als.chunk_sequence import chunk_sequence
from als.techniques import TECHNIQUES, Technique, technique
from traces.base.errors import InputError

DOCS = ROOT / "docs"
PAGE = DOCS / "reference/techniques.md"
RULES = [DOCS / f"reference/techniques-{name}.md" for name in ("nonadaptive", "adaptive")]
ANSWERS, STUDY = DOCS / "reference/techniques-answers.md", DOCS / "explanation/techniques-study.md"
COSTS, OWN = DOCS / "reference/techniques-costs.md", DOCS / "how-to/techniques-plug-ins.md"


def sections() -> dict[str, str]:
    """The text of each technique, by its name in the registry."""
    rules = "\n".join(page.read_text(encoding="utf-8") for page in RULES)
    found: dict[str, str] = {}
    for heading, text in re.findall(r"^### ([^\n]*)\n(.*?)(?=^##|\Z)", rules, re.MULTILINE | re.DOTALL):
        for name in heading.split(", "):
            assert name not in found
            found[name] = text
    return found


def sizes(name: str, n: int = 1000, p: int = 4) -> list[int]:
    rule = technique(name)
    assert isinstance(rule, Technique)
    return chunk_sequence(rule, n, p)


def parameters(name: str) -> list[list[str]]:
    """The rows of a technique's table."""
    text = sections()[name]
    if "No parameters." in text:
        assert "| parameter |" not in text
        return []
    return table(text)


def test_every_technique_has_a_section_and_a_line() -> None:
    assert set(sections()) == set(TECHNIQUES)
    for text in sections().values():
        assert "Source: " in text
    listed = [re.findall(r"`([\w-]+)`", row[0]) for row in table(section(PAGE, "All techniques"))]
    assert sorted(name for names in listed for name in names) == sorted(TECHNIQUES)
    # What a rule must know is what it says to the engine.
    for row in table(section(PAGE, "All techniques")):
        for name in re.findall(r"`([\w-]+)`", row[0]):
            one = TECHNIQUES[name]
            assert one.learns == (row[3] == "measurements"), name
            assert one.moments == ("σ" in row[3]), name


@pytest.mark.parametrize("name", TECHNIQUES)
def test_the_parameters_are_those_of_the_page(name: str) -> None:
    rows, given = parameters(name), TECHNIQUES[name].parameters
    known = [] if given is None else [field for field in fields(given) if field.name != "name"]  # type: ignore[arg-type]
    assert [row[0] for row in rows] == [f"`{field.name}`" for field in known]
    for row, field in zip(rows, known, strict=True):
        value = getattr(given, field.name)
        if value is None or value == "":
            assert "`" not in row[1] or row[1] == "by `start`", row
        else:
            assert row[1] == f"`{str(value).lower()}`", row


def accepted(name: str, parameter: str, value: str) -> bool:
    also = ",mu=known" if value == "none" else ""
    try:
        technique(f"{name}:{parameter}={value}{also}")
    except InputError as error:
        assert parameter in str(error)  # noqa: PT017
        return False
    return True


#: What is written of a number, and numbers that are allowed and refused.
RANGES = {text: (good, bad) for text, good, bad in table_rows(__file__, "ranges")}


@pytest.mark.parametrize("name", TECHNIQUES)
def test_what_is_allowed_is_what_the_page_allows(name: str) -> None:
    for parameter, _, allowed, _ in parameters(name):
        good, bad = RANGES.get(allowed) or (re.findall(r"`([\w-]+)`", allowed), ["something"])
        assert len(good) > 1 or allowed in RANGES
        for value in good:
            assert accepted(name, parameter.strip("`"), value), (name, parameter, value)
        for value in bad:
            assert not accepted(name, parameter.strip("`"), value), (name, parameter, value)


def test_the_known_answers() -> None:
    rows = table(section(ANSWERS, "Chunk sizes"))
    for name, shown, _ in rows:
        stated = [
            int(size)
            for part in shown.split()
            for size, _, times in [part.partition("×")]
            for _ in range(int(times or "1"))
        ]
        assert sum(stated) == 1000
        assert sizes(name.strip("`")) == stated, name
    assert {re.split("[:`]", name)[1] for name, _, _ in rows} == set(TECHNIQUES)
    runs = [(name, [(size, len(list(same))) for size, same in groupby(sizes(name.strip("`")))]) for name, _, _ in rows]
    assert [row[1] for row in rows] == [
        " ".join(f"{size}×{times}" if times > 1 else f"{size}" for size, times in found) for _, found in runs
    ]


def test_the_limits_that_are_written_down() -> None:
    for one, other in table_rows(__file__, "same_sizes"):
        assert sizes(one) == sizes(other), one
    assert [len(sizes(f"gss:round={how}")) for how in ("ceil", "floor", "closed")] == [22, 25, 17]
    assert sizes("tss", 100)[:8] == [12] * 8
    assert [sizes(f"fac:rule={rule}")[::4][:3] for rule in ("remaining", "closed", "halving")] == [
        *([125, 63, 31], [125, 63, 32], [125, 63, 32])
    ]
    assert sizes("guided", 10, 1) == [10]
    assert [sizes(f"static:round={how}", 10) for how in ("block", "ceil")] == [[3, 3, 2, 2], [3, 3, 3, 1]]


def test_every_name_of_another_tools_numbers_is_known() -> None:
    rows = table(section(ANSWERS, "Names in libraries"))
    names = [name for row in rows for cell in row for name in re.findall(r"`([^`]+)`", cell)]
    known = 0
    for name in names:
        if name in ("fac2a",) or name.startswith("schedule("):
            continue
        technique(name.replace("=K", "=5").replace("=P", "=4").replace("=…", "=1/1"))
        known += 1
    assert known > 30


def files() -> dict[str, str]:
    """The examples in Python, by their names."""
    return {re.match(r"# (\w+\.py)\n", text)[1]: text for page in (COSTS, OWN) for text in blocks(page, "python")}  # type: ignore[index]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder that has the pages' files."""
    monkeypatch.chdir(tmp_path)
    for name, text in files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_examples_print_what_stands_below_them(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(files()) == ["costs.py", "steps.py", "choose.py", "careful.py", "thirds.py", "by_speed.py"]
    printed, (thirds,) = blocks(COSTS, "text"), blocks(OWN, "text")
    for name, expected in zip(("costs.py", "steps.py", "choose.py"), printed, strict=True):
        runpy.run_path(name)
        assert capsys.readouterr().out == expected, name
    ran = twolevel("loop", "--chunks", "--n", 1000, "--cores", 4, "--als", "thirds.py:THIRDS")
    assert ran.out == thirds


def test_techniques_of_ones_own(desk: Path) -> None:
    careful = technique("careful.py:Careful")
    assert isinstance(careful, Technique)
    found = chunk_sequence(careful, 1000, 4)
    assert found[:4] == [75, 75, 70, 65]  # three times 1000 / 40, and a third of the fair share
    assert sum(found) == 1000
    assert sizes("by_speed.py:BY_SPEED:part=0.25")[:3] == [62, 58, 55]
    # With an overhead, and a core twice as fast as the other.
    application = ApplicationSimulator([1.0] * 30, [2.0, 1.0], technique("by_speed.py:BY_SPEED"), overhead_ns=1)
    application.advance()
    assert [len(list(same)) for _, same in groupby(application.state.chunk.tolist())] == [10, 4, 4, 4, 4, 4]


#: The settings of the study: how lengths are drawn, the overhead of a chunk, and the cores.
LENGTHS = ("equal", "normal", "exponential", "bimodal", "increasing", "decreasing", "Mandelbrot")
OVERHEADS = ("0", "small", "large")
CORES = ("equal", "different", "square wave", "one lost")

#: What the study found: of each technique the mean makespan as a multiple of that of the setting's best.
ROWS = pd.read_csv(DOCS / "data" / "technique-study.csv", index_col=["lengths", "overhead", "cores"])
NAMES = [name for name in TECHNIQUES if name != "fac2"]


def percent(factor: float) -> str:
    return f"{100 * (factor - 1):.0f} %" if factor >= 1.0995 else f"{100 * (factor - 1):.1f} %"


def test_the_file_has_every_setting_and_technique() -> None:
    assert ROWS.index.tolist() == list(product(LENGTHS, OVERHEADS, CORES))
    assert ROWS.columns.tolist() == ["error", *NAMES]
    assert (ROWS[NAMES].min(axis=1) == 1).all()


def test_the_tables_are_those_of_the_file() -> None:
    text = STUDY.read_text(encoding="utf-8")
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    won = ROWS[NAMES] <= 1.01
    counted = {row[0].strip("`"): row[1:] for row in lines if len(row) == 10}
    assert set(NAMES) <= set(counted)
    for name in NAMES:
        at, last = won.index[won[name]], ROWS[name].idxmax()
        counts = [sum(one[1:] == (overhead, "equal") for one in at) for overhead in OVERHEADS]
        counts += [sum(one[2] == cores for one in at) for cores in CORES[1:]]
        where = f"{percent(ROWS[name].max())}: {', '.join(last)}"
        assert counted[name] == [*map(str, counts), str(len(at)), percent(ROWS[name].mean()), where]
