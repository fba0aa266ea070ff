"""The tools of the study of dispatchers that plan: rows, tables, kept dispatches, figures, speeds, and plans ahead of a log."""

from __future__ import annotations

import csv
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tables import table_rows

from bls import sample_path
from bls.cp.instance import Queue, Running
from bls.policies.planning.planner import Planner
from tools import cp_speed, dispatch_instances, dispatch_page, dispatch_study, plan_ahead
from tools.cp_instances import MACHINES, drawn
from tools.dispatch_instances import compared, read_instance, written
from tools.dispatch_lists import RANKED
from tools.dispatch_page import parts
from tools.dispatch_study import Setting, jobs_of, read
from tools.dispatch_tables import Key, Row, groups, tables
from tools.paper_pages import filled
from traces.base.errors import InputError
from traces.figures.study.planning import Planned, planning_outcomes_figure, planning_ratios_figure

KEY = Key("pool", "log", "1", "all", "exact", "0", 1, "fcfs+easy")
ROW = Row(
    jobs=3, slowdown=2.5, slowdown_std=1.0, wait_s=60.0, wait_std_s=5.0, pass_ms=0.25, deciding_ms=0.5, total_s=1.0, passes=8,
    planned=4, modelled=2.0, solved=2, bettered=1, by_list=1, stopped=0,
)  # fmt: skip


def ran(rows: Path, *words: str) -> int:
    return dispatch_study.main(["run", str(sample_path()), "--rows", str(rows), "--samples", "1", *words])


