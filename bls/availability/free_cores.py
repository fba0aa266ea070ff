"""The free cores of the machine: a set of core numbers, as a tree of 32-bit words. The queue and other sets are such trees.

Bit b of leaf word w says whether 32·w + b is in the set; a bit of a word on a higher level says whether the word below it is
not 0. There is one level per factor of 32, four for a million numbers. All levels are in one array, leaves first.

Cores are taken and released in half-open intervals ``[lo, hi)``, whole words at once: an operation costs one step per word and
not per core, and busy cores are skipped 32, 1,024 … at a time. So a machine of 65,536 cores is hardly slower than one of 256,
however fragmented it is.
"""

import numpy as np

from traces.compiled import Array, compiled
from traces.kernels.signatures import Ints

# Words are int64 with 32 bits used: signed arithmetic then never meets the sign bit.
_FULL = (1 << 32) - 1

# A number whose bits, shifted left by 0 to 31 places, all differ in the top five of 32 (a de Bruijn sequence), and the shift
# for each value of these five: several times as fast as taking the exponent of a float.
_DE_BRUIJN = 0x077CB531
_PLACE = np.zeros(32, np.int64)
for _place in range(32):
    _PLACE[((_DE_BRUIJN << _place) >> 27) & 31] = _place


def new_tree(n: int) -> tuple[Array, Array]:
    """The empty set of numbers 0 … n-1: its words, int64, and the first word of each level, leaves first."""
    starts, size = [0], max(1, n)
    while size > 1 or len(starts) == 1:
        size = (size + 31) // 32
        starts.append(starts[-1] + size)
    return np.zeros(starts[-1], np.int64), np.array(starts, np.int64)


@compiled(inner=True)
def lowest_bit(word: int) -> int:
    """Position of the lowest set bit of a word that is not 0."""
    return int(_PLACE[(((word & -word) * _DE_BRUIJN) >> 27) & 31])


@compiled(inner=True)
def bits_of(word: int) -> int:
    """Number of set bits of a word."""
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
        # No further bit in this word: continue after it, one level up.
        number = (number >> 5) + 1
        level += 1
    return -1


free_next = next_number  #: the smallest free core >= ``core`` (from 0), or -1: ``free_next(words, starts, core)``


@compiled(inner=True)
def add_number(words: Array, starts: Array, number: int) -> None:
    """Add a number to a set; the queue is a set of ranks."""
    for level in range(starts.size - 1):
        at = starts[level] + (number >> 5)
        before = words[at]
        words[at] = before | (1 << (number & 31))
        if before != 0:
            return
        number >>= 5


@compiled(inner=True)
def remove_number(words: Array, starts: Array, number: int) -> None:
    """Remove a number that is in the set."""
    for level in range(starts.size - 1):
        at = starts[level] + (number >> 5)
        words[at] &= ~(1 << (number & 31))
        if words[at] != 0:
            return
        number >>= 5


def new_free(n_cores: int) -> tuple[Array, Array]:
    """The cores 0 … n_cores-1, all free: the words of the tree, int64, and the first word of each level."""
    words, starts = new_tree(n_cores)
    free_give(words, starts, 0, n_cores)
    return words, starts


@compiled()
def _mask(word: int, lo: int, hi: int) -> int:
    """The bits of leaf word number `word` that stand for cores in [lo, hi); it holds at least one of them."""
    first, stop = max(lo - (word << 5), 0), min(hi - (word << 5), 32)
    return ((1 << stop) - 1) & ~((1 << first) - 1)


@compiled(inner=True)
def free_take(words: Array, starts: Array, lo: int, hi: int) -> None:
    """Take the cores [lo, hi) out of the set, whether or not they are all in it."""
    for level in range(starts.size - 1):
        if lo >= hi:
            return
        base = starts[level]
        first, last = lo >> 5, (hi - 1) >> 5
        words[base + first] &= ~_mask(first, lo, hi)
        for word in range(first + 1, last):
            words[base + word] = 0
        if last > first:
            words[base + last] &= ~_mask(last, lo, hi)
        # One level up, clear the words that are empty now: all except perhaps the first and the last.
        lo = first if words[base + first] == 0 else first + 1
        hi = last + 1 if words[base + last] == 0 else last


@compiled()
def free_give(words: Ints, starts: Ints, lo: int, hi: int) -> None:
    """Put the cores [lo, hi) into the set, whether or not some are in it."""
    if lo >= hi:
        return
    for level in range(starts.size - 1):
        base = starts[level]
        first, last = lo >> 5, (hi - 1) >> 5
        known = words[base + first] != 0
        words[base + first] |= _mask(first, lo, hi)
        for word in range(first + 1, last):
            words[base + word] = _FULL
        if last > first:
            words[base + last] |= _mask(last, lo, hi)
        elif known:  # the word is marked on higher levels already
            return
        lo, hi = first, last + 1


