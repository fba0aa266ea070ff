"""Files of records, as ``native/twolevel_measure.h`` describes them, and the rows of the tables of a run made from them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.measure.openmp import source_lines
from traces.compiled import Array

RECORD_TYPE: Final = np.dtype(
    [(name, "<i8") for name in ("begin", "end")]
    + [(name, "<u8") for name in ("a", "b")]
    + [("team", "<u4"), ("ordinal", "<u4"), ("kind", "<u2"), ("thread", "<u2"), ("count", "<u4")]
)
HEADER_TYPE: Final = np.dtype(
    [(name, "<u8") for name in ("magic", "records", "lost", "backward", "forks")] + [("pid", "<u4"), ("number", "<u4")]
)
MAGIC: Final = 0x31534D4C32575431
CHUNK, LOOP, WAIT, TEAM, TASK, RUN, DATA, CORES = range(1, 9)  #: kinds of records

#: Numbers of instances within a region of threads: those of taskloops, of all other tasks together, of our macros' loops.
_TASKLOOP, _TASKS, OWN = 0x80000000, 0xFFFFFFFF, 0x40000000
_SCHEDULES = {7: "taskloop", 10: "static", 11: "dynamic", 12: "guided"}  #: kinds of loops in OpenMP; others: "other"
_SUSPENDED = (0, 2, 7)  #: how tasks are left that have not ended
_READS, _IN_ANY_ORDER = 1, (1, 4, 7)  #: types of dependences of tasks that run in any order among themselves
_NEVER = np.iinfo(np.int64).max

Tables = dict[str, dict[str, Any]]  #: columns by table


@dataclass
class Findings:
    """Facts about the records of runs, for remarks."""

    processes: int = 0  # largest number in one run
    runtimes: set[str] = field(default_factory=set)
    lost: int = 0  # records for which there was no room
    backward: int = 0  # times at which the clock was before the last one
    forks: int = 0  # OpenMP events in forked processes
    unfinished: int = 0  # chunks and tasks that had not ended when the program did
    stray: int = 0  # chunks outside of the loops of their process
    merged: int = 0  # chunks in rows of several
    own: int = 0  # instances of loops of our macros
    nested: int = 0  # parallel regions within others
    shifted: int = 0  # runs in which the program's clock differs from the system's
    empty: dict[str, None] = field(default_factory=dict)  # parallel regions in which the runtime saw no loop or task
    #: region → iterations seen, and all, of an instance
    partly: dict[str, tuple[int, int]] = field(default_factory=dict)
    affinity: dict[str, list[int]] = field(default_factory=dict)  # thread → processors
    events: int = 0
    thread_ns: int = 0  # time of all threads in loops and tasks, ns


def run_tables(folder: Path, begin_ns: int, end_ns: int, found: Findings) -> Tables:
    """Read the records of a run: tables of ``bridge.measure.folder`` without the column ``run``, but with the ``name`` and the
    ``kind`` of the region of each loop.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    begin_ns, end_ns : int
        Begin and end of the run on the monotonic clock.
    found : Findings
        Facts about the run are added.
    """
    pids, pieces = [], [np.zeros(0, RECORD_TYPE)]
    for path in sorted(folder.glob("*.records"), key=lambda one: [int(part) for part in one.stem.split("-")]):
        content = np.fromfile(path, RECORD_TYPE)
        header = content[:1].view(HEADER_TYPE)
        if not len(header) or header["magic"] != MAGIC:
            continue  # the process was killed before it had written anything
        for name in ("lost", "backward", "forks"):
            setattr(found, name, getattr(found, name) + int(header[name][0]))
        pieces.append(content[1 : 1 + int(header["records"][0])])
        pids.append(int(header["pid"][0]))
    known = list(dict.fromkeys(pids))
    process = np.repeat([known.index(pid) for pid in pids], [len(piece) for piece in pieces[1:]]).astype(np.int64)
    found.processes = max(found.processes, len(known))
    found.runtimes |= {path.read_text(errors="replace") for path in folder.glob("*.runtime")}
    return _Reading(np.concatenate(pieces), process, known, _Names(folder), found).tables(begin_ns, end_ns)


class _Names:
    """Names of addresses and of our macros' loops, of all processes of a run."""

    def __init__(self, folder: Path) -> None:
        self.loops: dict[tuple[int, int], str] = {}  # (process, number of a loop of our macros)
        self._known: dict[tuple[int, int], tuple[str, str]] = {}
        for path in folder.glob("*.names"):
            pid, symbols = int(path.stem), defaultdict[tuple[str, int], dict[int, str]](dict)
            for line in path.read_text(errors="replace").splitlines():
                what, *values = line.split("\t")
                if what == "loop":
                    self.loops[pid, int(values[0])] = values[1]
                else:
                    symbols[values[3], int(values[1])][int(values[0])] = values[2]
            for (binary, base), named in symbols.items():
                lines = source_lines(binary, base, list(named))
                for (address, symbol), (function, place) in zip(named.items(), lines, strict=True):
                    offset = f"+{address - base:#x}"
                    name = place or function or symbol or f"{Path(binary).name}{offset}"
                    self._known[pid, address] = name, "" if place else offset

    def of(self, addresses: Iterable[tuple[int, int]]) -> list[str]:
        """Return the names of addresses, (process, address). Equal ones that are no lines are followed by the address in the
        file; for one line, compilers make several addresses."""
        known = [self._known.get(one, (hex(one[1]), "")) for one in addresses]
        several = defaultdict[str, set[str]](set)
        for name, offset in known:
            several[name].add(offset)
        return [f"{name}{offset}" if len(several[name]) > 1 else name for name, offset in known]


