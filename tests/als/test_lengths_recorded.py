"""The paper's task lengths do not change: the same bits from one version to the next."""

from __future__ import annotations

import hashlib

import pytest

from als.lengths import lengths
from als.lengths.draw import drawn
from als.programs.tasks import TaskModel, drawn_lengths

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
    found = drawn(lengths("normal", variation=variation), seed, job, n, mean, total)
    assert (len(found), found[0]) == (count, first)
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == digest
    assert drawn_lengths(*named).tobytes() == found.tobytes()
    written = drawn(lengths(f"normal:cov={variation}"), seed, job, n, mean, total)
    assert written.tobytes() == found.tobytes()


def test_a_model_without_a_distribution_is_the_papers() -> None:
    assert TaskModel(0.25, 4, 1).lengths(9, 16, 8.0).tolist() == drawn_lengths(1, 9, 64, 2.0, 0.25, 128.0).tolist()
    assert (
        TaskModel(0.25, 4, 1, "normal").lengths(9, 16, 8.0).tolist()
        == drawn_lengths(1, 9, 64, 2.0, 0.25, 128.0).tolist()
    )
