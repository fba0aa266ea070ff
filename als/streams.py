"""Random streams: one stream of numbers per (seed, job number, purpose).

A stream is numpy's counter-based generator ``Philox4x64-10`` with key (seed, job number) and counter (block, 0, 0, purpose), so
any job's numbers can be drawn in any process and any order, without a shared generator. A 64-bit word w becomes the uniform
number u = (⌊w / 2¹²⌋ + ½) / 2⁵², which is never 0 or 1. u becomes a normal number by the inverse distribution function, so a
draw uses exactly one word.

The same numbers in plain Python::

    key = numpy.array([seed, job], numpy.uint64)
    words = numpy.random.Philox(key=key, counter=[0, 0, 0, purpose]).random_raw(n)
    z = [statistics.NormalDist().inv_cdf(((int(w) >> 12) + 0.5) / 2**52) for w in words]

Sources: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, doi:10.1145/2063384.2063405 (Philox);
Wichura, "Algorithm AS 241", Applied Statistics 37(3), 1988, doi:10.2307/2347330 (PPND16).
"""

import math

import numpy as np

from traces.compiled import Array, compiled
from traces.kernels.signatures import Ints, Words

# Purposes of streams.
TASK_LENGTHS = 1  # the lengths of a job's tasks
CHUNKS = 2  # a random technique's chunks
APPLICATIONS = 3  # the application of a job
CORE_SPEEDS = 4  # noise on a core's speed; the second part of the key is a core
GRAPHS = 5  # the tasks and edges of a job's random graphs
GRAPH_WORK = 6  # the factors between the work of a graph's tasks and their weights
DEVICE_WORK = 7  # the factors of tasks on devices; kind k adds k·2³² to it

_ROUNDS = 10
_U32 = np.uint64(32)
_U12 = np.uint64(12)
_LOW = np.uint64(0xFFFFFFFF)
# The two multipliers in halves: their products with 32-bit halves never overflow 64 bits.
_M0_HI, _M0_LO = np.uint64(0xD2E7470E), np.uint64(0xE14C6C93)
_M1_HI, _M1_LO = np.uint64(0xCA5A8263), np.uint64(0x95121157)
# What each round adds to the two keys, in halves.
_BUMP0_HI, _BUMP0_LO = np.uint64(0x9E3779B9), np.uint64(0x7F4A7C15)
_BUMP1_HI, _BUMP1_LO = np.uint64(0xBB67AE85), np.uint64(0x84CAA73B)


@compiled()
def _add(a: np.uint64, b_hi: np.uint64, b_lo: np.uint64) -> np.uint64:
    """Return a + b modulo 2**64, computed in halves, since plain numpy would warn of an overflow."""
    low = (a & _LOW) + b_lo
    high = (a >> _U32) + b_hi + (low >> _U32)
    return np.uint64(((high & _LOW) << _U32) | (low & _LOW))


@compiled()
def fill_round_keys(keys: Words, seed: np.uint64, job: np.uint64) -> None:
    """Write the ten round keys of (seed, job) to ``keys``, uint64 of shape (20,)."""
    k0, k1 = seed, job
    for r in range(_ROUNDS):
        keys[2 * r] = k0
        keys[2 * r + 1] = k1
        k0 = _add(k0, _BUMP0_HI, _BUMP0_LO)
        k1 = _add(k1, _BUMP1_HI, _BUMP1_LO)


@compiled()
def _high(m_hi: np.uint64, m_lo: np.uint64, x: np.uint64) -> np.uint64:
    x_hi, x_lo = x >> _U32, x & _LOW
    middle = m_hi * x_lo + ((m_lo * x_lo) >> _U32)
    carried = m_lo * x_hi + (middle & _LOW)
    return np.uint64(m_hi * x_hi + (middle >> _U32) + (carried >> _U32))


@compiled()
def _low(m_hi: np.uint64, m_lo: np.uint64, x: np.uint64) -> np.uint64:
    x_hi, x_lo = x >> _U32, x & _LOW
    low = m_lo * x_lo
    middle = ((m_hi * x_lo) & _LOW) + ((m_lo * x_hi) & _LOW) + (low >> _U32)
    return np.uint64(((middle & _LOW) << _U32) | (low & _LOW))


