"""The studies of Slurm beside our engine: their cells and their jobs."""

from __future__ import annotations

import numpy as np
import pytest
from pages import ROOT

from bls.workloads.workload import Workload
from bridge.studies.input.study_file import load_study
from tools.studies import slurm_jobs

STUDIES = ROOT / "tools" / "studies"
S = 10**9


@pytest.mark.parametrize(
    ("name", "cells", "slurms"), [("slurm", 9, 3), ("slurm-estimates", 6, 2), ("slurm-switches", 8, 4)]
)
def test_the_studies_have_slurm_beside_our_engine(name: str, cells: int, slurms: int) -> None:
    study = load_study(STUDIES / f"{name}.toml")
    assert len(study.cells) == cells
    assert sum(cell.value("bls") == "slurm" for cell in study.cells) == slurms


def _same(one: Workload, other: Workload) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("submit_ns", "run_ns", "cores"))


@pytest.mark.parametrize("seed", [0, 7])
def test_better_requests_are_of_the_same_jobs(seed: int) -> None:
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
