"""The files that a study's options name: their places and contents."""

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bridge.scenarios.scenario import is_word
from traces.base.errors import InputError
from traces.base.given_file import parse_toml, read_text, texts_in
from traces.base.plugins import is_number

#: Options whose whole text is a file's name, or may be.
_PATHS = (
    *("platform", "applications", "requests", "windows", "failures", "malleable"),
    *("limits", "allowed", "job-power", "signals", "slurm-conf", "workload", "token-file"),
)

_COMMANDS = ("bls-command",)  #: options whose text is a command line; each of its words may be a file's name

#: ``file:PATH`` of lengths and graphs, ``trace:PATH`` of speeds; key=value may follow.
_PREFIXED = re.compile(r"(?:file|trace):(.*?)((?:,\s*[A-Za-z_]\w*\s*=[^,]*)*)", re.DOTALL)

#: The file of a single plug-in, with any characters in its name; and one of several, as in the candidates of a selection.
_PLUG_IN, _PLUG_INS = re.compile(r"(.*\.py):[^:]*(?::.*)?", re.DOTALL), re.compile(r"([^,()]*?\.py):")

_PARAMETER = re.compile(r"=([^,]+)")  #: a parameter, as ``multifactor:config=PATH``

_SELECT = "select:"


def is_path(option: str, text: str) -> bool:
    """Whether the whole text of an option may be the name of a file."""
    return option in _PATHS and not (option == "platform" and is_word(text))


def is_command(option: str) -> bool:
    """Whether the text of an option is a command line: its words may be names of files."""
    return option in _COMMANDS


def find_file(name: str, folders: Sequence[Path]) -> Path | None:
    """The first file of this name in some folders; an absolute name is used as it is."""
    if not name or "\0" in name or len(name) > 4096:
        return None
    for folder in folders:
        path = folder / name
        try:
            if path.is_file():
                return path.resolve()
        except OSError:  # not a valid file name
            return None
    return None


def _candidates(text: str, whole: bool) -> Iterator[tuple[int, int]]:
    # The parts of a text that may be a file's name, the more certain ones first.
    if whole:
        yield 0, len(text)
    if found := _PREFIXED.fullmatch(text):
        yield found.span(1)
    if found := _PLUG_IN.fullmatch(text):
        yield found.span(1)
    for found in _PLUG_INS.finditer(text):
        begin, end = found.span(1)
        if text.startswith(_SELECT, begin):
            begin += len(_SELECT)
        yield begin, end
    for found in _PARAMETER.finditer(text):
        yield found.span(1)


class NamedFile(NamedTuple):
    """A file that a text names."""

    span: tuple[int, int]  # position of its name in the text
    name: str  # the name as written
    path: Path  # path


def names_in(text: str, folders: Sequence[Path], *, whole: bool = False) -> list[NamedFile]:
    """The files that a text names, in its order; ``whole``: the text itself may be a name (:func:`is_path`)."""
    found: list[NamedFile] = []
    for begin, end in _candidates(text, whole):
        name = text[begin:end].strip()
        first = text.index(name, begin)
        span = (first, first + len(name))
        if is_number(name) or any(span[0] < other.span[1] and other.span[0] < span[1] for other in found):
            continue
        if (path := find_file(name, folders)) is not None:
            found.append(NamedFile(span, name, path))
    return sorted(found)


def located(text: str, folders: Sequence[Path], *, whole: bool = False) -> str:
    """A text in which names of files are absolute, so it is valid in any folder."""
    for one in reversed(names_in(text, folders, whole=whole)):
        text = text[: one.span[0]] + str(one.path) + text[one.span[1] :]
    return text


def _command_words(text: str, folders: Sequence[Path]) -> Iterator[tuple[str, Path | None]]:
    # Each word of a command line, and the file that it names; a program without a folder is searched in PATH.
    try:
        words = shlex.split(text)
    except ValueError:  # starting it reports the error
        return
    for place, word in enumerate(words):
        sought = folders if place > 0 or "/" in word else ()
        folder = next((one for one in sought if find_file(word, [one])), None)
        # Links are not resolved: a program may depend on the name by which it is called.
        yield word, None if folder is None else Path(os.path.abspath(folder / word))


def located_value(option: str, value: Any, folders: Sequence[Path]) -> Any:
    """The value of an option in which names of files are absolute, so it is valid in any folder."""
    if isinstance(value, tuple):
        return tuple(located(one, folders) for one in value)
    if not isinstance(value, str):
        return value
    if is_command(option):
        words = list(_command_words(value, folders))
        return shlex.join(str(path or word) for word, path in words) if any(path for _, path in words) else value
    return located(value, folders, whole=is_path(option, value))


class FileSums:
    """SHA-256 of files, each read once."""

    def __init__(self) -> None:
        self._sums: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        """The sum of a file's bytes. Raises InputError if it cannot be read."""
        if path not in self._sums:
            try:
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256")
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {error.strerror}") from None
            self._sums[path] = digest.hexdigest()
        return self._sums[path]

    def named_by(self, option: str, text: str, folders: Sequence[Path]) -> dict[str, tuple[Path, str]]:
        """The files named by a value of an option, and by TOML files among these: by name, with their checksums."""
        if is_command(option):
            return {word: (path, self.of(path)) for word, path in _command_words(text, folders) if path is not None}
        named = names_in(text, folders, whole=is_path(option, text))
        for one in list(named):
            named += _within(one.path, folders)
        return {one.name: (one.path, self.of(one.path)) for one in named}


def _within(path: Path, folders: Sequence[Path]) -> list[NamedFile]:
    try:
        content = parse_toml(read_text(path, "file", "TOML"), str(path))
    except InputError:
        return []  # not TOML: reading it for its purpose reports the error
    return [one for text in texts_in(content) for one in names_in(text, folders, whole=True)]
