"""Events of running jobs: the common parts of their kinds, for tables, traces, checks and stories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.records.declared import RecordColumn, RecordKind, column, table_columns

if TYPE_CHECKING:
    from traces.ledger import JobRecords, Ledger

K = TypeVar("K", bound="JobEvents")

UINT64, INT64, STRING = 4, 8, 11  #: types of attributes in traces, with OTF2's numbers

#: The first attribute of each kind whose job receives something.
RUNNING_JOB = ("running job", "number of the running job", INT64)

NAMED = 3  #: number of events, or names, shown in a story if several are of the same kind


class Points(NamedTuple):
    """Events in a trace: instants, and the values of each attribute; int64 (n,) each."""

    at_ns: Array
    values: Sequence[Array]


class StartDelay(NamedTuple):
    """A time for which a job has its cores before it starts."""

    column: str  # of the table of jobs: this time, ns, if any job may have it
    cause: str  # its name among the causes of starts
    awaited: str  # what the job waits for, after "its"


class Happening(NamedTuple):
    """A sentence of a job's story."""

    at_ns: int  # its instant, for sorting
    text: str  # the description
    dated: bool = True  # whether the instant precedes it


class JobEvents(RecordKind):
    """Base of the kinds of events: one row per event of a running job, sorted as ``JobRecords``, then by instant.

    A column whose ``table`` is ``row`` has rows of ``JobRecords``, -1 for none: the table also has the job's number. A column
    of cores is called ``core``.
    """

    #: Name in ledgers and results, of the table's file and of the location in traces; without its s, the name of an event.
    name: ClassVar[str]
    #: Description of an event, in traces.
    shown: ClassVar[str]
    #: Attributes of an event in traces: name, description, type; by default the job's, and those of its columns.
    attributes: ClassVar[tuple[tuple[str, str, int], ...]]
    #: Why a result has no such records.
    missing: ClassVar[str]
    #: The column of instants.
    instant: ClassVar[str] = "command_ns"
    #: The columns by which a job's rows are ordered.
    order: ClassVar[tuple[str, ...]] = ("command_ns",)
    #: Whether an event may happen at the very end of its job.
    at_end: ClassVar[bool] = False
    #: Whether events free cores, and precede events of the same instant that take some.
    frees: ClassVar[bool] = False
    #: Whether events before a window still hold in it: they are shown as its initial state, not as events.
    holds: ClassVar[bool] = False

    job: Array = column("row of the job in ``JobRecords``", table="row")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "attributes"):
            cls.attributes = (RUNNING_JOB, *(one.attribute for one in cls.columns().values() if one.attribute))

    @classmethod
    def event(cls) -> str:
        """Name of an event in traces."""
        return cls.name.removesuffix("s")

    @property
    def at_ns(self) -> Array:
        """Instants of the events."""
        instants: Array = getattr(self, self.instant)
        return instants

    @property
    def holding(self) -> Array:
        """Which events still hold later, bool (rows,)."""
        return np.full(len(self), self.holds)

    @property
    def of_core(self) -> Array:
        """Which events name one core, bool (rows,)."""
        return np.asarray(self.core >= 0) if hasattr(self, "core") else np.zeros(len(self), np.bool_)

    @property
    def named_core(self) -> Array:
        """Global number of the core that each event names, int64 (rows,); -1 if it names none."""
        return np.where(self.of_core, self.core if hasattr(self, "core") else -1, -1)

    @property
    def cores_gained(self) -> Array | None:
        """The change of the job's number of cores by each event; None for a kind without such changes."""
        return None

    @classmethod
    def of_state(cls, state: Any) -> Self | None:
        """Return the events so far from the state of the engine in which they happen; None if the run cannot have any."""
        raise NotImplementedError

    @classmethod
    def _own(cls) -> dict[str, RecordColumn]:
        return {name: one for name, one in cls.columns().items() if name != "job"}

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of its table."""
        found = {
            "row": RecordColumn("the job's row in `jobs.parquet`, from 0"),
            "job_id": RecordColumn("the job's number"),
            "attempt": RecordColumn("number of the attempt, from 0"),
        }
        for name, one in cls._own().items():
            if one.table == "row":
                found |= {f"{name}_row": one, f"{name}_job_id": RecordColumn("number of that job, or −1")}
            else:
                found |= table_columns({name: one})
        return found

    def table(self, ledger: Ledger) -> dict[str, Array]:
        """Return its table, by column name."""
        jobs = ledger.jobs
        found = {"row": self.job, "job_id": jobs.job_id[self.job], "attempt": jobs.attempt[self.job]}
        for name, one in self._own().items():
            values = getattr(self, name)
            if one.table == "row":
                found |= {f"{name}_row": values, f"{name}_job_id": _numbers(jobs, values)}
            else:
                found[one.table or name] = values if one.parts == 1 else values / one.parts
        return found

    @classmethod
    def of_table(cls, columns: Mapping[str, Any]) -> Self:
        """Return the records of a table, whose columns are given by name."""
        found = {"job": np.asarray(columns["row"], np.int64)}
        for name, one in cls._own().items():
            values = columns[f"{name}_row" if one.table == "row" else one.table or name]
            exact = values if one.parts == 1 else np.rint(np.asarray(values, np.float64) * one.parts)
            found[name] = np.asarray(exact, one.dtype if one.parts == 1 else np.int64)
        return cls(**found)

    @classmethod
    def _numbers(cls) -> dict[str, RecordColumn]:
        return {name: one for name, one in cls._own().items() if name != cls.instant}

    @classmethod
    def numbers_named(cls) -> list[str]:
        """Names of :meth:`numbers` in a text trace."""
        return [one.text or name for name, one in cls._numbers().items()]

    def numbers(self, jobs: JobRecords) -> list[Array]:
        """Return its columns except the job and the instant, with job numbers instead of rows."""
        columns = ((getattr(self, name), one.table == "row") for name, one in self._numbers().items())
        return [_numbers(jobs, values) if linked else values for values, linked in columns]

    def points(self, jobs: JobRecords) -> Points:
        """Return the events for a trace, with values in the order of the attributes; by default its columns."""
        return Points(self.at_ns, [jobs.job_id[self.job], *self.numbers(jobs)])

    def given_by(self, job: Array, at_ns: Array) -> Array:
        """Return the number of cores that each of some jobs, int64 (k,), had got by an instant, besides its initial ones."""
        if (gained := self.cores_gained) is None:
            return np.zeros(len(job), np.int64)
        came = gained > 0
        rows, instants = np.append(self.job[came], job), np.append(self.at_ns[came], at_ns)
        number = np.append(gained[came], np.zeros(len(job), np.int64))
        asks = np.arange(len(rows)) >= came.sum()
        order = np.lexsort((asks, instants, rows))
        by_then = np.empty(len(rows), np.int64)
        by_then[order] = np.cumsum(number[order])
        before = np.append(0, np.cumsum(gained[came]))[np.searchsorted(self.job[came], job)]  # its rows are ascending
        found: Array = by_then[asks] - before
        return found

    def reason_of_release(self, job: int, cores: Array) -> str:
        """Return why a job released some cores, if one of these events is the cause; else an empty text."""
        return ""

    def of_jobs(self, kept: Array) -> Self:
        """Return the events of some jobs, bool (n_jobs,), renumbered."""
        place = np.where(kept, np.cumsum(kept) - 1, -1)
        rows = np.flatnonzero(kept[self.job])
        linked = [name for name, one in self.columns().items() if one.table == "row"]
        columns = {name: getattr(self, name)[rows] for name in linked}
        return self.take(rows, **{name: np.where(one < 0, -1, place[one]) for name, one in columns.items()})

    def of_cores(self, shown: Array) -> tuple[Self, Array]:
        """Return the events of some cores, bool (n_cores,), renumbered, and the jobs that have events of a core."""
        named = self.of_core
        if not hasattr(self, "core"):
            return self, self.job[:0]
        number = np.where(named, self.core, 0)
        kept = np.flatnonzero(~named | shown[number])
        place = np.cumsum(shown) - 1
        cores = np.where(named[kept], place[number[kept]], self.core[kept])
        return self.take(kept, core=cores), self.job[kept][named[kept]]

    def within(self, begin_ns: int, end_ns: int) -> Self:
        """Return the events of a window; earlier ones that still hold are moved to its begin."""
        at = self.at_ns
        rows = np.flatnonzero((at < end_ns) & ((at >= begin_ns) | self.holding))
        return self.take(rows, **{self.instant: np.maximum(at[rows], begin_ns)})

    def faults(self, ledger: Ledger) -> Iterator[tuple[Array, Callable[[int], str]]]:
        """Yield the rules that every run keeps: pairs of wrong rows, bool (rows,), and a description of one of them."""
        jobs, at, kind = ledger.jobs, self.at_ns, self.event()
        late = at > jobs.end_ns[self.job] if self.at_end else at >= jobs.end_ns[self.job]
        yield (at < jobs.start_ns[self.job]) | late, lambda k: f"a {kind} at {at[k]} ns, when it does not run"
        keys = [getattr(self, name) for name in ("job", *self.order)]
        moved = np.lexsort(keys[::-1]) != np.arange(len(self))
        words = " and ".join("cores" if name == "core" else "instants" for name in self.order)
        yield moved, lambda k: f"its {self.name} are not in the order of {words}"

    def sentences(self, job: int, numbers: Array, others: Collection[JobEvents]) -> Iterator[Happening]:
        """Yield the sentences about these events in the story of a job, in the order of time.

        - ``numbers``: int64 (n_jobs,), the number of each row's job.
        - ``others``: all events of the run.
        """
        raise NotImplementedError


def _numbers(jobs: JobRecords, rows: Array) -> Array:
    return np.where(rows < 0, -1, jobs.job_id[rows])


def at_once(at_ns: Array, job: Array, *counts: Array) -> tuple[Array, Array, list[Array]]:
    """Return instants and rows of jobs, each pair once, sorted by row; and sums of counts over all rows of the pair."""
    kinds, place = np.unique(np.stack([job, at_ns]), axis=1, return_inverse=True)
    return kinds[1], kinds[0], [np.bincount(place.reshape(-1), one, kinds.shape[1]) for one in counts]


def of_kind(events: Iterable[JobEvents], kind: type[K]) -> K:
    """Return the events of one kind; empty records if there are none."""
    return next((one for one in events if isinstance(one, kind)), kind.empty())


def instant_text(ns: int) -> str:
    """Format hours, minutes and seconds, exactly: ``10:59:25`` or, within a second, ``10:59:25.500000000``."""
    seconds, part = divmod(ns, NS_PER_S)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{text}.{part:09d}" if part else text


def counted(n: int, word: str) -> str:
    """Return a number with a word, in the plural if necessary."""
    return f"{n} {word}{'' if n == 1 else 's'}"


def cores_named(cores: Array) -> str:
    """Return the numbers of some cores, or, if there are many, how many they are."""
    if len(cores) > NAMED:
        return counted(len(cores), "core")
    return f"{'core' if len(cores) == 1 else 'cores'} {' '.join(map(str, cores.tolist()))}"