@compiled(inner=True)
def free_stop(words: Array, lo: int, hi: int) -> int:
    """The first core from ``lo`` on that is not free, at most ``hi``: the end of the run of free cores that begins there."""
    if lo >= hi:
        return lo
    word = lo >> 5
    busy = ~words[word] & _FULL & ~((1 << (lo & 31)) - 1)
    last = (hi - 1) >> 5
    while busy == 0 and word < last:
        word += 1
        busy = ~words[word] & _FULL
    if busy == 0:
        return hi
    return min(hi, (word << 5) + lowest_bit(busy))


@compiled(inner=True)
def free_all(words: Array, lo: int, hi: int) -> bool:
    """Whether all the cores [lo, hi) are free; true for an empty interval."""
    return free_stop(words, lo, hi) >= hi


@compiled(inner=True)
def free_count(words: Array, lo: int, hi: int) -> int:
    """Number of free cores in [lo, hi)."""
    if lo >= hi:
        return 0
    first, last = lo >> 5, (hi - 1) >> 5
    n = bits_of(words[first] & _mask(first, lo, hi))
    for word in range(first + 1, last):
        n += bits_of(words[word])
    if last > first:
        n += bits_of(words[last] & _mask(last, lo, hi))
    return n


@compiled(inner=True)
def free_run(words: Array, starts: Array, core: int, n_cores: int) -> int:
    """The lowest core from ``core`` on at which ``n_cores`` (from 1) consecutive free cores begin, or -1."""
    begin = -1  # of the run that reaches the present word from below
    word = (core >> 5) - 1
    while word + 1 < starts[1]:
        word += 1
        base = word << 5
        rest = words[word]
        if base < core:
            rest &= ~((1 << (core & 31)) - 1)
        if rest == _FULL:
            if begin < 0:
                begin = base
            if base + 32 - begin >= n_cores:
                return begin
            continue
        if rest == 0:
            # The upper levels skip busy cores.
            begin = -1
            free = next_number(words, starts, base + 32)
            if free < 0:
                return -1
            word = (free >> 5) - 1
            continue
        if begin >= 0:
            if base + lowest_bit(~rest) - begin >= n_cores:
                return begin
            rest &= rest + 1
            begin = -1
        while rest != 0:
            first = base + lowest_bit(rest)
            above = rest + (rest & -rest)  # the lowest run is carried into the bit above it
            stop = base + 32 if above > _FULL else base + lowest_bit(above)
            if stop - first >= n_cores:
                return first
            if above > _FULL:
                begin = first
            rest &= above  # in that case nothing is left, either
    return -1


@compiled(inner=True)
def free_lowest(
    words: Array, starts: Array, lo: int, hi: int, n_cores: int, n_out: int, out_lo: Array, out_hi: Array
) -> tuple[int, int]:
    """Append the ``n_cores`` lowest free cores of [lo, hi), or all if there are fewer, to the ``n_out`` ascending intervals
    ``out_lo``, ``out_hi``, which are not above ``lo``; a run that begins at the end of the last one is joined to it.
    Returns the new number of intervals, and the number of missing cores."""
    # Written out, since calling `free_next` and `free_stop` costs more than their work.
    left, core = n_cores, lo
    while left > 0 and core < hi:
        number, level, at = core, 0, core >> 5
        rest = words[at] & ~((1 << (number & 31)) - 1)
        while rest == 0:
            number = at + 1
            level += 1
            if level + 1 >= starts.size:
                return n_out, left
            at = starts[level] + (number >> 5)
            if at >= starts[level + 1]:
                return n_out, left
            rest = words[at] & ~((1 << (number & 31)) - 1)
            at = number >> 5
        while level > 0:
            level -= 1
            at = (at << 5) + lowest_bit(rest)
            rest = words[starts[level] + at]
        # The runs of free cores in this leaf word.
        base = at << 5
        while rest != 0 and left > 0:
            first = base + lowest_bit(rest)
            if first >= hi:
                return n_out, left
            above = rest + (rest & -rest)  # the lowest run is carried into the bit above it
            rest &= above
            stop = min(base + 32 if above > _FULL else base + lowest_bit(above), hi, first + left)
            if n_out > 0 and out_hi[n_out - 1] == first:
                out_hi[n_out - 1] = stop
            else:
                out_lo[n_out], out_hi[n_out] = first, stop
                n_out += 1
            left -= stop - first
        core = base + 32
    return n_out, left


@compiled(inner=True)
def count_hosts(host_of: Array, host_first: Array, host_free: Array, lo: int, hi: int, sign: int) -> None:
    """Add (``sign`` 1) the cores [lo, hi) to the free cores of their hosts, or subtract them (-1)."""
    host = host_of[lo]
    while lo < hi:
        stop = min(hi, host_first[host + 1])
        host_free[host] += sign * (stop - lo)
        lo = stop
        host += 1
