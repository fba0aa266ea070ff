"""The loops that call OTF2's C functions: metrics, and long lists of definitions. Those of cores are in
:mod:`traces.exporters.otf2.cores`.

Each kernel returns 0, or the error code of the first call that failed, where it stops.
"""

from pathlib import Path
from typing import Any

from traces.base.errors import TwolevelError
from traces.compiled import compiled
from traces.exporters.otf2 import library as otf2
from traces.kernels.signatures import Ints

NO_WRITER = -100  #: returned if OTF2 gave no writer; it has no code for this
TASK, CHUNK = 0, 1  #: references of the attributes

#: Reference of the communicator of all cores that have a location; a core's rank is its index among them.
COMMUNICATOR = 0


@compiled()
def write_metrics(
    archive: int,
    first_location: int,
    metrics: int,
    first: Ints,
    stop: Ints,
    instants: Ints,
    n_values: int,
    value_types: int,
    values: int,
    get_writer: otf2.GetEvtWriter,
    close_writer: otf2.CloseEvtWriter,
    write_metric: otf2.Metric,
) -> int:
    """Write one metric event per instant: location ``first_location + k`` has the rows ``first[k]:stop[k]``.

    ``value_types`` is the address of ``n_values`` bytes, ``values`` the address of as many 64-bit values per row.
    """
    for location in range(len(first)):
        writer = get_writer(archive, first_location + location)
        if writer == 0:
            return NO_WRITER
        for k in range(first[location], stop[location]):
            code: int = write_metric(writer, 0, instants[k], metrics, n_values, value_types, values + 8 * n_values * k)
            if code != 0:
                return code
        code = close_writer(archive, writer)
        if code != 0:
            return code
    return 0


@compiled()
def write_local_definitions(
    archive: int, locations: Ints, get_writer: otf2.GetDefWriter, close_writer: otf2.CloseDefWriter
) -> int:
    """Write the local definitions of some locations: empty, but readers need the files."""
    for place in range(len(locations)):
        writer = get_writer(archive, locations[place])
        if writer == 0:
            return NO_WRITER
        code: int = close_writer(archive, writer)
        if code != 0:
            return code
    return 0


@compiled()
def write_strings(writer: int, first_reference: int, text: int, offsets: Ints, write: otf2.WriteString) -> int:
    """Define strings from ``first_reference`` on: NUL-terminated, at ``text`` plus each offset."""
    for k in range(len(offsets)):
        code: int = write(writer, first_reference + k, text + offsets[k])
        if code != 0:
            return code
    return 0


@compiled()
def write_locations(
    writer: int, first_name: int, core: Ints, host: Ints, n_events: Ints, kind: int, write: otf2.WriteLocation
) -> int:
    """Define the location of each core (reference: the core) in the group of its host (reference: the host)."""
    for place in range(len(core)):
        code: int = write(writer, core[place], first_name + place, kind, n_events[place], host[place])
        if code != 0:
            return code
    return 0


@compiled()
def write_regions(
    writer: int,
    first_name: int,
    descriptions: Ints,
    role: int,
    paradigm: int,
    flags: int,
    no_file: int,
    write: otf2.WriteRegion,
) -> int:
    """Define one region per job row (reference: the row) with its description (a string), without source file."""
    for k in range(len(descriptions)):
        name = first_name + k
        code: int = write(writer, k, name, name, descriptions[k], role, paradigm, flags, no_file, 0, 0)
        if code != 0:
            return code
    return 0


class Calls:
    """Calls a kernel with the C functions that it needs, and checks its result.

    - ``path``: the anchor file, for errors.
    - ``archive``: address of the archive.
    """

    def __init__(self, path: Path, archive: int) -> None:
        self.path = path
        self.archive = archive
        self.functions = otf2.c_functions()

    def __call__(self, kernel: Any, *values: Any) -> None:
        """Run ``kernel(*values, *functions)`` with the functions that its annotations name. Raises TwolevelError if a call
        failed."""
        using = [self.functions[kind.name] for kind in kernel.parameters if isinstance(kind, otf2.OTF2Call)]
        code = int(kernel(*values, *using))
        if code == NO_WRITER:
            raise TwolevelError(f"{self.path}: OTF2 could not open a writer (out of memory?)")
        if code != 0:
            raise otf2.failure(self.path, code)
