"""The batch level against the slow reference: every pair of features, by every way to run a case.

A way that fails prints the case, the input of the reference and of all ways; ``finish(simulator_of(case))`` repeats it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from batch_cases import FEATURES, LATER, BatchCase, cases, expected, finishes
from batch_drives import as_users_say, attempts, finish, said_cases, simulator_of
from hypothesis import given, settings
from reference.machine import Attempt

from bls.engine.status import BatchStatus

pytestmark = pytest.mark.whole

#: Pairs of features of which a case has one at most: one allocator, one source of what jobs are planned with.
APART = [("allocators", "given"), ("allocators", "switches"), ("given", "switches")]
APART += [("estimates", "promises"), ("drains", "licences")]


def covering(features: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Return sets of up to ``size`` features: each by itself, then such that every pair that may meet is in one."""
    apart = set(map(frozenset, APART))
    left = [pair for pair in map(frozenset, combinations(features, 2)) if pair not in apart]
    found: list[tuple[str, ...]] = [(name,) for name in features]
    while left:
        chosen = sorted(left[0], key=features.index)
        while len(chosen) < size:
            able = [name for name in features if name not in chosen and not any({name, one} in apart for one in chosen)]
            gains = {name: sum(frozenset({name, one}) in left for one in chosen) for name in able}
            best = max(able, key=gains.__getitem__, default=None)
            if best is None or not gains[best]:
                break
            chosen.append(best)
        left = [pair for pair in left if not pair <= set(chosen)]
        found.append(tuple(chosen))
    return found


MASKS = covering((*FEATURES, *LATER), 5)

#: The number of cases of each set that are drawn; some of them users cannot say.
DRAWN = 8


def whole(case: BatchCase) -> list[Attempt]:
    """In one call of the engine, until it asks for something."""
    return finish(simulator_of(case))


def in_pieces(case: BatchCase) -> list[Attempt]:
    """In calls of one end each, after which the engine's state is checked."""
    simulator = simulator_of(case)
    simulator.checks = 1
    while simulator.advance(1) != BatchStatus.DONE:
        pass
    return attempts(simulator.state)


#: The ways that support every case.
WAYS: dict[str, Callable[[BatchCase], list[Attempt]]] = {"whole": whole, "in pieces": in_pieces}


def check(case: BatchCase) -> None:
    answer = expected(case)
    for way, answered in WAYS.items():
        assert answered(case) == answer, (way, case)
    by_cores = replace(case, rules=replace(case.rules, counts=False))
    if finishes(by_cores):
        assert finish(simulator_of(by_cores, by_cores=True)) == expected(by_cores), ("by cores", case)


@pytest.mark.parametrize("mask", [(), *(mask for mask in MASKS if len(mask) == 1)], ids="+".join)
def test_each_feature(mask: tuple[str, ...]) -> None:
    """Without others: most plans are by counts."""
    for case in said_cases(1, 10 if mask else 60, (), always=mask):
        check(case)


@pytest.mark.parametrize("mask", [mask for mask in MASKS if len(mask) > 1], ids="+".join)
def test_every_pair_of_features(mask: tuple[str, ...]) -> None:
    """With others, too."""
    found = said_cases(43, DRAWN, always=mask)
    for case in found:
        check(case)
    assert len(found) > DRAWN // 5


@settings(max_examples=250)
@given(case=cases((*FEATURES, *LATER)))
def test_any_features(case: BatchCase) -> None:
    said = as_users_say(case)
    if said is not None and finishes(said):
        check(said)


def test_without_compiled_code() -> None:
    tests = Path(__file__).resolve().parents[1]
    path = os.pathsep.join([*map(str, (Path(__file__).parent, tests, tests.parent)), os.environ.get("PYTHONPATH", "")])
    text = "import test_differential as t; print(t.plain_python())"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stdout) == (0, f"{len(MASKS[::2])}\n"), ran.stderr


def plain_python() -> int:
    found = [said_cases(44, 6, always=mask)[0] for mask in MASKS[::2]]
    for case in found:
        assert whole(case) == expected(case), case
    return len(found)
