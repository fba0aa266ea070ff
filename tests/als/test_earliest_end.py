"""The bound on a job's end: never later than the end, not much earlier than a well balanced one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import application

from als.bounds import earliest_end_ns
from als.programs.tasks import TaskModel
from traces.base.time import MAX_NS


@settings(max_examples=500)
@given(
    speeds=st.lists(st.sampled_from((0.3, 1.0, 1.5, 46.875)), min_size=1, max_size=6),
    run_ns=st.sampled_from((1, 10, 10**3, 10**6, 10**6 + 1, 10**9)) | st.integers(1, 10**13),
    variation=st.sampled_from((0.0, 0.25, 3.0)),
    per_core=st.integers(1, 4),
    technique=st.sampled_from(("static", "ss", "gss", "fac")),
    seed=st.integers(0, 1000),
    draw=st.sampled_from(("work", "paper")),
)
def test_no_job_ends_before_its_bound(
    speeds: list[float], run_ns: int, variation: float, per_core: int, technique: str, seed: int, draw: str
) -> None:
    a_core = min(speeds) * (run_ns / 1e9)
    model = TaskModel(variation, per_core, seed, f"normal:draw={draw}")
    lengths = model.lengths(1, len(speeds), a_core, min(speeds))
    ran = application.run(lengths.tolist(), speeds, technique, start=5)
    bound = earliest_end_ns(5, a_core * len(speeds), a_core / per_core, np.array(speeds))
    assert 5 <= bound <= ran.end


def test_a_balanced_job_ends_soon_after_its_bound() -> None:
    # 100 s on equal cores; and 100 s at the slower half's speed, where the faster half could help.
    assert earliest_end_ns(0, 800.0, 100.0, np.ones(8)) == 99_900_000_000
    assert earliest_end_ns(7, 400.0, 100.0, np.array([1.0, 1.0, 3.0, 3.0])) == 7 + 49_950_000_000


def test_of_short_tasks_and_of_the_end_of_time_nothing_is_promised() -> None:
    assert earliest_end_ns(3, 0.0016, 0.0008, np.ones(2)) == 3
    assert earliest_end_ns(MAX_NS - 5, 1e30, 1e30, np.ones(1)) == MAX_NS