class _Reading:
    """The records of a run, and the instances of loops in them. An instance is a region of threads and a number within it."""

    def __init__(self, records: Array, process: Array, pids: list[int], names: _Names, found: Findings) -> None:
        self._records, self._process, self._pids = records, process, pids
        self._names, self._found = names, found
        self._teams, at = np.unique(process << 32 | records["team"].astype(np.int64), return_inverse=True)
        self._team = at.astype(np.int64)  # of each record, its index in the sorted teams
        self._key = self._team << 32 | records["ordinal"].astype(np.int64)
        self._instances = np.zeros(0, np.int64)  # sorted keys of the instances
        self._number = np.zeros(0, np.int64)  # their numbers, in the order of their begins

    def _kind(self, kind: int) -> Array:
        return np.flatnonzero(self._records["kind"] == kind)

    def _place(self, rows: Array) -> tuple[Array, Array]:
        # Those of the rows that belong to an instance, and its index.
        place = np.searchsorted(self._instances, self._key[rows])
        known = np.append(self._instances, -1)[place] == self._key[rows]
        return rows[known], place[known]

    def tables(self, begin_ns: int, end_ns: int) -> Tables:
        """Return the tables, with times since the begin of the run."""
        records, found = self._records, self._found
        timed = np.isin(records["kind"], (0, DATA), invert=True)
        first, last = records["begin"][timed].min(initial=begin_ns), records["end"].max(initial=end_ns)
        base = begin_ns
        if first < begin_ns or last > end_ns:
            base = int(records["begin"][timed].min())
            found.shifted += 1
        for name in ("begin", "end"):
            records[name] = np.where(records[name] != 0, records[name] - base, -1)
        for row in self._kind(CORES).tolist():
            thread = f"{self._process[row]}." * (len(self._pids) > 1) + str(records["thread"][row])
            bits, at = int(records["a"][row]), int(records["count"][row])
            cores = found.affinity.setdefault(thread, [])
            cores += [at + bit for bit in range(64) if bits >> bit & 1 and at + bit not in cores]
        loops = self._loops()
        return {"loops": loops, "chunks": self._chunks(loops), "waits": self._waits(), **self._tasks()}

    def _loops(self) -> dict[str, Array]:
        records, found = self._records, self._found
        marks, teams, tasks = self._kind(LOOP), self._kind(TEAM), self._kind(TASK)
        of_team = np.full(len(self._teams), -1)
        of_team[self._team[teams]] = teams
        tasks = of_team[np.unique(self._team[tasks[records["ordinal"][tasks] == _TASKS]])]
        tasks = tasks[tasks >= 0]  # regions with tasks of no taskloop are instances
        rows = np.concatenate([marks, tasks])
        keys = np.concatenate([self._key[marks], self._team[tasks] << 32 | _TASKS])
        self._instances, row, at = np.unique(keys, return_index=True, return_inverse=True)
        row = rows[row]
        ordinal = self._instances & 0xFFFFFFFF
        n, team = len(row), np.where(ordinal == OWN, -1, of_team[self._instances >> 32])
        begin, end, iterations = np.full(n, _NEVER), np.zeros(n, np.int64), np.zeros(n, np.int64)
        np.minimum.at(begin, at, records["begin"][rows])
        np.maximum.at(end, at, records["end"][rows])
        np.maximum.at(iterations, at, np.where(records["kind"][rows] == LOOP, records["b"][rows], 0).astype(np.int64))
        chunks, place = self._place(self._kind(CHUNK))
        np.maximum.at(end, place, records["end"][chunks])  # of loops that the end of the program has cut
        end = np.maximum(end, begin)
        threads = np.where(team >= 0, np.append(records["count"], 1)[team], 1).astype(np.int64)
        workers = np.bincount(np.unique(place << 16 | records["thread"][chunks]) >> 16, minlength=n)
        threads = np.where(ordinal == OWN, np.maximum(workers, 1), threads)
        self._number = np.argsort(np.argsort(begin, kind="stable"), kind="stable")
        depth = np.where(team >= 0, np.append(records["ordinal"], 0)[team], 0)
        found.own += int((ordinal == OWN).sum())
        found.nested += int((records["ordinal"][teams] > 0).sum())
        found.thread_ns += int(((end - begin) * threads)[depth == 0].sum())
        found.events += int(np.where(records["kind"] == CHUNK, records["count"], records["kind"] != 0).sum())
        found.empty |= dict.fromkeys(self._at(teams[~np.isin(self._team[teams], self._instances >> 32)]))
        schedules = [
            "other" if task else _SCHEDULES.get(kind, "other")
            for kind, task in zip(records["count"][row].tolist(), ordinal == _TASKS, strict=True)
        ]
        columns = {
            "loop": self._number,
            "name": self._region_names(row, team, ordinal),
            "kind": np.where(ordinal == _TASKS, "tasks", "loop").astype(object),
            "schedule": np.array(schedules, object),
            "iterations": iterations,
            "threads": threads,
            "begin_ns": begin,
            "end_ns": end,
        }
        return {name: column[np.argsort(self._number)] for name, column in columns.items()}

    def _at(self, rows: Array) -> list[str]:
        # Names of the addresses of records.
        return self._names.of((self._pids[self._process[row]], int(self._records["a"][row])) for row in rows.tolist())

    def _region_names(self, rows: Array, teams: Array, ordinals: Array) -> Array:
        # The address of a taskloop is in the runtime: it is named after its parallel region.
        taskloop = (ordinals >= _TASKLOOP) & (ordinals < _TASKS) & (teams >= 0)
        names: Array = np.array(["", *self._at(np.where(taskloop, teams, rows))], object)[1:]
        loops = ordinals < _TASKLOOP
        names[loops] = ["", *self._at(rows[loops])][1:]
        for k in np.flatnonzero(taskloop & (ordinals > _TASKLOOP)):
            names[k] += f" taskloop {ordinals[k] - _TASKLOOP}"
        for k in np.flatnonzero(ordinals == OWN):
            number = int(self._records["team"][rows[k]])
            names[k] = self._names.loops.get((self._pids[self._process[rows[k]]], number), "loop")
        return names

    def _chunks(self, loops: Mapping[str, Array]) -> dict[str, Array]:
        records, found = self._records, self._found
        every = self._kind(CHUNK)
        rows = every[records["end"][every] >= 0]
        unfinished = len(every) - len(rows)
        found.stray += len(rows)
        rows, place = self._place(rows)
        found.stray -= len(rows)
        found.unfinished += unfinished
        order = np.lexsort((records["begin"][rows], records["thread"][rows], self._number[place]))
        rows, loop = rows[order], self._number[place][order]
        columns = {
            "loop": loop,
            "thread": records["thread"][rows].astype(np.int64),
            "first": records["a"][rows].astype(np.int64),
            "iterations": records["b"][rows].astype(np.int64),
            "chunks": records["count"][rows].astype(np.int64),
            "begin_ns": records["begin"][rows],
            "end_ns": records["end"][rows],
        }
        found.merged += int(columns["chunks"][columns["chunks"] > 1].sum())
        seen = np.bincount(loop, columns["iterations"], len(loops["loop"])).astype(np.int64)
        loops["iterations"][:] = np.maximum(loops["iterations"], seen)  # 0 if our macros do not know them
        for k in np.flatnonzero(seen < loops["iterations"]).tolist() if not (unfinished or found.lost) else ():
            found.partly.setdefault(loops["name"][k], (int(seen[k]), int(loops["iterations"][k])))
        columns["first"] = first_iterations(columns, loops["iterations"], records["ordinal"][rows])
        # Processes of several pools have different numbers.
        for one in np.unique(loop[columns["thread"] >= loops["threads"][loop]]).tolist():
            begin, end = np.searchsorted(loop, (one, one + 1))
            columns["thread"][begin:end] = np.unique(columns["thread"][begin:end], return_inverse=True)[1]
        return columns

    def _waits(self) -> dict[str, Array]:
        records, teams = self._records, self._kind(TEAM)
        # A thread may leave the last barrier of a region only when the next region begins.
        until = np.full(len(self._teams), _NEVER)
        until[self._team[teams]] = records["end"][teams]
        until[until < 0] = _NEVER
        rows, place = self._place(self._kind(WAIT))
        end = np.where(records["end"][rows] >= 0, records["end"][rows], _NEVER)
        end = np.maximum(np.minimum(end, until[self._team[rows]]), records["begin"][rows])
        columns = {
            "loop": self._number[place],
            "thread": records["thread"][rows].astype(np.int64),
            "begin_ns": records["begin"][rows],
            "end_ns": end,
        }
        order = np.lexsort((columns["begin_ns"], columns["thread"], columns["loop"]))
        order = order[end[order] < _NEVER]
        return {name: column[order] for name, column in columns.items()}

    def _tasks(self) -> Tables:
        records = self._records
        rows, place = self._place(self._kind(TASK))
        order = np.argsort(records["begin"][rows], kind="stable")
        rows, place = rows[order], place[order]
        runs = rows + 1
        ended = (records["end"][runs] >= 0) & ~np.isin(records["count"][runs], _SUSPENDED)
        self._found.unfinished += int((~ended).sum())
        rows, place, runs = rows[ended], place[ended], runs[ended]
        process = self._process[rows].tolist()
        number = {task: k for k, task in enumerate(zip(process, records["a"][rows].tolist(), strict=True))}
        creator = [number.get(task, -1) for task in zip(process, records["b"][rows].tolist(), strict=True)]
        columns = {
            "loop": self._number[place],
            "task": np.arange(len(rows)),
            "creator": np.array(creator, np.int64),
            "thread": records["thread"][runs].astype(np.int64),
            "created_ns": records["begin"][rows],
            "begin_ns": records["begin"][runs],
            "end_ns": records["end"][runs],
            "run_ns": records["b"][runs].astype(np.int64),
        }
        accesses = []
        for row in self._kind(DATA).tolist():
            task = number.get((int(self._process[row]), int(records["a"][row])), -1)
            if task >= 0:  # siblings have the same creator, which may be a thread of the region
                parent = creator[task] if creator[task] >= 0 else -1 - int(records["thread"][rows[task]])
                siblings = parent, int(place[task]), int(records["b"][row])
                accesses.append((siblings, task, int(records["count"][row])))
        before, after = np.array(dependences(accesses), np.int64).reshape(-1, 2).T
        return {"tasks": columns, "dependences": {"loop": columns["loop"][after], "before": before, "after": after}}


