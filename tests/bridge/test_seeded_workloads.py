"""Users' workloads as functions of a seed, in runs and studies; and which runs a seed can change."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from tables import table_rows, table_text

import bridge
from bls.workloads import given_workload, is_seeded
from bls.workloads.workload import Workload
from bridge.scenarios.randomness import draws
from bridge.studies.drawing import STUDY_FIGURES, parts_of
from bridge.studies.executors.local import Here
from bridge.studies.input.named_files import is_path
from bridge.studies.input.study_file import load_study
from bridge.studies.preparing import find_inputs
from bridge.studies.run_study import Report, repeat_study, run_study
from bridge.studies.summary import study_text
from traces.base.errors import InputError, PluginError
from traces.statistics import comparison_table, paired, paired_comparisons
from traces.tables import rows_frame

MAKER = table_text(__file__, "maker")

STUDY = table_text(__file__, "study")


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "maker.py"
    path.write_text(MAKER)
    monkeypatch.chdir(tmp_path)
    return path


def ran(text: str, folder: Path, out: str) -> Report:
    path = folder / "study.toml"
    path.write_text(text)
    return run_study(load_study(path), folder / out, lambda needs: Here())


def test_a_run_has_the_jobs_of_its_seed(maker: Path) -> None:
    succeeds(
        "run", "maker.py:few", "--als", "recorded", "--platform", "paper", "--seed", 7, "--trace", "none", "--out", "r"
    )
    jobs = pd.read_parquet("r/jobs.parquet")
    expected = np.random.default_rng(7).integers(10, 100, 20)
    assert (jobs.end_ns - jobs.start_ns).tolist() == (expected * 10**9).tolist()
    found = bridge.simulate("maker.py:few", platform="paper", als="recorded", seed=7)
    assert found.jobs.end_ns.tolist() == jobs.end_ns.tolist()
    assert found.scenario.workload.source == "maker.py:few"


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("maker.py:fw", InputError, r"maker\.py has no 'fw' \(did you mean few\?\); it has: "),
        ("makr.py:few", InputError, r"workload: no file 'makr\.py' \(did you mean maker\.py\?\)"),
        ("maker.py:nothing", PluginError, r"maker\.py:nothing\(3\) returned NoneType; allowed: a bls.Workload"),
        ("maker.py:fails", PluginError, r"maker\.py:fails\(3\) failed: ValueError: no such day"),
    ],
)
def test_errors_of_makers(name: str, kind: type[Exception], message: str, maker: Path) -> None:
    with pytest.raises(kind, match=message) as caught:
        given_workload(name, 3)
    assert "\n" not in str(caught.value)
    assert is_seeded("a/b c.py:jobs")
    assert not any(map(is_seeded, ("a.py", "sample", "a.swf", "a.py:", "a.py:x-y", "a.txt:jobs", Path("log.swf.gz"))))


def test_what_it_cannot_be_together_with(maker: Path) -> None:
    with pytest.raises(InputError, match=r"cancelled=True: 'maker\.py:few' makes its jobs; allowed: with a file"):
        given_workload("maker.py:few", 3, cancelled=True)
    said = twolevel("run", "maker.py:few", "--als", "recorded", "--trace", "none", "--stream", "--out", "r")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "--stream: maker.py:few: a function makes all jobs at once; allowed: a log\n" in said.err


def test_the_cells_of_a_seed_have_the_same_jobs_and_seeds_have_others(maker: Path) -> None:
    report = ran(STUDY, maker.parent, "out")
    assert (report.total, report.failed) == (6, 0)
    for row in report.results.itertuples():
        run = bridge.simulate("maker.py:few", platform="paper", als="recorded", bls=row.bls, seed=row.seed)
        assert (row.makespan_ns, row.mean_wait_ns) == (run.metrics["makespan_ns"], run.metrics["mean_wait_ns"])
    assert report.results.groupby("bls").makespan_ns.nunique().tolist() == [3, 3]
    assert repeat_study(maker.parent / "out", None, lambda study: lambda needs: Here()).equal
    # A seed more is a seed more: what is finished stays.
    more = ran(STUDY.replace("seeds = 3", "seeds = 4"), maker.parent, "out")
    assert (more.total, more.kept) == (8, 6)
    words = twolevel("study", "study.toml", "--out", "out", "--no-figures", "--workers", 1)
    assert "8 cells (2 × seeds 0 1 2 3), 8 of them finished before" in words.err


@pytest.mark.parametrize("option", ["", "limits", "job-power", "requests"])
def test_a_cell_is_known_by_its_files_and_by_the_function(option: str, maker: Path) -> None:
    path, file = maker.parent / "study.toml", maker.parent / "some.csv"
    cell = f'\n[[cell]]\n{option} = "some.csv"\n' if option else ""

    def keys(text: str, limit: int = 1) -> tuple[str, ...]:
        file.write_text(f"from,to,limit_w\n0,5,{limit}\n")
        path.write_text(text + cell)
        inputs = find_inputs(load_study(path))
        assert not option or (is_path(option, "some.csv") and inputs.files["some.csv"][0] == file)
        return inputs.keys

    few = keys(STUDY)
    assert not set(few) & set(keys(STUDY.replace("maker.py:few", "maker.py:many")))
    if option:
        assert [one == other for one, other in zip(few, keys(STUDY, 2), strict=True)] == [True, True, False]
    maker.write_text(MAKER.replace("100, 20", "101, 20"))
    assert not set(few) & set(keys(STUDY))


def test_the_jobs_of_every_seed_are_looked_at_before_anything_runs(maker: Path) -> None:
    text = STUDY.replace(":few", ":wide").replace("seeds = 3", "seeds = [0, 5]") + 'oversize = ["reject"]\n'
    with pytest.raises(InputError, match=r"workload maker: .*wide"):
        ran(text, maker.parent, "wide")
    assert not (maker.parent / "wide").exists()
    with pytest.raises(InputError, match=r"\[\[workload\]\] 1: file: no file 'none\.py'; name its folder with"):
        ran(STUDY.replace("maker.py", "none.py"), maker.parent, "none")


def test_a_comparison_may_be_drawn_as_difference_and_seeds_are_named(maker: Path) -> None:
    text = STUDY.replace("seeds = 3", "seeds = 5")
    text += '[[compare]]\noption = "bls"\nbase = "fcfs"\nmetrics = ["mean_wait_ns"]\n'
    labels = []
    for more in ("", 'drawn = "difference"\n'):
        report = ran(text + more, maker.parent, "out")
        assert report.study is not None
        (part,) = parts_of(report.study, maker.parent / "out", "comparison")
        labels.append(STUDY_FIGURES["comparison"](part.frame, part.words).axes[0].get_xlabel())
    assert labels == ["mean wait: ratio to fcfs\n(axis does not start at zero)", "mean wait: difference\nfrom fcfs [s]"]
    # Nothing but the jobs is drawn at random.
    assert "means of 5 seeds; 95 % intervals" in study_text(report.study, report.results, [])
    same = report.results.assign(mean_wait_ns=1.0, makespan_ns=1)
    assert "seeds" not in study_text(report.study, same, [])


@pytest.mark.parametrize(("options", "drawn"), table_rows(__file__, "whether_a_seed_can_change_a_run"))
def test_whether_a_seed_can_change_a_run(options: dict[str, Any], drawn: bool) -> None:
    groups = [value if isinstance(value, dict) else {name: value} for name, value in options.items()]
    given = {name: value for group in groups for name, value in group.items()}
    assert draws(bridge.Scenario.flat(**given).names()) is drawn


@pytest.mark.parametrize("options", [{"als": "recorded"}, {"als": "gss", "variation": 0.0}, {"als": "static"}])
def test_what_draws_nothing_is_the_same_for_every_seed(options: dict[str, Any]) -> None:
    jobs = Workload.from_jobs([(k, 10 * k, 30 + 7 * k % 5, 1 + k % 3, 90) for k in range(1, 30)])
    assert not draws(bridge.Scenario.flat(**options).names())
    found = [bridge.simulate(jobs, seed=seed, **options).jobs for seed in (0, 7)]
    assert found[0].equals(found[1])


def test_what_no_seed_changes_has_neither_an_interval_nor_a_star() -> None:
    same = paired([4.0] * 10, [3.0] * 10)
    assert (same.n, same.difference, same.ratio, same.share_greater) == (10, -1.0, 0.75, 0.0)
    assert not same.changed
    for value in (same.difference_low, same.difference_high, same.ratio_low, same.ratio_high, same.effect_size):
        assert value != value
    assert paired([4.0, 4, 4, 4, 5], [3.0] * 5).changed, "one of the two varies"
    row = {"workload": "w", "als": "recorded", "error": ""}
    rows = [
        row | {"bls": bls, "seed": k, "error": "", "m_ns": w} for bls, w in (("a", 4.0), ("b", 3.0)) for k in range(10)
    ]
    frame = rows_frame(rows)[["workload", "bls", "als", "seed", "error", "m_ns"]]
    text = comparison_table(paired_comparisons(frame, "bls", "a", ["m_ns"]))
    assert text.splitlines()[2].split()[2:7] == ["4.000", "3.000", "−1.000", "0.7500", "–"]
    assert "*" not in text
    assert "nothing is random in these runs, so one seed is enough" in text
    assert "paired by window" in comparison_table(paired_comparisons(frame, "bls", "a", ["m_ns"]), paired_by="window")
