"""Lengths from a file: one number a line, as LoopSim takes the FLOPs of a loop's iterations.

Blank lines do not count, nor does what follows a ``#``. The loop has as many tasks as the file has numbers, in its order. They
are scaled to the work of the loop (``scale=yes``), so that the job is as long as the log says; or taken as they are
(``scale=no``), so that the job is as long as they make it.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from als.lengths.contract import COUNT, PATTERN, LengthModel
from als.lengths.pattern import pattern_lengths
from als.options import MAX_TASKS_PER_JOB
from traces.base.errors import InputError, one_of, parse_real, shown
from traces.compiled import Array

#: What the numbers may be, and how many GFLOP each is.
UNITS = {"gflop": 1.0, "flop": 1e-9}


def read_lengths(path: str | os.PathLike[str], unit: str = "gflop") -> Array:
    """The lengths in a file. ``path``: text in UTF-8, one number a line. ``unit``: of the numbers: a key of :data:`UNITS`.
    Returns ndarray of float64: GFLOP of each task. Raises InputError if the file cannot be read, a line is not one number
    above 0, or there is none."""
    source = os.fspath(path)
    if unit not in UNITS:
        raise one_of("unit of lengths", unit, UNITS, source)
    try:
        with open(source, encoding="utf-8-sig") as file:
            found = np.array(
                [
                    _length(text, f"{source}: line {number}")
                    for number, line in enumerate(file, 1)
                    if (text := line.partition("#")[0].strip())
                ]
            )
    except FileNotFoundError:
        raise InputError(f"{source}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{source}: is a directory, not a file of task lengths") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: not text: byte {error.start} is not UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InputError(f"{source!r}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not len(found):
        raise InputError(f"{source}: no numbers; allowed: one task length a line")
    if len(found) > MAX_TASKS_PER_JOB:
        raise InputError(f"{source}: {len(found)} task lengths; allowed: up to {MAX_TASKS_PER_JOB}")
    scaled: Array = found * UNITS[unit]
    return scaled


def _length(text: str, where: str) -> float:
    try:
        value = parse_real(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(f"{where}: {shown(text)} is not a number; allowed: one task length a line")
    if not 0.0 < value < math.inf:
        raise InputError(f"{where}: {shown(text)} is out of range; allowed: task lengths above 0, finite")
    return value


@dataclass(frozen=True)
class LengthsFile:
    """Which file, and how it is read: ``file:PATH,unit=flop``."""

    name: ClassVar[str] = "file"
    path: str = ""  # the file; empty until one is named
    unit: str = "gflop"  # of its numbers: ``gflop`` or ``flop``
    scale: bool = True  # whether the lengths are scaled to the work of the loop

    def lengths(self, variation: float) -> LengthModel:
        """The model, whatever the run's variation; reads the file."""
        if not self.path:
            raise InputError(
                "lengths file: no file; allowed: file:PATH, perhaps with ,unit=flop or ,scale=no behind it"
            )
        lengths = read_lengths(self.path, self.unit)
        return pattern_lengths(self.name, lengths, self.path, mode=PATTERN if self.scale else COUNT)
