"""The named streams: numpy's own generator and the standard library's normal distribution, bit for bit."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference import drawing

from als.streams import fill_round_keys, fill_words, normal_from_word

keys_64 = st.sampled_from((0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1)) | st.integers(0, 2**64 - 1)


def stream(seed: int, job: int, purpose: int, blocks: int) -> list[int]:
    keys, words, found = np.empty(20, np.uint64), np.empty(4, np.uint64), []
    fill_round_keys(keys, np.uint64(seed), np.uint64(job))
    for block in range(blocks):
        fill_words(words, keys, block, purpose)
        found += words.tolist()
    return found


@settings(max_examples=300)
@given(seed=keys_64, job=keys_64, purpose=st.integers(0, 3), blocks=st.integers(1, 4))
def test_the_words_are_those_of_numpys_philox(seed: int, job: int, purpose: int, blocks: int) -> None:
    assert stream(seed, job, purpose, blocks) == list(islice(drawing.words(seed, job, purpose), 4 * blocks))


def test_a_stream_does_not_change() -> None:
    # What numpy's Philox gives for key (1, 1542) and counter (0, 0, 0, 1).
    assert stream(1, 1542, 1, 1) == [
        8287100079146621032,
        9231263032093659759,
        1370815384973616184,
        16669995855189729623,
    ]


@settings(max_examples=2000)
@given(word=st.integers(0, 2**64 - 1) | st.integers(0, 2**40) | st.integers(2**64 - 2**40, 2**64 - 1))
@example(word=0)
@example(word=2**64 - 1)
@example(word=2**63)
@example(word=2**63 - 1)
def test_the_normal_number_is_that_of_the_standard_library(word: int) -> None:
    assert normal_from_word(np.uint64(word)) == drawing.normal(word)


@pytest.mark.parametrize("upper", [0.5 - 0.425, 0.5 + 0.425, 1.3887943864964021e-11, 1 - 1.3887943864964021e-11])
def test_the_seams_of_the_approximation(upper: float) -> None:
    # The three formulas of AS 241 meet at |p - 1/2| = 0.425 and at √(-ln p) = 5.
    at = int(upper * 2**52) << 12
    for word in range(at - (5 << 12), at + (5 << 12), 1 << 12):
        assert normal_from_word(np.uint64(word)) == drawing.normal(word)
