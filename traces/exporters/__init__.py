"""Trace writers: each turns a ledger into files that other tools read.

A writer inside this project is one file and one line of :data:`EXPORTERS`; one outside it is an entry point
of the group ``twolevel.exporters``. A writer is imported when it is asked for, not before.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol

from traces.errors import PluginError, one_of
from traces.ledger import Ledger

__all__ = ["EXPORTERS", "Exporter", "exporter", "exporter_names"]


class Exporter(Protocol):
    """A function that writes a ledger as a trace.

    It is given a frozen ledger, which it only reads (times are ns since the workload's time 0, cores are
    global numbers), and a directory, which it creates if need be and in which it may write whatever it likes,
    but nowhere else. It returns the path of the file that a reader is to open. The same ledger gives the same
    files; what cannot be equal is said in the writer's docstring. It prints nothing, and keeps nothing after
    it returns.
    """

    def __call__(self, ledger: Ledger, directory: Path, /) -> Path:
        """Write ``ledger`` into ``directory``."""
        ...


#: The writers of this project by name: ``module:function``.
EXPORTERS: dict[str, str] = {
    "otf2": "traces.exporters.otf2:write_otf2",
}

_GROUP = "twolevel.exporters"


def _outside() -> dict[str, EntryPoint]:
    """Writers of other distributions; a name of ours cannot be taken by one."""
    return {point.name: point for point in entry_points(group=_GROUP) if point.name not in EXPORTERS}


def exporter_names() -> list[str]:
    """The names of all trace writers: this project's first, then those of other distributions by name."""
    return [*EXPORTERS, *sorted(_outside())]


def exporter(name: str, where: str = "") -> Exporter:
    """The trace writer of this name.

    Parameters
    ----------
    name : str
        One of :func:`exporter_names`.
    where : str
        The option or key it was given in, for the error.

    Raises
    ------
    InputError
        If there is no writer of this name.
    PluginError
        If another distribution offers one that cannot be imported or called.
    """
    if name in EXPORTERS:
        module, function = EXPORTERS[name].split(":")
        found: Exporter = getattr(import_module(module), function)
        return found
    point = _outside().get(name)
    if point is None:
        raise one_of("trace writer", name, exporter_names(), where)
    try:
        offered = point.load()
    except Exception as error:
        raise PluginError(f"trace writer {name!r} ({point.value}) cannot be loaded: {error}") from error
    if not callable(offered):
        raise PluginError(f"trace writer {name!r} ({point.value}) is no function of (ledger, directory)")
    plugin: Exporter = offered
    return plugin
