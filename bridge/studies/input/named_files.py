"""The files that a study's options name: where they are, and what is in them."""

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bridge.scenarios.scenario import is_word
from traces.base.errors import InputError
from traces.base.given_file import parse_toml, read_text
from traces.base.plugins import is_number

#: Options whose whole text is a file's name, or may be.
_PATHS = (
    *("platform", "applications", "requests", "windows", "failures", "malleable"),
    *("limits", "allowed", "job-power", "signals", "slurm-conf", "workload", "token-file"),
)

_COMMANDS = ("bls-command",)  #: options whose text is a command line, of which each word may be a file's name

#: ``file:PATH`` of lengths and graphs, ``trace:PATH`` of speeds; behind it may be key=value.
_PREFIXED = re.compile(r"(?:file|trace):(.*?)((?:,\s*[A-Za-z_]\w*\s*=[^,]*)*)", re.DOTALL)

#: The file of a plug-in, alone, when its name may hold anything; and one of several, as among the candidates of a selection.
_PLUG_IN, _PLUG_INS = re.compile(r"(.*\.py):[^:]*(?::.*)?", re.DOTALL), re.compile(r"([^,()]*?\.py):")

_PARAMETER = re.compile(r"=([^,]+)")  #: a parameter, as ``multifactor:config=PATH``

_SELECT = "select:"


def is_path(option: str, text: str) -> bool:
    """Whether the text of an option, as a whole, may be the name of a file."""
    return option in _PATHS and not (option == "platform" and is_word(text))


def is_command(option: str) -> bool:
    """Whether the text of an option is a command line: its words may be names of files."""
    return option in _COMMANDS


def find_file(name: str, folders: Sequence[Path]) -> Path | None:
    """The first file of a name, looked for in some folders; an absolute name is looked for where it says."""
    if not name or "\0" in name or len(name) > 4096:
        return None
    for folder in folders:
        path = folder / name
        try:
            if path.is_file():
                return path.resolve()
        except OSError:  # a name that no file can have
            return None
    return None


def _candidates(text: str, whole: bool) -> Iterator[tuple[int, int]]:
    # Which parts of a text may be a file's name; those that are surer first.
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

    span: tuple[int, int]  # where in the text its name stands
    name: str  # as it is written there
    path: Path  # where it is


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
    """A text with the names of files made absolute, so that it means the same in any folder."""
    for one in reversed(names_in(text, folders, whole=whole)):
        text = text[: one.span[0]] + str(one.path) + text[one.span[1] :]
    return text


def _command_words(text: str, folders: Sequence[Path]) -> Iterator[tuple[str, Path | None]]:
    # Each word of a command line, and the file that it names; a program without a folder is looked for where programs are.
    try:
        words = shlex.split(text)
    except ValueError:  # whoever starts it says what is wrong with it
        return
    for place, word in enumerate(words):
        sought = folders if place > 0 or "/" in word else ()
        folder = next((one for one in sought if find_file(word, [one])), None)
        # Not where a link leads to: a program may depend on the name by which it is called.
        yield word, None if folder is None else Path(os.path.abspath(folder / word))


def located_value(option: str, value: Any, folders: Sequence[Path]) -> Any:
    """The value of an option with the names of files made absolute, so that it means the same in any folder."""
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
        """The files that a value of an option names, and those that a TOML file of these names: by name, with their sums."""
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
        return []  # it is something else; whoever reads it as what it should be says what is wrong with it
    return [one for text in _texts(content) for one in names_in(text, folders, whole=True)]


def _texts(value: Any) -> Iterable[str]:
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict | list):
            left += reversed(one.values() if isinstance(one, dict) else one)
