"""Reads the jobs of ``sacct --json``, one by one, as the words that other dumps of ``sacct`` have for them.

The file is an object with a list ``jobs``. What it holds has changed from Slurm 21.08 (data parser 0.0.37) on: a number is
one, or ``{"set": …, "infinite": …, "number": …}``; a state is a text, or a list of them; memory has one key, or two.
Only one job is in memory at a time.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

from bls.workloads.readers.lines import BLOCK_BYTES, LINE_BYTES, Readable
from bls.workloads.readers.sacct_columns import USES
from traces.base.errors import InputError, shown

#: The keys of what decides whether a job is rejected, by its use.
KEYS = {
    "job_id": "job_id",
    "submit": "time/submission",
    "end": "time/end",
    "elapsed_raw": "time/elapsed",
    "req_cores": "required/CPUs",
    "alloc_tres": "tres/allocated",
    "req_tres": "tres/requested",
    "limit_raw": "time/limit",
    "state": "state/current",
}

_JOBS = "jobs"
_ENDLESS = "UNLIMITED"


def json_jobs(file: Readable, source: str) -> Iterator[tuple[int, dict[str, str] | None]]:
    """The jobs of a file, by their number in its list, from 1: their words by use; None for what is no object. Raises
    InputError if the text is no JSON, has no list of jobs, or a job is longer than ``LINE_BYTES``."""
    text = _Text(file, source)
    if text.ahead() != "{":
        raise InputError(f"{source}: not what sacct --json writes: no object with a list of jobs")
    text.at += 1
    while text.ahead() != "}":
        key = text.value()
        text.after(":")
        if key == _JOBS and text.ahead() == "[":
            yield from _listed(text)
            return
        text.value()
        if text.ahead() == ",":
            text.at += 1
        elif text.ahead() != "}":
            text.refuse("',' or '}' is missing")
    raise InputError(f"{source}: not what sacct --json writes: no list of jobs")


def _listed(text: _Text) -> Iterator[tuple[int, dict[str, str] | None]]:
    place = 0
    text.at += 1
    while text.ahead() != "]":
        job = text.value()
        place += 1
        yield place, _words(job) if isinstance(job, dict) else None
        if text.ahead() == ",":
            text.at += 1
        elif text.ahead() != "]":
            text.refuse("',' or ']' is missing")


class _Text:
    """A JSON text that is read as far as it is needed; ``text[at:]`` is what has been read and not used."""

    def __init__(self, file: Readable, source: str) -> None:
        self._file, self._source = file, source
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace").decode
        self._parse = json.JSONDecoder(parse_float=str, parse_constant=str, object_pairs_hook=self._once).raw_decode
        self._text, self.at = "", 0

    def ahead(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            while self.at < len(self._text) and self._text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self._text) or not self._more():
                return self._text[self.at : self.at + 1]

    def after(self, mark: str) -> None:
        """Go behind a mark."""
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
            if stop < len(self._text) or not self._more():  # else a number may go on
                self.at = stop
                return value

    def refuse(self, why: str) -> Any:
        """Say what is wrong with the text."""
        raise InputError(f"{self._source}: not valid JSON: {why} before {shown(self._text[self.at : self.at + 40])}")

    def _more(self) -> bool:
        # As much again as there is, so that a long value is tried a few times only.
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
            raise InputError(f"{self._source}: a key is there twice: {shown(twice)}, in {shown(_first_values(pairs))}")
        return found


def _first_values(pairs: list[tuple[str, Any]]) -> str:
    # Tells which object it is: its first values that are numbers or texts.
    plain = [f'"{name}": {json.dumps(value)}' for name, value in pairs if isinstance(value, str | int | float)]
    return "{" + ", ".join(plain[:3]) + "}"


def _words(job: dict[str, Any]) -> dict[str, str]:
    """The words of a job, by the uses of ``sacct_columns``."""
    time, state, needs = _part(job, "time"), _part(job, "state"), _part(job, "required")
    tres = _part(job, "tres")
    limit = _word(time.get("limit"))
    return dict.fromkeys(USES, "") | {
        "job_id": _identity(job),
        "submit": _word(time.get("submission")),
        "start": _word(time.get("start")),
        "end": _word(time.get("end")),
        "eligible": _word(time.get("eligible")),
        "elapsed_raw": _word(time.get("elapsed")),
        "req_cores": _word(needs.get("CPUs")),
        "alloc_tres": _tres(tres.get("allocated")),
        "req_tres": _tres(tres.get("requested")),
        "limit_raw": limit,
        "nodes": _word(job.get("allocation_nodes")),
        "memory": _memory(needs),
        "state": _word(_first(state.get("current"))),
        "user": _word(job.get("user")) or _word(_part(job, "association").get("user")),
        "group": _word(job.get("group")) or _word(job.get("account")),
        "account": _word(job.get("account")) or _word(_part(job, "association").get("account")),
        "partition": _word(job.get("partition")),
        "qos": _word(job.get("qos")),
        "application": _text(job.get("name")),
        "node_list": _word(job.get("nodes")),
        "features": _word(job.get("constraints")),
        "reservation": _word(_part(job, "reservation").get("name")),
        "priority": _word(job.get("priority")),
    }


def _part(holder: dict[str, Any], key: str) -> dict[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, dict) else {}


def _first(value: Any) -> Any:
    return (value[0] if value else None) if isinstance(value, list) else value


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
    """The job's number as sacct's column JobID has it."""
    for key, part, mark in (("array", "task_id", "_"), ("het", "job_offset", "+")):
        of = _part(job, key)
        first, place = _word(of.get("job_id")), _word(of.get(part))
        if first not in ("", "0") and place.isascii() and place.isdigit() and int(place) < 2**32 - 2:
            return f"{first}{mark}{place}"
        if key == "array" and first not in ("", "0") and (waiting := _word(of.get("task"))):
            return f"{first}_[{waiting}]"
    return _word(job.get("job_id")).replace(".", "?")  # a step's number has a point, and steps are not listed here


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
