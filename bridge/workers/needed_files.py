"""Which files every host needs that takes part in a run: plug-ins, lengths of tasks, graphs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bridge.options.declared import LISTEN
from bridge.protocol.host_messages import MAX_FILES, NeededFile
from traces.base.errors import InputError
from traces.base.given_file import parse_json

#: Where the names of a choice among techniques end.
_BETWEEN = re.compile(r"[,()]")


def needed_files(names: Iterable[str]) -> tuple[NeededFile, ...]:
    """The files that are named, with what is in them, so that no host takes part that has others.

    - ``names``: what workers receive: ``/home/FILE.py:NAME:x=1``, ``file:/home/lengths.txt``, a choice of such, or a
      program as JSON that has them. Paths are absolute.

    Raises InputError if they are too many.
    """
    texts = (
        text for name in names for text in (_texts(parse_json(name, "program")) if name.startswith("{") else [name])
    )
    paths = dict.fromkeys(path for text in texts for part in _parts(text) if (path := _file_of(part)))
    if len(paths) > MAX_FILES:
        raise InputError(f"{LISTEN}: {len(paths)} files of plug-ins, lengths and graphs; allowed: up to {MAX_FILES}")
    return tuple(NeededFile(path=path, sha256=_digest(path)) for path in paths)


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict | list):
        for value in content.values() if isinstance(content, dict) else content:
            yield from _texts(value)


def _parts(text: str) -> Iterator[str]:
    """The text, and what stands between any two of its separators: a path may have such characters, too."""
    yield text
    ends = [match.start() for match in _BETWEEN.finditer(text)]
    for begin in (end + 1 for end in ends):
        yield from (text[begin:end] for end in (*ends, len(text)) if end > begin)


def _file_of(text: str) -> str:
    """The file that is named at the beginning of a text, after ``file:``; empty if there is none."""
    path = text.strip().removeprefix("file:")
    while path.startswith("/"):
        if os.path.isfile(path):
            return path
        path = path.rpartition(":")[0]
    return ""


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
