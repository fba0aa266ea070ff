"""A dump of Slurm's ``sacct``, in lines or as JSON: its jobs one by one, as words by what they are used for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from bls.workloads.readers.lines import Readable, text_lines
from bls.workloads.readers.sacct_columns import (
    USES,
    DumpColumns,
    further_columns,
    is_step,
    is_waiting_tasks,
    job_number,
    time_ns,
)
from bls.workloads.readers.sacct_json import KEYS, json_jobs
from traces.base.given_file import GivenFile

#: The most lines of one job: Slurm keeps 255 characters of a name, each of which may end a line.
_MOST_LINES = 256
_MOST_CHARACTERS = 1 << 16

Job = tuple[int, list[dict[str, str]]]


class Dump:
    """The jobs of a dump that is open, each once: the number of its line, and the words that it may have.

    There is one set of words, or several where it cannot be told to which columns of free text words belong, or none for
    what is no job.

    - ``file``: at its beginning
    - ``comments``: the lines that begin with ``#`` so far
    - ``further``: the columns of ``Workload.extras`` that can be read
    - ``free``: the columns of free text
    - ``names``: the column of each use as the dump names it, where it has one

    Raises InputError as ``DumpColumns``, and as of a file that cannot be read.
    """

    def __init__(self, file: Readable, source: str) -> None:
        self.comments: list[str] = []
        self.free: tuple[str, ...] = ()
        self.names: Mapping[str, str] = KEYS
        self._jobs: Iterator[Job]
        ahead = _Ahead(file)
        if ahead.begins_with(b"{"):
            self.further = further_columns(set(USES))
            self._jobs = ((place, [] if words is None else [words]) for place, words in json_jobs(ahead, source))
            return
        lines = text_lines(ahead, source)
        line, header = next(((line, text) for line, text in lines if not self._is_comment(text)), (1, ""))
        self._columns = DumpColumns(header, f"{source}: line {line}")
        self.further, self.free, self.names = self._columns.further, self._columns.free, self._columns.names
        self._jobs = self._of_lines(lines)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def _of_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Job]:
        columns = self._columns
        begun: list[tuple[int, str]] = []  # the lines of a job of which the next one may be a part
        for line, text in lines:
            if begun and self._belongs(text, begun):
                begun.append((line, text))
                if columns.ends_free or not columns.words(_joined(begun)):
                    continue
                yield from self._ended(begun)
                begun = []
                continue
            yield from self._ended(begun)
            begun = []
            if text == columns.text:
                continue
            if self._is_comment(text):
                continue
            words = columns.words(text)
            if columns.ends_free if words else columns.goes_on(text):
                begun = [(line, text)]
            else:
                yield line, words
        yield from self._ended(begun)

    def _is_comment(self, text: str) -> bool:
        if text.startswith("#"):
            self.comments.append(text.rstrip())
        return text.startswith("#")

    def _belongs(self, text: str, begun: list[tuple[int, str]]) -> bool:
        if text == self._columns.text or len(begun) == _MOST_LINES or len(_joined(begun)) > _MOST_CHARACTERS:
            return False
        if self._columns.words(_joined(begun)):  # they are a whole job, and its last word may go on
            return not text.startswith("#") and not self._columns.words(text) and not self._begins_a_job(text)
        return not self._is_a_job(text)

    def _ended(self, begun: list[tuple[int, str]]) -> Iterator[Job]:
        words = self._columns.words(_joined(begun)) if begun else []
        if words:
            yield begun[0][0], words
        else:
            yield from ((line, []) for line, _ in begun)

    def _begins_a_job(self, text: str) -> bool:
        return _is_identity(self._columns.first_word(text))

    def _is_a_job(self, text: str) -> bool:
        found = self._columns.words(text)
        return any(_is_identity(word["job_id"]) and time_ns(word["submit"]) is not None for word in found)


def _joined(lines: list[tuple[int, str]]) -> str:
    return "\n".join(text for _, text in lines)


def _is_identity(word: str) -> bool:
    return job_number(word) is not None or is_step(word) or is_waiting_tasks(word)


class _Ahead:
    """A file of which the beginning is looked at before it is read."""

    def __init__(self, file: Readable) -> None:
        self._file, self._held = file, b""

    def begins_with(self, mark: bytes) -> bool:
        """Whether the first bytes that are neither white space nor a byte order mark are these."""
        block = bytearray(1 << 16)
        while len(self._held) < len(block) and (got := self._file.readinto(memoryview(block))):
            self._held += bytes(block[:got])
            if first := self._held.removeprefix(b"\xef\xbb\xbf").lstrip()[: len(mark)]:
                return first == mark
        return False

    def readinto(self, buffer: memoryview) -> int | None:
        """As ``Readable``."""
        if not self._held:
            return self._file.readinto(buffer)
        got = min(len(self._held), len(buffer))
        buffer[:got], self._held = self._held[:got], self._held[got:]
        return got


def sacct_words(path: str | os.PathLike[str], jobs: Mapping[int, int]) -> dict[int, dict[str, str]]:
    """The words of some lines, by job number and then by their use (``bls.workloads.readers.sacct_columns``). ``jobs``: the
    number of the line of each job (``Workload.line``) to that of the job; a line of another job is left out. Raises
    InputError if the file cannot be read, or its first line does not name the columns that are needed."""
    source = os.fspath(path)
    found: dict[int, dict[str, str]] = {}
    with GivenFile(path, "workload file") as file:
        for line, candidates in Dump(file, source):
            if line in jobs:
                for words in candidates:
                    if job_number(words["job_id"]) == jobs[line]:
                        found.setdefault(jobs[line], words)
    return found
