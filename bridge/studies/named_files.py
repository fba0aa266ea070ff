"""The files that a study's options name: where they are, and what is in them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from traces.errors import InputError

__all__ = ["FileSums", "find_file", "located", "names_in"]

#: A part of an option's text that may name a file: ``FILE.py:NAME``, ``file:PATH,unit=flop``, ``select:(a.py:X,gss)``.
_WORD = re.compile(r"[^\s,:;()=\"'\[\]{}]+")

_BLOCK = 1 << 20


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


def _is_name(word: str) -> bool:
    # A technique is never taken for a file that happens to be called so.
    return "/" in word or "." in word.strip(".")


def names_in(text: str, folders: Sequence[Path]) -> dict[str, Path]:
    """The words of a text that name a file, and the files."""
    whole = find_file(text, folders) if _is_name(text) else None
    if whole is not None:
        return {text: whole}
    found = {}
    for word in _WORD.findall(text):
        path = find_file(word, folders) if _is_name(word) else None
        if path is not None:
            found[word] = path
    return found


def located(text: str, folders: Sequence[Path]) -> str:
    """A text with the names of files made absolute, so that it means the same in any folder."""
    names = names_in(text, folders)
    if text in names:
        return str(names[text])
    return _WORD.sub(lambda word: str(names.get(word[0], word[0])), text)


class FileSums:
    """SHA-256 of files, each read once."""

    def __init__(self) -> None:
        self._sums: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        """The sum of a file's bytes.

        Raises
        ------
        InputError
            If it cannot be read.
        """
        if path not in self._sums:
            digest = hashlib.sha256()
            try:
                with path.open("rb") as file:
                    while block := file.read(_BLOCK):
                        digest.update(block)
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {error.strerror}") from None
            self._sums[path] = digest.hexdigest()
        return self._sums[path]

    def within(self, path: Path, folders: Sequence[Path]) -> dict[str, Path]:
        """The files that a TOML file names, as far as they are there."""
        if path.suffix.lower() != ".toml":
            return {}
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return {}  # whoever reads it as what it should be says what is wrong with it
        return names_in(text, folders)

    def all_of(self, texts: Iterable[str], folders: Sequence[Path]) -> dict[str, tuple[Path, str]]:
        """Every file that some texts name, and that those name: by the name, with its sum."""
        found: dict[str, tuple[Path, str]] = {}
        for text in texts:
            names = names_in(text, folders)
            for path in list(names.values()):
                names |= self.within(path, folders)
            found |= {name: (path, self.of(path)) for name, path in names.items()}
        return found
