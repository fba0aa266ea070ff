"""The batch level against the slow reference: every pair of features, by every way to run a case.

A way that fails prints the case, which is the input of the reference and of all ways; ``engine_of(case)`` repeats it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from batch_cases import FEATURES, LATER, BatchCase, cases, expected, finishes, seeded_cases
from batch_drives import as_users_say, attempts, engine_of, finish, simulator_of
from hypothesis import given, settings
from pairs import covering
from reference import invariants
from reference.machine import Attempt

from bls.engine.status import BatchStatus

#: Pairs of features of which a case has one at most: one allocator, one source of what jobs are planned with.
APART = frozenset(
    map(
        frozenset,
        [
            ("allocators", "given"),
            ("allocators", "switches"),
            ("given", "switches"),
            ("estimates", "promises"),
            ("drains", "licences"),
        ],
    )
)

#: Sets of features: each by itself, and every pair.
MASKS = covering((*FEATURES, *LATER), 5, APART, least=(*FEATURES, *LATER))

#: How many cases of each set are drawn, and how many are run by a way.
DRAWN, PLAIN_PYTHON = 12, 1


def whole(case: BatchCase) -> list[Attempt]:
    return engine_of(case).finish()


def in_pieces(case: BatchCase) -> list[Attempt]:
    engine = engine_of(case)
    while engine.advance(1) != BatchStatus.DONE:
        pass
    return attempts(engine.state)


#: The ways that know all that a case may have.
WAYS: dict[str, Callable[[BatchCase], list[Attempt]]] = {"whole": whole, "in pieces": in_pieces}


def check(case: BatchCase) -> bool:
    """Compare all ways with the reference; returns whether users can say the case, too."""
    answer = expected(case)
    for way, run in WAYS.items():
        assert run(case) == answer, (way, case)
    invariants.check(case.jobs, case.machine, case.rules, answer)
    by_cores = replace(case, rules=replace(case.rules, counts=False))
    if finishes(by_cores):
        assert engine_of(case, by_cores=True).finish() == expected(by_cores), ("by cores", case)
    said = as_users_say(case)
    if said is None or not finishes(said):
        return False
    assert finish(simulator_of(said)) == expected(said), ("as users say it", said)
    return True


@pytest.mark.parametrize("mask", MASKS, ids="+".join)
def test_every_pair_of_features(mask: tuple[str, ...]) -> None:
    said = sum(check(case) for case in seeded_cases(43, DRAWN, always=mask))
    assert said > DRAWN // 10


@settings(max_examples=600)
@given(case=cases((*FEATURES, *LATER)))
def test_any_features(case: BatchCase) -> None:
    check(case)


def test_without_compiled_code() -> None:
    tests = Path(__file__).resolve().parents[1]
    path = os.pathsep.join([*map(str, (Path(__file__).parent, tests, tests.parent)), os.environ.get("PYTHONPATH", "")])
    text = "import test_differential as t; print(t.plain_python())"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stdout) == (0, f"{PLAIN_PYTHON * len(MASKS)}\n"), ran.stderr


def plain_python() -> int:
    found = [case for mask in MASKS for case in seeded_cases(44, PLAIN_PYTHON, always=mask)]
    for case in found:
        assert whole(case) == expected(case), case
    return len(found)