@compiled(inner=True)
def fill_words(words: Array, keys: Array, block: int, purpose: int) -> None:
    """Write block number ``block`` = 0, 1, … of a stream: four uint64 words, to ``words[0:4]``."""
    # numpy's generator increments the counter first, so its first block has counter 1.
    c0, c1, c2, c3 = np.uint64(block + 1), np.uint64(0), np.uint64(0), np.uint64(purpose)
    for r in range(_ROUNDS):
        h0, l0 = _high(_M0_HI, _M0_LO, c0), _low(_M0_HI, _M0_LO, c0)
        h1, l1 = _high(_M1_HI, _M1_LO, c2), _low(_M1_HI, _M1_LO, c2)
        c0, c1, c2, c3 = h1 ^ c1 ^ keys[2 * r], l1, h0 ^ c3 ^ keys[2 * r + 1], l0
    words[0], words[1], words[2], words[3] = c0, c1, c2, c3


@compiled()
def start_stream(cursor: Ints, purpose: int) -> None:
    """Set ``cursor``, int64 of shape (3,), to the beginning of a stream."""
    cursor[0], cursor[1], cursor[2] = 0, 4, purpose


def new_stream(seed: int, job: int, purpose: int) -> tuple[Array, Array, Array]:
    """Return the round keys, cursor and words of a stream, at its beginning."""
    keys, cursor, words = np.empty(20, np.uint64), np.empty(3, np.int64), np.empty(4, np.uint64)
    fill_round_keys(keys, np.uint64(seed), np.uint64(job))
    start_stream(cursor, purpose)
    return keys, cursor, words


@compiled(inner=True)
def next_word(keys: Array, cursor: Array, words: Array) -> np.uint64:
    """Return the next 64-bit word of a stream with round keys from :func:`fill_round_keys`, and advance the ``cursor``: the
    number of the next block, the index of the next word in ``words`` (4: none is left) and the purpose; ``words`` is the
    current block."""
    if cursor[1] == 4:
        fill_words(words, keys, cursor[0], cursor[2])
        cursor[0] += 1
        cursor[1] = 0
    word: np.uint64 = words[cursor[1]]
    cursor[1] += 1
    return word


@compiled()
def uniform_from_word(word: np.uint64) -> float:
    """Return the uniform number of a 64-bit word: above 0 and below 1."""
    return (float(np.int64(word >> _U12)) + 0.5) / 4503599627370496.0


# Coefficients of the polynomials of AS 241, above and below the fraction bars, highest power first.
# fmt: off
_CENTRE = (
    2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
    1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0,
)
_CENTRE_BELOW = (
    5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
    5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0,
)
_NEAR = (
    7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
    3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0,
)
_NEAR_BELOW = (
    1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
    6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0,
)
_FAR = (
    2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
    2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0,
)
_FAR_BELOW = (
    2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
    1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0,
)
# fmt: on


@compiled(merged=True)
def _polynomial(c: tuple[float, ...], r: float) -> float:
    """Return c[0]·r⁷ + … + c[7] by Horner's rule."""
    return ((((((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]) * r + c[6]) * r + c[7]


@compiled()
def normal_from_word(word: np.uint64) -> float:
    """Return the standard normal number of a 64-bit word, by AS 241 (about 16 digits)."""
    p = uniform_from_word(word)
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return _polynomial(_CENTRE, r) * q / _polynomial(_CENTRE_BELOW, r)
    r = math.sqrt(-math.log(p if q <= 0.0 else 1.0 - p))
    if r <= 5.0:
        x = _polynomial(_NEAR, r - 1.6) / _polynomial(_NEAR_BELOW, r - 1.6)
    else:
        x = _polynomial(_FAR, r - 5.0) / _polynomial(_FAR_BELOW, r - 5.0)
    return -x if q < 0.0 else x
