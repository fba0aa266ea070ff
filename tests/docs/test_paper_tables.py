"""The tables of the page on the two-level paper, from results and logs that are made by hand."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bls import Workload
from tools import paper_causes, paper_draws, paper_pages, paper_selections
from traces.base.errors import InputError

DAY_S, DAY_NS = 86_400, 86_400 * 10**9

#: Makespan at Υ = 0.25 as a multiple of that at 0.
STRETCH = {"static": 2.0, "ss": 1.5, "fac": 1.5}


def results() -> pd.DataFrame:
    """Two policies, three techniques of which two are alike, two variations, five seeds."""
    rows = []
    for bls, als, variation, seed in product(("fcfs", "sjf"), STRETCH, (0.0, 0.25), range(5)):
        days = (10 if bls == "fcfs" else 8) * (STRETCH[als] + seed / 100 if variation else 1.0)
        rows.append(("W1", bls, "none", als, variation, seed, "", 0.5, round(days * DAY_NS), 7))
    names = ["workload", "bls", "backfill", "als", "variation", "seed", "error", "utilisation", "makespan_ns", "jobs"]
    return pd.DataFrame(rows, columns=names)


def test_techniques_that_are_alike_are_told_once() -> None:
    frame = results()
    assert paper_pages.alike(frame) == {"static": ["static"], "ss": ["ss", "fac"]}
    # A nanosecond in one cell and seed is a difference.
    frame.loc[frame.index[-1], "makespan_ns"] += 1
    assert paper_pages.alike(frame) == {"static": ["static"], "ss": ["ss"], "fac": ["fac"]}


def test_makespans_without_variation() -> None:
    assert paper_pages.makespans(results())[2:] == [
        "| W1 | fcfs | 10.00 d |  | 0.500 |",
        "| W1 | sjf | 8.00 d | 0.8000 | 0.500 |",
    ]
    frame = results()
    frame.loc[frame["als"].eq("ss") & frame["variation"].eq(0), "makespan_ns"] += 1
    with pytest.raises(InputError, match="the techniques differ"):
        paper_pages.makespans(frame)


def test_ratios_of_means() -> None:
    lines = paper_pages.ratios(results())
    assert lines[0] == "| workload | combination | Υ = 0.25 |"
    cells = [line.strip("| ").split(" | ") for line in lines[2:]]
    assert [row[1] for row in cells] == ["fcfs × static", "fcfs × ss, fac", "sjf × static", "sjf × ss, fac"]
    assert [row[2].split()[0] for row in cells] == ["2.020", "1.520", "2.020", "1.520"]


def test_techniques_against_static_and_policies_against_fcfs() -> None:
    lines = paper_pages.techniques(results())
    assert lines[0] == "| workload | batch policy | ss, fac / static | with static: / fcfs |"
    assert lines[2].startswith("| W1 | fcfs | 0.752")  # 1.52 / 2.02
    assert lines[2].endswith(" |  |")
    assert lines[3].endswith("| 0.8000 [0.8000, 0.8000] |")


def draws() -> pd.DataFrame:
    """Both draws with two techniques and one task per core: the paper's adds 0.4 to the 1.5 of FAC, 0.8 to that of STATIC."""
    added = {("static", "paper"): 0.8, ("fac", "paper"): 0.4}
    rows = []
    for als, draw, variation, seed in product(("static", "fac"), ("paper", "work"), (0.0, 0.001, 0.25), range(5)):
        stretch = {0.0: 1.0, 0.001: 1.0, 0.25: 1.5}[variation] + (added.get((als, draw), 0.0) if variation else 0.0)
        rows.append(("W1", f"normal:draw={draw}", 1, als, variation, seed, round(stretch * (10 + seed) * DAY_NS)))
    names = ["workload", "lengths", "tasks_per_core", "als", "variation", "seed", "makespan_ns"]
    return pd.DataFrame(rows, columns=names)


def test_the_effect_of_variation_is_split_into_imbalance_and_extra_task() -> None:
    cells = [line.strip("| ").split(" | ") for line in paper_draws.table(draws())]
    means = [[cell.split()[0] for cell in row] for row in cells[2:]]
    assert [row[:3] for row in means] == [["W1", "1", "static"], ["W1", "1", "fac"]]
    # Whole, imbalance, their ratio, the share of the increase; at the small variation both draws.
    assert [[round(float(cell), 3) for cell in row[3:]] for row in means] == [
        [2.3, 1.5, 1.533, 0.615, 1.8, 1.0],
        [1.9, 1.5, 1.267, 0.444, 1.4, 1.0],
    ]
    assert len(cells[0]) == len(cells[2])


def test_the_bars_of_the_split_end_at_the_whole_increase() -> None:
    axis = paper_draws.figure(draws()).axes[0]
    tops = sorted({round(bar.get_y() + bar.get_height(), 6) for bar in axis.patches})
    assert tops == [50.0, 90.0, 130.0]


def test_other_days_say_how_many_jobs_they_have() -> None:
    lines = paper_pages.days(results())
    assert lines[0] == "| day | jobs | batch policy | static | ss, fac |"
    assert lines[2].startswith("| W1 | 7 | fcfs | 2.020 [")


