"""Which tests a layer has."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pages import ROOT

FILES = (
    "tests/traces/test_algorithms.py",
    "tests/bridge/test_simulated_network.py",
    "tests/real_world/test_main_job.py",
)


@pytest.mark.parametrize(
    ("layer", "has", "has_not"),
    [
        (
            "soak",
            {"test_extremes", "test_every_seed_gives"},
            {"test_one_that_is_no_number", "test_every_job_of_a_stream"},
        ),
        ("release", {"test_every_job_of_a_report"}, {"test_every_job_of_a_stream", "test_every_seed_gives"}),
    ],
)
def test_a_layer_has_its_tests(layer: str, has: set[str], has_not: set[str]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--collect-only", "--layer", layer, *FILES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name for name in has | has_not if f"::{name}" in listed} == has
