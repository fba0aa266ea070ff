"""The columns of ``sacct``, and the meaning of their words: job numbers, instants, durations, memory, resources."""

import csv
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

from bls.workloads.readers.lines import exact_ns, kilobytes, number, seconds_ns, whole
from traces.base.errors import InputError, shown
from traces.base.time import MAX_NS, NS_PER_S

_NUMBER = re.compile(r"([0-9]{1,18})(?:(_|\+)([0-9]{1,18}))?")
_WAITING_TASKS = re.compile(r"[0-9]+_\[[^]]*\]")
_STEP = re.compile(r"[0-9]+(?:[_+][0-9]+)?\.\S+")
_TASKS = 10**10
_COMPONENTS = 9 * 10**9
_TIMESPAN = re.compile(r"(?:([0-9]{1,9})-)?([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}(?:\.[0-9]*)?))?")
#: Words for no time limit; numbers of 32 bits stand for infinite and for no value.
NO_LIMIT = frozenset(
    ("", "UNLIMITED", "PARTITION_LIMIT", "NONE", "UNKNOWN", "INVALID", "-1", "4294967295", "4294967294")
)
_NO_TIME = frozenset(("", "Unknown", "None", "0", "N/A", "4294967295", "4294967294"))
_MEMORY = re.compile(r"([0-9]+\.?[0-9]*)([KMGTPE]?)B?([cn]?)", re.IGNORECASE)
_KB = {"K": 1, "": 2**10, "M": 2**10, "G": 2**20, "T": 2**30, "P": 2**40, "E": 2**50}
#: "Per core", as a bit of a number of MB: of 32 bits before Slurm 17.02, and of 64 since.
_PER_CORE_KB = tuple(Decimal(2**bit * 2**10) for bit in (63, 31))
_MOST_PER_CORE_KB = 2**31  #: largest memory per core, in KB: 2 TB

#: Slurm's numbers of resources, for dumps in which it does not know their names.
_TRES_NUMBERS = {"cpu": "1", "mem": "2", "node": "4"}
#: Length up to which words with few distinct values per log are cached, with the latest results.
_MOST_KEPT, _LONGEST_KEPT = 1 << 12, 200

_OfWord = TypeVar("_OfWord", bound=Callable[..., int])

_IN_BRACKETS = re.compile(r"\([^)]*\)")


def _kept(of_word: _OfWord) -> _OfWord:
    kept = lru_cache(_MOST_KEPT)(of_word)

    @wraps(of_word)
    def found(word: str, *others: Any) -> int:
        return (kept if len(word) <= _LONGEST_KEPT else of_word)(word, *others)

    return cast(_OfWord, found)


def is_step(word: str) -> bool:
    """Whether a job number is that of a step, as ``12.batch``."""
    return _STEP.fullmatch(word) is not None


def is_waiting_tasks(word: str) -> bool:
    """Whether a job number is that of waiting tasks, as ``12_[3-8]``."""
    return _WAITING_TASKS.fullmatch(word) is not None


