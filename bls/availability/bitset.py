"""A set of small whole numbers as a tree of 32-bit words: shape and search, for the queue and for the free cores.

Bit b of leaf word w says whether 32·w + b is in the set; a bit of a word further up says whether the word below it holds
anything. There is a level per factor of 32, four for a million numbers. All levels are one array, leaves first.
"""

from __future__ import annotations

import numpy as np

from traces.compiled import Array, compiled

# Words are int64 with 32 bits used: signed arithmetic then never meets the sign bit.

# A number whose bits, shifted left by 0 to 31 places, all differ in the top five of 32 (a de Bruijn sequence), and how
# far it was shifted by those five: several times as quick as asking for the exponent of a float.
_DE_BRUIJN = 0x077CB531
_PLACE = np.zeros(32, np.int64)
for _place in range(32):
    _PLACE[((_DE_BRUIJN << _place) >> 27) & 31] = _place


def new_tree(n: int) -> tuple[Array, Array]:
    """The empty set of numbers 0 … n-1: its words, int64, and where each level starts in them, leaves first."""
    starts, size = [0], max(1, n)
    while size > 1 or len(starts) == 1:
        size = (size + 31) // 32
        starts.append(starts[-1] + size)
    return np.zeros(starts[-1], np.int64), np.array(starts, np.int64)


@compiled()
def lowest_bit(word: int) -> int:
    """Position of the lowest set bit of a word that has one."""
    return int(_PLACE[(((word & -word) * _DE_BRUIJN) >> 27) & 31])


@compiled()
def bits_of(word: int) -> int:
    """How many bits of a word are set."""
    n = 0
    while word != 0:  # compilers make one instruction of this loop
        word &= word - 1
        n += 1
    return n


@compiled(inner=True)
def next_number(words: Array, starts: Array, number: int) -> int:
    """The smallest number >= ``number`` (from 0) in the set, or -1."""
    n_levels = starts.size - 1
    level = 0
    while level < n_levels:
        at = starts[level] + (number >> 5)
        if at >= starts[level + 1]:
            return -1
        rest = words[at] & ~((1 << (number & 31)) - 1)
        if rest != 0:
            number = ((number >> 5) << 5) + lowest_bit(rest)
            while level > 0:
                level -= 1
                number = (number << 5) + lowest_bit(words[starts[level] + number])
            return number
        # Nothing more in this word: go on behind it, one level up.
        number = (number >> 5) + 1
        level += 1
    return -1
