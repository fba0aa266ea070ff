"""Slurm in the cells of a study, beside our engine: the same as the command, by seed a phase, compared job by job."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import twolevel
from pages import ROOT
from slurm_here import needs_slurm

from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.replay.chosen import given_choice, phase_of
from bridge.studies.comparing import compare_study, compared
from bridge.studies.drawing import draw_study_figures
from bridge.studies.executors.local import local_executor
from bridge.studies.input.study_file import load_study, parse_study
from bridge.studies.repeat import repeat_study
from bridge.studies.run_study import run_study
from bridge.studies.study import Study
from bridge.studies.summary import study_text
from tools.studies import slurm_jobs
from traces.base.errors import InputError
from traces.figures.study.combinations import Combinations

pytestmark = pytest.mark.whole

_STUDY = """
[study]
seeds = {seeds}
{study}

[[workload]]
file = "sample"
select = "first:{jobs}"

[run]
backfill = "easy"
kill-at-walltime = true
tasks-per-core = 2
variation = 0.25

[grid]
batch = ["slurm", "engine"]
als = {als}

[[compare]]
option = "batch"
base = "engine"
metrics = ["makespan_ns"]
"""


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


def test_a_phase_lies_within_the_cycle_of_the_slurm_that_is_told() -> None:
    machine = Platform((HostGroup(1, 1, 1.0),))
    longer = ["SchedulerParameters=bf_interval=120"]
    for keys, phase_s in (([], 0.0), ([], 29.999), (longer, 100.0)):
        chosen = given_choice(None, keys, None, 0.0, phase_s)
        assert chosen.phase(chosen.configuration(machine), 3) == round(phase_s * 1e9)
    for keys, phase_s, said in (([], 30.0, "30 s"), ([], 100.0, "30 s"), (longer, 120.0, "2 min 00 s")):
        chosen = given_choice(None, keys, None, 0.0, phase_s)
        with pytest.raises(InputError, match=rf"^--phase: .*; allowed: 0 up to below {said}, the cycle"):
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
    assert twolevel(*words, "--seed", 3, "--phase", "25.623s", "--out", tmp_path / "b").code == 0
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
def test_a_study_with_slurm_repeats_to_the_byte_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = _study(tmp_path, "[0]", jobs=5, als='["gss"]')
    (tmp_path / "out").mkdir()
    ran = twolevel("study", path, "--out", tmp_path / "out", "--workers", 1, "--no-figures")
    assert ran.code == 0
    assert "slurm × gss" in ran.out
    assert "fcfs+easy × gss" in ran.out
    names = {entry.name for entry in (tmp_path / "out").iterdir()}
    assert names == {"journal.jsonl", "results.parquet", "costs.parquet", "study.json"}
    drawn = draw_study_figures(tmp_path / "out", ["makespan"], tmp_path / "drawn", ["svg"])
    assert [path.name for path in drawn] == ["makespan.svg"]
    found = repeat_study(tmp_path / "out", None, lambda study: local_executor(1))
    assert found.equal, found.differences


def _parsed(text: str) -> Study:
    return parse_study('[[workload]]\nfile = "sample"\n' + text, [Path()], "study")


def test_slurm_is_compared_with_every_way_of_the_engine(tmp_path: Path) -> None:
    study = _parsed(
        '[study]\nseeds = 5\n[[grid]]\nbatch = "slurm"\nset = [["A=1"], ["A=2"]]\n'
        '[[grid]]\nbatch = "engine"\nbls = ["fcfs", "sjf"]\nbackfill = ["none", "easy"]\n'
        '[[compare]]\noption = "batch"\nbase = "engine"\nmetrics = ["makespan_ns"]\n'
    )
    rows = []
    for cell in study.cells:
        values = {name: cell.value(name) for name in ("bls", "backfill", "als", "variation", "batch")}
        values["set"] = ";".join(cell.value("set") or ())  # type: ignore[arg-type]
        by = {"slurm": 3000, "fcfs": 2000, "sjf": 1000}[str(values["bls"])]
        rows += [
            {"workload": "sample", **values, "seed": seed, "error": "", "makespan_ns": by + seed} for seed in range(5)
        ]
    (found,) = compare_study(study, pd.DataFrame(rows), tmp_path)
    told = pd.read_parquet(tmp_path / "comparisons.parquet")
    assert told[["bls", "backfill", "als", "value", "seeds"]].to_numpy().tolist() == [
        [bls, backfill, "static", "slurm", 5]
        for _ in ("A=1", "A=2")
        for bls in ("fcfs", "sjf")
        for backfill in ("none", "easy")
    ]
    assert found[["bls", "backfill", "set", "mean_base", "mean_value"]].to_numpy().tolist() == [
        [bls, backfill, keys, base + 2.0, 3002.0]
        for keys in ("A=1", "A=2")
        for bls, base in (("fcfs", 2000), ("sjf", 1000))
        for backfill in ("none", "easy")
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
    study = _parsed(
        '[study]\nseeds = 5\nkeep = ["jobs"]\n[[cell]]\nbatch = "slurm"\n[[cell]]\nbls = "slurm"\n[[cell]]\nbls = "fcfs"\n'
        '[[compare]]\noption = "batch"\nbase = "engine"\nmetrics = ["makespan_ns"]\n'
    )
    assert study.names == [
        f"{one}-static-0-batch={by}" for one, by in (("slurm", "slurm"), ("slurm", "engine"), ("fcfs", "engine"))
    ]
    rows = [
        {"workload": "sample", **{name: cell.value(name) for name in ("bls", "backfill", "als", "variation", "batch")}}
        | {"seed": seed, "error": "", "makespan_ns": (k + 1) * 10**9}
        for k, cell in enumerate(study.cells)
        for seed in range(5)
    ]
    results = pd.DataFrame(rows)
    found = Combinations.of(results, "makespan_ns")
    assert found.batches == ("slurm", "slurm (engine)", "fcfs")
    assert found.values[:, 0, 0, 0].tolist() == [1e9, 2e9, 3e9]
    assert Combinations.of(results[results["batch"] == "engine"], "makespan_ns").batches == ("slurm", "fcfs")
    comparisons, _ = compared(study, results)
    text = study_text(study, results, comparisons)
    assert "slurm (engine) × static" in text
    assert comparisons[0][["bls", "mean_base", "mean_value"]].to_numpy().tolist() == [
        ["slurm", 2e9, 1e9],
        ["fcfs", 3e9, 1e9],
    ]


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[run]\nbatch = "pbs"\n', r"\[run\] batch: unknown batch level 'pbs'; known: "),
        ('[grid]\nbatch = "slurm"\nbls = ["fcfs", "sjf"]\n', "cells 0 and 1 are the same"),
        ('[grid]\nbatch = "engine"\nphase = [1, 2]\n', "cells 0 and 1 are the same"),
    ],
)
def test_what_is_wrong_with_a_study_is_said(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        _parsed(text)


@needs_slurm
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('limits = "x.csv"', r"\[run\] limits: .*not with batch slurm: a replay knows nothing of it"),
        ('set = ["colour"]', r"\[run\] set: 'colour'; allowed: KEY=VALUE"),
        ('phase = "100s"', r"\[run\] phase: 100 s; allowed: 0 up to below 30 s"),
        ("phase = 4000", r"\[run\] phase: 4000\.0 is out of range"),
        ('slurm-conf = "nowhere.conf"', "slurm-conf: .*nowhere.conf: No such file"),
    ],
)
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


def _same(one: Workload, other: Workload) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("submit_ns", "run_ns", "cores"))


def test_better_requests_are_of_the_same_jobs() -> None:
    seed = 7
    asked, known = slurm_jobs.requested(seed), slurm_jobs.within_10_percent(seed)
    assert _same(asked, known)
    assert not _same(asked, slurm_jobs.requested(seed + 1))
    assert set((asked.estimate_ns // (3600 * S)).tolist()) <= {1, 2, 4, 6, 8, 9, 10, 12, 24}
    assert (asked.estimate_ns % (3600 * S) == 0).all()
    assert (asked.estimate_ns >= asked.run_ns).all()
    assert (known.estimate_ns >= known.run_ns).all()
    assert (known.estimate_ns <= 1.1 * known.run_ns + S).all()
    offered = (known.run_ns * known.cores).sum() / slurm_jobs.HOSTS / known.submit_ns.max()
    assert 0.9 < offered < 1.0


def test_the_widest_jobs_ask_for_few_switches() -> None:
    one, other = slurm_jobs.switched(0), slurm_jobs.switched(1)
    assert np.array_equal(one.cores, other.cores)
    assert not np.array_equal(one.run_ns, other.run_ns)
    assert (one.run_ns > 600 * S).all()
    widths = dict(zip(one.job_id.tolist(), one.cores.tolist(), strict=True))
    for share in (5, 15, 30):
        text = slurm_jobs.switch_requests(share / 100)
        assert (ROOT / "docs" / "data" / f"slurm-switches-{share}.csv").read_text() == text
        asked = {int(job): int(n) for job, n in (line.split(",") for line in text.splitlines()[1:])}
        assert len(asked) == round(share / 100 * len(widths))
        assert min(widths[job] for job in asked) >= max(w for job, w in widths.items() if job not in asked)
        assert all(n == -(-widths[job] // 16) for job, n in asked.items())
