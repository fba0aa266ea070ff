"""Slurm in the cells of a study, beside our engine: the same as the command, by seed a phase, compared job by job."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds
from pages import ROOT
from slurm_here import needs_slurm
from tables import table_rows, table_text

from bls.machine.platform import HostGroup, Platform
from bridge.replay.chosen import SlurmChoice, phase_of
from bridge.studies.drawing import draw_study_figures
from bridge.studies.executors.local import local_executor
from bridge.studies.input.study_file import load_study, parse_study
from bridge.studies.results import compare_study, compared
from bridge.studies.run_study import repeat_study, run_study
from bridge.studies.study import Study
from bridge.studies.summary import study_text
from tools.studies import slurm_jobs
from traces.base.errors import InputError
from traces.figures.study.combinations import Combinations

pytestmark = pytest.mark.whole

_STUDY = table_text(__file__, "study")


def _study(folder: Path, seeds: object, study: str = "", jobs: int = 25, als: str = '["static", "gss"]') -> Path:
    path = folder / "study.toml"
    path.write_text(_STUDY.format(seeds=seeds, study=study, jobs=jobs, als=als))
    return path


def test_phases_fill_a_cycle_evenly_however_many_there_are() -> None:
    cycle_ns = 30 * 10**9
    assert phase_of(0, cycle_ns) is None
    for n in (2, 5, 13, 50):
        phases = sorted(phase_of(k, cycle_ns) or 0 for k in range(1, n + 1))
        assert all(one % 10**6 == 0 for one in phases)
        gaps = np.diff([*phases, phases[0] + cycle_ns])
        assert 0 < gaps.min() <= gaps.max() < 2.7 * cycle_ns / n


def test_a_phase_lies_within_the_cycle_of_the_slurm_that_is_given() -> None:
    machine = Platform((HostGroup(1, 1, 1.0),))
    longer = ["SchedulerParameters=bf_interval=120"]
    for keys, phase_s in (([], 0.0), ([], 29.999), (longer, 100.0)):
        chosen = SlurmChoice(set=keys, phase=phase_s)
        assert chosen.phase_ns(chosen.configuration(machine), 3) == round(phase_s * 1e9)
    for keys, phase_s, said in (([], 30.0, "30 s"), ([], 100.0, "30 s"), (longer, 120.0, "2 min 00 s")):
        chosen = SlurmChoice(set=keys, phase=phase_s)
        with pytest.raises(InputError, match=rf"^phase_s: .*; allowed: 0 up to below {said}, the cycle"):
            chosen.names(machine, 0)


@needs_slurm
def test_a_cell_of_slurm_is_what_the_command_does(tmp_path: Path) -> None:
    report = run_study(load_study(_study(tmp_path, "[3]", 'keep = ["jobs"]', jobs=12, als='["gss"]')), tmp_path / "out")
    assert (report.total, report.failed, report.errors) == (2, 0, ())
    rows = pd.read_parquet(tmp_path / "out/results.parquet")
    assert rows[["batch", "bls", "backfill"]].drop_duplicates().to_numpy().tolist() == [
        ["slurm", "slurm", "slurm"],
        ["engine", "fcfs", "easy"],
    ]
    words = ("replay", "sample", "--select", "first:12", "--tasks-per-core", 2, "--variation", 0.25, "--als", "gss")
    assert phase_of(3, 30 * 10**9) == 25_623_000_000
    succeeds(*words, "--seed", 3, "--phase", "25.623s", "--out", tmp_path / "b")
    kept = tmp_path / "out/cells/slurm-gss-0.25/seed-3"
    assert (kept / "jobs.parquet").read_bytes() == (tmp_path / "b/jobs.parquet").read_bytes()
    ours, theirs = (json.loads((folder / "run.json").read_text()) for folder in (kept, tmp_path / "b"))
    assert ours["arguments"] == theirs["arguments"]
    assert ours["arguments"]["phase_s"] == 25.623
    assert (kept / "slurm/slurmctld.log").is_file()
    assert rows.query("batch == 'slurm'")["makespan_ns"].item() == theirs["metrics"]["makespan_ns"]
    assert sorted(path.name for path in tmp_path.joinpath("out/cells").iterdir()) == [
        *("fcfs+easy-gss-0.25", "slurm-gss-0.25")
    ]


@needs_slurm
def test_a_study_with_slurm_repeats_to_the_byte_and_leaves_no_process(tmp_path: Path) -> None:
    path, out = _study(tmp_path, "[0]", jobs=5, als='["gss"]'), tmp_path / "out"
    ran = succeeds("study", path, "--out", out, "--workers", 1, "--no-figures")
    assert "slurm × gss" in ran.out
    assert "fcfs+easy × gss" in ran.out
    assert {entry.name for entry in out.iterdir()} == {
        "journal.jsonl",
        "results.parquet",
        "costs.parquet",
        "study.json",
    }
    drawn = draw_study_figures(out, ["makespan"], tmp_path / "drawn", ["svg"])
    assert [path.name for path in drawn] == ["makespan.svg"]
    found = repeat_study(out, None, lambda study: local_executor(1))
    assert found.equal, found.differences


def _parsed(text: str) -> Study:
    return parse_study('[[workload]]\nfile = "sample"\n' + text, [Path()], "study")


def _results(study: Study, makespan_ns: Callable[[int, str], int], *names: str) -> pd.DataFrame:
    """Results of a study's cells, for each of five seeds, without runs."""
    rows: list[dict[str, Any]] = []
    for place, cell in enumerate(study.cells):
        values = {name: cell.value(name) for name in ("bls", "backfill", "als", "variation", "batch", *names)}
        values = {"workload": "sample"} | {
            name: "".join(v) if isinstance(v, tuple) else v for name, v in values.items()
        }
        makespan = makespan_ns(place, str(values["bls"]))
        rows += [values | {"seed": seed, "error": "", "makespan_ns": makespan} for seed in range(5)]
    return pd.DataFrame(rows)


