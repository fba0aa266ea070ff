"""Names of jobs in a text: by number (``7``, ``3-9``, ``100-``), by Slurm's names of tasks and components (``900_2``,
``900_[1-5,8]``, ``901+0``), or by the log's names. ``number:7`` and ``name:7`` distinguish a number from a name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from bls.workloads.readers.sacct_columns import job_number
from traces.base.errors import InputError, did_you_mean, shown
from traces.compiled import Array
from traces.intervals import OPEN, intervals_text, parse_intervals

_WORD = re.compile(r"[^\s,\[]+(?:\[[^\]]*\])?")
_BY_NUMBER = re.compile(r"-?[0-9]+-?[0-9]*")
_TASKS = re.compile(r"([0-9]{1,18})_\[([0-9]{1,18}(?:-[0-9]{1,18})?(?:,[0-9]{1,18}(?:-[0-9]{1,18})?)*)\]")
_LONGEST_LIST = 120  #: the longest list of job numbers in an error
_ALLOWED = "allowed: a number or a range, as 3 5-9, Slurm's names, as 900_2, 900_[1-5] or 901+0"
_ALLOWED_OF_ONE = "allowed: one number, as 3, one of Slurm's names, as 900_2 or 901+0"


@dataclass(frozen=True, eq=False)
class JobWords:
    """Reader of words that name jobs."""

    # numbers of the jobs with each name; empty if the log has no names
    named: Mapping[str, Sequence[int]] = field(default_factory=dict)
    # ndarray of int64: numbers of all jobs, ascending. If given, every word must name an existing job.
    numbers: Array | None = None

    @classmethod
    def of(cls, job_id: Array, names: Sequence[str] | None) -> Self:
        """Return the reader for the rows of a table of jobs: their numbers and, if it has them, their names."""
        named: dict[str, list[int]] = {}
        for name, number in dict.fromkeys(zip(names or (), job_id.tolist(), strict=names is not None)):
            if name:
                named.setdefault(name, []).append(number)
        return cls(named, np.unique(job_id))

    def intervals(self, text: str, where: str) -> list[tuple[int, int]]:
        """Return the half-open intervals of job numbers that a text names, sorted and merged. Raises InputError if a
        word names no job; the message begins with ``where``."""
        return self._intervals(text, where, _ALLOWED + (", or a name of the log" if self.named else ""))

    def one(self, text: str, where: str) -> int:
        """Return the number of the one job that a word names. Raises InputError if the word names no job, or several."""
        allowed = _ALLOWED_OF_ONE + (", or a name of the log" if self.named else "")
        found = self._intervals(text, where, allowed)
        if len(found) != 1 or found[0][1] - found[0][0] != 1:
            jobs = intervals_text(found[:5]) + (" …" if len(found) > 5 else "")
            raise InputError(f"{where}: {shown(text)} names several jobs: {jobs}; {allowed}")
        return found[0][0]

    def _intervals(self, text: str, where: str, allowed: str) -> list[tuple[int, int]]:
        if text in self.named or text.removeprefix("name:") in self.named:
            words = [text]  # a name may contain blanks and commas
        elif _WORD.sub("", text).strip(", \t\r\n"):
            raise InputError(f"{where}: {shown(text)} names no job; {allowed}")
        else:
            words = _WORD.findall(text)
        parts = [part for word in words for part in self._numbers(word, where, allowed)]
        found = parse_intervals(" ".join(parts), where)
        if not found:
            raise InputError(f"{where}: {shown(text)} names no job; {allowed}")
        return found

    def _numbers(self, word: str, where: str, allowed: str) -> list[str]:
        kind, colon, rest = word.partition(":")
        if colon and kind == "number":
            return self._there(rest, word, where)
        if colon and kind == "name" and rest in self.named:
            return list(map(str, self.named[rest]))
        if _BY_NUMBER.fullmatch(word):
            others = [number for number in self.named.get(word, ()) if str(number) != word]
            if others and self._has(word):
                raise InputError(
                    f"{where}: {shown(word)} is the number of one job and the name of another, job {others[0]}; "
                    f"allowed: number:{word} or name:{word}"
                )
            return [f"{number}" for number in others] or self._there(word, word, where)
        if word in self.named:
            return [f"{number}" for number in self.named[word]]
        if match := _TASKS.fullmatch(word):
            ends = [[job_number(f"{match[1]}_{end}") for end in part.split("-")] for part in match[2].split(",")]
            if all(end is not None for pair in ends for end in pair):
                return [one for pair in ends for one in self._there("-".join(map(str, pair)), word, where)]
        number = job_number(word)
        if number is None:
            near = did_you_mean(word, list(self.named)[:1000]) if self.named else ""
            raise InputError(f"{where}: {shown(word)} is no job{near}; {allowed}")
        return self._there(f"{number}", word, where)

    def _has(self, word: str) -> bool:
        return self.numbers is None or bool(np.isin(int(word.partition("-")[0] or 0), self.numbers))

    def _there(self, part: str, word: str, where: str) -> list[str]:
        """A number or range, checked: it contains a job, and does not exceed the last one."""
        if self.numbers is not None:
            for lo, hi in parse_intervals(part, where):
                first, stop = np.searchsorted(self.numbers, [lo, hi]).tolist()
                if first == stop:
                    raise InputError(
                        f"{where}: {shown(word)}: there is no such job; allowed: {number_ranges(self.numbers)}"
                    )
                if OPEN != hi > self.numbers[-1] + 1:
                    raise InputError(f"{where}: {shown(word)} is out of range: the last job is {self.numbers[-1]}")
        return [part]


def number_ranges(numbers: Array, none: str = "none, there are no jobs") -> str:
    """Ascending job numbers, int64 (n,), as ranges, shortened to one line; ``none`` if there are none."""
    if not len(numbers):
        return none
    first = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 2) != 1)
    stop = np.append(first[1:], len(numbers)) - 1
    text = intervals_text(zip(numbers[first].tolist(), (numbers[stop] + 1).tolist(), strict=True))
    return text if len(text) <= _LONGEST_LIST else text[:_LONGEST_LIST].rsplit(" ", 1)[0] + f" … {numbers[-1]}"
