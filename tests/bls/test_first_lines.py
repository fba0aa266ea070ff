"""Which format a log is in by its first lines, and what is said of formats that no reader reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import table_rows

from bls.workloads import READERS, format_of, read_workload
from traces.base.errors import InputError


@pytest.mark.parametrize(("name", "text", "form"), table_rows(__file__, "a_format_is_told_by_name_and_first_lines"))
def test_a_format_is_told_by_name_and_first_lines(tmp_path: Path, name: str, text: str, form: str) -> None:
    (tmp_path / name).write_text(text)
    assert format_of(tmp_path / name) == form


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        *table_rows(__file__, "a_format_that_is_not_read_is_named"),
        ("accounting", ":".join(["all.q", "n1", "phys", "ann", "job", *["0"] * 40]) + "\n", "Grid Engine"),
    ],
)
def test_a_format_that_is_not_read_is_named(tmp_path: Path, name: str, text: str, what: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_workload(tmp_path / name)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / name}: ")
    assert what in said
    assert said.endswith(f". Formats that are read: {', '.join(READERS)}. For others, use bls.Workload.from_jobs")
    assert ("looks like a" in said and ", a format without a reader. " in said) != ("no valid job" in said)
    assert said.isprintable()
