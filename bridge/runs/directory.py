"""The folder or file of a result: written to a new place next to its target and renamed at the end, so that it is complete.

Only files that a record attributes to ``twolevel`` are ever removed from a folder.
"""

import contextlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridge.held_interrupts import interrupts_held
from bridge.options.declared import FORCE, OUT
from traces.base.errors import InputError, TwolevelError, shown
from traces.base.given_file import near_files, parse_json
from traces.base.written_file import NO_ROOM, under_its_name, write_text

#: files that identify a folder as a result
RECORDS = ("run.json", "study.json", "comparison.json", "measurement.json", "calibration.json")

#: A study's cells: the folder of their results, each with a record, and the file that identifies each cell.
_CELLS = "cells"
CELL = "cell.json"

FIGURES = "figures"  #: the folder of a study's figures, and the key of its record that lists them

_STUDY = ("study.json", "journal.jsonl", "results.parquet", "costs.parquet", "comparisons.parquet")


def _content(path: Path) -> dict[str, Any]:
    # Empty if the file cannot be read or is not JSON: other programs write files of these names, too.
    try:
        content = parse_json(path.read_bytes(), str(path)) if path.is_file() and not path.is_symlink() else {}
    except (OSError, InputError):
        return {}
    return content if isinstance(content, dict) else {}


def _record(path: Path) -> dict[str, Any]:
    # Empty if there is no record of ours.
    record = _content(path)
    known = record.get("versions")
    return record if isinstance(known, dict) and isinstance(known.get("twolevel"), str) else {}


def _listed(record: dict[str, Any], key: str = "files") -> set[str]:
    files = record.get(key)
    if not isinstance(files, list):
        return set()
    # Ignore names outside the folder, whoever wrote the record.
    return {name for name in files if isinstance(name, str) and name == os.path.normpath(name) and name[0] not in "/."}


def ours_in(folder: Path) -> set[str]:
    """The files in a folder that ``twolevel`` has written, as relative paths; none without a record."""
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
        found.add(CELL)  # not listed in the record of the cell's run
    return found


def files_in(folder: Path) -> list[str]:
    """Sorted relative paths of all files, links and empty folders below a folder."""
    found = []
    for place, folders, files in os.walk(folder):
        here = Path(place)
        links = [name for name in folders if (here / name).is_symlink()]
        found += [(here / name).relative_to(folder).as_posix() for name in (*files, *links)]
        if not folders and not files and here != folder:
            found.append(here.relative_to(folder).as_posix())
    return sorted(found)


def move_others(names: Iterable[str], old: Path, new: Path) -> None:
    """Move files from one folder to another, by relative paths; add a ``~`` to names that exist there."""
    for name in names:
        to = new / name
        if (old / name).is_dir() and not (old / name).is_symlink() and to.is_dir():
            continue  # an empty one
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):  # a folder in one place is a file in the other
            to = new / f"{name.replace('/', '-')}~"
        (old / name).rename(_not_taken(to))


def put_aside(paths: Iterable[Path]) -> None:
    """Rename existing files or folders by adding a ``~`` to their names."""
    for path in paths:
        if os.path.lexists(path):
            path.rename(_not_taken(path))


def _not_taken(path: Path) -> Path:
    while os.path.lexists(path):
        path = path.with_name(f"{path.name}~")
    return path


def remove_files(folder: Path, names: Iterable[str]) -> None:
    """Remove files of a folder, by relative paths, and subfolders that become empty."""
    for name in names:
        path = folder / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        for parent in path.parents:
            if parent == folder or not parent.is_relative_to(folder):
                break
            try:
                parent.rmdir()
            except OSError:  # not empty
                break


def named_folder(out: str | None, *, why: str = "empty", instead: str = "") -> Path:
    """The folder named by ``--out``. Raises InputError if it names none; the message states ``why``, and what is allowed
    ``instead`` of a name."""
    if not out:
        raise InputError(f"{OUT}: {why}; allowed: the name of a folder{instead}")
    return Path(out)


def check_target(target: Path, force: bool, *, shared: bool = False) -> None:
    """Refuse a result folder that cannot or must not be written, before anything is simulated: one that exists without
    ``force``, or is not ours. ``shared``: it is part of a result of ours and may hold other files. Raises InputError."""
    if str(target).encode("utf-8", "ignore").decode() != str(target):
        raise InputError(f"{OUT}: {str(target)!r} is not text in UTF-8")
    try:
        if target.exists() or target.is_symlink():
            if not force:
                raise InputError(f"{OUT}: {target} exists; choose another folder, or replace it with {FORCE}")
            empty = target.is_dir() and not any(target.iterdir())
            if target.is_symlink() or not (empty or (shared and target.is_dir()) or ours_in(target)):
                raise InputError(f"{OUT}: {target} has no record of twolevel, so {FORCE} does not replace it")
        check_place(target, str(OUT))
    except OSError as error:
        raise unusable(target, str(OUT), error) from None


