"""The figures of a result folder: which are drawn, of what, into which files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from run_frames import jobs_of, tasks_of

import bridge.runs.figures as module
from bridge.runs.figures import RUN_FIGURES, draw_run_figures
from traces.base.errors import InputError
from traces.figures.drawing.canvas import Figure, new_figure
from traces.figures.drawing.for_paper import ForPaper, placed
from traces.figures.run.wait_times import waits_figure

pytestmark = pytest.mark.whole

JOBS = jobs_of(
    [
        {"submit": 0, "start": 0, "end": 4, "cores": 2, "allocation": "0-1", "imbalance": 0.2},
        {"submit": 1, "start": 4, "end": 9, "cores": 3, "allocation": "0-2", "imbalance": 0.1},
        {"submit": 2, "start": -1, "end": -1, "cores": 1},
    ]
)
TASKS = tasks_of(
    [
        (1, 0, 0, 0, 0, 4, 4.0),
        (1, 1, 1, 1, 0, 3, 3.0),
        (2, 0, 0, 0, 4, 8, 4.0),
        (2, 1, 1, 1, 4, 9, 5.0),
        (2, 2, 2, 2, 4, 8, 4.0),
    ]
)
RECORD: dict[str, Any] = {
    "arguments": {"workload": "logs/some.swf", "bls": "sjf", "backfill": "easy", "als": "gss", "variation": 0.25},
    "machine": {"host_names": ["host 0", "host 1"], "first_core": [0, 2, 4]},
}
OF_JOBS = ["utilisation", "waits", "imbalance", "held"]
OF_TASKS = ["heat", "gantt", "chunks", "lengths"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(RECORD))
    JOBS.to_parquet(folder / "jobs.parquet")
    TASKS.to_parquet(folder / "tasks.parquet")
    return folder


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Any, Any]]:
    asked: dict[str, tuple[Any, Any]] = {}

    def noting(name: str) -> Any:
        def draw(frame: Any, view: Any) -> Figure:
            asked[name] = (frame, view)
            return new_figure(0.1, 0.1)

        return draw

    noted = {name: module.RunFigure(kind.needs, noting(name)) for name, kind in RUN_FIGURES.items()}
    monkeypatch.setattr(module, "RUN_FIGURES", noted)
    return asked


def test_all_figures_in_both_formats(run: Path, tmp_path: Path) -> None:
    assert list(RUN_FIGURES) == [*OF_JOBS, *OF_TASKS, "power", "decisions"]
    target = tmp_path / "new" / "figures"
    written = draw_run_figures(run, None, target)
    assert written == [target / f"{name}.{form}" for name in OF_JOBS + OF_TASKS for form in ("svg", "png")]
    assert all(path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<?xml") for path in written)
    assert sorted(target.iterdir()) == sorted(written)


@pytest.mark.parametrize(
    ("missing", "drawn_of", "named", "message"),
    [
        (
            "tasks",
            OF_JOBS,
            ["waits", "heat"],
            r"run has no tasks.parquet, which the figure heat needs; .* keep_tasks=True ",
        ),
        ("jobs", OF_TASKS, ["held"], r"run has no jobs.parquet, which the figure held needs$"),
    ],
)
def test_without_a_table_figures_of_the_other_are_drawn(
    run: Path, tmp_path: Path, drawn: dict[str, Any], missing: str, drawn_of: list[str], named: list[str], message: str
) -> None:
    (run / f"{missing}.parquet").unlink()
    draw_run_figures(run, None, tmp_path)
    assert list(drawn) == drawn_of
    with pytest.raises(InputError, match=message):
        draw_run_figures(run, named, tmp_path)
    for path in run.glob("*.parquet"):
        path.unlink()
    with pytest.raises(InputError, match=r"has neither jobs\.parquet nor tasks\.parquet"):
        draw_run_figures(run, None, tmp_path)


def test_figures_for_a_paper_have_a_width_and_captions(run: Path, tmp_path: Path) -> None:
    (written,) = draw_run_figures(run, ["waits"], tmp_path, ["pdf"], paper=ForPaper.of("89 mm", titled=False))
    assert b"/MediaBox [ 0 0 252.2" in written.read_bytes()
    draw_run_figures(run, ["utilisation"], tmp_path, ["png"], paper=ForPaper())
    captions = (tmp_path / "captions.txt").read_text().split("\n\n")
    assert [text.split(": ")[0] for text in captions] == ["utilisation", "waits"]
    assert all(f"(n = {len(JOBS)} jobs)" in text and "no confidence interval" in text for text in captions)
    for width in ("3", "0.5in", "in", "50in"):
        with pytest.raises(InputError, match="is not a width; allowed: 1in to 40in"):
            ForPaper.of(width, titled=True)


def test_a_figure_takes_the_place_of_axes(run: Path) -> None:
    parent = new_figure(6, 4)
    _, place = parent.subplots(1, 2)
    with placed(place):
        part = waits_figure(JOBS)
    assert [len(parent.axes), len(part.axes)] == [3, 2]
    with pytest.raises(InputError, match="ax: these axes are in no grid"), placed(parent.add_axes((0, 0, 1, 1))):
        pass


def test_of_which_there_is_nothing_is_left_out_unless_it_is_named(run: Path, tmp_path: Path) -> None:
    JOBS.assign(imbalance=np.nan).to_parquet(run / "jobs.parquet")
    (run / "tasks.parquet").unlink()
    written = draw_run_figures(run, None, tmp_path, ["png"])
    assert [path.stem for path in written] == ["utilisation", "waits", "held"]
    with pytest.raises(InputError, match="no job has an imbalance"):
        draw_run_figures(run, ["waits", "imbalance"], tmp_path)
    JOBS[2:].to_parquet(run / "jobs.parquet")
    with pytest.raises(InputError, match="nothing to draw: no job started"):
        draw_run_figures(run, None, tmp_path)


def test_what_decisions_cost_is_of_all_passes_whatever_is_chosen(
    run: Path, tmp_path: Path, drawn: dict[str, Any]
) -> None:
    with pytest.raises(
        InputError, match=r"no decisions.parquet, which the figure decisions needs.* with keep_decisions=True$"
    ):
        draw_run_figures(run, ["decisions"], tmp_path)
    passes = pd.DataFrame({"now_ns": [0, 4], "waiting": [1, 2], "started": [1, 1], "decision_ns": [700, 900]})
    passes.to_parquet(run / "decisions.parquet")
    draw_run_figures(run, None, tmp_path, ["png"], jobs="2")
    frame, _ = drawn["decisions"]
    assert frame.to_dict("list") == {"waiting": [1, 2], "decision_ns": [700, 900]}
    with pytest.raises(InputError, match="there is no such job"):
        draw_run_figures(run, ["waits", "decisions"], tmp_path, jobs="9")
    passes.drop(columns="waiting").to_parquet(run / "decisions.parquet")
    with pytest.raises(InputError, match=r"decisions.parquet: no column waiting; this is not a table of twolevel$"):
        draw_run_figures(run, ["decisions"], tmp_path)


def test_named_figures_in_their_order_with_the_runs_title_and_machine(
    run: Path, tmp_path: Path, drawn: dict[str, Any]
) -> None:
    written = draw_run_figures(run, ["gantt", "waits", "gantt"], tmp_path, ("png", "png"))
    assert written == [tmp_path / "gantt.png", tmp_path / "waits.png"]
    assert list(drawn) == ["gantt", "waits"]
    view = drawn["waits"][1]
    assert view.title == "some.swf: sjf+easy × gss, Υ = 0.25"
    assert (view.first_core.tolist(), view.host_names) == ([0, 2, 4], ["host 0", "host 1"])
    assert (view.jobs, view.cores) == (None, None)


def test_jobs_and_cores_are_chosen(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Figure] = {}

    def save_all(figure: Figure, paths: list[Path], _: object = None) -> list[Path]:
        seen[paths[0].stem] = figure
        return paths

    monkeypatch.setattr("traces.figures.drawing.canvas.save_all", save_all)
    draw_run_figures(run, None, tmp_path, ["png"], jobs="2-3", cores="1-2")
    assert len(seen) == 8
    assert len(seen["gantt"].axes[0].collections[0].get_paths()) == 2
    assert np.asarray(seen["heat"].axes[0].images[0].get_array()).shape[0] == 2
    assert np.asarray(seen["held"].axes[0].images[0].get_array()).min() == 1  # from 4 s to 9 s, on both
    assert seen["waits"].axes[0].get_title(loc="right").startswith("1 job; median 3 s")
    assert seen["imbalance"].axes[0].get_title(loc="right") == "1 job, mean 0.100, largest 0.1"
    assert seen["chunks"].axes[0].get_title(loc="left") == "job 2"
    assert seen["lengths"].axes[0].get_title(loc="right") == "3 tasks of job 2"
    # The machine's use is always of all jobs: 2 × 4 + 3 × 5 core seconds in 9 s of 4 cores.
    assert seen["utilisation"].axes[0].get_title(loc="right") == f"mean {23 / 36:.3g} (dashed)"


def test_impossible_figures_are_refused(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "figures"
    for arguments, options, message in [
        ((["heta"],), {}, r"^names: unknown figure of a run 'heta'; known: heat, "),
        ((None,), {"formats": ["gif"]}, r"cannot draw into a file ending in '\.gif'; allowed: "),
        ((None,), {"jobs": "x"}, r"^jobs: 'x' is no job; allowed: a number or a range"),
        ((None,), {"jobs": "5-9"}, r"^jobs: '5-9': there is no such job; allowed: 1-3$"),
        ((None,), {"cores": "4-9"}, r"^cores: 4-9 is out of range: the machine has cores 0 to 3$"),
    ]:
        with pytest.raises(InputError, match=message):
            draw_run_figures(run, *arguments, target, **options)  # type: ignore[arg-type]
    (run / "run.json").write_text("{}")
    with pytest.raises(InputError, match="lacks the hosts of the machine"):
        draw_run_figures(run, None, target)
    with pytest.raises(InputError, match="is not a result of twolevel run: there is no such folder"):
        draw_run_figures(run / "none", None, target)
    assert not target.exists()
