"""The instances of dispatches that are drawn, and the cases of the benchmark that measure them."""

from __future__ import annotations

import pytest

from tools.bench.dispatch import choosing, dispatch
from tools.cp_instances import MACHINES, drawn


@pytest.mark.parametrize("name", MACHINES)
def test_instances_are_nine_tenths_full_and_the_same_for_the_same_seed(name: str) -> None:
    first, again, other = (drawn(MACHINES[name], 30, seed) for seed in (1, 1, 2))
    cores = first.capacity[:, 0].sum()
    assert 0.89 * cores < cores - first.free[:, 0].sum() < 0.97 * cores
    assert first.running.left_s.tolist() == sorted(first.running.left_s.tolist(), reverse=True)
    assert len(first.queue) == 30
    assert first.queue.duration_s.tolist() == again.queue.duration_s.tolist() != other.queue.duration_s.tolist()
    assert first.free.tolist() == again.free.tolist() != other.free.tolist()


@pytest.mark.parametrize(("model", "which"), [("hcp19", "all"), ("pcp20", "fits")])
def test_cases_of_the_benchmark(model: str, which: str) -> None:
    found = dispatch("eurora", model, which, jobs=12)
    assert len(found.figures) == 3
    assert min(found.figures) > 0
    assert "of pcp19's variables" in found.note
    assert choosing("eurora", which).figures
