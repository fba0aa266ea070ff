"""A dump of Slurm's sacct, in lines or as JSON: its jobs one by one, as words by their use."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from bls.workloads.readers import sacct_columns as sc
from bls.workloads.readers.lines import BLOCK_BYTES, LINE_BYTES, Readable, text_lines
from traces.base.errors import InputError, shown
from traces.base.given_file import GivenFile

#: The key of a job in JSON that holds a word, by use.
KEYS = {
    "job_id": "job_id",
    "submit": "time/submission",
    "start": "time/start",
    "end": "time/end",
    "eligible": "time/eligible",
    "elapsed_raw": "time/elapsed",
    "req_cores": "required/CPUs",
    "alloc_tres": "tres/allocated",
    "req_tres": "tres/requested",
    "limit_raw": "time/limit",
    "nodes": "allocation_nodes",
    "state": "state/current",
    "partition": "partition",
    "qos": "qos",
    "node_list": "nodes",
    "features": "constraints",
    "reservation": "reservation/name",
    "priority": "priority",
}

_JOBS = "jobs"
_ENDLESS = "UNLIMITED"


def json_jobs(file: Readable, source: str) -> Iterator[tuple[int, dict[str, str] | None]]:
    """The jobs of a file, with their position from 1: words by use; None for values that are not objects. Raises InputError if
    the text is not JSON, has no list of jobs, or a job is longer than ``LINE_BYTES``."""
    text = _Text(file, source)
    if text.ahead() != "{":
        raise InputError(f"{source}: not what sacct --json writes: no object with a list of jobs")
    for _ in text.items("}"):
        key = text.value()
        text.after(":")
        if key == _JOBS and text.ahead() == "[":
            for place, _ in enumerate(text.items("]"), 1):
                job = text.value()
                yield place, _words(job) if isinstance(job, dict) else None
            return
        text.value()
    raise InputError(f"{source}: not what sacct --json writes: no list of jobs")


class _Text:
    """A JSON text that is read as far as needed; ``text[at:]`` has been read and not used."""

    def __init__(self, file: Readable, source: str) -> None:
        self._file, self._source = file, source
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._parse = json.JSONDecoder(parse_float=str, parse_constant=str, object_pairs_hook=self._once).raw_decode
        self._text, self.at = "", 0

    def ahead(self) -> str:
        """The next character that is not white space; "" at the end."""
        while True:
            while self.at < len(self._text) and self._text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self._text) or not self._more():
                return self._text[self.at : self.at + 1]

    def after(self, mark: str) -> None:
        """Move past a mark."""
        if self.ahead() != mark:
            self.refuse(f"{mark!r} is missing")
        self.at += 1

    def value(self) -> Any:
        """The next value."""
        self.ahead()
        while True:
            try:
                value, stop = self._parse(self._text, self.at)
            except RecursionError:
                self.refuse("it is nested too deeply")
            except ValueError as error:
                if self._more():
                    continue
                self.refuse(getattr(error, "msg", "") or str(error))
            if stop < len(self._text) or not self._more():  # otherwise a number may continue
                self.at = stop
                return value

    def items(self, end: str) -> Iterator[None]:
        """Move to each item up to the mark ``end``; the caller reads it."""
        self.at += 1
        while self.ahead() != end:
            yield
            if self.ahead() == ",":
                self.at += 1
            elif self.ahead() != end:
                self.refuse(f"',' or '{end}' is missing")

    def refuse(self, why: str) -> Any:
        """Raise the error that describes the fault of the text."""
        raise InputError(f"{self._source}: not valid JSON: {why} before {shown(self._text[self.at : self.at + 40])}")

    def _more(self) -> bool:
        # Double the text, so that a long value is tried a few times only.
        rest = self._text[self.at :]
        if len(rest) > LINE_BYTES:
            raise InputError(f"{self._source}: a job is longer than {LINE_BYTES} bytes; this is nothing of sacct's")
        block = bytearray(max(BLOCK_BYTES, len(rest)))
        got = self._file.readinto(memoryview(block)) or 0
        self._text, self.at = rest + self._decode(bytes(block[:got]), not got), 0
        return got > 0

    def _once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            plain = [f'"{name}": {json.dumps(value)}' for name, value in pairs if isinstance(value, str | int | float)]
            beginning = "{" + ", ".join(plain[:3]) + "}"
            raise InputError(f"{self._source}: a key appears twice: {shown(twice)}, in {shown(beginning)}")
        return found


def _words(job: dict[str, Any]) -> dict[str, str]:
    owner = _part(job, "association")
    values = {use: _at(job, key) for use, key in KEYS.items()}
    current = values["state"]
    return dict.fromkeys(sc.USES, "") | {
        **{use: _word(value) for use, value in values.items()},
        "job_id": _identity(job),
        "alloc_tres": _tres(values["alloc_tres"]),
        "req_tres": _tres(values["req_tres"]),
        "memory": _memory(_part(job, "required")),
        "state": _word(current[0] if isinstance(current, list) and current else current),
        "user": _word(job.get("user")) or _word(owner.get("user")),
        "group": _word(job.get("group")) or _word(job.get("account")),
        "account": _word(job.get("account")) or _word(owner.get("account")),
        "application": _text(job.get("name")),
    }


def _at(job: dict[str, Any], key: str) -> Any:
    part, slash, name = key.partition("/")
    return _part(job, part).get(name) if slash else job.get(key)


def _part(holder: dict[str, Any], key: str) -> dict[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, dict) else {}


def _word(value: Any) -> str:
    """A number or a text as a word; "" for a number that is not set, and for anything else."""
    if isinstance(value, dict):
        if value.get("infinite") is True:
            return _ENDLESS
        return _word(value.get("number")) if value.get("set") is not False else ""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return str(value) if abs(value) < 2**64 else "?"
    word = _text(value)
    return word if word.isprintable() else "".join(one if one.isprintable() else "?" for one in word)


def _text(value: Any) -> str:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _identity(job: dict[str, Any]) -> str:
    """The job's number as in sacct's column JobID."""
    for key, part, mark in (("array", "task_id", "_"), ("het", "job_offset", "+")):
        of = _part(job, key)
        first, place = _word(of.get("job_id")), _word(of.get(part))
        if first not in ("", "0") and place.isascii() and place.isdigit() and int(place) < 2**32 - 2:
            return f"{first}{mark}{place}"
        if key == "array" and first not in ("", "0") and (waiting := _word(of.get("task"))):
            return f"{first}_[{waiting}]"
    # Only steps have a point in their number, and steps are not listed.
    return _word(job.get("job_id")).replace(".", "?")


def _tres(entries: Any) -> str:
    words = []
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            kind, name, count = (_word(entry.get(key)) for key in ("type", "name", "count"))
            words.append(f"{kind}/{name}={count}" if name else f"{kind}={count}")
    return ",".join(words)


def _memory(needs: dict[str, Any]) -> str:
    for key, suffix in (("memory_per_cpu", "c"), ("memory_per_node", "n"), ("memory", "n")):
        word = _word(needs.get(key))
        if word.startswith("-") and int(word) < -(2**62):
            word = str(int(word) + 2**64)  # with the bit that says "per core", printed as a signed number
        if word not in ("", "0"):
            return f"{word}M{suffix}"
    return ""


_MOST_LINES = 256  #: largest number of lines of one job: Slurm keeps 255 characters of a name, and each may end a line
_MOST_CHARACTERS = 1 << 16
Job = tuple[int, list[dict[str, str]]]


class Dump:
    """The jobs of an open dump: for each, its line number and its possible sets of words. There are several sets if the columns
    of some words of free text are ambiguous, and none for a line that is not a job. ``comments`` are the lines read so far that
    begin with ``#``; ``further``, ``free``, ``names`` and errors are those of ``DumpColumns``."""

    def __init__(self, file: Readable, source: str) -> None:
        self.comments: list[str] = []
        self.free: tuple[str, ...] = ()
        self.names: Mapping[str, str] = KEYS
        self._jobs: Iterator[Job]
        ahead = _Ahead(file)
        if ahead.begins_with(b"{"):
            self.further = sc.further_columns(set(sc.USES))
            self._jobs = ((place, [] if words is None else [words]) for place, words in json_jobs(ahead, source))
            return
        lines = text_lines(ahead, source)
        line, header = next(((line, text) for line, text in lines if not self._is_comment(text)), (1, ""))
        self._columns = sc.DumpColumns(header, f"{source}: line {line}")
        self.further, self.free, self.names = self._columns.further, self._columns.free, self._columns.names
        self._jobs = self._of_lines(lines)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def _of_lines(self, lines: Iterator[tuple[int, str]]) -> Iterator[Job]:
        columns = self._columns
        begun: list[tuple[int, str]] = []  # lines of a job that the next line may continue
        for line, text in lines:
            goes_on = begun and self._belongs(text, begun)
            if goes_on:
                begun.append((line, text))
                if columns.ends_free or not columns.words(_joined(begun)):
                    continue
            yield from self._ended(begun)
            begun = []
            if goes_on:
                continue
            if text == columns.text or self._is_comment(text):
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
        if self._columns.words(_joined(begun)):  # a whole job, whose last word may continue
            begins_job = self._columns.words(text) or _is_identity(self._columns.first_word(text))
            return not text.startswith("#") and not begins_job
        found = self._columns.words(text)
        return not any(_is_identity(word["job_id"]) and sc.time_ns(word["submit"]) is not None for word in found)

    def _ended(self, begun: list[tuple[int, str]]) -> Iterator[Job]:
        words = self._columns.words(_joined(begun)) if begun else []
        if words:
            yield begun[0][0], words
        else:
            yield from ((line, []) for line, _ in begun)


