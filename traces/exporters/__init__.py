"""Trace writers: each turns a ledger into files that other tools read.

A writer of this project is one file and one line of :data:`EXPORTERS`; a custom one is an entry point of the group
``twolevel.exporters``, or ``FILE.py:NAME``. A writer is imported when it writes, not before.
"""

from pathlib import Path
from typing import Protocol, runtime_checkable

from traces.base.options import named
from traces.base.plugins import resolve
from traces.ledger import Ledger


@runtime_checkable
class Exporter(Protocol):
    """A function that writes a ledger as a trace.

    It receives a frozen ledger (times are ns since the workload's time 0, cores are global numbers), and a directory, which
    it creates if necessary; it writes only there. It returns the path of the file that a reader opens. The same ledger
    gives the same files; the writer's docstring states exceptions. It prints nothing, and keeps no state.
    """

    def __call__(self, ledger: Ledger, directory: Path, /) -> Path:
        """Write ``ledger`` into ``directory``."""
        ...


def _writer(place: str) -> Exporter:
    def write(ledger: Ledger, directory: Path, /) -> Path:
        return Path(named(f"traces.exporters.{place}")(ledger, directory))

    return write


#: The writers of this project, by name.
EXPORTERS: dict[str, Exporter] = {
    "otf2": _writer("otf2:write_otf2"),
    "perfetto": _writer("perfetto.writer:write_perfetto"),
    "chrome": _writer("chrome:write_chrome"),
    "paje": _writer("paje:write_paje"),
    "csv": _writer("csv:write_csv"),
    "text": _writer("text:write_text"),
    "batsim": _writer("batsim_jobs:write_batsim_jobs"),
    "swf": _writer("swf:write_swf_jobs"),
    "measured": _writer("measured:write_measured"),
}

#: The formats among these for viewers, with a row for each core.
WITH_ROWS = frozenset({"otf2", "perfetto", "chrome", "paje"})


def exporter(name: str, where: str = "trace") -> Exporter:
    """Return the trace writer with this name.

    Parameters
    ----------
    name : str
        A key of :data:`EXPORTERS`, an entry point of ``twolevel.exporters``, or ``FILE.py:NAME``.
    where : str
        The option or key that gave it, for errors.

    Raises
    ------
    InputError
        If there is no writer of this name.
    PluginError
        If a custom one cannot be loaded or called.
    """
    found: Exporter = resolve("trace writer", name, EXPORTERS, "twolevel.exporters", Exporter, where)
    return found
