"""Calibrations: planted parameters are found within their intervals, and schedules that were held out are predicted."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from planted_runs import Planted, planted_lengths, planted_record, planted_tables, some_planted

from bridge.measure.calibrate.fit import medians
from bridge.measure.calibrate.predict import PREDICTIONS, Calibration, calibrate
from bridge.measure.calibrate.samples import joined, read_samples
from bridge.measure.folder import read_measurement, write_measurement

#: Without any noise, so that each thread has the same chunks in every run, and speeds cannot be found.
EXACT = Planted(change=0.0, noise=0.0, speeds=(1.0, 1.0))


def written(folder: Path, planted: Planted, tables: dict[str, Any]) -> Path:
    folder.mkdir(parents=True)
    write_measurement(folder, planted_record(planted), tables)
    return folder


def calibrated(folder: Path, planted: Planted, seed: int = 0, *, predict: bool = False) -> Calibration:
    measured = read_measurement(written(folder, planted, planted_tables(planted, seed)))
    return calibrate(read_samples(joined([measured])), predict=predict)


def true_values(planted: Planted) -> dict[str, float]:
    """The planted parameters, by the names of their estimates."""
    mean = np.exp(np.mean(np.log(planted.speeds)))
    given = dict(one.split("=") for one in planted.spec.partition(":")[2].split(","))
    where = "request" if planted.between else "overhead"
    return {
        **{f"speed.{core}": speed / mean for core, speed in enumerate(planted.speeds)},
        **{f"overhead.{kind}": 0.0 for kind in planted.overhead_ns},
        **{f"{where}.{kind}": float(ns) for kind, ns in planted.overhead_ns.items()},
        "start": float(planted.start_ns),
        "barrier": float(planted.barrier_ns),
        "change": planted.change,
        f"cov.sweep[{planted.n}]": float(given["cov"]),
        f"drift.sweep[{planted.n}]": float(given["drift"]),
    }


@pytest.mark.parametrize(("n", "least"), [(10, 9), pytest.param(100, 95, marks=pytest.mark.release)])
def test_planted_parameters_are_within_their_intervals(n: int, least: int, tmp_path: Path) -> None:
    """All parameters of a measurement at once."""
    outside = {}
    for seed in range(n):
        planted = some_planted(seed)
        found, true = calibrated(tmp_path / str(seed), planted, seed).estimates, true_values(planted)
        assert set(found) == set(true)
        if wrong := {name: found[name] for name, one in true.items() if not found[name].low <= one <= found[name].high}:
            outside[seed] = wrong
    assert n - len(outside) >= least, outside


def test_intervals_are_narrow(tmp_path: Path) -> None:
    """Intervals that contain everything would find everything."""
    found, planted = calibrated(tmp_path / "m", Planted()).estimates, Planted()
    for name, width in {"speed.0": 0.04, "overhead.ss": 800.0, "barrier": 600.0, "cov.sweep[400]": 0.25}.items():
        assert found[name].high - found[name].low < width, name
    assert found["overhead.ss"].value == pytest.approx(planted.overhead_ns["ss"], abs=150)


@pytest.mark.parametrize("between", [False, True])
def test_without_noise_everything_is_exact(between: bool, tmp_path: Path) -> None:
    planted = replace(EXACT, between=between, repeats=3)
    found = calibrated(tmp_path / "m", planted, predict=True)
    true = true_values(planted)
    for kind, ns in planted.overhead_ns.items():
        assert found.fitted.cost_ns(kind) == pytest.approx(ns, abs=3)
        assert found.estimates[f"overhead.{kind}"].value == pytest.approx(true[f"overhead.{kind}"], abs=3)
    # Times are whole ns.
    assert found.lengths_ns["sweep", planted.n] == pytest.approx(planted_lengths(planted, 0), abs=4)
    assert tuple(found.predictions) == PREDICTIONS
    # Without dynamic,1, the lengths are means over 16 iterations. guided has no other schedule of its technique.
    assert found.predictions["error"].abs().max() < 0.02
    if not between:  # else static alone does not show what a request costs
        assert found.predictions.set_index("schedule").loc["static,20", "error"] == pytest.approx(0.0, abs=1e-5)


def test_interruptions_do_not_matter(tmp_path: Path) -> None:
    """Each of 4 ms, as long as the loop, in every third run."""
    planted = replace(Planted(), interrupted=0.001)
    found = calibrated(tmp_path / "m", planted).fitted
    assert found.speeds[0] / found.speeds[1] == pytest.approx(1.25, rel=0.02)
    assert found.total_ns["sweep", planted.n] == pytest.approx(
        planted_lengths(planted, 0).sum() / np.sqrt(0.8), rel=0.02
    )
    assert found.overhead_ns["ss"] == pytest.approx(planted.overhead_ns["ss"], abs=400)


def test_a_schedule_is_predicted_without_its_own_measurements(tmp_path: Path) -> None:
    """Other times of a schedule change its measured makespan, not the predicted one, and the ranks are counted."""
    tables = planted_tables(replace(EXACT, repeats=3), 0)
    changed = {name: dict(columns) for name, columns in tables.items()}
    runs = [run for run, schedule in enumerate(tables["runs"]["schedule"]) if schedule == "dynamic,16"]
    for name in ("chunks", "loops", "waits"):
        for column in ("begin_ns", "end_ns"):
            times = zip(tables[name]["run"], tables[name][column], strict=True)
            changed[name][column] = [ns * 3 if run in runs else ns for run, ns in times]
    both = []
    for number, one in enumerate((tables, changed)):
        folder = written(tmp_path / str(number), EXACT, one)
        rows = calibrate(read_samples(joined([read_measurement(folder)]))).predictions
        both.append(rows.set_index("schedule"))
        for name in ("measured", "predicted"):
            ordered = rows.sort_values(f"{name}_ns")
            assert ordered[f"{name}_rank"].tolist() == [1, 2, 3, 4, 5]
    name = "dynamic,16"
    assert both[1].loc[name, "predicted_ns"] == both[0].loc[name, "predicted_ns"]
    assert both[1].loc[name, "measured_ns"] == pytest.approx(3 * both[0].loc[name, "measured_ns"])
    assert both[1].loc[name, "error"] == pytest.approx(-2 / 3, abs=0.02)


#: Schedules, numbers of cores, and what cannot be separated.
INSEPARABLE = [
    (("static", "dynamic,1", "guided"), 2, ["overhead of ss", "overhead of guided", "one overhead for all techniques"]),
    (("dynamic,50", "dynamic,51"), 2, ["lengths of sweep, overhead cannot be separated", "no overhead"]),
    (("static", "static,20"), 2, ["speeds of cores and lengths cannot be separated"]),
]


@pytest.mark.parametrize(("schedules", "cores", "words"), INSEPARABLE)
def test_parameters_that_cannot_be_separated_are_named(
    schedules: tuple[str, ...], cores: int, words: list[str], tmp_path: Path
) -> None:
    planted = replace(Planted(), schedules=schedules, speeds=(1.0,) * cores, n=500)
    lines = calibrated(tmp_path / "m", planted).remarks
    for one in words:
        assert sum(one in line for line in lines) == 1, lines
    assert not any(
        "cannot be separated" in line for line in calibrated(tmp_path / "n", replace(Planted(), between=True)).remarks
    )


def test_several_measurements_are_one(tmp_path: Path) -> None:
    tables, planted = planted_tables(Planted(), 0), Planted()
    parts = []
    for part in range(2):
        runs = [run for run, repeat in enumerate(tables["runs"]["repeat"]) if repeat // 5 == part]
        some: dict[str, Any] = {"regions": tables["regions"]}
        for name in ("runs", "loops", "chunks", "waits"):
            frame = pd.DataFrame(tables[name])
            frame = frame[frame["run"].isin(runs)]
            frame["run"] -= runs[0]
            some[name] = (frame.assign(repeat=frame["repeat"] % 5) if name == "runs" else frame).to_dict("list")
        parts.append(read_measurement(written(tmp_path / str(part), planted, some)))
    found = calibrate(read_samples(joined(parts)), predict=False)
    alone = calibrated(tmp_path / "m", planted)
    assert {name: vars(one) for name, one in found.estimates.items()} == {
        name: vars(one) for name, one in alone.estimates.items()
    }


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    tables = planted_tables(replace(EXACT, repeats=2), 0)
    runs = tables["runs"]
    of = {
        schedule: [run for run in range(10) if runs["schedule"][run] == schedule] for schedule in set(runs["schedule"])
    }
    runs["exit_status"][of["static"][0]] = 1  # so that it counts once
    for run in of["guided"]:
        tables["loops"]["schedule"][run] = "static"
    for run in of["dynamic,16"]:
        runs["schedule"][run] = "auto"
    folder = written(tmp_path / "m", EXACT, tables)
    found = read_samples(joined([read_measurement(folder)]))
    assert [one.schedule for one in found.samples] == ["dynamic,1", "static,20"]
    assert found.remarks == [
        "left out: sweep, auto: a schedule that is not known",
        "left out: sweep, guided: the loop has run as static",
        "left out: sweep, static: measured once",
    ]
    assert 0.0 < found.quiet < 0.01


def test_medians() -> None:
    random = np.random.default_rng(0)
    values = random.random((50, 7))
    values[random.random((50, 7)) < 0.6] = np.nan
    values[:, 3] = np.arange(50)
    assert medians(values) == pytest.approx(np.nanmedian(values, axis=1))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it writes can be simulated: with these options a loop takes the predicted time."""
    monkeypatch.chdir(tmp_path)
    planted = replace(EXACT, repeats=2)
    written(Path("m"), planted, planted_tables(planted, 0))
    ran = succeeds("calibrate", "m", "--out", "c", "--seed", "3")
    assert "sweep: the fastest schedule is" in ran.err
    assert "a loop of known work varied by" in ran.err
    assert ran.out.splitlines()[-5].split()[:2] == ["sweep", "dynamic,1"]
    record = json.loads(Path("c/calibration.json").read_text())
    assert sorted(record["files"]) == [
        *("calibrated.toml", "calibration.json", "calibration.png", "lengths-0.txt", "table.csv"),
    ]
    assert (record["seed"], record["measured"], record["threads"]) == (3, ["m"], 2)
    assert [tuple(one) for one in record["predictions"]] == [PREDICTIONS] * 5
    table = pd.read_csv("c/table.csv").set_index("schedule")
    options = tomllib.loads(Path("c/calibrated.toml").read_text())
    loop = options["loop"][0]
    words = [f"c/{loop['file']}", "--unit", loop["unit"], "--core-speed", options["core-speed"]]
    words += ["--overhead", str(options["overhead"]["ss"]), "--als", "dynamic,16", "--out", "loop"]
    succeeds("loop", *words)
    makespan_ns = json.loads(Path("loop/run.json").read_text())["makespan_ns"]
    # The measured one has the start, and 50 ns of measurement for each of 25 chunks.
    assert makespan_ns + planted.start_ns == pytest.approx(table.loc["dynamic,16", "measured_ns"], abs=2_000)
    succeeds("calibrate", "m", "--out", "c", "--force")


REFUSED = [
    (["nothing"], "nothing is not a result of twolevel measure"),
    (
        ["once"],
        "once: no loop was measured at two schedules or more, each twice or more; left out: sweep, static: measured",
    ),
    ([], "Missing argument 'MEASURED...'"),
]


@pytest.mark.parametrize(("words", "line"), REFUSED)
def test_wrong_input(words: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planted = replace(EXACT, repeats=1, schedules=("static",))
    written(Path("once"), planted, planted_tables(planted, 0))
    ran = twolevel("calibrate", *words, "--out", "c")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert ran.err.startswith(f"twolevel: {line}")
    assert not Path("c").exists()
