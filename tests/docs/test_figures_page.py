"""The pages of figures, comparisons and power, the figures of studies, and the four jobs of the two-level paper."""

import importlib
import inspect
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from command_line import succeeds
from layers import these_stay
from pages import ROOT, blocks, section, table
from scenarios import done

import bridge
from bls import HostGroup, Platform, Workload
from bls.engine.features.sleep.power import METRICS as SLEEP_METRICS
from bls.machine.host_power import HostPower
from bls.power.options import FALLBACKS, Power
from bls.power.over_time import REASONS
from bridge.compare.delay_causes import CAUSES
from bridge.compare.power import METRICS, index_rows, indexes_of
from bridge.runs.figures import RUN_FIGURES
from bridge.studies.drawing import STUDY_FIGURES
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import run_study
from tools.paper_figures import (
    Affected,
    Planned,
    planning_outcomes_figure,
    planning_ratios_figure,
    slowdown_share_figure,
)
from tools.pictures import FOUR_JOBS, PICTURES, four_jobs
from tools.studies.demand_response_jobs import DAY_S, experiment_1
from traces.base.errors import InputError
from traces.base.time import format_ns
from traces.figures.drawing.panels import Box
from traces.metric_units import shown_as
from traces.statistics import mean_interval
from traces.tables import POWER_COLUMNS

FIGURES = ROOT / "docs" / "reference/figures.md"


def test_the_page_names_every_figure_of_a_run() -> None:
    rows = [row for row in table(section(FIGURES, "Drawing them")) if row[1].endswith(".parquet")]
    assert {row[0].strip("`"): row[1].removesuffix(".parquet") for row in rows} == {
        name: kind.needs for name, kind in RUN_FIGURES.items()
    }
    for name in RUN_FIGURES:
        assert re.search(rf"^## .*\b{name}\b", FIGURES.read_text(encoding="utf-8"), re.MULTILINE), name


def test_the_functions_are_there_with_the_parameters_that_are_said() -> None:
    said = re.findall(
        r"^\| `(\w+)\((.*?)\)` \| `(traces\.[\w.]+)` \|$", FIGURES.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(said) == 9 + 11 + 5
    for name, parameters, module in said:
        function = getattr(importlib.import_module(module), name)
        real = list(inspect.signature(function).parameters)
        assert real[1:] == parameters.split(", ")[2:], name


def test_each_picture_is_made_by_the_tool_and_small() -> None:
    shown = re.findall(r"\]\(../images/([\w-]+\.png)\)", FIGURES.read_text(encoding="utf-8"))
    made = [name for made in PICTURES for name in made.pictures if re.match(r"(run|study)-.*\.png", name)]
    assert sorted(made) == sorted(name for name in shown if name.startswith(("run-", "study-")))
    for name in made:
        assert (ROOT / "docs" / "images" / name).stat().st_size < 150_000, name


def test_the_page_names_every_figure_of_a_study() -> None:
    rows = [
        row
        for row in table(section(FIGURES, "Figures of studies"))
        if row[1].removeprefix("kept ") in ("results", "costs", "comparisons", "`jobs`", "`decisions`")
    ]
    assert [row[0].strip("`") for row in rows] == list(STUDY_FIGURES)


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(next(iter(blocks(FIGURES, "python"))), str(FIGURES), "exec"), {})
    assert (tmp_path / "utilisation.png").read_bytes().startswith(b"\x89PNG")


COMPARE = ROOT / "docs" / "reference/compare.md"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the page's commands have been run; what they printed is in numbered files."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        printed = []
        for line in "".join(blocks(COMPARE, "bash")).splitlines():
            ran = succeeds(*shlex.split(line)[1:])
            if " compare " in line:
                printed.append(ran.out)
    for number, text in enumerate(printed):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    return folder


def test_what_the_page_shows_is_printed(desk: Path) -> None:
    shown = blocks(COMPARE, "text")
    assert len(shown) == 2
    for number, text in enumerate(shown):
        assert text == (desk / f"{number}.txt").read_text(encoding="utf-8")


