"""The batch level against the slow reference: every pair of features, by every way to run a case.

A way that fails prints the case, the input of the reference and of all ways; ``finish(simulator_of(case))`` repeats it.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from batch_cases import APART, FEATURES, LATER, BatchCase, cases, covering, expected, finishes
from batch_drives import as_users_say, attempts, finish, said_cases, simulator_of, without_compiled_code
from hypothesis import given, settings
from reference.machine import Attempt

from bls.engine.status import BatchStatus

pytestmark = pytest.mark.whole

MASKS = covering((*FEATURES, *LATER), APART, 5)

#: The number of cases of each set that are drawn; some of them users cannot say.
DRAWN = 6


def whole(case: BatchCase) -> list[Attempt]:
    """In one call of the engine, until it requests something."""
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
    for case in said_cases(1, 6 if mask else 30, (), always=mask):
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


def plain_python() -> int:
    found = [said_cases(44, 6, always=mask)[0] for mask in MASKS[::2]]
    for case in found:
        assert whole(case) == expected(case), case
    return len(found)


def test_without_compiled_code() -> None:
    assert without_compiled_code("test_differential", "plain_python") == len(MASKS[::2])