def check_place(target: Path, where: str) -> None:
    """Refuse a file or folder whose parent folder is not writable; ``where`` is the option."""
    parent = target.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)):
        raise InputError(f"{where}: {target} cannot be made: {parent} is not a folder that can be written to")


def unusable(target: Path, where: str, error: OSError) -> InputError:
    """The error for a name that the system does not accept."""
    return InputError(f"{where}: {shown(str(target))} cannot be made: {error.strerror}")


@contextmanager
def temporary_folder(target: Path, where: str) -> Iterator[Path]:
    """A new folder next to ``target``, ``.NAME.partial-…``, so that remains of a killed run do not look like a result. After
    an error it is removed, with parent folders that were made for it."""
    with interrupts_held() as held:
        missing = [parent for parent in target.parents if not parent.exists()]  # the deepest first
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.partial-", dir=target.parent))
        except OSError as error:
            raise unusable(target, where, error) from None
        try:
            held.let_through()
            yield partial
        except BaseException as error:
            held.hold()
            _say_its_name(error, partial, target)
            shutil.rmtree(partial, ignore_errors=True)
            with contextlib.suppress(OSError):  # not empty any more
                for parent in missing:
                    parent.rmdir()
            raise


def _say_its_name(error: BaseException, partial: Path, target: Path) -> None:
    # Messages about files in the temporary folder name their place in the target instead.
    if isinstance(error, TwolevelError):
        error.args = (under_its_name(error.text, partial, target),)
    elif isinstance(error, OSError) and isinstance(error.filename, str):
        error.filename = under_its_name(error.filename, partial, target)
    elif isinstance(error, OSError) and error.errno in NO_ROOM:
        error.filename = str(target)


@contextmanager
def fresh_directory(target: Path, force: bool, *, shared: bool = False) -> Iterator[Path]:
    """A new folder next to ``target`` that takes its name at the end, if there was no error; its record then lists its files.
    Unlisted files of a replaced result are moved into it. Raises InputError as :func:`check_target`."""
    check_target(target, force, shared=shared)
    target = target.absolute()
    with temporary_folder(target, str(OUT)) as partial:
        yield partial
        for record in (partial / name for name in RECORDS if (partial / name).is_file()):
            files = [file for file in files_in(partial) if file != CELL]
            write_record(record, parse_json(record.read_bytes(), str(record)) | {"files": files})
        open_folder(partial)
        check_target(target, force, shared=shared)  # the name may have been taken meanwhile
        _put(partial, target)


def _put(partial: Path, target: Path) -> None:
    """Rename ``partial`` to ``target``; remove the previous result only after that has succeeded."""
    if not target.exists():
        partial.rename(target)
        return
    ours = ours_in(target)
    others = [name for name in files_in(target) if name not in ours]
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.replaced-", dir=target.parent))
    old = aside / "old"
    try:
        target.rename(old)
        partial.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        with contextlib.suppress(OSError):  # the name was taken meanwhile: the previous result keeps its temporary name
            aside.rmdir()
        raise
    move_others(others, old, target)
    shutil.rmtree(aside, ignore_errors=True)


def open_folder(folder: Path) -> None:
    """Give a temporary folder the permissions of any new folder."""
    mask = os.umask(0o077)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)