def test_the_columns_are_those_of_the_page(desk: Path) -> None:
    schema = pq.read_schema(desk / "compared" / "delays.parquet")
    rows = table(section(COMPARE, "delays.parquet"))
    described = {name: row for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert set(described) == set(schema.names)
    for name in schema.names:
        assert described[name][1] == str(schema.field(name).type).removeprefix("large_"), name
        assert (described[name][2] == "ns") == name.endswith("_ns"), name
    delays = pd.read_parquet(desk / "compared" / "delays.parquet")
    sums = delays["chain_run_ns"] + delays["chain_order_ns"] + delays["root_start_delta_ns"]
    assert (delays["start_delta_ns"] == sums).all()


def test_the_causes_and_the_record_are_those_of_the_page(desk: Path) -> None:
    assert {row[0].strip("`") for row in table(section(COMPARE, "Causes"))} == set(CAUSES)
    (row,) = (row for row in table(section(COMPARE, "Files")) if "comparison.json" in row[0])
    record = json.loads((desk / "compared" / "comparison.json").read_text(encoding="utf-8"))
    assert set(re.findall(r"`(\w+)`", row[1])) == set(record)
    assert (desk / "compared" / "chain.png").is_file()


POWER = ROOT / "docs" / "reference/power.md"
S = 10**9


def names(text: str) -> list[str]:
    return re.findall(r"`([\w:=]+)`", text)


@pytest.fixture(scope="module")
def runs() -> list[bridge.Result]:
    """Without and with a fallback."""
    machine = Platform((HostGroup(2, 2, 2.0, power=HostPower(50, [(1, 100), (0.5, 70)])),))
    jobs = Workload.from_jobs([(1, 0, 100, 2, 100), (2, 0, 60, 2, 60), (3, 10, 40, 2, 40)])
    found = []
    for fallback in ("none", "dvfs"):
        power = Power(limits=[(20 * S, 80 * S, 300)], fallback=fallback)
        found.append(bridge.simulate(jobs, machine, als="recorded", power=power))
    return found


def test_the_table_over_time(runs: list[bridge.Result]) -> None:
    rows = table(section(POWER, "What the results say"))
    *named, slowed = [name for row in rows for name in names(row[0])]
    assert named == list(POWER_COLUMNS) == list(runs[1].power_over_time.columns)
    assert slowed == "jobs_slowed"  # in few runs: tests/bls/test_power.py


def test_the_metrics(runs: list[bridge.Result]) -> None:
    text = section(POWER, "What the results say")
    rows = table(text[text.index("| metric |") :])
    power = runs[1].power
    assert power is not None
    assert [name for row in rows for name in names(row[0])] == list(power.metrics)
    for said, unit, _ in rows:
        for name in names(said):
            assert unit == ("ns" if name.endswith("_ns") else shown_as(name, 1.0).unit)
    record = set(power.record()) - set(power.metrics)
    (said,) = (part for part in text.split("\n\n") if part.startswith("`run.json` has these"))
    assert record == set(names(said)) & record
    assert set(names(said)) - record == {"power"}


def test_the_indexes(runs: list[bridge.Result]) -> None:
    rows = [row[0] for row in table(section(POWER, "What limits cost and save"))]
    records = [one.power.record() for one in runs if one.power is not None]
    found = indexes_of(
        *((runs[0].jobs, runs[1].jobs), (np.arange(3), np.arange(3))),
        (records[0], records[1]),
        (runs[0].power_over_time, runs[1].power_over_time),
    )
    metrics = {name: [one.metrics.get(name, 1.0) for one in runs] for name in METRICS}  # as if there were signals
    shown = [name for name, _ in index_rows(found, metrics)]
    assert ", ".join(rows).split(", ") == shown


def test_the_fallbacks_and_reasons() -> None:
    text = section(POWER, "Fallbacks")
    assert [names(row[0])[0] for row in table(text)] == [
        "submit:state=1" if name == "submit" else name for name in FALLBACKS
    ]
    rows = table(text[text.index("| reason |") :])
    assert [names(row[0])[0] for row in rows] == list(REASONS)


def test_the_metrics_of_sleep() -> None:
    text = section(POWER, "Sleep")
    assert [name for row in table(text)[:5] for name in names(row[0])] == list(SLEEP_METRICS)


def interval_text(values: pd.Series, digits: int) -> str:
    found = mean_interval(values.to_numpy(float))
    mean, low, high = (f"{one:,.{digits}f}".replace("-", "−") for one in (found.mean, found.low, found.high))
    return f"{mean} [{low}, {high}]"


def test_the_table_of_the_study_of_sleep(tmp_path: Path) -> None:
    study = load_study(ROOT / "tools/studies/sleep.toml")
    results = run_study(study, tmp_path / "sleep", lambda needs: Here()).results
    days = {key: rows.set_index("seed") for key, rows in results.groupby(["sleep_after", "keep_awake"])}
    plain, text = days.pop(("", 0)), POWER.read_text("utf-8")
    rows = table(text[text.index("| asleep after |") :])
    assert len(rows) == len(days)
    for after, kept, *cells in rows:
        one = days[after.replace(" ", ""), int(kept)]
        assert cells == [
            interval_text(100 * (1 - one.energy_j / plain.energy_j), 1),
            interval_text(100 * one.sleeping_share, 1),
            interval_text(one.host_sleeps / 64, 1),
            interval_text((one.mean_wait_ns - plain.mean_wait_ns) / S, 0),
            interval_text(100 * one.boot_waits / one.jobs, 1),
        ]
    used, wait = plain.energy_j.mean() / 1e9, plain.mean_wait_ns.mean() / S
    assert f"which take {used:.2f} GJ and in which jobs wait {wait:.0f} s:" in " ".join(text.split())


def test_the_first_experiment_of_demand_response() -> None:
    rows = table(section(ROOT / "docs/explanation/demand-response.md", "Experiment 1: the limit is kept"))
    found = []
    for fallback in (row[0].strip("`") for row in rows):
        power = Power(limits=[(0, DAY_S * S, 407_000)], fallback=fallback)
        one = bridge.simulate(experiment_1(0), "demand-response", als="recorded", power=power).metrics
        above = format_ns(one["above_limit_ns"]) if one["above_limit_ns"] else "never"
        peaks = [f"{one[name] / 1000:.1f}" for name in ("peak_limited_w", "peak_power_w")]
        wait, energy = format_ns(round(one["mean_wait_ns"])), f"{one['energy_j'] / 1e9:.2f}"
        found.append([f"`{fallback}`", *peaks, above, wait, energy])
    assert found == rows
    assert len(rows) == len(FALLBACKS)


def drawn_bars(axes: object) -> list[tuple[float, float]]:
    """Left end and width of each."""
    return [(bar.get_x(), bar.get_width()) for group in axes.containers for bar in group]  # type: ignore[attr-defined]


def test_a_box_is_its_percentiles() -> None:
    assert Box.of(np.arange(101)) == Box(5, 25, 50, 75, 95, 50)
    assert Box.of([3]) == Box(3, 3, 3, 3, 3, 3)
    for nothing in ([], [1.0, np.nan], [np.inf]):
        with pytest.raises(InputError, match="no box"):
            Box.of(nothing)


def affected(log: str = "some log") -> Affected:
    high = Box(6, 8, 10, 20, 40, 15)
    return Affected(log, ["requested", "exact"], 200, np.array([[40, 50], [10, 14]]), [high, None])


def test_the_share_of_jobs_with_a_high_slowdown() -> None:
    left, right = slowdown_share_figure([affected()], threshold=5).axes
    assert drawn_bars(left) == [(0, 22.5), (0, 6)]  # percent of 200
    assert [text.get_text() for text in left.texts] == ["45", "12"]
    before, *points = left.lines
    assert before.get_xdata() == [22.5, 22.5]
    assert [line.get_xdata().tolist() for line in points] == [[20, 25], [5, 7]]
    assert left.get_xlabel() == "jobs with a slowdown > 5 [% of 200]"
    assert drawn_bars(right) == [(8, 12)]  # nothing where no job has one
    assert len(slowdown_share_figure([affected("a"), affected("b")], threshold=5).axes) == 4
    with pytest.raises(InputError, match="no log"):
        slowdown_share_figure([], threshold=5)


def test_the_figure_of_outcomes_has_a_point_and_a_deviation_for_each() -> None:
    planned = [Planned("hcp19, exact", 2.0, 3.0, 10.0, 20.0), Planned("pcp20, exact", 150.0, 4.0, 0.0, 0.0)]
    slowdown, wait = planning_outcomes_figure(planned).axes
    assert [line.get_xdata()[0] for line in slowdown.lines[1::2]] == [2.0, 150.0]  # type: ignore[index]
    assert [line.get_xdata()[0] for line in wait.lines[1::2]] == [10.0, 1.0]  # type: ignore[index]
    assert not slowdown.patches  # a bar's length means nothing on a logarithmic axis
    assert [list(line.get_xdata()) for line in slowdown.lines[::2]] == [[2.0, 5.0], [150.0, 154.0]]  # type: ignore[arg-type]
    assert [text.get_text() for text in slowdown.texts] == ["2.0", "150"]
    with pytest.raises(InputError, match="no dispatcher"):
        planning_outcomes_figure([])


def test_the_figure_of_ratios_tells_models_that_were_not_made() -> None:
    modelled, ratio = np.array([1, 10, 100]), np.array([0.5, 0.05, 0.01])
    figure = planning_ratios_figure(
        modelled, 4 * modelled, ratio, ratio, np.ones(3), is_made=np.array([True, True, False])
    )
    variables, _, value = figure.axes
    assert [len(line.get_xdata()) for line in variables.lines] == [2, 1, 2]  # type: ignore[arg-type]
    assert variables.lines[0].get_xdata().tolist() == [4.0, 4.0]  # type: ignore[union-attr]
    assert variables.lines[1].get_ydata().tolist() == [0.01]  # type: ignore[union-attr]
    assert value.lines[0].get_ydata().tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    assert value.get_ylim()[0] < 0 < value.get_ylim()[1]
    assert len(figure.legends) == 1
    none = np.zeros(0)
    with pytest.raises(InputError, match="no instance"):
        planning_ratios_figure(none, none, none, none, none, is_made=none.astype(bool))


DOCS = ROOT / "docs" / "explanation"

#: Of J0: the core, start and end (s) of its three tasks, and when J2 and J3 start.
EXPECTED = {
    "static": ([(0, 0, 5), (0, 5, 10), (1, 0, 10)], 10, 20),
    "the smaller chunk first": ([(0, 0, 5), (1, 0, 5), (1, 5, 15)], 15, 30),
    "ss": ([(0, 0, 5), (1, 0, 5), (0, 5, 15)], 15, 30),
}


@pytest.fixture(scope="module")
def results() -> dict[str, bridge.Result]:
    return {name: four_jobs(name) for name in FOUR_JOBS}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_assignment_of_tasks_decides_when_the_others_start(name: str, results: dict[str, bridge.Result]) -> None:
    tasks, second, third = EXPECTED[name]
    found = done(results[name])
    assert [(task.core, task.start // S, task.end // S) for task in found[0].tasks] == tasks
    assert [job.start for job in found] == [0, 0, second * S, third * S]
    assert [job.cores for job in found] == [(0, 1), (2, 3), (2, 4), (0, 4)]


def test_the_paper_s_page_shows_the_runs(results: dict[str, bridge.Result]) -> None:
    page = (DOCS / "two-level-paper.md").read_text("utf-8")
    for name, result in results.items():
        tasks, jobs = result.tasks, result.jobs.set_index("job_id")
        chunks = ", ".join(map(str, tasks[tasks["job_id"] == 0].groupby("chunk", sort=True).size()))
        run, second, third = (ns / S for ns in (jobs.end_ns[0] - jobs.start_ns[0], jobs.start_ns[2], jobs.start_ns[3]))
        assert f"| {name} | {chunks} | {run:g} s | {jobs.imbalance[0]:.3g} | {second:g} s | {third:g} s |" in page


#: When J3 starts with SS (s), by coordination: the wish with which the paper's section 4.2 ends.
THIRD_WITH_SS = {"none": 30, "release": 20, "hint": 15}


@pytest.mark.parametrize("coupling", these_stay(["inline", "pool", "process"], lambda name: name != "pool"))
def test_with_hints_the_third_job_starts_earlier(coupling: str) -> None:
    """J1 serves R2, for which J2 waits, last: J2 has it at 5 s. R4 is J3's as J2 needs it no more, R0 as J0 ends."""
    found = {way: done(four_jobs("ss", way, coupling)) for way in THIRD_WITH_SS}
    assert {way: jobs[3].start // S for way, jobs in found.items()} == THIRD_WITH_SS
    assert [job.start // S for job in found["hint"]] == [0, 0, 5, 15]
    assert [(task.core, task.start // S, task.end // S) for task in found["hint"][1].tasks] == [
        (2, 0, 5),
        (3, 0, 5),
        (3, 5, 15),
    ]
    stated = four_jobs("ss", "hint", coupling).hints
    assert stated[["job_id", "command_ns", "waiting_job_id", "lack", "wanted"]].to_numpy().tolist() == [
        [0, 5 * S, 3, 2, 1],
        [1, 1 * S, 2, 1, 1],
    ]


def test_the_page_on_coordination_shows_the_runs() -> None:
    page = (DOCS / "coordination.md").read_text("utf-8")
    for name in FOUR_JOBS:
        starts = [four_jobs(name, way).jobs.set_index("job_id").start_ns for way in THIRD_WITH_SS]
        assert f"| {name} | {' | '.join(f'{start[2] / S:g} s, {start[3] / S:g} s' for start in starts)} |" in page
