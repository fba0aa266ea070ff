"""The lengths of a Mandelbrot picture: a task is a pixel, as long as the pixel takes, plus one.

Pixel (row, column) of a picture of h rows of w pixels stands for the number c at its middle, with real part -2 +
2.5·(column + ½)/w and imaginary part -1.25 + 2.5·(row + ½)/h. Its count is the number of steps z ← z² + c from z = 0 until
|z| > 2, or ``iterations`` if that does not come about. Task k is pixel (⌊k/w⌋, k mod w), of a length proportional to its
count + 1: the one is for what a pixel costs beside its steps, and lets no task be 0. The picture is computed once for a run.

Source: B. Mandelbrot, "Fractal aspects of the iteration of z → λz(1 - z)",
Annals of the New York Academy of Sciences 357, 1980, doi:10.1111/j.1749-6632.1980.tb29690.x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from als.lengths.contract import LengthModel
from als.lengths.pattern import pattern_lengths
from traces.base.errors import InputError, whole
from traces.compiled import compiled
from traces.kernels.signatures import Floats

#: Most steps that a picture may take, pixels × iterations: some ten seconds.
MAX_STEPS = 4_000_000_000


@compiled()
def _fill_counts(counts: Floats, width: int, height: int, iterations: int) -> None:
    """Iterations until each point leaves the circle of radius 2, row by row."""
    for row in range(height):
        c_y = -1.25 + 2.5 * ((row + 0.5) / height)
        for column in range(width):
            c_x = -2.0 + 2.5 * ((column + 0.5) / width)
            x, y, steps = 0.0, 0.0, 0
            while steps < iterations and x * x + y * y <= 4.0:
                x, y = x * x - y * y + c_x, 2.0 * (x * y) + c_y
                steps += 1
            counts[row * width + column] = steps


@dataclass(frozen=True)
class Mandelbrot:
    """Parameters of the picture."""

    name: ClassVar[str] = "mandelbrot"
    # pixels, 1 to 10,000 each; the loop has width·height tasks, whatever the cores
    width: int = 64
    height: int = 64
    iterations: int = 1000  # most steps of a pixel, 1 to a million. All pixels times it: up to ``MAX_STEPS``.

    def __post_init__(self) -> None:
        for name, most in (("width", 10_000), ("height", 10_000), ("iterations", 1_000_000)):
            object.__setattr__(self, name, whole(f"lengths mandelbrot: {name}", getattr(self, name), 1, most))
        if self.width * self.height * self.iterations > MAX_STEPS:
            raise InputError(
                f"lengths mandelbrot: {self.width} x {self.height} pixels of {self.iterations} iterations; "
                f"allowed: up to {MAX_STEPS} iterations in all"
            )

    def lengths(self, variation: float) -> LengthModel:
        """The model, whatever the run's variation; computes the picture."""
        counts = np.empty(self.width * self.height)
        _fill_counts(counts, self.width, self.height, self.iterations)
        return pattern_lengths(self.name, counts + 1.0, "Mandelbrot 1980")