def job_number(word: str) -> int | None:
    """The number of a job, of an array's task or of a heterogeneous job's component; None for any other word."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None
    job = int(match[1])
    if match[2] is None:
        return job if job < _TASKS else None
    part = int(match[3])
    if job == 0 or part >= (_COMPONENTS if match[2] == "_" else _TASKS - _COMPONENTS):
        return None
    value = job * _TASKS + part + (_COMPONENTS if match[2] == "+" else 0)
    return value if value <= MAX_NS else None


def time_ns(word: str) -> int | None:
    """An instant since 1970; None if there is none."""
    if word in _NO_TIME:
        return None
    seconds = seconds_ns(word)
    if seconds is not None:
        return seconds if seconds >= 0 else None
    try:
        date = datetime.fromisoformat(word)
        since = (date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    ns = (since.days * 86_400 + since.seconds) * NS_PER_S + since.microseconds * 1000
    return ns if 0 <= ns <= MAX_NS else None


def timespan_ns(word: str) -> int | None:
    """A duration as ``[D-]H:M:S`` or ``M:S``, ``D-H`` or ``D-H:M``; None for any other word."""
    match = _TIMESPAN.fullmatch(word)
    if match is None:
        return None
    days, *parts = match.groups()
    given = [part for part in parts if part is not None]
    if days is None:
        if len(given) < 2:
            return None
        given = ["0"] * (3 - len(given)) + given
    hours, minutes, seconds = [*given, "0", "0"][:3]
    total = int(days or 0) * 86_400 + int(hours) * 3600 + int(minutes) * 60
    return exact_ns(total + Decimal(seconds))


def limit_ns(raw: str, limit: str) -> int | None:
    """The time limit of TimelimitRaw (minutes) and Timelimit, 0 for none, None for any other word."""
    raw, limit = raw.upper(), limit.upper()
    if raw not in NO_LIMIT:
        minutes = number(raw)
        return None if minutes is None else exact_ns(minutes * 60)
    if limit in NO_LIMIT:
        return 0
    minutes = number(limit)
    return timespan_ns(limit) if minutes is None else exact_ns(minutes * 60)


@_kept
def memory_kb(word: str, cores: int, nodes: int | None) -> int:
    """Memory per core in KB of ``4000Mc`` (per core), ``4000Mn`` (per node) or ``16G`` (of the job); -1 if it is unknown. A
    number without a unit is in MB. If the bit for "per core" was left in the number, the memory is per core whatever the suffix
    says. Without a suffix the bit is recognised because the number exceeds the memory of any core."""
    match = _MEMORY.fullmatch(word)
    if match is None or len(word) > 30:
        return -1
    total = Decimal(match[1]) * _KB[match[2].upper()]
    per = match[3].lower()
    if per or total / cores > _MOST_PER_CORE_KB:
        for bit in _PER_CORE_KB:
            if total >= bit:
                return kilobytes(total - bit)
    if per == "c":
        return kilobytes(total)
    if per == "n" and (nodes is None or nodes <= 0):
        return -1
    return kilobytes(total * (nodes or 1) / cores if per == "n" else total / cores)


@_kept
def tres_memory_kb(words: str, cores: int) -> int:
    """Memory per core in KB from the job's memory in words such as ``cpu=4,mem=62.50G``; -1 if it is unknown."""
    return max((memory_kb(word, cores, None) for name, word in _tres(words) if name in ("mem", "2")), default=-1)


@_kept
def tres_count(words: str, resource: str) -> int:
    """The count of a resource in words as ``cpu=4,gres/gpu:a100=2``; -1 if it is not named. Types are summed."""
    whole_one, typed = -1, -1
    for name, word in _tres(words):
        if name == resource or name == _TRES_NUMBERS.get(resource):
            whole_one = max(whole_one, _count(word))
        elif name.startswith(f"{resource}:"):
            typed = max(typed, 0) + max(_count(word), 0)
    return whole_one if whole_one >= 0 else typed


@_kept
def gres_count(words: str, resource: str, nodes: int = 1) -> int:
    """The count of a resource in words as ``gpu:2``, ``gpu:a100:2,gpu:v100:1``, ``PER_NODE:gpu:2`` or ``7696487:4``; -1 if it
    is not named. Old versions of Slurm write a number in place of the name: its bytes are the letters. A name without a count
    counts as one. ``nodes``: of the job."""
    numbered = str(int.from_bytes(resource.encode()[:8], "little"))
    found = -1
    for name, _, count, of_node in _gres(words):
        if name in (resource, numbered):
            found = max(found, 0) + count * (max(nodes, 1) if of_node else 1)
    return min(found, MAX_NS)


def _gres(words: str) -> Iterator[tuple[str, str, int, bool]]:
    # For each entry: its name, type, count, and whether this is the count of each node.
    for entry in _IN_BRACKETS.sub("", words).split(","):
        text = entry.strip()
        per, _, rest = text.partition(":") if text.startswith("PER_") else ("", "", text)
        name, *more = rest.removeprefix("gres:").removeprefix("gres/").replace("=", ":").split(":")
        count = whole(more[-1]) if more else None
        types = more if count is None else more[:-1]
        yield name, types[0] if types else "", 1 if count is None else max(0, count), per == "PER_NODE"