_COMPARED = '[[compare]]\noption = "batch"\nbase = "engine"\nmetrics = ["makespan_ns"]\n'


def test_slurm_is_compared_with_every_way_of_the_engine(tmp_path: Path) -> None:
    study = _parsed(
        '[study]\nseeds = 5\n[[grid]]\nbatch = "slurm"\nset = [["A=1"], ["A=2"]]\n'
        f'[[grid]]\nbatch = "engine"\nbls = ["fcfs", "sjf"]\nbackfill = ["none", "easy"]\n{_COMPARED}'
    )
    results = _results(study, lambda place, bls: {"slurm": 3000, "fcfs": 2000, "sjf": 1000}[bls], "set")
    (found,) = compare_study(study, results, tmp_path)
    shown = pd.read_parquet(tmp_path / "comparisons.parquet")
    ways = [(bls, base, depth) for bls, base in (("fcfs", 2000), ("sjf", 1000)) for depth in ("none", "easy")]
    assert shown[["bls", "backfill", "als", "value", "seeds"]].to_numpy().tolist() == [
        [bls, depth, "static", "slurm", 5] for _ in ("A=1", "A=2") for bls, _, depth in ways
    ]
    assert found[["bls", "backfill", "set", "mean_base", "mean_value"]].to_numpy().tolist() == [
        [bls, depth, keys, base, 3000] for keys in ("A=1", "A=2") for bls, base, depth in ways
    ]


def test_a_grid_over_both_levels_has_each_option_for_the_level_that_it_is_for() -> None:
    study = _parsed(
        '[grid]\nbatch = ["slurm", "engine"]\nbls = ["fcfs", "sjf"]\nbackfill = ["easy", "conservative"]\n'
        'als = ["static", "gss"]\nphase = [1, 2]\n'
    )
    found = [[cell.value(name) for name in ("batch", "bls", "backfill", "als", "phase")] for cell in study.cells]
    slurms = [["slurm", "slurm", "slurm", als, phase] for als in ("static", "gss") for phase in (1.0, 2.0)]
    ways = [(bls, depth) for bls in ("fcfs", "sjf") for depth in ("easy", "conservative")]
    assert found == slurms + [["engine", bls, depth, als, None] for bls, depth in ways for als in ("static", "gss")]


def test_our_policy_of_slurms_name_stands_beside_slurm_under_another_one() -> None:
    cells = '[[cell]]\nbatch = "slurm"\n[[cell]]\nbls = "slurm"\n[[cell]]\nbls = "fcfs"\n'
    study = _parsed(f'[study]\nseeds = 5\nkeep = ["jobs"]\n{cells}{_COMPARED}')
    ways = (("slurm", "slurm"), ("slurm", "engine"), ("fcfs", "engine"))
    assert study.names == [f"{bls}-static-0-batch={batch}" for bls, batch in ways]
    results = _results(study, lambda place, bls: (place + 1) * 10**9)
    found = Combinations.of(results, "makespan_ns")
    assert found.batches == ("slurm", "slurm (engine)", "fcfs")
    assert found.values[:, 0, 0, 0].tolist() == [1e9, 2e9, 3e9]
    assert Combinations.of(results[results["batch"] == "engine"], "makespan_ns").batches == ("slurm", "fcfs")
    comparisons, _ = compared(study, results)
    assert "slurm (engine) × static" in study_text(study, results, comparisons)
    means = comparisons[0][["bls", "mean_base", "mean_value"]].to_numpy().tolist()
    assert means == [["slurm", 2e9, 1e9], ["fcfs", 3e9, 1e9]]


