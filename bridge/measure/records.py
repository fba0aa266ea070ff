"""Files of records, as ``native/twolevel_measure.h`` describes them, and the rows of the tables of a run made from them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.measure.folder import TABLES
from bridge.measure.openmp import source_lines
from traces.compiled import Array

RECORD_TYPE: Final = np.dtype(
    [
        ("begin", "<i8"),
        ("end", "<i8"),
        ("a", "<u8"),
        ("b", "<u8"),
        ("team", "<u4"),
        ("ordinal", "<u4"),
        ("kind", "<u2"),
        ("thread", "<u2"),
        ("count", "<u4"),
    ]
)
HEADER_TYPE: Final = np.dtype(
    [
        ("magic", "<u8"),
        ("records", "<u8"),
        ("lost", "<u8"),
        ("backward", "<u8"),
        ("forks", "<u8"),
        ("pid", "<u4"),
        ("number", "<u4"),
    ]
)
MAGIC: Final = 0x31534D4C32575431
CHUNK, LOOP, WAIT, TEAM, TASK, RUN, DATA, CORES = range(1, 9)  #: kinds of records

_TASKLOOP, _TASKS, OWN = 0x80000000, 0xFFFFFFFF, 0x40000000
_SCHEDULES = {7: "taskloop", 10: "static", 11: "dynamic", 12: "guided"}  #: kinds of loops in OpenMP; others: "other"
_PROCESS_BITS = 54  #: bits of a task's number within its process

# Types of dependences: of tasks that only read, and of those that may run in any order among themselves.
_READS, _IN_ANY_ORDER = 1, (4, 7)


@dataclass
class Findings:
    """Facts about the records of a run, for remarks."""

    processes: int = 0  # with OpenMP or with our macros
    runtimes: set[str] = field(default_factory=set)  # their OpenMP runtimes
    lost: int = 0  # records for which there was no room
    backward: int = 0  # times at which the clock was before the last one
    forks: int = 0  # OpenMP events in forked processes
    unfinished: int = 0  # chunks and tasks that had not ended when the program did
    merged: int = 0  # chunks in rows of several
    own: int = 0  # instances of loops of our macros
    nested: int = 0  # parallel regions within others
    empty: list[str] = field(default_factory=list)  # parallel regions without loops and tasks that the runtime saw
    partly: dict[str, tuple[int, int]] = field(
        default_factory=dict
    )  # region → iterations seen and in all, in one instance
    events: int = 0
    shifted: bool = False  # whether the program's clock differs from the system's
    affinity: dict[str, list[int]] = field(default_factory=dict)  # thread → processors
    thread_ns: int = 0  # time of all threads in loops and tasks, ns


@dataclass
class RunTables:
    """Tables of one run, without the column ``run``; regions by name."""

    regions: list[tuple[str, str]]  # name, kind
    tables: dict[str, dict[str, Array]]
    findings: Findings


def run_tables(folder: Path, begin_ns: int, end_ns: int) -> RunTables:
    """Read the records of a run.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    begin_ns, end_ns : int
        Begin and end of the run on the monotonic clock.
    """
    found = Findings(runtimes={path.read_text(errors="replace") for path in sorted(folder.glob("*.runtime"))})
    pieces = [*_files(folder, found)]
    records = np.concatenate([np.zeros(0, RECORD_TYPE), *(piece for _, piece in pieces)])
    process = np.repeat([number for number, _ in pieces], [len(piece) for _, piece in pieces]).astype(np.int64)
    pids = list(dict.fromkeys(pid for pid, _ in pieces))
    process = np.repeat([pids.index(pid) for pid, _ in pieces], [len(piece) for _, piece in pieces]).astype(np.int64)
    found.processes = len(pids)
    return _Reading(records, process, pids, _Names(folder), found).tables(begin_ns, end_ns)


def _files(folder: Path, found: Findings) -> Iterator[tuple[int, Array]]:
    # The process, and the complete records of each of its threads.
    for path in sorted(folder.glob("*.records"), key=lambda one: [int(part) for part in one.stem.split("-")]):
        content = np.fromfile(path, RECORD_TYPE)
        if not len(content):
            continue
        header = content[:1].view(HEADER_TYPE)[0]
        if header["magic"] != MAGIC:
            continue  # the process was killed before it had written anything
        found.lost += int(header["lost"])
        found.backward += int(header["backward"])
        found.forks += int(header["forks"])
        records = content[1 : 1 + int(header["records"])]
        yield int(header["pid"]), records[records["kind"] != 0]


class _Names:
    """Names of addresses and of our macros' loops, of all processes of a run."""

    def __init__(self, folder: Path) -> None:
        self._loops: dict[tuple[int, int], str] = {}
        self._known: dict[tuple[int, int], tuple[str, str]] = {}
        for path in sorted(folder.glob("*.names")):
            pid, symbols = int(path.stem), defaultdict[tuple[str, int], dict[int, str]](dict)
            for line in path.read_text(errors="replace").splitlines():
                what, *values = line.split("\t")
                if what == "loop" and len(values) == 2:
                    self._loops[pid, int(values[0])] = values[1]
                elif what == "at" and len(values) == 4:
                    symbols[values[3], int(values[1])][int(values[0])] = values[2]
            for (binary, base), named in symbols.items():
                lines = source_lines(binary, base, list(named))
                for (address, symbol), (function, place) in zip(named.items(), lines, strict=True):
                    offset = f"+{address - base:#x}"
                    name = place or function or symbol or f"{Path(binary).name}{offset}"
                    self._known[pid, address] = name, "" if place else offset

    def of(self, addresses: list[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return the names of addresses, (process, address). Equal ones that are no lines are followed by the address in the
        file; of one line, compilers make several addresses."""
        known = {one: self._known.get(one, (hex(one[1]), "")) for one in addresses}
        several = defaultdict[str, set[str]](set)
        for name, offset in known.values():
            several[name].add(offset)
        return {one: f"{name}{offset}" if len(several[name]) > 1 else name for one, (name, offset) in known.items()}

    def loop(self, pid: int, number: int) -> str:
        """Return the name of a loop of our macros."""
        return self._loops.get((pid, number), f"loop {number}")


class _Reading:
    """The records of a run, and the instances of loops in them. An instance is a region of threads and a number within it."""

    def __init__(self, records: Array, process: Array, pids: list[int], names: _Names, found: Findings) -> None:
        self._records = records
        self._pids, self._names, self._found = pids, names, found
        team = process << 32 | records["team"].astype(np.int64)
        self._process = process
        self._teams, at = np.unique(team, return_inverse=True)
        self._team = at.astype(np.int64)  # index in the sorted list of teams
        self._key = self._team << 32 | records["ordinal"].astype(np.int64)
        self._instances = np.zeros(0, np.int64)  # sorted keys of the instances
        self._number = np.zeros(0, np.int64)  # their numbers, in the order of their begins

    def tables(self, begin_ns: int, end_ns: int) -> RunTables:
        """Return the tables, with times since the begin of the run."""
        records, found = self._records, self._found
        timed = records["kind"] != DATA
        base = begin_ns
        if timed.any():
            first, last = int(records["begin"][timed].min()), int(records["end"].max())
            if first < begin_ns or last > end_ns:
                base, found.shifted = first, True
        for name in ("begin", "end"):
            records[name] = np.where(records[name] != 0, records[name] - base, -1)
        chunks = np.flatnonzero(records["kind"] == CHUNK)
        ended = records["end"][chunks] >= 0
        found.unfinished += int((~ended).sum())
        found.events = int(len(records) + records["count"][chunks].sum() - len(chunks))
        loops, regions = self._loops()
        tables = {"loops": loops, "chunks": self._chunks(chunks[ended], loops), "waits": self._waits()}
        tables |= self._tasks()
        seen = np.bincount(tables["chunks"]["loop"], tables["chunks"]["iterations"], len(loops["loop"]))
        loops["iterations"] = np.maximum(loops["iterations"], seen.astype(np.int64))  # 0 if our macros do not know it
        if not (found.unfinished or found.lost):
            for loop in np.flatnonzero(seen < loops["iterations"]).tolist():
                name = regions[int(loops["region"][loop])][0]
                found.partly.setdefault(name, (int(seen[loop]), int(loops["iterations"][loop])))
        self._affinity()
        return RunTables(regions, tables, found)

    def _kind(self, kind: int) -> Array:
        return np.flatnonzero(self._records["kind"] == kind)

    def _loops(self) -> tuple[dict[str, Array], list[tuple[str, str]]]:
        records, found = self._records, self._found
        marks, teams, tasks = self._kind(LOOP), self._kind(TEAM), self._kind(TASK)
        others = tasks[records["ordinal"][tasks] == _TASKS]  # tasks of no taskloop: their region is an instance
        of_team = np.full(len(self._teams), -1)
        of_team[self._team[teams]] = teams
        with_tasks = of_team[np.unique(self._team[others])]
        with_tasks = with_tasks[with_tasks >= 0]
        rows = np.concatenate([marks, with_tasks])
        keys = np.concatenate([self._key[marks], self._team[with_tasks] << 32 | _TASKS])
        self._instances, first, at = np.unique(keys, return_index=True, return_inverse=True)
        n = len(self._instances)
        begin, end, iterations = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64), np.zeros(n, np.int64)
        np.minimum.at(begin, at, records["begin"][rows])
        np.maximum.at(end, at, records["end"][rows])
        within = np.flatnonzero(np.isin(records["kind"], (CHUNK, RUN)))
        place, known = self._place(
            np.where(records["kind"][within] == RUN, self._team[within] << 32 | _TASKS, self._key[within])
        )
        np.maximum.at(end, place, records["end"][within[known]])  # of loops that the end of the program has cut
        end = np.maximum(end, begin)
        np.maximum.at(iterations, at[: len(marks)], records["b"][marks].astype(np.int64))
        team = of_team[self._instances >> 32]
        threads = np.ones(n, np.int64)
        threads[team >= 0] = records["count"][team[team >= 0]]
        own = (self._instances & 0xFFFFFFFF) == OWN
        found.own = int(own.sum())
        for k in np.flatnonzero(own):
            threads[k] = max(1, len(np.unique(records["thread"][within[known]][place == k])))
        self._number = np.argsort(np.argsort(begin, kind="stable"), kind="stable")
        deep = np.zeros(n, bool)
        deep[team >= 0] = records["ordinal"][team[team >= 0]] > 0
        found.nested = int((records["ordinal"][teams] > 0).sum())
        found.thread_ns = int(((end - begin) * threads)[~deep].sum())
        seen = np.isin(np.arange(len(self._teams)), self._instances >> 32)
        empty = [int(one) for one in teams if not seen[self._team[one]]]
        regions, region = self._regions(rows[first], team)
        found.empty = list(dict.fromkeys(self._at(empty).values()))
        kinds = records["count"][rows[first]]
        is_task = (self._instances & 0xFFFFFFFF) == _TASKS
        schedule = [
            "other" if task or mine else _SCHEDULES.get(int(kind), "other")
            for kind, task, mine in zip(kinds, is_task, own, strict=True)
        ]
        order = np.argsort(self._number)
        columns = {
            "loop": self._number,
            "region": region,
            "schedule": np.array(schedule, object),
            "iterations": iterations,
            "threads": threads,
            "begin_ns": begin,
            "end_ns": end,
        }
        return {name: column[order] for name, column in columns.items()}, regions

    def _at(self, rows: list[int]) -> dict[int, str]:
        # Names of the addresses of records, by row.
        addresses = {row: (self._pids[self._process[row]], int(self._records["a"][row])) for row in rows}
        names = self._names.of(list(addresses.values()))
        return {row: names[address] for row, address in addresses.items()}

    def _regions(self, rows: Array, teams: Array) -> tuple[list[tuple[str, str]], Array]:
        # Regions (name, kind) of instances, and the index for each of them. The address of a taskloop is in the runtime: it is
        # named after its parallel region.
        records = self._records
        ordinals = (self._instances & 0xFFFFFFFF).tolist()
        taskloops = [_TASKLOOP <= one < _TASKS for one in ordinals]
        at = np.where(np.array(taskloops, bool) & (teams >= 0), teams, rows).tolist()
        kinds = np.where(records["kind"][rows] == TEAM, "tasks", "loop").tolist()
        names = self._at([row for row, kind in zip(at, kinds, strict=True) if records["kind"][row] == LOOP])
        names |= self._at([row for row in at if records["kind"][row] == TEAM])
        regions: dict[tuple[str, str], int] = {}
        found = np.zeros(len(rows), np.int64)
        for k in np.argsort(self._number).tolist():
            name = names[at[k]]
            if taskloops[k] and ordinals[k] > _TASKLOOP:
                name = f"{name} taskloop {ordinals[k] - _TASKLOOP}"
            if ordinals[k] == OWN:
                name = self._names.loop(self._pids[self._process[at[k]]], int(records["team"][at[k]]))
            found[k] = regions.setdefault((name, kinds[k]), len(regions))
        return list(regions), found

    def _place(self, keys: Array) -> tuple[Array, Array]:
        # Indices of instances, and which of the keys have one.
        if not len(self._instances):
            return np.zeros(0, np.int64), np.zeros(len(keys), bool)
        place = np.minimum(np.searchsorted(self._instances, keys), len(self._instances) - 1)
        known = self._instances[place] == keys
        return place[known], known

    def _chunks(self, rows: Array, loops: Mapping[str, Array]) -> dict[str, Array]:
        records, found = self._records, self._found
        place, known = self._place(self._key[rows])
        found.lost += int((~known).sum())
        rows = rows[known]
        loop = self._number[place]
        iterations = records["b"][rows].astype(np.int64)
        ordinal = records["ordinal"][rows]
        columns = {
            "loop": loop,
            "thread": records["thread"][rows].astype(np.int64),
            "first": records["a"][rows].view(np.int64).copy(),
            "iterations": iterations,
            "chunks": records["count"][rows].astype(np.int64),
            "begin_ns": records["begin"][rows],
            "end_ns": records["end"][rows],
        }
        found.merged = int(columns["chunks"][columns["chunks"] > 1].sum())
        order = np.lexsort((columns["begin_ns"], columns["thread"], loop))
        columns = {name: column[order] for name, column in columns.items()}
        columns["first"] = first_iterations(columns, loops["iterations"], ordinal[order])
        # Processes of several pools have different numbers.
        for one in np.unique(columns["loop"][columns["thread"] >= loops["threads"][columns["loop"]]]).tolist():
            begin, end = np.searchsorted(columns["loop"], (one, one + 1))
            columns["thread"][begin:end] = np.unique(columns["thread"][begin:end], return_inverse=True)[1]
        return columns

    def _waits(self) -> dict[str, Array]:
        records, rows = self._records, self._kind(WAIT)
        place, known = self._place(self._key[rows])
        rows = rows[known]
        # A thread may leave the last barrier of a region only when the next region begins.
        until = np.full(len(self._teams), np.iinfo(np.int64).max)
        teams = self._kind(TEAM)
        until[self._team[teams]] = np.where(records["end"][teams] >= 0, records["end"][teams], until[self._team[teams]])
        begin, end = records["begin"][rows], records["end"][rows]
        end = np.where(end >= 0, end, np.iinfo(np.int64).max)
        end = np.minimum(end, until[self._team[rows]])
        done = end < np.iinfo(np.int64).max
        columns = {
            "loop": self._number[place],
            "thread": records["thread"][rows].astype(np.int64),
            "begin_ns": begin,
            "end_ns": np.maximum(begin, end),
        }
        order = np.lexsort((begin, columns["thread"], columns["loop"]))
        order = order[done[order]]
        return {name: column[order] for name, column in columns.items()}

    def _tasks(self) -> dict[str, dict[str, Array]]:
        records, found = self._records, self._found
        created, runs = self._kind(TASK), self._kind(RUN)
        identity = self._process << _PROCESS_BITS | records["a"].view(np.int64)
        place, known = self._place(self._key[created])
        created = created[known]
        ids = np.unique(identity[created])
        order = np.argsort(identity[created], kind="stable")
        created, place = created[order], place[order]
        n = len(ids)
        index = np.minimum(np.searchsorted(ids, identity[runs]), max(n - 1, 0))
        mine = ids[index] == identity[runs] if n else np.zeros(len(runs), bool)
        runs, index = runs[mine], index[mine]
        begin, end, ran = np.full(n, np.iinfo(np.int64).max), np.full(n, -1), np.zeros(n, np.int64)
        np.minimum.at(begin, index, records["begin"][runs])
        np.maximum.at(end, index, records["end"][runs])
        np.add.at(ran, index, records["end"][runs] - records["begin"][runs])
        cut = end < 0
        cut[index[records["end"][runs] < 0]] = True
        thread = np.zeros(n, np.int64)
        latest_first = runs[np.argsort(records["begin"][runs])[::-1]]
        thread[np.searchsorted(ids, identity[latest_first])] = records["thread"][latest_first]
        found.unfinished += int(cut.sum())
        kept = np.flatnonzero(~cut)
        kept = kept[np.argsort(records["begin"][created[kept]], kind="stable")]
        number = np.full(n + 1, -1)
        number[kept] = np.arange(len(kept))
        by = self._process[created] << _PROCESS_BITS | records["b"][created].view(np.int64)
        by_at = np.minimum(np.searchsorted(ids, by), max(n - 1, 0))
        has = ids[by_at] == by if n else np.zeros(0, bool)
        creator = np.where(has, number[by_at], -1)
        columns = {
            "loop": self._number[place][kept],
            "task": np.arange(len(kept)),
            "creator": creator[kept],
            "thread": thread[kept],
            "created_ns": records["begin"][created[kept]],
            "begin_ns": begin[kept],
            "end_ns": end[kept],
            "run_ns": ran[kept],
        }
        data = self._kind(DATA)
        of = np.minimum(np.searchsorted(ids, identity[data]), max(n - 1, 0))
        data, of = (data[ids[of] == identity[data]], of[ids[of] == identity[data]]) if n else (data[:0], of[:0])
        # Dependences exist between tasks of one creator, which is a task or a thread of the region.
        threads = records["thread"][created].astype(np.int64)
        sibling = np.where(records["b"][created] != 0, by, -1 - threads)[of]
        rows = zip(
            sibling.tolist(),
            place[of].tolist(),
            number[of].tolist(),
            records["b"][data].tolist(),
            records["count"][data].tolist(),
            strict=True,
        )
        pairs = [pair for pair in dependences(rows) if min(pair) >= 0]
        before, after = np.array(pairs, np.int64).reshape(-1, 2).T
        return {
            "tasks": columns,
            "dependences": {"loop": columns["loop"][after], "before": before, "after": after},
        }

    def _affinity(self) -> None:
        records, rows = self._records, self._kind(CORES)
        for row in rows.tolist():
            bits, at = int(records["a"][row]), int(records["count"][row])
            thread = str(records["thread"][row])
            if len(self._pids) > 1:
                thread = f"{self._process[row]}.{thread}"
            cores = self._found.affinity.setdefault(thread, [])
            cores += [at + bit for bit in range(64) if bits >> bit & 1 and at + bit not in cores]


def dependences(rows: Any) -> list[tuple[int, int]]:
    """Return the pairs (before, after) of tasks that depend on each other through data, in the order of ``after``.

    Parameters
    ----------
    rows : iterable of (int, int, int, int, int)
        In the order of creation: the creator, the region, the task, the address of the data, and the type: 1 reads; 4 and 7
        are of tasks that run in any order among themselves, after and before all others; all other types write.

    Returns
    -------
    list of (int, int)
        Without repetitions. Pairs that follow from others through the same data are left out.
    """
    # For each address: tasks before the last group, the last group, and its kind.
    groups: dict[tuple[int, int, int], tuple[list[int], list[int], int]] = {}
    pairs: dict[tuple[int, int], None] = {}
    for creator, region, task, address, kind in rows:
        before, last, last_kind = groups.get((creator, region, address), ([], [], 0))
        shares = kind == last_kind and (kind == _READS or kind in _IN_ANY_ORDER)
        if not shares:
            before, last = last, []
        pairs |= dict.fromkeys((one, task) for one in before if one != task)
        groups[creator, region, address] = before, [*last, task], kind
    return list(pairs)


def first_iterations(chunks: Mapping[str, Array], iterations: Array, ordinal: Array) -> Array:
    """Return the first iteration of each chunk, from 0, for chunks with values of the loop's variable.

    The runtime reports the least value of the variable in a chunk, so that loops with a negative step are recognised by the
    order in which threads get chunks. ``chunks``: columns, ordered by loop, thread and begin; ``iterations``: of each loop;
    ``ordinal``: numbers of the instances, which distinguish kinds of loops.
    """
    loop, size, count, value = chunks["loop"], chunks["iterations"], chunks["chunks"], chunks["first"]
    if not len(loop):
        return value
    n = int(loop.max()) + 1
    same = loop[1:] == loop[:-1]
    falls = np.bincount(loop[1:][same], np.sign(value[1:] - value[:-1])[same], n) < 0
    falls[loop[(ordinal & _TASKLOOP) != 0]] = False  # tasks start in any order
    order = np.lexsort((value, loop))
    loop, size, count, value = loop[order], size[order], count[order], value[order]
    begins = np.flatnonzero(np.r_[True, loop[1:] != loop[:-1]])
    least = np.repeat(value[begins], np.diff(np.r_[begins, len(loop)]))
    start = np.cumsum(size) - size
    start -= np.repeat(start[begins], np.diff(np.r_[begins, len(loop)]))
    known = value - least
    # The step of the variable, from chunks that follow each other; 1 if no two do.
    steps: Array = np.ones(n, np.int64)
    rest = np.flatnonzero(known != start)
    for one in np.unique(loop[rest]).tolist():
        rows = np.arange(*np.searchsorted(loop, (one, one + 1)))
        alone = rows[:-1][count[rows[:-1]] == 1]
        gaps = value[alone + 1] - value[alone]
        fits = (gaps > 0) & (gaps % size[alone] == 0)
        if fits.any():
            steps[one] = (gaps[fits] // size[alone][fits]).min()
    first = known // steps[loop]
    # The first of the merged chunks of a row has about the mean size.
    first = np.where(falls[loop], iterations[loop] - first - size // count, first)
    own = (ordinal[order] & OWN != 0) & (ordinal[order] & _TASKLOOP == 0)
    found: Array = np.empty_like(first)
    found[order] = np.maximum(np.where(own, value, first), 0)
    return found


def joined(runs: list[RunTables]) -> tuple[dict[str, dict[str, Any]], list[tuple[str, str]]]:
    """Return the tables of several runs, with the column ``run``, and all their regions."""
    regions: dict[tuple[str, str], int] = {}
    tables: dict[str, dict[str, list[Any]]] = {
        name: {column: [] for column in TABLES[name]} for name in ("loops", "chunks", "waits", "tasks", "dependences")
    }
    for k, run in enumerate(runs):
        number = np.array([regions.setdefault(region, len(regions)) for region in run.regions], np.int64)
        for name, columns in run.tables.items():
            given = dict(columns)
            if name == "loops":
                given["region"] = number[columns["region"]] if len(number) else columns["region"]
            for column, values in given.items():
                tables[name][column].append(values)
            tables[name]["run"].append(np.full(len(next(iter(columns.values()))), k))
    made = {
        name: {column: np.concatenate([np.zeros(0, np.int64), *pieces]) for column, pieces in columns.items()}
        for name, columns in tables.items()
    }
    names, kinds = zip(*regions, strict=True) if regions else ((), ())
    listed: dict[str, Any] = {"region": range(len(regions)), "name": names, "kind": kinds}
    return {"regions": listed, **made}, list(regions)