def gpu_kinds(tres: str, gres: str) -> str:
    """The kinds of GPUs in the words of a request, as ``a100|v100``, sorted: ``gres/gpu:a100=2`` in ``tres``, else
    ``gpu:a100:2,gpu:v100:1`` in ``gres``; empty if it names none, or some GPUs without a kind."""
    if "gpu" not in tres and "gpu" not in gres:
        return ""
    counts = {
        name.removeprefix("gres/gpu:"): _count(word) for name, word in _tres(tres) if name.startswith("gres/gpu:")
    }
    if "gres/gpu" in dict(_tres(tres)):
        # The count of all kinds, whether or not kinds are counted, too.
        counts = counts if sum(counts.values()) >= tres_count(tres, "gres/gpu") else {}
    elif not counts:
        of_gpus = {kind: 1 for name, kind, _, _ in _gres(gres) if name == "gpu"}
        counts = {} if "" in of_gpus else of_gpus
    return "|".join(sorted(kind for kind, count in counts.items() if count > 0))


def _tres(words: str) -> list[tuple[str, str]]:
    pairs = (entry.partition("=") if "=" in entry else entry.rpartition(":") for entry in words.split(","))
    return [(name.strip(), word.strip()) for name, _, word in pairs]


def _count(word: str) -> int:
    found = whole(word)
    return -1 if found is None else max(-1, found)


#: Uses of words, and the columns that may hold them: the first that the dump has.
USES = {
    "job_id": ("JobID", "JobIDRaw"),
    "submit": ("Submit",),
    "start": ("Start",),
    "end": ("End",),
    "eligible": ("Eligible",),
    "elapsed_raw": ("ElapsedRaw",),
    "elapsed": ("Elapsed",),
    "alloc_cores": ("AllocCPUS",),
    "n_cores": ("NCPUS",),
    "req_cores": ("ReqCPUS",),
    "alloc_tres": ("AllocTRES",),
    "req_tres": ("ReqTRES",),
    "alloc_gres": ("AllocGRES",),
    "req_gres": ("ReqGRES",),
    "limit_raw": ("TimelimitRaw",),
    "limit": ("Timelimit",),
    "nodes": ("AllocNodes", "NNodes", "ReqNodes"),
    "memory": ("ReqMem",),
    "state": ("State",),
    "user": ("User", "UID"),
    "group": ("Group", "GID", "Account"),
    "account": ("Account",),
    "partition": ("Partition",),
    "qos": ("QOS",),
    "application": ("JobName",),
    # Not stored: read again for the jobs that need them (``bls.workloads.readers.sacct_dump``).
    "least_nodes": ("ReqNodes",),
    "node_list": ("NodeList",),
    "features": ("Constraints",),
    "reservation": ("Reservation",),
    "priority": ("Priority",),
}

# One column of each tuple is required.
_NEEDED = {
    "the job number": ("job_id",),
    "the submit": ("submit",),
    "the run time": ("elapsed_raw", "elapsed", "end"),
    "the cores": ("alloc_cores", "n_cores", "req_cores", "alloc_tres", "req_tres"),
}

# Columns of free text, whose words may contain the mark between fields or the end of a line.
_FREE = (
    "JobName", "Comment", "AdminComment", "SystemComment", "Extra", "FailedNode", "Reason", "StdErr", "StdIn", "StdOut",
    "SubmitLine", "WCKey", "WorkDir",
)  # fmt: skip

# The text between the first two names of a line without a usual mark: anything that names do not contain.
_FIRST_NAMES = re.compile(r'\s*"?[A-Za-z]\w*"?([^\w"]+)"?[A-Za-z]')
_USUAL = "|,;\t"
_DATUM = re.compile(r"[0-9]+(?:[_+.].*)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*|(?:[0-9]+-)?[0-9]+:[0-9:]+")