def test_costs_are_those_of_the_simulation() -> None:
    rows = [("W1", 10, 0.001 * k, 9.0) for k in (1, 2, 3, 4, 5)]
    table = pd.DataFrame(rows, columns=["workload", "jobs", "simulation_s", "wall_s"])
    (line,) = paper_pages.costs({"inline": table})[2:]
    assert line.startswith("| inline | W1 | 10 | 0.0030 [")
    assert line.endswith(" s | 1 ms | 5 ms | 300 µs |")


def test_a_page_is_filled_between_its_marks_only() -> None:
    page = "a\n<!-- generated: x -->\nold\n<!-- end of x -->\nb\n<!-- generated: y -->\n<!-- end of y -->\nc\n"
    filled = paper_pages.filled(page, {"x": ["| 1 |", "| 2 |"], "y": ["new"]})
    assert filled == (
        "a\n<!-- generated: x -->\n| 1 |\n| 2 |\n<!-- end of x -->\nb\n"
        "<!-- generated: y -->\nnew\n<!-- end of y -->\nc\n"
    )
    assert paper_pages.filled(filled, {"x": ["| 1 |", "| 2 |"], "y": ["new"]}) == filled
    with pytest.raises(InputError, match="no part z"):
        paper_pages.filled(page, {"z": []})


def log() -> Workload:
    """Five narrow jobs of user 7 and a wide one late on a Monday; three long wide jobs on Thursday; all times in UTC."""
    jobs = [
        {"job_id": k, "submit_s": 80_000 + 2_000 * k, "run_s": 10, "cores": 2, "user": 7, "status": 1}
        for k in range(1, 6)
    ]
    jobs.append({"job_id": 6, "submit_s": 92_000, "run_s": 2500, "cores": 400, "user": 8, "status": 0})
    jobs += [
        {"job_id": k, "submit_s": 3 * DAY_S + k, "run_s": 1000, "cores": 256, "user": 8, "status": 1} for k in (7, 8, 9)
    ]
    return Workload.from_jobs({**job, "estimate_s": job["run_s"]} for job in jobs)


def test_the_readings_of_a_log() -> None:
    found = {(one.counted, one.measure, one.span): one for one in paper_selections.selections(log())}
    spans = paper_selections.SPANS
    every = [found["all", measure, span] for measure in paper_selections.MEASURES for span in spans]
    # The 24 hours from the first submit on have all six jobs; midnight parts them, and then Thursday's three are no fewer.
    assert [(one.n_jobs, one.n_fitting) for one in every] == [(6, 5), (3, 3), (3, 3), (3, 3)]
    assert every[0].first_ns == 82_000 * 10**9
    assert found["up to 256 cores", "jobs", "any 24 h"].n_jobs == 5
    assert found["completed", "jobs", "any 24 h"].n_jobs == 5
    assert found["but the flurry's user", "jobs", "any 24 h"].n_jobs == 3
    assert found["first 10,000 up to 256 cores", "jobs", "any 24 h"].n_jobs == 5
    assert not any(counted.startswith("partition") for counted, _, _ in found)  # the log names none
    assert paper_selections.flurry(log()) == (7, 5)
    assert paper_selections.days_near(log()) == (0, 3)


def test_which_numbers_are_near_the_papers() -> None:
    def near(n_jobs: int, n_fitting: int) -> bool:
        return paper_selections.Selection("all", "jobs", "a date", 0, n_jobs, n_fitting).near

    assert [near(n, 0) for n in (1_649, 1_650, 1_700, 1_799, 1_800)] == [False, True, True, True, False]
    assert near(9_000, 1_700)


def test_how_much_longer_jobs_run() -> None:
    # Two jobs of 2 cores and 100 s: one gets two tasks, the other three.
    def jobs(runs: tuple[int, int], gflop: float) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "submit_ns": [0, 0],
                "start_ns": [0, 100],
                "end_ns": [runs[0], 100 + runs[1]],
                "cores": [2, 2],
                "tasks": [2, 3],
                "length_gflop": [gflop, gflop],
            }
        )

    ran = {("", 0): jobs((100, 100), 50.0)}
    for seed, als in product(range(5), paper_causes.TECHNIQUES):
        ran[als, seed] = jobs((120, 200 if als == "static" else 160), 55.0)
    table = [line.strip("| ").split(" | ") for line in paper_causes.stretches(ran)[2:4]]
    assert [row[1].split()[0] for row in table] == ["0.5000", "0.5000"]
    assert [cell.split()[0] for cell in table[0][2:]] == ["1.200"] * 5
    assert [cell.split()[0] for cell in table[1][2:]] == ["2.000", "1.600", "1.600", "1.600", "1.600"]
    static = paper_causes.shares(ran)[2].strip("| ").split(" | ")
    assert [cell.split()[0] for cell in static] == ["static", "1.100", "1.600", "1.500"]


def test_what_cannot_be_used_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert paper_selections.main([str(tmp_path / "none.swf")]) == 2
    words = [str(tmp_path), "--data", str(tmp_path), "--page", str(tmp_path / "page.md")]
    assert paper_pages.main(words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert np.array_equal(list(tmp_path.iterdir()), [])
