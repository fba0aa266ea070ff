"""Measurements of other tools: the table of formats, and the folder made from a file."""

import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from bridge.measure.folder import MeasurementRecord, read_measurement, write_measurement
from bridge.measure.program import draw_lengths, measured_program, write_program
from bridge.measure.readers.rows import CollectedRows
from bridge.runs.directory import check_target, fresh_directory
from traces.base.errors import InputError
from traces.base.given_file import GivenFile
from traces.base.options import named

ANCHOR: Final = "traces.otf2"  #: the file of an archive's folder that is read
_MOST_BYTES: Final = 2**31


class FileFormat(NamedTuple):
    """A format that is recognised by the beginning of a file."""

    module: str  # with the function ``reads``
    words: str
    begins: str  # regular expression, after blanks


#: The source of the record → the format, in the order in which they are tried.
FORMATS: Final = {
    "score-p": FileFormat("score_p", f"an OTF2 archive of Score-P ({ANCHOR})", r".{0,4}OTF2"),
    "lb4omp": FileFormat("lb4omp", "a log of LB4OMP", r"LoopOccurrence: |Location: |chunkLocation: |Mean "),
    "dls4lb": FileFormat(
        "dls4lb", "messages of DLS4LB", r"\.\.\. sent start=|Rank: \d+, Method: |\[(SendChunk|GetChunkSize)\] "
    ),
    "chrome": FileFormat("chrome", "a trace in Chrome's JSON", r"[{\[]"),
    "csv": FileFormat(
        "iteration_csv", "a CSV file of times", r"[-+0-9.eE]+\s*$|(time|iteration|thread|first|begin|end)\w*\s*(,|$)"
    ),
}


def read_measured(path: Path, region: str = "") -> tuple[MeasurementRecord, dict[str, dict[str, list[Any]]]]:
    """Return the record and the columns of each table of a file, for ``write_measurement``; parameters and errors as for
    :func:`import_measurement`."""
    if path.is_dir():
        path = path / ANCHOR
    with GivenFile(path, "measured file") as file:
        data = file.whole(_MOST_BYTES, "2 GiB")
    begin = data.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0].decode("latin-1").rstrip()
    for source, one in FORMATS.items():
        if re.match(one.begins, begin, re.DOTALL | re.IGNORECASE):
            rows: CollectedRows = named(f"bridge.measure.readers.{one.module}:reads")(str(path), data, region)
            rows.remarks["the schedule, the machine and the cost of the measurement are unknown"] = None
            versions = {"twolevel": version("twolevel")}
            return MeasurementRecord(source, versions=versions, remarks=[*rows.remarks]), rows.tables()
    fault = "is of no known format" if begin else "is empty"
    raise InputError(f"{path} {fault}; allowed: {', '.join(one.words for one in FORMATS.values())}")


def import_measurement(
    path: str | os.PathLike[str], folder: str | os.PathLike[str], *, region: str = "", force: bool = False
) -> MeasurementRecord:
    """Write the folder of a measurement, with its program, from another tool's file, whose content shows its format.

    Parameters
    ----------
    path : path
        The file, possibly compressed; or the folder of an OTF2 archive.
    folder : path
        The folder; it must not exist.
    region : str
        Of traces: the region whose executions are the iterations of a loop. Of a log: the loop that is read. Of CSV: its name.
    force : bool
        Replace an existing measurement.

    Returns
    -------
    MeasurementRecord
        Its remarks name what the file does not have.

    Raises
    ------
    InputError
        If the file has no known format, is not valid, or has no such region; or the folder cannot be written.
    """
    target = Path(folder)
    check_target(target, force)
    record, tables = read_measured(Path(path), region)
    with fresh_directory(target, force) as made:
        write_measurement(made, record, tables)
        try:
            program = measured_program(read_measurement(made))
        except InputError as error:  # a loop without chunks
            record.remarks.append(f"no program is written: {error.text}")
            write_measurement(made, record, tables)
        else:
            write_program(program, made, target)
            draw_lengths(program, made / "lengths.png")
    return record
