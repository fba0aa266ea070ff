"""What of a folder ``twolevel`` has written: only that is ever removed, and only where a record says that it is ours."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from traces.base.errors import InputError
from traces.base.given_file import parse_json

#: The files that say whose a folder is.
RECORDS = ("run.json", "study.json", "comparison.json")

#: What a study keeps beside its tables: the results of its cells, each with a record, and a file that says which cell it is.
_CELLS = "cells"
CELL = "cell.json"

#: Where a study's figures are, and the key of its record that lists them.
FIGURES = "figures"

_STUDY = ("study.json", "journal.jsonl", "results.parquet", "costs.parquet", "comparisons.parquet")


def _content(path: Path) -> dict[str, Any]:
    # Empty where there is nothing that can be read: other programs write files of these names, too.
    try:
        content = parse_json(path.read_bytes(), str(path)) if path.is_file() and not path.is_symlink() else {}
    except (OSError, InputError):
        return {}
    return content if isinstance(content, dict) else {}


def _record(path: Path) -> dict[str, Any]:
    # Empty where there is none of ours.
    record = _content(path)
    known = record.get("versions")
    return record if isinstance(known, dict) and isinstance(known.get("twolevel"), str) else {}


def _listed(record: dict[str, Any], key: str = "files") -> set[str]:
    files = record.get(key)
    if not isinstance(files, list):
        return set()
    # Whoever has written the record, it says nothing of what is outside its folder.
    return {name for name in files if isinstance(name, str) and name == os.path.normpath(name) and name[0] not in "/."}


def is_ours(folder: Path) -> bool:
    """Whether a folder's record says that ``twolevel`` has written it."""
    return bool(ours_in(folder))


def ours_in(folder: Path) -> set[str]:
    """The files in a folder that ``twolevel`` has written, by their paths in it; none where no record says so."""
    found: set[str] = set()
    for name in RECORDS:
        record = _record(folder / name)
        if name != "study.json":
            found |= _listed(record) if name in _listed(record) else set()
        elif "format" in record and "study" in record:
            found |= set(_STUDY)
            if not (folder / FIGURES).is_symlink():  # a user's own folder in its place
                found |= {file for file in _listed(record, FIGURES) if file.startswith(f"{FIGURES}/")}
            for cell in folder.glob(f"{_CELLS}/*/*"):
                found |= {f"{cell.relative_to(folder).as_posix()}/{file}" for file in ours_in(cell)}
    if found and _content(folder / CELL).keys() == {"key", "seed"}:
        found.add(CELL)  # which the record, that of a run, does not list
    return found


def files_in(folder: Path) -> list[str]:
    """Every file and link below a folder, and every folder in which nothing is, by their paths in it, in order."""
    found = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        links = [name for name in folders if (here / name).is_symlink()]
        found += [(here / name).relative_to(folder).as_posix() for name in (*files, *links)]
        if not folders and not files and here != folder:
            found.append(here.relative_to(folder).as_posix())
    return sorted(found)


def move_others(names: Iterable[str], old: Path, new: Path) -> None:
    """Move files from one folder to another, by their paths in it; one whose name is taken there gets a ``~`` behind it."""
    for name in names:
        to = new / name
        if (old / name).is_dir() and not (old / name).is_symlink() and to.is_dir():
            continue  # an empty one
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):  # what is a folder in the one is a file in the other
            to = new / f"{name.replace('/', '-')}~"
        (old / name).rename(_not_taken(to))


def put_aside(paths: Iterable[Path]) -> None:
    """Rename what is there: a ``~`` is put behind each name."""
    for path in paths:
        if os.path.lexists(path):
            path.rename(_not_taken(path))


def _not_taken(path: Path) -> Path:
    while os.path.lexists(path):
        path = path.with_name(f"{path.name}~")
    return path


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove files of a folder, by their paths in it, and the folders within it in which nothing is left."""
    for name in names:
        path = folder / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        for parent in path.parents:
            if parent == folder or not parent.is_relative_to(folder):
                break
            try:
                parent.rmdir()
            except OSError:  # something is left in it
                break
