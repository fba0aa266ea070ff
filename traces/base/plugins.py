"""Finding plug-ins by name: the visible dict of a folder, an installed package's entry point, or ``FILE.py:NAME``."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from traces.base.errors import (
    RAISED_BY_PLUGINS,
    InputError,
    PluginError,
    blamed_on,
    did_you_mean,
    one_of,
    raised_text,
    shown,
    shown_path,
)
from traces.base.given_file import near_files

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

T = TypeVar("T")


def entry_points(group: str) -> EntryPoints:
    """What installed packages add under a group."""
    from importlib import metadata  # which takes a while, and is needed for names that are not ours only

    return metadata.entry_points(group=group)


def _load_file(path: Path, where: str) -> ModuleType:
    if not os.path.isfile(path):  # nor is there one of a name that no file can have
        raise InputError(f"{where}: no file {shown_path(path)}{near_files(path)}; allowed: a name, or FILE.py:NAME")
    # The name is made from the whole path, so that two files of one name do not replace each other, and is the same in
    # every process, since a compiled kernel from the cache looks for its module by name.
    name = f"twolevel_plugin_{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"{where}: {shown_path(path)} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except RAISED_BY_PLUGINS as error:  # an error of ours, too: what a decorator refuses is the file's
        del sys.modules[name]
        raise PluginError(f"{where}: {path} cannot be loaded: {raised_text(error)}") from error
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _own_names(module: ModuleType) -> list[str]:
    # What is made in the file, not what it imports; only classes and functions say where they are from.
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and (not hasattr(value, "__qualname__") or value.__module__ == module.__name__)
    ]


def resolve(
    kind: str,
    name: str,
    builtin: Mapping[str, T],
    group: str,
    expected: type[T],
    where: str,
    also: tuple[str, ...] = (),
) -> T:
    """The plug-in called ``name``.

    - ``name``: a key of ``builtin``, an entry point of ``group``, or ``FILE.py:NAME``.
    - ``builtin``: the folder's own registry. It wins over entry points: an installed package cannot change what a name means.
    - ``expected``: what the plug-in must be an instance of.
    - ``also``: names that the caller understands itself, listed in the error.

    Raises InputError if nothing has this name (the message lists the known names, nearest first), or what has it is of
    another kind. Raises PluginError if it cannot be loaded.
    """
    if name in builtin:
        return builtin[name]
    file, colon, attribute = name.rpartition(":")
    if colon and file.endswith(".py"):
        module = _load_file(Path(file), where)
        if not hasattr(module, attribute):
            names = _own_names(module)
            raise InputError(
                f"{where}: {file} has no {shown(attribute)}{did_you_mean(attribute, names)}; "
                f"it has: {', '.join(names) or 'nothing'}"
            )
        found: object = getattr(module, attribute)
    elif name.endswith(".py"):
        raise InputError(f"{where}: {shown(name)}: what of that file? allowed: FILE.py:NAME")
    else:
        points = {point.name: point for point in entry_points(group)}
        if name not in points:
            raise one_of(kind, name, [*builtin, *points, *also], where)
        with blamed_on(f"{where}: plug-in {name} cannot be loaded"):
            found = points[name].load()
    if isinstance(found, type):  # a class stands for what it makes without arguments
        with blamed_on(f"{where}: {name}() cannot be made"):
            found = found()
    if not isinstance(found, expected):
        raise InputError(f"{where}: {name}: {type(found).__name__}; allowed: {expected.__name__}")
    return found
