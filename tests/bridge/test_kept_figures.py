"""The figures of studies that are drawn from kept tables: what each combination's numbers are."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import table_text

from bridge import run_study
from bridge.studies.drawing import KEPT_FIGURES, draw_study_figures, parts_of
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import parse_study
from bridge.studies.study import Study
from traces.base.errors import InputError

TEXT = table_text(__file__, "text")
LABELS = ["fcfs × first-fit", "fcfs × best-fit", "sjf × first-fit", "sjf × best-fit"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    folder = tmp_path_factory.mktemp("kept") / "out"
    study = parse_study(TEXT.format(keep='"jobs", "decisions"'), [Path()], "kept")
    run_study(study, folder, lambda needs: Here())
    return study, folder


def frame_of(done: tuple[Study, Path], name: str) -> pd.DataFrame:
    (part,) = parts_of(*done, name)
    assert (part.name, part.words) == ("", "sample: all combinations")
    assert part.frame["label"].unique().tolist() == LABELS
    return part.frame


def kept(done: tuple[Study, Path], cell: int, table: str) -> list[pd.DataFrame]:
    study, folder = done
    return [pd.read_parquet(folder / "cells" / study.names[cell] / f"seed-{seed}" / table) for seed in (0, 1)]


@pytest.mark.parametrize("name", ["slowdown-boxes", "queue-boxes"])
def test_a_box_is_the_mean_of_the_boxes_of_the_seeds(done: tuple[Study, Path], name: str) -> None:
    frame = frame_of(done, name)
    for cell, row in frame.iterrows():
        boxes = []
        for table in kept(done, int(str(cell)), f"{KEPT_FIGURES[name]}.parquet"):
            if name == "queue-boxes":
                values = table["waiting"]
            else:
                run_ns = table["end_ns"] - table["start_ns"]
                values = ((table["end_ns"] - table["submit_ns"]) / run_ns.clip(lower=10**10)).clip(lower=1)
            boxes.append([*np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)), values.mean()])
        assert row["low":"mean"].tolist() == pytest.approx(np.mean(boxes, axis=0).tolist())  # type: ignore[misc]
        assert row["seeds"] == 2


def test_passes_of_all_seeds_are_counted_once(done: tuple[Study, Path]) -> None:
    lines, costs = frame_of(done, "decisions"), frame_of(done, "decision-cost")
    took = pd.read_parquet(done[1] / "costs.parquet")
    for cell, label in enumerate(LABELS):
        passes = pd.concat(kept(done, cell, "decisions.parquet"))
        of_line, of_bar = lines[lines["label"] == label], costs[costs["label"] == label].iloc[0]
        assert of_line["passes"].sum() == of_bar["passes"] == len(passes)
        assert (of_line["passes"] * of_line["waiting"]).sum() == pytest.approx(passes["waiting"].sum())
        few = passes[passes["waiting"] < 10].groupby("waiting")["decision_ns"].mean()
        drawn = of_line[of_line["waiting"] < 10].set_index("waiting")["decision_ns"]
        assert drawn.to_dict() == pytest.approx(few.to_dict())
        assert of_bar["deciding_ns"] == pytest.approx(passes["decision_ns"].mean())
        whole_ns = 1e9 * took.loc[took["cell"] == cell, "simulation_s"].sum() / len(passes)
        assert of_bar["deciding_ns"] + of_bar["rest_ns"] == pytest.approx(whole_ns)


def test_what_is_not_kept_is_not_drawn(tmp_path: Path) -> None:
    study = parse_study(TEXT.format(keep='"jobs"'), [Path()], "kept")
    run_study(study, tmp_path / "out", lambda needs: Here())
    drawn = draw_study_figures(tmp_path / "out", ["slowdown-boxes"], tmp_path / "drawn", ["png"])
    assert [path.name for path in drawn] == ["slowdown-boxes.png"]
    assert parts_of(study, tmp_path / "out", "decisions") == []
    with pytest.raises(
        InputError, match=r'^queue-boxes: .* lacks the data for it; it needs keep = \["decisions"\] in '
    ):
        draw_study_figures(tmp_path / "out", ["queue-boxes"], tmp_path / "drawn", ["png"])
