"""``twolevel gantt``: which bars of a result are drawn, into which file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from command_line import everything_in, twolevel

import traces.figures.run.gantt

HEAD = {"png": b"\x89PNG", "svg": b"<?xml"}


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("form", list(HEAD))
def test_a_chart_in_each_format(here: Path, result: Path, form: str) -> None:
    before = everything_in(result)
    ran = twolevel("gantt", result, "-o", f"figures/chart.{form}", "--title", "some jobs")
    assert (ran.code, ran.out, ran.err) == (0, f"figures/chart.{form}\n", "")
    assert (here / "figures" / f"chart.{form}").read_bytes().startswith(HEAD[form])
    assert everything_in(result) == before


def test_jobs_and_cores_are_selected(here: Path, result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = pd.read_parquet(result / "tasks.parquet")
    drawn: list[pd.DataFrame] = []
    draw = traces.figures.run.gantt.gantt_figure

    def noting(*columns: object, **options: object) -> object:
        drawn.append(pd.DataFrame(dict(zip(("job_id", "core", "start_ns", "end_ns"), columns, strict=True))))
        return draw(*columns, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(traces.figures.run.gantt, "gantt_figure", noting)
    columns = ["job_id", "core", "start_ns", "end_ns"]
    for words, chosen in [
        ([], tasks),
        (["--jobs", "3-7 12"], tasks[tasks.job_id.between(3, 7) | (tasks.job_id == 12)]),
        (["--jobs", "12,3-7"], tasks[tasks.job_id.between(3, 7) | (tasks.job_id == 12)]),
        (["--cores", "8-15"], tasks[tasks.core.between(8, 15)]),
        (["--cores", "0-15", "--jobs", "2"], tasks[tasks.core.between(0, 15) & (tasks.job_id == 2)]),
    ]:
        assert len(chosen) > 0
        ran = twolevel("gantt", result, "--output", "x.png", *words)
        assert ran.code == 0, ran.err
        pd.testing.assert_frame_equal(drawn.pop(), chosen[columns].reset_index(drop=True))
