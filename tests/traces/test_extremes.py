"""The lowest and the highest number of a column."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.algorithms.extremes import extremes
from traces.compiled import own


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_of_floats(values: list[float]) -> None:
    assert extremes(np.array(values)) == (min(values), max(values))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_of_instants_exactly(values: list[int]) -> None:
    column = np.frombuffer(np.array(values).tobytes(), np.int64)  # read-only, as a message has it
    assert extremes(column) == (min(values), max(values))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_that_is_no_number_makes_both_none(at: int) -> None:
    values = np.array([1.0, 3.0, 2.0])
    values[at] = math.nan
    assert np.isnan(extremes(values)).all()
    values.view(np.uint64)[at] = 0x7FF0_0000_0000_0001  # a signalling one
    assert np.isnan(extremes(values)).all()


def test_what_kernels_take_as_it_is_is_not_copied() -> None:
    fit = np.arange(4.0)
    assert own(fit, np.float64) is fit
    for unfit in (
        fit[::2],
        fit.astype(np.float32),
        np.frombuffer(fit.tobytes()),
        fit.astype(">f8"),
        [0.0, 2.0],
        fit.T[::-1],
    ):
        made = own(unfit, np.float64)
        assert made.flags.carray
        assert made.dtype == np.float64
        assert made.tolist() == list(unfit)
