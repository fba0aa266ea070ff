"""Task lengths without random numbers: equal, linear, from a file, and of a Mandelbrot picture."""

import io
import math
import os
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from als.lengths.contract import COUNT, PATTERN, TIMES, LengthModel, length_kernel
from als.options import MAX_TASKS_PER_JOB
from als.parameters import Checked, RealNumber, WholeNumber
from als.streams import next_word, uniform_from_word
from traces.base.errors import InputError, one_of, parse_real, shown
from traces.base.given_file import read_text
from traces.compiled import Array, compiled
from traces.kernels.signatures import Floats


@length_kernel
def _pattern_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(pattern[k])


def pattern_lengths(name: str, pattern: Array, source: str, *, mode: int = PATTERN) -> LengthModel:
    """Return one task per number of ``pattern``, with these lengths, scaled to the loop's work if ``mode`` is ``PATTERN``."""
    cov = float(pattern.std() / pattern.mean())
    return LengthModel(name, _pattern_length, pattern=pattern, mode=mode, count=len(pattern), cov=cov, source=source)


@length_kernel
def _line_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(params[0] + (params[1] - params[0]) * ((k + 0.5) / n))


class Triangular(Checked):
    """Lengths that increase or decrease linearly (triangular loops), as the name says. Task k of n has a length proportional to
    first + (last - first)·(k + ½)/n: the line's value in the middle of the task's part of the loop, so that no task has length
    0. The coefficient of variation is √((1 - 1/n²)/12)·|last - first| / ((first + last)/2)."""

    noun = "lengths"
    name: str
    # lengths at the beginning and the end of the loop, in any unit; only their ratio matters. Increasing lengths need
    # first < last, decreasing ones first > last.
    first: Annotated[float, RealNumber(0.0, 1e9)]
    last: Annotated[float, RealNumber(0.0, 1e9)]

    def __post_init__(self) -> None:
        super().__post_init__()
        first, last, grows = self.first, self.last, self.name == "increasing"
        if not (first < last if grows else first > last):
            allowed = f"first {'below' if grows else 'above'} last"
            raise InputError(f"lengths {self.name}: first={first:g}, last={last:g}; allowed: {allowed}")

    def lengths(self, variation: float) -> LengthModel:
        return LengthModel(self.name, _line_length, (self.first, self.last), mode=PATTERN, source="its definition")


@length_kernel
def _sampled_length(
    k: int, n: int, mean: float, params: Array, pattern: Array, memo: Array, keys: Array, cursor: Array, words: Array
) -> float:
    return float(mean * pattern[int(uniform_from_word(next_word(keys, cursor, words)) * pattern.size)])


INCREASING = Triangular("increasing", 0.0, 1.0)
DECREASING = Triangular("decreasing", 1.0, 0.0)

#: Units of the numbers, in GFLOP. In ns they are times on the machine's slowest core: GFLOP at a speed of 1 GFLOP/s.
UNITS = {"gflop": 1.0, "flop": 1e-9, "ns": 1e-9}


def read_lengths(path: str | os.PathLike[str], unit: str = "gflop") -> Array:
    """Return the lengths in a file, GFLOP of each task, float64. ``path``: text in UTF-8, one number per line; blank lines and
    comments after ``#`` are ignored. Raises InputError if the file cannot be read, a line is not one number above 0, or there
    is none."""
    source = os.fspath(path)
    if unit not in UNITS:
        raise one_of("unit of lengths", unit, UNITS, source)
    lines = enumerate(io.StringIO(read_text(path, "file of task lengths", "text"), newline=None), 1)
    words = ((number, line.partition("#")[0].strip()) for number, line in lines)
    found = np.array([_parsed_length(word, f"{source}: line {number}") for number, word in words if word])
    if not len(found):
        raise InputError(f"{source}: no numbers; allowed: one task length per line")
    if len(found) > MAX_TASKS_PER_JOB:
        raise InputError(f"{source}: {len(found)} task lengths; allowed: up to {MAX_TASKS_PER_JOB}")
    scaled: Array = found * UNITS[unit]
    return scaled


