"""The declaration of a measurement: the name of its record, and its tables, whose columns are declared here only."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

RECORD: Final = "measurement.json"
FORMAT: Final = 1

SOURCES: Final = ("openmp", "score-p", "lb4omp", "dls4lb", "csv", "chrome", "python", "twolevel")  #: what has measured
REGION_KINDS: Final = ("loop", "tasks", "serial")


class TableColumn(NamedTuple):
    """A column of a table: whole numbers in int64, or texts."""

    meaning: str
    kind: Literal["whole", "text"] = "whole"
    lowest: int | None = 0  # least value; None: any
    words: tuple[str, ...] = ()  # allowed texts; empty: any


_BEGIN, _END = TableColumn("begin, ns since the begin of the run"), TableColumn("end, ns, not before the begin")
_RUN = TableColumn("number of the run, from 0")
_LOOP = TableColumn("number of the instance of a region in its run, from 0")
_THREAD = TableColumn("number of the thread in its team, from 0")

#: The tables, in the order in which they are read; each is the file ``NAME.parquet``, also if it is empty.
TABLES: Final[Mapping[str, Mapping[str, TableColumn]]] = {
    "runs": {
        "run": _RUN,
        "schedule": TableColumn("text of OMP_SCHEDULE; empty: not set", "text"),
        "threads": TableColumn("number of threads requested; 0: not set"),
        "repeat": TableColumn("number of the repeat of the same schedule and threads, from 0"),
        "begin_ns": TableColumn("begin of the run, ns since the begin of the first run"),
        "end_ns": TableColumn("its end, on the same clock"),
        "quiet_ns": TableColumn(
            "duration of a loop of known work directly before the run, ns; -1: not measured", lowest=-1
        ),
        "exit_status": TableColumn("exit code of the program; -N: ended by signal N", lowest=None),
    },
    "regions": {
        "region": TableColumn("number of the region, from 0"),
        "name": TableColumn("function, file:line, or address in the program", "text"),
        "kind": TableColumn("loop, tasks, or serial", "text", words=REGION_KINDS),
    },
    "loops": {
        "run": _RUN,
        "loop": _LOOP,
        "region": TableColumn("number of its region"),
        "schedule": TableColumn("static, dynamic, guided, other, or the name of a technique", "text"),
        "iterations": TableColumn("number of iterations; of tasks: 0"),
        "threads": TableColumn("number of threads of the team"),
        "begin_ns": _BEGIN,
        "end_ns": _END,
    },
    "chunks": {
        "run": _RUN,
        "loop": _LOOP,
        "thread": _THREAD,
        "first": TableColumn("first iteration, from 0; -1: unknown", lowest=-1),
        "iterations": TableColumn("number of iterations", lowest=1),
        "chunks": TableColumn("number of chunks merged into this row; 1: none", lowest=1),
        "begin_ns": _BEGIN,
        "end_ns": _END,
    },
    "waits": {
        "run": _RUN,
        "loop": _LOOP,
        "thread": _THREAD,
        "begin_ns": _BEGIN,
        "end_ns": _END,
    },
    "tasks": {
        "run": _RUN,
        "loop": _LOOP,
        "task": TableColumn("number of the task in its run, from 0"),
        "creator": TableColumn("task that created it; -1: the region itself", lowest=-1),
        "thread": _THREAD,
        "created_ns": TableColumn("creation, ns since the begin of the run"),
        "begin_ns": _BEGIN,
        "end_ns": _END,
        "run_ns": TableColumn("time in which it ran, without suspensions, ns"),
    },
    "dependences": {
        "run": _RUN,
        "loop": _LOOP,
        "before": TableColumn("task that must end first"),
        "after": TableColumn("task that waits for it"),
    },
}