class DumpColumns:
    """The columns that a dump's first line names.

    - ``mark``: separator of fields
    - ``further``: the columns of ``Workload.extras`` that can be read
    - ``free``, ``ends_free``: the dump's columns of free text, and whether the last column is one of them
    - ``names``: the dump's name of the column of each use, if it has one

    Raises InputError if a required column is missing or a column appears twice, and for a line that names no columns or has
    fixed widths.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.mark = _mark(text, where)
        named = [name.strip().strip('"') for name in text.split(self.mark)]
        self._ends_in_mark = len(named) > 1 and not named[-1]  # as --parsable does
        if self._ends_in_mark:
            del named[-1]
        names = [name.lower() for name in named]
        if not {"jobid", "jobidraw", "submit"} & set(names) and sum(map(bool, map(_DATUM.fullmatch, named))) > 1:
            raise InputError(
                f"{where}: {shown(text)} is a job, and names no columns; leave out --noheader: the first line of a dump of "
                "sacct names them"
            )
        self._width = len(names)
        for name in names:
            if name and names.count(name) > 1:
                raise InputError(f"{where}: column {shown(name)} appears twice")
        self._places = {
            use: next((names.index(column.lower()) for column in columns if column.lower() in names), -1)
            for use, columns in USES.items()
        }
        self.names = {use: named[place] for use, place in self._places.items() if place >= 0}
        for kind, uses in _NEEDED.items():
            known = [use for use in uses if self._places[use] >= 0]
            if not known or (known == ["end"] and self._places["start"] < 0):
                columns = [column for use in uses for column in USES[use]]
                raise InputError(
                    f"{where}: {shown(text)} names no column for {kind}: {', '.join(columns)}; "
                    "the first line of a dump of sacct names its columns"
                )
        if self._places["group"] == self._places["account"]:
            self._places["account"] = -1
        self.free = tuple(column for column in _FREE if column.lower() in names)
        self._free_places = [names.index(column.lower()) for column in self.free]
        self.ends_free = self._width - 1 in self._free_places and not self._ends_in_mark
        self.further = further_columns({use for use, place in self._places.items() if place >= 0})

    def words(self, text: str) -> list[dict[str, str]]:
        """A line's words by their use, empty for columns that the dump lacks. A line has more fields than columns if a word of
        free text contains the mark. The words are then returned once for each column of free text to which all of the further
        fields may belong. The result is empty if the line has fewer fields."""
        fields = self._fields(text)
        surplus = -1 if fields is None else len(fields) - self._width
        if fields is None or surplus < 0:
            return []
        candidates = [] if surplus else [fields]
        for place in self._free_places if surplus else ():
            name = self.mark.join(fields[place : place + surplus + 1])
            candidates.append([*fields[:place], name, *fields[place + surplus + 1 :]])
        sound = ([field.strip() for field in one] + [""] for one in candidates if self._is_sound(one, text))
        return [{use: words[place] for use, place in self._places.items()} for words in sound]  # [-1] is ""

    def goes_on(self, text: str) -> bool:
        """Whether a line may end within a word of free text, so that the next line continues it."""
        if self.mark == "," and text.count('"') % 2:
            return True
        fields = self._fields(text)
        return fields is not None and any(place < len(fields) < self._width for place in self._free_places)

    def _is_sound(self, fields: list[str], text: str) -> bool:
        # A line breaks within free text only; if fields may be quoted, within any field.
        if "\n" not in text or (self.mark == "," and '"' in text):
            return True
        return all("\n" not in field or place in self._free_places for place, field in enumerate(fields))

    def first_word(self, text: str) -> str:
        """The word of a line in the column of job numbers, as far as the line goes."""
        fields, place = text.split(self.mark), self._places["job_id"]
        return fields[place].strip() if place < len(fields) else ""

    def _fields(self, text: str) -> list[str] | None:
        fields = text.split(self.mark)
        if '"' in text and self.mark == ",":
            try:
                fields = next(csv.reader([text], strict=True))
            except (csv.Error, StopIteration):
                return None
        if self._ends_in_mark and len(fields) > self._width and not fields[-1].strip():
            del fields[-1]
        return fields


def further_columns(uses: set[str]) -> tuple[str, ...]:
    """The columns of ``Workload.extras`` that can be read from the words of some uses."""
    needed = {
        "account": {"account"},
        "nodes": {"nodes", "alloc_tres", "req_tres"},
        "gpus": {"alloc_tres", "req_tres", "alloc_gres", "req_gres"},
    }
    return tuple(name for name, of in needed.items() if uses & of)


def _mark(text: str, where: str) -> str:
    for mark in _USUAL:
        if mark in text:
            return mark
    match = _FIRST_NAMES.match(text)
    if match is None:
        return _USUAL[0]
    if match[1].isspace():
        raise InputError(
            f"{where}: {shown(text.strip())} has columns of fixed width, which are cut; "
            f"add --parsable2 to the command of sacct"
        )
    return match[1]
