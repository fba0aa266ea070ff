"""The readers of files with task graphs, one format per file. The format of a file is recognised from its text.

To add one: a file here, a line in :data:`READERS`, and the beginning of its text in :func:`format_of`.
"""

import os
import re
from pathlib import PurePath

from als.graphs.readers.contract import CORE_GFLOPS, GraphRows, Reader
from als.graphs.readers.dax import read_dax
from als.graphs.readers.dot import read_dot
from als.graphs.readers.graphml import read_graphml
from als.graphs.readers.wfformat import read_wfformat
from als.graphs.task_graph import TaskGraph
from traces.base.errors import InputError, one_of, shown
from traces.base.given_file import GivenFile, without_ending
from traces.base.options import CORE_GFLOPS as MEASURED
from traces.base.process import free_memory_bytes

#: The formats and the languages that they are written in.
FORMATS = {"wfformat": "WfFormat (JSON)", "dax": "Pegasus DAX (XML)", "graphml": "GraphML (XML)", "dot": "DOT"}

_BOM = b"\xef\xbb\xbf"
_ROOTS = {b"adag": "dax", b"graphml": "graphml"}

# Allowed before the first word.
_XML_SKIP = re.compile(rb"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_DOT_SKIP = re.compile(rb"\s+|//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_XML_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)")
_DOT_WORD = re.compile(rb"(?:strict\b|digraph\b|graph\b)", re.IGNORECASE)


def _after(skip: re.Pattern[bytes], data: bytes, place: int) -> int:
    while found := skip.match(data, place):
        place = found.end()
    return place


def _begin(data: bytes) -> int:
    return len(_BOM) if data.startswith(_BOM) else 0


def _root(data: bytes) -> bytes | None:
    found = _XML_ROOT.match(data, _after(_XML_SKIP, data, _begin(data)))
    return found[1] if found else None


def format_of(data: bytes) -> str:
    """Return the format, a key of :data:`FORMATS`, of a file's unpacked bytes; empty if unknown."""
    text = _after(re.compile(rb"\s+"), data, _begin(data))
    match data[text : text + 1]:
        case b"{":
            return "wfformat"
        case b"<":
            return _ROOTS.get(_root(data) or b"", "")
    return "dot" if _DOT_WORD.match(data, _after(_DOT_SKIP, data, _begin(data))) else ""


def look_of(data: bytes) -> str:
    """Describe a text of unknown format in a few words, for an error."""
    text = data[_begin(data) :].lstrip()
    if not text:
        return "is empty"
    if text.startswith(b"<") and (root := _root(data)):
        return f"is XML with the root element {shown(root.decode('ascii'))}"
    start = text[:20].decode("utf-8", "replace")
    return f"begins with {shown(start)}"


READERS: dict[str, Reader] = {"wfformat": read_wfformat, "dax": read_dax, "dot": read_dot, "graphml": read_graphml}

#: Expected formats of file name endings; other endings are not checked.
ENDINGS: dict[str, tuple[str, ...]] = {
    "json": ("wfformat",),
    "xml": ("dax", "graphml"),
    "dax": ("dax",),
    "graphml": ("graphml",),
    "dot": ("dot",),
    "gv": ("dot",),
}

MAX_TEXT_BYTES = 2**30  #: files with more unpacked text are refused
_TIMES = 10  #: memory for parsing a text, as a multiple of its size


def read_graph(
    path: str | os.PathLike[str], *, format: str = "", core_gflops: float = CORE_GFLOPS, where: str = "format"
) -> TaskGraph:
    """Read a task graph (docs/reference/graph-files.md).

    Parameters
    ----------
    path : path
        The file, plain or compressed. The graph has its name, without folder and endings.
    format : str
        The expected format, one of :data:`READERS`; empty: recognised from the text.
    core_gflops : float
        Speed in GFLOP/s of the core on which run times were measured, for formats with run times.
    where : str
        The option that gave ``format``, for errors.

    Raises
    ------
    InputError
        If the file is unusable: one line with the file and, if known, the task.
    """
    if format and format not in READERS:
        raise one_of("format of task graphs", format, READERS, where)
    speed_gflops = MEASURED.check(core_gflops, "core_gflops")
    source = os.fspath(path)
    rows = GraphRows(source)
    try:
        data = _bytes_of(path, source)
        found = _checked_format(source, data, format)
        READERS[found](data, rows, speed_gflops)
        del data
        name = PurePath(without_ending(source))
        return rows.graph(name.stem if _ending(source) in ENDINGS else name.name)
    except MemoryError:
        raise InputError(
            f"{source}: the graph is too large for the memory of this machine, which was full after {rows.n_tasks} tasks and "
            f"{rows.n_edges} edges"
        ) from None


def _bytes_of(path: str | os.PathLike[str], source: str) -> bytes:
    with GivenFile(path, "task graph") as file:
        text = file.whole(MAX_TEXT_BYTES, f"{MAX_TEXT_BYTES} bytes of text; allowed: up to as many")
    free, size = free_memory_bytes(), len(text)
    if free is not None and _TIMES * size > free:
        raise InputError(
            f"{source}: {size} bytes of text need about {_TIMES * size / 2**30:.1f} GiB, and {free / 2**30:.1f} are free"
        )
    if not size:
        raise InputError(f"{source}: the file is empty; allowed: {', '.join(FORMATS.values())}")
    return text


def _checked_format(source: str, data: bytes, asked: str) -> str:
    found = format_of(data)
    if not found:
        raise InputError(f"{source}: no task graph: it {look_of(data)}; allowed: {', '.join(FORMATS.values())}")
    if asked and asked != found:
        raise InputError(f"{source}: looks like {FORMATS[found]}, not like {FORMATS[asked]} as asked; allowed: {found}")
    promised = ENDINGS.get(_ending(source), tuple(READERS))
    if found not in promised:
        endings = ", ".join(f".{ending}" for ending, formats in ENDINGS.items() if found in formats)
        raise InputError(
            f"{source}: looks like {FORMATS[found]}, but is called .{_ending(source)}; allowed: {endings}, or another ending"
        )
    return found


def _ending(source: str) -> str:
    return PurePath(without_ending(source)).suffix.removeprefix(".").lower()
