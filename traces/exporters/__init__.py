"""Trace writers: each turns a ledger into files that other tools read.

A writer inside this project is one file and one line of :data:`EXPORTERS`; one outside it is an entry point
of the group ``twolevel.exporters``, or ``FILE.py:NAME``. A writer is imported when it writes, not before.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from traces.base.plugins import resolve
from traces.ledger import Ledger

__all__ = ["EXPORTERS", "WITH_ROWS", "Exporter", "exporter"]


@runtime_checkable
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


def _otf2(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.otf2 import write_otf2

    return write_otf2(ledger, directory)


def _batsim(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.batsim_jobs import write_batsim_jobs

    return write_batsim_jobs(ledger, directory)


def _swf(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.swf import write_swf_jobs

    return write_swf_jobs(ledger, directory)


def _perfetto(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.perfetto import write_perfetto

    return write_perfetto(ledger, directory)


def _chrome(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.chrome import write_chrome

    return write_chrome(ledger, directory)


def _paje(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.paje import write_paje

    return write_paje(ledger, directory)


def _csv(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.csv import write_csv

    return write_csv(ledger, directory)


def _text(ledger: Ledger, directory: Path) -> Path:
    from traces.exporters.text import write_text

    return write_text(ledger, directory)


#: The writers of this project, by name.
EXPORTERS: dict[str, Exporter] = {
    "otf2": _otf2,
    "perfetto": _perfetto,
    "chrome": _chrome,
    "paje": _paje,
    "csv": _csv,
    "text": _text,
    "batsim": _batsim,
    "swf": _swf,
}


#: Of these, the formats for viewers, which show a row for each core.
WITH_ROWS = frozenset({"otf2", "perfetto", "chrome", "paje"})


def exporter(name: str, where: str = "trace") -> Exporter:
    """The trace writer of this name.

    Parameters
    ----------
    name : str
        A key of :data:`EXPORTERS`, an entry point of ``twolevel.exporters``, or ``FILE.py:NAME``.
    where : str
        The option or key it was given in, for the error.

    Raises
    ------
    InputError
        If there is no writer of this name.
    PluginError
        If an outside one cannot be loaded, or cannot be called.
    """
    found: Exporter = resolve("trace writer", name, EXPORTERS, "twolevel.exporters", Exporter, where)
    return found
