"""The paper's task lengths do not change: the same bits from one version to the next."""

from __future__ import annotations

import hashlib

import pytest

from als.lengths import lengths
from als.lengths.draw import drawn
from als.programs.tasks import TaskModel, drawn_lengths
from traces.base.time import duration_ns

#: (seed, job, n, mean, variation, total), number of tasks, digest of their bytes, the first.
RECORDED = [
    ((0, 0, 4, 1.0, 0.25, 4.0), 5, "ad8daa5f6d4e7cca", 0.898371703186646),
    ((1, 1542, 100, 46.875, 0.25, 4687.5), 102, "923ff51b068cb69f", 45.38003783793761),
    ((7, 9, 1000, 3.3, 1.0, 3300.0), 767, "e48b95aac6d18f9f", 6.243541618265004),
    ((2**64 - 1, 2**62, 1000, 1e-3, 10.0, 1.0), 116, "ee0ff272b99256cd", 0.030218163035489427),
    ((5, 3, 17, 2.5, 0.1, 42.5), 18, "983895e39235c527", 2.4815899489268904),
    ((3, 4, 1, 1.0, 0.5, 500.0), 485, "140d8859661d79f7", 0.5018858762849101),
    ((1, 2, 64, 0.1, 0.0, 6.4), 64, "ac83190f81c578ca", 0.1),
    ((1, 1, 100_000, 1.0, 0.25, 100_000.0), 99_952, "f8584986647e4f4e", 0.7430423179313038),
]


@pytest.mark.parametrize(("named", "count", "digest", "first"), RECORDED)
def test_the_papers_lengths_are_what_they_were(
    named: tuple[int, int, int, float, float, float], count: int, digest: str, first: float
) -> None:
    seed, job, n, mean, variation, total = named
    found = drawn(lengths("normal:draw=paper", variation=variation), seed, job, n, mean, total)
    assert (len(found), found[0]) == (count, first)
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == digest
    written = drawn(lengths(f"normal:cov={variation},draw=paper"), seed, job, n, mean, total)
    assert written.tobytes() == found.tobytes()


#: (seed, job, cores, run time in ns, tasks per core, variation), digest of the lengths' bytes at 46.875 GFLOP/s, the first ns.
KEPT = [
    ((0, 0, 4, 10**9, 1, 0.25), "8131df98e1c8574e", 973_096_513),
    ((1, 1542, 25, 3600 * 10**9, 4, 0.25), "e3d3c3e4b23cd66e", 887_548_692_494),
    ((7, 9, 250, 7 * 10**9, 4, 1.0), "71e224d94a02b7a2", 2_537_915_879),
    ((2**64 - 1, 2**62, 1000, 10**9, 1, 10.0), "5e13eda0c6874d41", 3_578_847_231),
    ((5, 3, 17, 12, 5, 0.1), "7d97b0e872003870", 3),
]


@pytest.mark.parametrize(("named", "digest", "first_ns"), KEPT)
def test_lengths_that_keep_the_work_are_what_they_were(
    named: tuple[int, int, int, int, int, float], digest: str, first_ns: int
) -> None:
    seed, job, cores, run_ns, per_core, variation = named
    found = TaskModel(variation, per_core, seed).lengths(job, cores, 46.875 * (run_ns / 1e9), 46.875)
    assert (hashlib.sha256(found.tobytes()).hexdigest()[:16], duration_ns(found[0], 46.875)) == (digest, first_ns)


def test_a_model_without_a_distribution_is_normal() -> None:
    expected = drawn_lengths(1, 9, 64, 2.0, 0.25, 128.0, n_cores=16, core_ns=8e9, speed_gflops=1.0).tolist()
    for spec in ("", "normal", "normal:draw=work", "normal:cov=0.25"):
        assert TaskModel(0.25, 4, 1, spec).lengths(9, 16, 8.0, 1.0).tolist() == expected