def dependences(accesses: Iterable[tuple[object, int, int]]) -> list[tuple[int, int]]:
    """Return the pairs (before, after) of tasks that depend on each other through data, without repetitions.

    Pairs that follow from others through the same data are left out. ``accesses``: in the order of creation, the data, which
    only siblings share, the task, and the type: 1 reads; 4 and 7 are of tasks that run in any order among themselves, after
    and before all others; all other types write.
    """
    groups: dict[object, tuple[list[int], list[int], int]] = {}  # tasks before the last group, that group, and its type
    pairs: dict[tuple[int, int], None] = {}
    for data, task, kind in accesses:
        before, last, last_kind = groups.get(data, ([], [], 0))
        if kind != last_kind or kind not in _IN_ANY_ORDER:
            before, last = last, []
        pairs |= dict.fromkeys((one, task) for one in before if one != task)
        groups[data] = before, [*last, task], kind
    return list(pairs)


def first_iterations(chunks: Mapping[str, Array], iterations: Array, ordinal: Array) -> Array:
    """Return the first iteration of each chunk, from 0, for chunks with values of the loop's variable.

    The runtime reports the least value of the variable in a chunk, so that loops with a negative step are recognised by the
    order in which threads get chunks. ``chunks``: columns, ordered by loop, thread and begin; ``iterations``: of each loop;
    ``ordinal``: numbers of the instances, which distinguish kinds of loops.
    """
    loop, value = chunks["loop"], chunks["first"]
    n = len(iterations)
    same = loop[1:] == loop[:-1]
    falls = np.bincount(loop[1:][same], np.sign(value[1:] - value[:-1])[same], n) < 0
    falls[loop[ordinal >= _TASKLOOP]] = False  # tasks start in any order
    order = np.lexsort((value, loop))
    loop, value = loop[order], value[order]
    size, count = chunks["iterations"][order], chunks["chunks"][order]
    least = np.full(n, _NEVER)
    np.minimum.at(least, loop, value)
    # The step of the variable, from chunks that follow each other; 1 if no two do.
    gaps = np.where(loop[1:] == loop[:-1], value[1:] - value[:-1], 0)
    fits = (gaps > 0) & (gaps % size[:-1] == 0) & (count[:-1] == 1)
    steps = np.full(n, _NEVER)
    np.minimum.at(steps, loop[:-1][fits], gaps[fits] // size[:-1][fits])
    first = (value - least[loop]) // np.where(steps == _NEVER, 1, steps)[loop]
    # The first of the merged chunks of a row has about the mean size.
    first = np.where(falls[loop], iterations[loop] - first - size // count, first)
    found: Array = np.empty_like(first)
    found[order] = np.maximum(np.where(ordinal[order] == OWN, value, first), 0)
    return found


def joined(runs: list[Tables]) -> Tables:
    """Return the tables of several runs, with the column ``run``, and the table of regions."""
    regions: dict[tuple[str, str], int] = {}
    for tables in runs:
        loops = tables["loops"]
        pairs = zip(loops.pop("name"), loops.pop("kind"), strict=True)
        loops["region"] = np.array([regions.setdefault(pair, len(regions)) for pair in pairs], np.int64)
        for columns in tables.values():
            columns["run"] = np.zeros(len(columns["loop"]), np.int64)
    made: Tables = {}
    for name, columns in runs[0].items():
        made[name] = {column: np.concatenate([tables[name][column] for tables in runs]) for column in columns}
        lengths = [len(tables[name]["loop"]) for tables in runs]
        made[name]["run"] = np.repeat(np.arange(len(runs)), lengths)
    names, kinds = [name for name, _ in regions], [kind for _, kind in regions]
    return made | {"regions": {"region": range(len(regions)), "name": names, "kind": kinds}}