def _plain(value: Any) -> Any:
    # JSON has no NaN: unknown values are null.
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record, as run.json or comparison.json."""
    text = json.dumps(_plain(record), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text)


def read_record(folder: Path, name: str = "run.json", what: str = "run") -> dict[str, Any]:
    """Read run.json, or another record of a ``twolevel`` command. Raises InputError if there is no readable one of ours."""
    path = folder / name
    try:
        record = parse_json(path.read_bytes(), str(path))
    except FileNotFoundError:
        missing = f"it has no {name}" if folder.is_dir() else f"there is no such folder{near_files(folder)}"
        if what == "run" and (folder / "study.json").is_file():
            missing = "it is the result of a study"
        raise InputError(f"{folder} is not a result of twolevel {what}: {missing}") from None
    except NotADirectoryError:
        raise InputError(f"{folder} is a file; allowed: the folder that twolevel {what} has written") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if not isinstance(record, dict):
        raise InputError(f"{path}: is not a record of twolevel {what}")
    for key in ("arguments", "metrics", "versions") if name == "run.json" else ():
        if not isinstance(record.get(key), dict | None):
            raise InputError(f"{path}: is not a record of twolevel {what}: {key}: {shown(record[key])}")
    if name == "run.json" and record.get("arguments"):
        record["arguments"] = under_present_names(record["arguments"])
    return record


#: Options of older records whose values without effect are omitted; other values are kept and shown.
_INERT = {
    ("pue", ""): (None,),
    ("fair-start", ""): (False, True),
    ("reaction", "_ns"): (0,),
    ("notice", "_ns"): (0,),
    ("stretch-walltime", ""): (False,),
}


def under_present_names(given: Mapping[str, Any], *, typed: bool = False) -> dict[str, Any]:
    """Options of an older record under the names of now: as in Python, or ``typed`` as on the command line."""

    def name(option: str, unit: str = "") -> str:
        return option if typed else option.replace("-", "_") + unit

    def taken(option: str, unit: str = "") -> Any:  # a list (of a grid) is kept, and refused later
        key = name(option, unit)
        return None if isinstance(found.get(key), list) else found.pop(key, None)

    found, cost, backfill = dict(given), name("decision-cost", "_ns"), "backfill"
    if taken("charge-decisions") and found.get(cost) is None:
        found[cost] = "measured"
    if taken("conservative") == "rebuild" and backfill in found:
        every = found[backfill] if isinstance(found[backfill], list) else [found[backfill]]
        rebuilt = ["conservative:rebuild" if one == "conservative" else one for one in every]
        found[backfill] = rebuilt if isinstance(found[backfill], list) else rebuilt[0]
    of, on = name("power-of"), found.get("power")
    if of in found or isinstance(on, bool | list):
        words = power_words(on, found.get(of))
        # At the same place, since the options of a grid have an order.
        found = {"power" if key == of else key: value for key, value in found.items()} | {"power": words}
    # Computed from finished runs now, or retired.
    inert = {name(*words): values for words, values in _INERT.items()}
    found = {key: value for key, value in found.items() if value not in inert.get(key, ())}
    timeouts = [taken(f"{level}-timeout", "_s") for level in ("als", "bls")]
    if timeout := timeouts[1] or timeouts[0]:
        found[name("timeout", "_s")] = timeout
    return found


def power_words(on: Any, of: Any) -> Any:
    """The value of ``power`` for two options of older versions: ``power``, true, false or None, and ``power-of``, ``held``,
    ``working`` or None. Either may be a list, of a grid. A ``power`` that is a text is of this version."""
    kinds = of if isinstance(of, list) else [of or "held"]
    if isinstance(on, list):
        several = [{True: kinds, False: ["none"]}.get(one, [one]) for one in on]
        return list(dict.fromkeys(word for words in several for word in words))
    if isinstance(on, str):
        return on if of is None else of
    if on is False and of in (None, "held"):
        return "none"  # with another option about power: held
    return of or "held"


def metric(record: Mapping[str, Any], name: str) -> Any:
    """A metric of a run's record; None unless it is a number within the range of results."""
    value = (record.get("metrics") or {}).get(name)
    return value if isinstance(value, int | float) and abs(value) < 2**64 else None


def check_file(target: Path, force: bool, where: str = "-o") -> None:
    """Refuse a file that cannot or must not be written, before anything is computed. Raises InputError if it exists
    and ``force`` is off, it is not a file, or its folder cannot be written to."""
    try:
        if not target.name or "\0" in str(target):
            raise InputError(f"{where}: {shown(str(target))} is not a file name")
        if target.exists() or target.is_symlink():
            if not target.is_file():
                raise InputError(f"{where}: {target} exists and is no file")
            if not force:
                raise InputError(f"{where}: {target} exists; choose another name, or replace it with {FORCE}")
        check_place(target, where)
    except OSError as error:
        raise unusable(target, where, error) from None


@contextmanager
def fresh_file(target: Path, force: bool, where: str = "-o") -> Iterator[Path]:
    """A name with the same ending, for a new file that becomes ``target`` if there was no error; folders are made as needed.
    Raises InputError as :func:`check_file`."""
    check_file(target, force, where)
    target = target.absolute()
    with temporary_folder(target, where) as partial:
        yield partial / target.name
        check_file(target, force, where)  # the name may have been taken meanwhile
        (partial / target.name).replace(target)
        partial.rmdir()