def test_a_row_for_each_sample_is_added_once(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    days = ("--select", "first:60", "--load", "4")
    assert ran(rows, *days, "--dispatchers", "fcfs+easy", "list", "hcp19-all") == 0
    first = rows.read_text(encoding="utf-8")
    assert ran(rows, *days, "--dispatchers", "hcp19-all", "saf+easy") == 0
    second = rows.read_text(encoding="utf-8")
    assert second.startswith(first)
    found = {key.dispatcher: row for key, row in read(rows).items()}
    assert list(found) == ["fcfs+easy", "list", "hcp19-all", "saf+easy"]
    assert second.count("\n") == 5
    assert all(row.jobs == 60 and row.slowdown >= 1 and row.passes >= row.planned for row in found.values())
    assert (found["fcfs+easy"].modelled, found["list"].solved, found["list"].bettered) == (0.0, 0, 0)
    assert found["hcp19-all"].modelled >= 1
    assert dispatch_study.main(["tables", "--rows", str(rows)]) == 0


def test_what_a_decision_costs_is_waited_for(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    for cost in ("0", "100s", "measured"):
        assert ran(rows, "--select", "first:40", "--dispatchers", "fcfs+easy", "--charge-decisions", cost) == 0
    waits = {key.charged: row.wait_s for key, row in read(rows).items()}
    assert list(waits) == ["0", "100s", "measured"]
    assert waits["0"] + 100 <= waits["100s"]
    assert waits["0"] <= waits["measured"] < waits["0"] + 10


def test_a_stand_in_is_simulated_with_each_of_the_estimates(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    words = (
        "--machine",
        "eurora",
        "--select",
        "first:40",
        "--estimates",
        "exact",
        "last-two",
        "--dispatchers",
        "pcp20-fits",
    )
    assert ran(rows, *words) == 0
    assert [(key.machine, key.estimates, row.jobs) for key, row in read(rows).items()] == [
        ("eurora", "exact", 40),
        ("eurora", "last-two", 40),
    ]


def test_a_machine_may_have_other_cores_and_the_log_itself_is_a_sample_of_its_own(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    for cores in ("256", "4096"):
        words = ("--select", "first:60", "--load", "4", "--cores", cores, "--first", "0", "--dispatchers", "fcfs+easy")
        assert ran(rows, *words) == 0
    found = read(rows)
    assert [(key.machine, key.sample) for key in found] == [
        (f"pool of {n}", sample) for n in (256, 4096) for sample in (0, 1)
    ]
    narrow, _, wide, _ = (row.slowdown for row in found.values())
    assert narrow > wide == 1.0
    titles = [group.title for group in groups(found)]
    assert titles[:2] == [f"pool of 256, sample, first:60, load 4{end}" for end in (", the log itself", "")]


def test_a_list_by_the_ranking_plans_whom_the_best_of_the_lists_plans_and_no_better() -> None:
    three = Planner(name="hcp19", which="all", search="list")
    worse = 0
    for seed in range(12):
        instance = drawn(MACHINES["eurora"], 20, seed)
        one, best = (policy.for_run().plan(instance) for policy in (RANKED, three))
        assert one.schedule is not None
        assert best.value is not None
        assert one.value is not None
        assert np.array_equal(one.place, best.place)
        assert len(one.starts) + len(one.unplaced) == np.count_nonzero(one.schedule.start_s == 0)
        assert one.value >= best.value
        worse += one.value > best.value
    assert worse > 0
    columns = {entry.name: getattr(instance.queue, entry.name) for entry in fields(Queue)}
    none = {name: column[:0] for name, column in columns.items() if column is not None}
    nobody = replace(instance, queue=Queue(**none))
    assert RANKED.for_run().plan(nobody).status == "nothing"


def test_jobs_of_the_wide_stand_in_come_as_densely_as_is_said() -> None:
    setting = Setting(sample_path(), "forhlr", 1.0, "first:30", "exact", "0", 1)
    jobs, denser = jobs_of(setting), jobs_of(replace(setting, factor=4.0))
    assert (len(jobs.workload), len(denser.workload), jobs.platform.n_hosts) == (30, 30, 1173)
    span, shorter = (int(np.ptp(one.workload.submit_ns)) for one in (jobs, denser))
    assert shorter < span / 2
    assert set((jobs.workload.cores[jobs.workload.cores > 20] % 20).tolist()) == {0}


@pytest.mark.parametrize(("words", "message"), table_rows(__file__, "what_cannot_be_run"))
def test_what_cannot_be_run(
    tmp_path: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(tmp_path / "rows.csv", *words) == 2
    assert message in capsys.readouterr().err


def test_tables_have_intervals_and_changes_sample_by_sample() -> None:
    rows = {
        replace(KEY, sample=sample, dispatcher=name): replace(ROW, slowdown=slowdown)
        for name, values in (("fcfs+easy", (10.0, 20.0)), ("list", (5.0, 10.0)))
        for sample, slowdown in enumerate(values, 1)
    } | {replace(KEY, charged="1s"): ROW}
    text = tables(rows).splitlines()
    assert "| pool, log, all, load 1 |" in text[0]
    assert text[2].startswith("| fcfs+easy, exact | 2 | 15.00 ± 63.53 |  | 1 | 1.0 ± 0.0 |")
    assert text[3].startswith("| list, exact | 2 | 7.50 ± 31.76 | −50.0 % ± 0.0 |")
    assert "| pool, log, all, load 1, charged 1s |" in text[5]
    assert text[7].startswith("| fcfs+easy, exact | 1 | 2.50 |  |")


def test_the_page_shows_what_the_rows_say() -> None:
    text = dispatch_study.PAGE.read_text(encoding="utf-8")
    assert filled(text, parts(read(dispatch_study.FILE))) == text


def test_the_page_is_filled(tmp_path: Path) -> None:
    page, rows = tmp_path / "page.md", tmp_path / "rows.csv"
    page.write_text("".join(f"<!-- generated: {name} -->\n<!-- end of {name} -->\n" for name in parts({})))
    assert ran(rows, "--select", "first:40", "--dispatchers", "fcfs+easy") == 0
    assert dispatch_study.main(["page", "--page", str(page), "--rows", str(rows)]) == 0
    text = page.read_text()
    assert text.startswith("<!-- generated: rules -->\n|  | KTH-SP2-1996, busiest 3 days |")
    assert text.count("| fcfs, EASY") == 1
    assert "| fcfs, EASY | 98.8 | – | – | 78.0 | – | – |" in text


def test_a_solver_is_held_against_its_list_sample_by_sample() -> None:
    key = replace(KEY, log=dispatch_page.KTH, select="busiest:3d")
    slowdowns = {"list": (10.0, 20.0), "hcp19-all": (11.0, 24.0), "hcp19-fits": (30.0,)}
    rows = {
        replace(key, sample=sample, dispatcher=name): replace(ROW, slowdown=slowdown)
        for name, values in slowdowns.items()
        for sample, slowdown in enumerate(values, 1)
    }
    lines = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in dispatch_page.plans(rows)}
    assert "fcfs, EASY" not in lines
    assert lines["the lists alone"] == "15.0 ± 63.5 (2)"
    assert lines["CP, `fits`"] == "30.0 (1)"
    assert lines["CP, `all`: change from the lists"] == "+15.0 % ± 63.5"
    assert lines["CP, `fits`: change from the lists"] == "+200.0 %"
    assert lines["passes with a solve, `all`"] == "25%"
    assert lines["and a better plan than the list's"] == "12.5%"
    costly = {
        replace(one, charged="16s"): replace(row, wait_s=row.wait_s + 2 * one.sample) for one, row in rows.items()
    }
    shown = dispatch_page.charged(rows | costly)
    assert "| KTH, the lists alone | – | – | 3.00 ± 12.71 s; +0.0 % ± 0.0 (2) |" in shown


def test_neighbourhoods_stand_beside_the_lists_sample_by_sample() -> None:
    key = replace(KEY, log=dispatch_page.KTH, select="busiest:3d")
    rows = {replace(key, sample=k, dispatcher="list"): replace(ROW, slowdown=10.0 + k) for k in range(1, 6)}
    rows |= {replace(key, sample=k, dispatcher="lns"): replace(ROW, slowdown=2.0 * k, deciding_ms=5.0) for k in (1, 3)}
    assert dispatch_page.neighbourhoods(rows)[2:] == [
        "| the lists alone | 11.0 | 12.0 | 13.0 | 14.0 | 15.0 | 13.0 ± 2.0 | 1.0 ± 0.0 | 0.5 |",
        "| `lns`, 200 lists | 2.0 | – | 6.0 | – | – | 4.0 ± 25.4 (2) | 1.0 ± 0.0 (2) | 5.0 |",
    ]


def test_a_line_that_is_empty_in_all_columns_is_left_out() -> None:
    tables_of_nothing = parts({})
    month = tables_of_nothing.pop("month")[2:]
    assert all(lines[2:] == [] for lines in tables_of_nothing.values())
    assert len(month) == len(dispatch_page.PROTOTYPE)  # what was said of others stays


def test_a_month_stands_beside_the_prototype() -> None:
    month = replace(KEY, machine="pool of 256", log=dispatch_page.HPC2N, select="busiest:30d")
    rows = {replace(month, sample=sample): replace(ROW, slowdown=70.0 + sample) for sample in range(6)}
    assert "| fcfs, EASY | 98.8 | – | – | 78.0 | 70.0 | 73.0 ± 2.0 |" in dispatch_page.month(rows)


def test_rows_are_what_their_lines_say() -> None:
    assert Key.of({name: str(value) for name, value in KEY.line().items()}) == KEY
    assert Row.of({name: str(value) for name, value in ROW.line().items()}) == ROW


def test_kept_dispatches_are_read_again_and_compared(tmp_path: Path) -> None:
    instance = drawn(MACHINES["eurora"], 12, 3)
    path = tmp_path / "exact-0.5-all-1-00000.npz"
    written(instance, path)
    again = read_instance(path)
    assert again.resources == instance.resources
    assert np.array_equal(again.capacity, instance.capacity)
    for kind, part in ((Running, "running"), (Queue, "queue")):
        for entry in fields(kind):
            assert np.array_equal(
                getattr(getattr(again, part), entry.name), getattr(getattr(instance, part), entry.name)
            )
    found = compared(path, "all")
    assert (found.instance, found.modelled, found.units) == (path.stem, 12, int(instance.queue.units.sum()))
    assert 12 < found.variables20 < found.variables19
    assert min(found.ms19, found.ms20) > 0
    assert found.z19 > 0


def test_a_simulation_is_kept_solved_and_drawn(tmp_path: Path) -> None:
    log, kept, ratios = str(sample_path()), tmp_path / "kept", tmp_path / "ratios.csv"
    words = ["keep", log, "--out", str(kept), "--jobs", "60", "--load", "2", "--estimates", "exact", "--every", "3"]
    assert dispatch_instances.main(words) == 0
    n = len(list(kept.iterdir()))
    assert n > 3
    assert dispatch_instances.main(["solve", str(kept), "--ratios", str(ratios)]) == 0
    assert len(ratios.read_text(encoding="utf-8").splitlines()) == n + 1
    rows = tmp_path / "rows.csv"
    assert ran(rows, "--machine", "eurora", "--select", "first:40", "--dispatchers", "hcp19-fits", "pcp20-fits") == 0
    words = ["figures", "--rows", str(rows), "--ratios", str(ratios), "--out", str(tmp_path / "images")]
    assert dispatch_instances.main(words) == 0
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["cp-eurora.png", "cp-instances.png"]
    assert dispatch_instances.main(["solve", str(tmp_path / "images"), "--ratios", str(ratios)]) == 2


def test_the_figure_of_outcomes_has_a_bar_and_a_deviation_for_each() -> None:
    planned = [Planned("hcp19, exact", 2.0, 3.0, 10.0, 20.0), Planned("pcp20, exact", 150.0, 4.0, 0.0, 0.0)]
    slowdown, wait = planning_outcomes_figure(planned).axes
    assert [bar.get_width() for bar in slowdown.patches] == [2.0, 150.0]
    assert [bar.get_width() for bar in wait.patches] == [10.0, 1.0]
    assert [line.get_xdata().tolist() for line in slowdown.lines[::2]] == [[2.0, 5.0], [150.0, 154.0]]  # type: ignore[union-attr]
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


@pytest.mark.parametrize("name", MACHINES)
def test_instances_are_nine_tenths_full_and_the_same_for_the_same_seed(name: str) -> None:
    first, again, other = (drawn(MACHINES[name], 30, seed) for seed in (1, 1, 2))
    cores = first.capacity[:, 0].sum()
    assert 0.89 * cores < cores - first.free[:, 0].sum() < 0.97 * cores
    assert first.running.left_s.tolist() == sorted(first.running.left_s.tolist(), reverse=True)
    assert len(first.queue) == 30
    assert first.queue.duration_s.tolist() == again.queue.duration_s.tolist() != other.queue.duration_s.tolist()
    assert first.free.tolist() == again.free.tolist() != other.free.tolist()


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    cp_speed.main(
        ["--machines", "eurora", "--models", "hcp19", "pcp20", "--modelled", "12", "--seeds", "1", "--which", "all"]
    )
    head, *rows, all_, fits = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["machine", "model", "modelled", "which"]
    assert [row.split()[:4] for row in rows] == [["eurora", "hcp19", "12", "all"], ["eurora", "pcp20", "12", "all"]]
    assert all(len(row.split()) == len(head.split()) for row in rows)
    assert "of 10,000" in all_
    assert "of 10,000" in fits


def test_a_plan_is_no_worse_than_any_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.csv"
    words = [
        "--select",
        "first:60",
        "--load",
        "4",
        "--policies",
        "fcfs+easy",
        "list",
        "--lists",
        "100",
        "--out",
        str(out),
    ]
    assert plan_ahead.main([str(sample_path()), *words]) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    slowdown = {line[:20].strip(): float(line[20:].split()[0]) for line in lines}
    assert list(slowdown) == ["fcfs+easy", "list", "ahead, 0 lists", "ahead, 100 lists"]
    assert list(slowdown.values())[3] <= list(slowdown.values())[2] <= min(list(slowdown.values())[:2])
    n_cores = int(head.split()[2])
    with out.open(encoding="utf-8", newline="") as table:
        jobs = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(table)]
    assert len(jobs) == 60
    assert all(job["submit_s"] <= job["start_s"] < job["end_s"] for job in jobs)
    for one in jobs:
        there = [job["cores"] for job in jobs if job["start_s"] <= one["start_s"] < job["end_s"]]
        assert sum(there) <= n_cores


def test_an_unknown_policy_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert plan_ahead.main([str(sample_path()), "--policies", "best"]) == 2
    said = capsys.readouterr().err
    assert "--policies: unknown dispatcher 'best'" in said
    assert said.count("\n") == 1
