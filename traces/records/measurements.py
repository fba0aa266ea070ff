"""The declaration of a measurement: the name of its record, and its tables, whose columns are declared here only."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

RECORD: Final = "measurement.json"
FORMAT: Final = 1

SOURCES: Final = ("openmp", "score-p", "lb4omp", "dls4lb", "csv", "chrome", "python", "twolevel")  #: what has measured
REGION_KINDS: Final = ("loop", "tasks", "serial")


class Column(NamedTuple):
    """A column of a table: whole numbers in int64, or texts."""

    meaning: str
    kind: Literal["whole", "text"] = "whole"
    lowest: int | None = 0  # least value; None: any
    words: tuple[str, ...] = ()  # allowed texts; empty: any


_BEGIN, _END = Column("begin, ns since the begin of the run"), Column("end, ns, not before the begin")
_RUN = Column("number of the run, from 0")
_LOOP = Column("number of the instance of a region in its run, from 0")
_THREAD = Column("number of the thread in its team, from 0")

#: The tables, in the order in which they are read; each is the file ``NAME.parquet``, also if it is empty.
TABLES: Final[Mapping[str, Mapping[str, Column]]] = {
    "runs": {
        "run": _RUN,
        "schedule": Column("text of OMP_SCHEDULE; empty: not set", "text"),
        "threads": Column("number of threads requested; 0: not set"),
        "repeat": Column("number of the repeat of the same schedule and threads, from 0"),
        "begin_ns": Column("begin of the run, ns since the begin of the first run"),
        "end_ns": Column("its end, on the same clock"),
        "quiet_ns": Column("duration of a loop of known work directly before the run, ns; -1: not measured", lowest=-1),
        "exit_status": Column("exit code of the program; -N: ended by signal N", lowest=None),
    },
    "regions": {
        "region": Column("number of the region, from 0"),
        "name": Column("function, file:line, or address in the program", "text"),
        "kind": Column("loop, tasks, or serial", "text", words=REGION_KINDS),
    },
    "loops": {
        "run": _RUN,
        "loop": _LOOP,
        "region": Column("number of its region"),
        "schedule": Column("static, dynamic, guided, other, or the name of a technique", "text"),
        "iterations": Column("number of iterations; of tasks: 0"),
        "threads": Column("number of threads of the team"),
        "begin_ns": _BEGIN,
        "end_ns": _END,
    },
    "chunks": {
        "run": _RUN,
        "loop": _LOOP,
        "thread": _THREAD,
        "first": Column("first iteration, from 0; -1: unknown", lowest=-1),
        "iterations": Column("number of iterations", lowest=1),
        "chunks": Column("number of chunks merged into this row; 1: none", lowest=1),
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
        "task": Column("number of the task in its run, from 0"),
        "creator": Column("task that created it; -1: the region itself", lowest=-1),
        "thread": _THREAD,
        "created_ns": Column("creation, ns since the begin of the run"),
        "begin_ns": _BEGIN,
        "end_ns": _END,
        "run_ns": Column("time in which it ran, without suspensions, ns"),
    },
    "dependences": {
        "run": _RUN,
        "loop": _LOOP,
        "before": Column("task that must end first"),
        "after": Column("task that waits for it"),
    },
}
