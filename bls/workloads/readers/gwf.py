"""Reads the Grid Workload Format (GWF) of the Grid Workloads Archive, plain or compressed.

docs/reference/inputs.md describes the use of its 29 fields. They are separated by tabs (a further tab may end a line) or by any
white space; a line whose first word is ``JobID`` is a comment. Names become numbers even if they look like numbers; ``-1`` is
unknown. If one of the fields 1, 2, 4, 5, 8 and 9 is not a number the line is malformed; other fields that cannot be used are
unknown. Other rejects, and ``cancelled=True``, are those of :mod:`bls.workloads.readers.swf`.

Source: A. Iosup et al., "The Grid Workloads Archive", FGCS 24(7), 2008, doi:10.1016/j.future.2008.02.003.
"""

import os

from bls.workloads.readers.lines import JobRows, kilobytes, number, seconds_ns, text_lines, whole
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload
from traces.base.given_file import GivenFile
from traces.base.time import MAX_NS, NS_PER_S

_FIELDS = 29
_SINCE_1970_S = 315_532_800  # 1980; no log lasts ten years
# Columns of names, with their fields; the further ones are not the simulator's.
_FURTHER = {"orig_site": 16, "run_site": 17, "vo": 27, "project": 28}
_NAMES = {"user": 11, "group": 12, "application": 13, "queue": 14, "partition": 15} | _FURTHER


def read_gwf(path: str | os.PathLike[str], *, cancelled: bool = False) -> Workload:
    """Read a GWF file. ``cancelled``: whether jobs that were cancelled before their start are jobs too. Raises InputError, in
    one line that names the file, if it cannot be read, or holds no valid job."""
    source = os.fspath(path)
    reader = _Reader(source, cancelled)
    with GivenFile(path, "workload file") as file:
        for line, text in text_lines(file, source):
            reader.read(line, text)
    return reader.workload()


def _fields(text: str) -> list[str]:
    fields = text.split("\t")
    if len(fields) == _FIELDS + 1 and not fields[-1].strip():
        del fields[-1]
    return [field.strip() for field in fields] if len(fields) == _FIELDS else text.split()


class _Reader:
    def __init__(self, source: str, cancelled: bool) -> None:
        self._cancelled = cancelled
        self._rows = JobRows(source, _FURTHER, _NAMES)
        self._earliest = MAX_NS

    def read(self, line: int, text: str) -> None:
        fields = _fields(text)
        if fields[0].startswith("#"):
            self._rows.header.append(f"; {text.strip().lstrip('# ')}")
        elif fields[0].lower() != "jobid" and len(fields) != _FIELDS:
            self._rows.count(MALFORMED, line, f"fields ({_FIELDS} expected)", str(len(fields)))
        elif fields[0].lower() != "jobid":
            reason, field = self._read(line, fields)
            wrong = (f"field {field}", fields[field - 1]) if field else ("", "")
            self._rows.count(reason, line, *wrong)

    def _read(self, line: int, fields: list[str]) -> tuple[str, int]:
        """Add the line's job, or return the reason for its rejection and the number of the faulty field; "" and 0 of a job."""
        read = {field: whole(fields[field - 1]) for field in (1, 5, 8)}
        read |= {field: seconds_ns(fields[field - 1]) for field in (2, 4, 9)}
        values: dict[int, int] = {}
        for field, value in sorted(read.items()):
            if value is None or (field <= 2 and value < 0):
                return MALFORMED, field
            values[field] = value
        job_id, submit, run, allocated, requested, estimate = values.values()
        self._earliest = min(self._earliest, submit)
        wait, status = seconds_ns(fields[2]), whole(fields[10])
        cancel = -1
        if run <= 0:
            known = wait is not None and 0 <= wait <= MAX_NS - submit and estimate > 0
            if not self._cancelled or status not in (0, 5) or not known or wait is None:
                return NO_RUN_TIME, 4
            run, cancel = 1, submit + wait
        cores = requested if requested > 0 else allocated
        if cores <= 0:
            return NO_PROCESSORS, 8
        asked, used = kilobytes(number(fields[9])), kilobytes(number(fields[6]))
        self._rows.add(
            *(job_id, submit, run, cores, estimate if estimate > 0 else run, line),
            **{name: self._rows.names[name].number(fields[place]) for name, place in _NAMES.items()},
            wait_ns=-1 if wait is None else max(-1, wait),
            memory_kb=asked if asked > 0 else used,
            status=-1 if status is None else max(-1, status),
            cancel_ns=cancel,
        )
        return "", 0

    def workload(self) -> Workload:
        start_s = self._earliest // NS_PER_S
        if not len(self._rows) or start_s < _SINCE_1970_S:
            return self._rows.workload()
        self._rows.header.append(f"; UnixStartTime: {start_s}")
        return self._rows.workload(start_s * NS_PER_S)