@needs_slurm
def test_with_a_phase_given_to_both_our_policy_of_slurms_name_starts_jobs_as_slurm_does(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        '[study]\nseeds = [3]\nkeep = ["jobs"]\n[[workload]]\nfile = "sample"\nselect = "first:15"\n'
        "[run]\ntasks-per-core = 2\nvariation = 0.25\nkill-at-walltime = true\n"
        '[[cell]]\nbatch = "slurm"\nphase = 12\n[[cell]]\nbls = "slurm:phase=12s"\n'
    )
    assert run_study(load_study(tmp_path / "study.toml"), tmp_path / "out").failed == 0
    ours, theirs = (pd.read_parquet(path) for path in sorted(tmp_path.glob("out/cells/*/seed-3/jobs.parquet")))
    assert ours["start_ns"].tolist() == theirs["start_ns"].tolist()


@pytest.mark.parametrize(("text", "said"), table_rows(__file__, "what_is_wrong_with_a_study_is_said"))
def test_what_is_wrong_with_a_study_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        _parsed(text)


@needs_slurm
@pytest.mark.parametrize(("more", "said"), table_rows(__file__, "what_a_replay_cannot_do_is_said_before_anything_runs"))
def test_what_a_replay_cannot_do_is_said_before_anything_runs(tmp_path: Path, more: str, said: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(f'[[workload]]\nfile = "sample"\n[run]\nbatch = "slurm"\n{more}\n')
    with pytest.raises(InputError, match=said):
        run_study(load_study(path), tmp_path / "out")
    assert not (tmp_path / "out").exists()


_SITE = "NodeName=n[1-2] CPUs=64\nPartitionName=all Nodes=ALL Default=YES State=UP\n"


@needs_slurm
def test_the_nodes_of_a_sites_file_are_everybodys_machine(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_SITE)
    (tmp_path / "study.toml").write_text(
        '[[workload]]\nfile = "sample"\nselect = "first:10"\n'
        '[run]\nals = "recorded"\nslurm-conf = "slurm.conf"\n[grid]\nbatch = ["slurm", "engine"]\n'
        '[study]\nkeep = ["jobs"]\n'
    )
    assert run_study(load_study(tmp_path / "study.toml"), tmp_path / "out").failed == 0
    records = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("out/cells/*/seed-0/run.json"))]
    assert [one["arguments"]["bls"] for one in records] == ["fcfs", "slurm"]
    assert [one["platform"]["hosts"][0]["count"] for one in records] == [2, 2]


S = 10**9


def test_the_jobs_of_the_studies_of_slurm() -> None:
    asked, known, other = slurm_jobs.requested(7), slurm_jobs.within_10_percent(7), slurm_jobs.requested(8)
    assert np.array_equal(asked.run_ns, known.run_ns)
    assert not np.array_equal(asked.run_ns, other.run_ns)
    assert set((asked.estimate_ns // (3600 * S)).tolist()) <= {1, 2, 4, 6, 8, 9, 10, 12, 24}
    assert (asked.estimate_ns % (3600 * S) == 0).all()
    assert (asked.estimate_ns >= asked.run_ns).all()
    assert ((known.estimate_ns >= known.run_ns) & (known.estimate_ns <= 1.1 * known.run_ns + S)).all()
    log = slurm_jobs.switched(0)
    widths = dict(zip(log.job_id.tolist(), log.cores.tolist(), strict=True))
    for share in (5, 15, 30):  # the widest jobs request few switches
        text = slurm_jobs.switch_requests(share / 100)
        assert (ROOT / "docs" / "data" / f"slurm-switches-{share}.csv").read_text() == text
        few = {int(job): int(n) for job, n in (line.split(",") for line in text.splitlines()[1:])}
        assert len(few) == round(share / 100 * len(widths))
        assert min(widths[job] for job in few) >= max(width for job, width in widths.items() if job not in few)
        assert all(n == -(-widths[job] // 16) for job, n in few.items())