def _joined(lines: list[tuple[int, str]]) -> str:
    return "\n".join(text for _, text in lines)


def _is_identity(word: str) -> bool:
    return sc.job_number(word) is not None or sc.is_step(word) or sc.is_waiting_tasks(word)


class _Ahead:
    """A file whose beginning is inspected before it is read."""

    def __init__(self, file: Readable) -> None:
        self._file, self._held = file, b""

    def begins_with(self, mark: bytes) -> bool:
        """Whether the first bytes after white space and a byte order mark are these."""
        block = bytearray(1 << 16)
        while len(self._held) < len(block) and (got := self._file.readinto(memoryview(block))):
            self._held += bytes(block[:got])
            if first := self._held.removeprefix(b"\xef\xbb\xbf").lstrip()[: len(mark)]:
                return first == mark
        return False

    def readinto(self, buffer: memoryview) -> int | None:
        """See ``Readable``."""
        if not self._held:
            return self._file.readinto(buffer)
        got = min(len(self._held), len(buffer))
        buffer[:got], self._held = self._held[:got], self._held[got:]
        return got


def sacct_words(path: str | os.PathLike[str], jobs: Mapping[int, int]) -> dict[int, dict[str, str]]:
    """The words of some lines, by job number and use (``bls.workloads.readers.sacct_columns``). ``jobs``: job numbers by line
    (``Workload.line``); lines with another job number are left out. Raises InputError as :class:`Dump`."""
    source = os.fspath(path)
    found: dict[int, dict[str, str]] = {}
    with GivenFile(path, "workload file") as file:
        for line, candidates in Dump(file, source):
            if line in jobs:
                for words in candidates:
                    if sc.job_number(words["job_id"]) == jobs[line]:
                        found.setdefault(jobs[line], words)
    return found
