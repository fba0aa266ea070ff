"""The tests themselves: their layers, and the planted faults of ``make faults``, which apply and name tests."""

import subprocess
import sys
from collections import Counter

import pytest

from tools.faults import ROOT, Fault, read_faults

FAULTS = read_faults()

#: The fewest faults of each package.
FEWEST = {"als": 10, "bls": 20, "bridge": 15, "traces": 8}


def _old_lines(patch: str) -> list[tuple[str, str]]:
    found: list[tuple[str, list[str]]] = []
    file = ""
    for line in patch.partition("diff --git ")[2].splitlines(keepends=True):
        if line.startswith("--- a/"):
            file = line[6:].strip()
        elif line.startswith("@@ "):
            found.append((file, []))
        elif found and line.startswith((" ", "-")) and not line.startswith("--- "):
            found[-1][1].append(line[1:])
        elif line.startswith("diff --git "):
            file = ""
    return [(name, "".join(lines)) for name, lines in found]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_it_applies_and_names_tests(fault: Fault) -> None:
    hunks = _old_lines(fault.patch.read_text(encoding="utf-8"))
    assert hunks
    for file, lines in hunks:
        # git apply finds them wherever they are now.
        assert lines in (ROOT / file).read_text(encoding="utf-8"), f"{file} has changed: plant the fault again"
    assert fault.broken.endswith(".")
    assert fault.tests or fault.missed
    for test in fault.tests:
        path, _, name = test.partition("::")
        assert path.startswith("tests/")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), test
    assert {file.split("/")[0] for file in fault.files} <= set(FEWEST)


def test_they_are_many_and_spread_over_the_packages() -> None:
    count = Counter(fault.files[0].split("/")[0] for fault in FAULTS)
    assert count.total() >= 60
    assert {name: n for name, n in FEWEST.items() if count[name] < n} == {}
    assert len({fault.broken for fault in FAULTS}) == len(FAULTS)


def test_a_soak_has_the_tests_that_draw_examples() -> None:
    options = ("-q", "-n", "0", "--collect-only", "--layer", "soak")
    command = [sys.executable, "-m", "pytest", *options, "tests/traces/test_algorithms.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "::test_extremes\n" in listed
    assert "::test_one_that_is_no_number" not in listed
