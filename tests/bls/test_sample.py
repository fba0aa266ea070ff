"""The shipped workload is what its generator makes, and is worth simulating."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

from bls.analysis.description import describe
from bls.machine.platform import Platform
from bls.workloads import read_workload, sample_path
from bls.workloads.selection import fit, select

GENERATOR = Path(__file__).resolve().parents[2] / "tools" / "make_sample.py"


def test_the_generator_makes_these_bytes() -> None:
    made = runpy.run_path(str(GENERATOR))["sample_text"]()
    assert made.encode("ascii") == sample_path().read_bytes()


def test_every_line_is_a_job_that_fits_the_default_platform() -> None:
    sample = read_workload(sample_path())
    assert fit(sample, Platform().n_cores) is sample
    assert len(sample) == sample.n_lines == 320
    assert sum(sample.rejects.values()) == sample.reordered == 0
    assert np.all(sample.estimate_ns >= sample.run_ns)
    assert "SYNTHETIC" in "".join(sample.header)


def test_its_busiest_day_is_all_of_it_and_loads_the_platform() -> None:
    sample = read_workload(sample_path())
    assert len(select(sample, "busiest:24h")) == len(sample)
    load = describe(sample, Platform()).load
    assert load is not None
    assert 0.9 <= load <= 1.3
    assert sample.cores.max() == 256