def _parsed_length(text: str, where: str) -> float:
    try:
        value = parse_real(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(f"{where}: {shown(text)} is not a number; allowed: one task length per line")
    if not 0.0 < value < math.inf:
        raise InputError(f"{where}: {shown(text)} is out of range; allowed: task lengths above 0, finite")
    return value


@dataclass(frozen=True)
class LengthsFile:
    """Lengths of a file, ``file:PATH,unit=flop``: one number per line, like LoopSim's FLOPs of a loop's iterations. The loop
    has one task per number, in the order of the file."""

    name: ClassVar[str] = "file"
    path: str = ""  # the file; required
    unit: str = "gflop"  # unit of its numbers: ``gflop``, ``flop`` or ``ns``
    scale: bool = True  # whether the lengths are scaled to the work of the loop
    sample: bool = False  # whether lengths are drawn from its numbers, with replacement, for any number of tasks

    def lengths(self, variation: float) -> LengthModel:
        """Read the file and return the model, whatever the run's variation."""
        if not self.path:
            raise InputError(
                "lengths file: no file; allowed: file:PATH, optionally followed by ,unit=flop or ,scale=no"
            )
        if self.unit == "ns" and not (self.scale or self.sample):
            return pattern_lengths(self.name, read_lengths(self.path), self.path, mode=TIMES)
        lengths = read_lengths(self.path, self.unit)
        if not self.sample:
            return pattern_lengths(self.name, lengths, self.path, mode=PATTERN if self.scale else COUNT)
        if not self.scale:
            raise InputError("lengths file: sample=yes with scale=no; allowed: one of them")
        mean = float(lengths.mean())
        cov = float(lengths.std() / mean)
        return LengthModel(self.name, _sampled_length, pattern=lengths / mean, cov=cov, source=self.path)


MAX_STEPS = 4_000_000_000  #: limit of a picture's steps, pixels × iterations: some ten seconds


@compiled()
def _fill_counts(counts: Floats, width: int, height: int, iterations: int) -> None:
    """Count the iterations until each point leaves the circle of radius 2, row by row."""
    for row in range(height):
        c_y = -1.25 + 2.5 * ((row + 0.5) / height)
        for column in range(width):
            c_x = -2.0 + 2.5 * ((column + 0.5) / width)
            x, y, steps = 0.0, 0.0, 0
            while steps < iterations and x * x + y * y <= 4.0:
                x, y = x * x - y * y + c_x, 2.0 * (x * y) + c_y
                steps += 1
            counts[row * width + column] = steps


class Mandelbrot(Checked):
    """The lengths of a Mandelbrot picture: task k is pixel (⌊k/w⌋, k mod w) of h rows of w pixels.

    Pixel (row, column) stands for the number c at its middle, with real part -2 + 2.5·(column + ½)/w and imaginary part -1.25 +
    2.5·(row + ½)/h. Its count is the number of steps z ← z² + c from z = 0 until |z| > 2, at most ``iterations``. A length is
    proportional to count + 1, so that no task has length 0.

    Source: B. Mandelbrot, "Fractal aspects of the iteration of z → λz(1 - z)", Annals of the New York Academy of Sciences 357,
    1980, doi:10.1111/j.1749-6632.1980.tb29690.x.
    """

    noun = "lengths"
    name: ClassVar[str] = "mandelbrot"
    # pixels; the loop has width·height tasks, whatever the cores
    width: Annotated[int, WholeNumber(1, 10_000)] = 64
    height: Annotated[int, WholeNumber(1, 10_000)] = 64
    # limit of a pixel's steps; its product with the number of pixels is limited to ``MAX_STEPS``
    iterations: Annotated[int, WholeNumber(1, 1_000_000)] = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width * self.height * self.iterations > MAX_STEPS:
            raise InputError(
                f"lengths mandelbrot: {self.width} x {self.height} pixels of {self.iterations} iterations; "
                f"allowed: up to {MAX_STEPS} iterations in all"
            )

    def lengths(self, variation: float) -> LengthModel:
        """Compute the picture and return the model, whatever the run's variation."""
        counts = np.empty(self.width * self.height)
        _fill_counts(counts, self.width, self.height, self.iterations)
        return pattern_lengths(self.name, counts + 1.0, "Mandelbrot 1980")
