"""Which tests a layer has."""

import subprocess
import sys

from pages import ROOT


def test_a_soak_has_the_tests_that_draw_examples() -> None:
    options = ("-q", "-n", "0", "--collect-only", "--layer", "soak")
    command = [sys.executable, "-m", "pytest", *options, "tests/traces/test_algorithms.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "::test_extremes\n" in listed
    assert "::test_one_that_is_no_number" not in listed
