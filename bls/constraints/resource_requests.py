"""Requests of jobs besides cores: the shape of their units, resources and GPUs of hosts, licences, and the most leaf switches.

A job requests equal units, each with a number of cores and amounts of every resource on one host; its cores are units × cores
per unit. By default, a unit is one core without resources. Requests come from the log, or from a CSV file
(docs/reference/inputs.md).
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bls.constraints import gpu_requests as g
from bls.machine.partitions import BEYOND_LIMITS
from bls.machine.platform import GPU_COLUMNS, MAX_AMOUNT, MEMORY, MEMORY_UNITS_KB, Platform, memory_unit
from bls.options import MEMORY as MEMORY_SOURCE
from bls.workloads.columns import rejects_text
from bls.workloads.job_words import JobWords
from bls.workloads.workload import Workload
from traces.base.columns import read_only
from traces.base.errors import InputError, one_of, shown
from traces.base.given_file import read_csv
from traces.base.time import parse_instant_ns
from traces.compiled import Array

_WHOLE = re.compile(r"[0-9]{1,18}")


def read_request_file(
    path: str | os.PathLike[str],
    workload: Workload,
    columns: Sequence[str],
    known: Array,
    readers: Mapping[str, Callable[[str, str], int]] | None = None,
    kind: str = "request file",
    check: Callable[[str, Mapping[str, int]], None] = lambda where, numbers: None,
) -> dict[str, Array]:
    """The columns of a request file, int64 (n,), by row of the workload; -1 for missing values. ``columns``: allowed columns
    besides ``job_id``. ``known``: job numbers that it may name besides the workload's; their lines are checked and ignored.
    ``readers``: for columns whose values are not integers, ``read(where, text)`` returns an int from 0, or raises an
    InputError. ``kind``: the name of such a file, for messages. ``check(where, numbers)``: may refuse the numbers of a line, -1
    for missing ones. Raises InputError, one line that names the file and the line,
    if a column or job is unknown, a job has two lines, a value is no integer, or ``unit_cores`` does not divide its cores."""
    source = os.fspath(path)
    lines = read_csv(source, kind)
    _, header = next(lines)
    _check_header(header, columns, source)
    rows = {job: row for row, job in enumerate(workload.job_id.tolist())}
    words = JobWords(workload.numbers_of_ids)
    others = set(known.tolist()) - rows.keys()
    found = {name: np.full(len(workload), -1, np.int64) for name in header if name != "job_id"}
    seen: set[int] = set()
    for line, values in lines:
        where = f"{source}: line {line}"
        numbers = {}
        for name, value in zip(header, values, strict=True):
            if value and readers is not None and name in readers:
                numbers[name] = readers[name](f"{where}: {name}", value)
                continue
            if name == "job_id" and value and not _WHOLE.fullmatch(value):
                numbers[name] = words.one(value, f"{where}: {name}")
                continue
            if value and not _WHOLE.fullmatch(value):
                raise InputError(f"{where}: {name}: {shown(value)} is not a whole number from 0")
            numbers[name] = int(value) if value else -1
        job = numbers.pop("job_id")
        if job < 0:
            raise InputError(f"{where}: job_id: missing")
        if job not in rows and job not in others:
            raise InputError(f"{where}: job {job} is not in {workload.source}")
        if job in seen:
            raise InputError(f"{where}: job {job} has two lines")
        seen.add(job)
        unit_cores = numbers.get("unit_cores", -1)
        if unit_cores == 0:
            raise InputError(f"{where}: unit_cores: 0 is out of range; allowed: 1 or more")
        check(where, numbers)
        if job in others:
            continue
        cores = int(workload.cores[rows[job]])
        if unit_cores > 0 and cores % unit_cores:
            raise InputError(f"{where}: unit_cores: {unit_cores} does not divide job {job}'s {cores} cores")
        for name, number in numbers.items():
            found[name][rows[job]] = number
    return found


def _check_header(header: Sequence[str], columns: Sequence[str], source: str) -> None:
    for name in header:
        if name == MEMORY:
            memory_unit(name, f"{source}: column {name}")
        if name != "job_id" and name not in columns:
            raise one_of("column", name, ["job_id", *columns], source)
        if header.count(name) > 1:
            raise InputError(f"{source}: column {shown(name)} appears twice")
    if "job_id" not in header:
        raise InputError(f"{source}: column job_id: missing")
    if sum(name in MEMORY_UNITS_KB for name in header) > 1:
        raise InputError(f"{source}: memory appears in two units; allowed: one column")


ASKS_TOO_MUCH = "requests more than the hosts have"

# More than a host can have of any resource; a job that requests it is a reject.
_TOO_MUCH = MAX_AMOUNT + 1


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests of the jobs of a workload, by row. Arrays are read-only int64."""

    resource_names: tuple[str, ...]  # R names from the platform
    licence_names: tuple[str, ...]  # L names from the platform
    unit_cores: Array  # (n,): cores of a unit, from 1; divides the job's cores
    per_unit: Array  # (n, R): request of each unit on its host; memory in KB
    licences: Array  # (n, L): requested licences
    switches: Array  # (n,): largest accepted number of leaf switches; 0 for any
    begin_ns: Array | None = None  # (n,): instants of a file from which jobs may join the queue; -1 for none
    gpus: g.GpuRequests | None = (
        None  # None: the platform has no numbered GPUs, or neither log nor file has a column of GPUs
    )

    def __post_init__(self) -> None:
        for name in ("unit_cores", "per_unit", "licences", "switches"):
            # A copy, so that no other object can write to it.
            object.__setattr__(self, name, read_only(np.array(getattr(self, name), dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.unit_cores)

    @property
    def plain(self) -> bool:
        """Whether every job requests only single cores anywhere, and none can request GPUs."""
        more = self.per_unit.any() or self.licences.any() or self.switches.any()
        return not more and bool(np.all(self.unit_cores == 1)) and self.gpus is None

    @property
    def classes(self) -> tuple[Array, Array, Array]:
        """The different units, int64 (C, 5 + R): cores, columns of ``gpus`` (not None), amounts; the row of each job's, int64
        (n,); and the number of jobs that request each, int64 (C,)."""
        assert self.gpus is not None
        units = np.column_stack([self.unit_cores, *self.gpus.columns, self.per_unit])
        return np.unique(units, axis=0, return_inverse=True, return_counts=True)

    def take(self, rows: Array) -> "Requests":
        """The requests of some rows (ascending numbers, or a mask)."""
        columns = {name: getattr(self, name)[rows] for name in ("unit_cores", "per_unit", "licences", "switches")}
        gpus = None if self.gpus is None else self.gpus.take(rows)
        return Requests(self.resource_names, self.licence_names, **columns, gpus=gpus)


def requests(
    workload: Workload,
    platform: Platform,
    *,
    memory: str = MEMORY_SOURCE.default,
    path: str | os.PathLike[str] | None = None,
    known: Array | None = None,
    switches: int = 0,
    partition: Array | None = None,
) -> Requests:
    """The requests of the jobs of a workload on a platform.

    ``memory``, {"none", "swf"}: with ``swf`` each core of a job requests the log's memory per processor, if it is known.
    ``path``: a CSV file of requests, which takes precedence over the log. ``known``: all job numbers that the file may name, by
    default the workload's. ``switches``: the largest number of leaf switches that a job accepts if the file states none, or the
    number that it needs on the empty machine, if that is larger; 0 for any. ``partition``, int64 (n,): by default all jobs are
    in the first one. Raises InputError if ``memory`` is unknown, or ``swf`` for a platform without memory, or the file cannot
    be used.
    """
    where = str(MEMORY_SOURCE)
    n, names = len(workload), platform.resource_names
    if MEMORY_SOURCE.check(memory, where) == "swf" and MEMORY not in names:
        give = "give resources = { memory_gb = … } to [[hosts]]"
        raise InputError(f"{where}: no host of the platform has memory; {give}")
    given: dict[str, Array] = {}
    has_gpus = platform.n_gpus > 0
    if path is not None:
        columns = ["unit_cores", "begin_s", *(["switches"] if platform.switches else []), *platform.licence_names]
        columns += [name for name in names if name != MEMORY]
        columns += MEMORY_UNITS_KB if MEMORY in names else ()
        columns += GPU_COLUMNS if has_gpus else ()
        jobs = workload.job_id if known is None else known
        readers = {"begin_s": lambda where, text: parse_instant_ns(text, where)}
        readers |= g.readers(platform) if has_gpus else {}
        given = read_request_file(path, workload, columns, jobs, readers, check=g.check_line)
    nothing = np.zeros(n, np.int64)
    unit_cores = _first(given.get("unit_cores"), nothing + 1)
    per_unit, licences = (
        np.array([_first(given.get(name), nothing) for name in kind], np.int64).reshape(-1, n).T.copy()
        for kind in (names, platform.licence_names)
    )
    if MEMORY in names:
        per_core = np.clip(workload.memory_kb, 0, _TOO_MUCH) if memory == "swf" else nothing
        logged = np.minimum(per_core * np.minimum(unit_cores, 2**24), _TOO_MUCH)
        in_kb = [(given[name], unit) for name, unit in MEMORY_UNITS_KB.items() if name in given]
        asked_kb = [np.where(amount >= 0, np.minimum(amount, _TOO_MUCH) * unit, -1) for amount, unit in in_kb]
        per_unit[:, names.index(MEMORY)] = _first(asked_kb[0] if asked_kb else None, logged)
    gpus = None
    if has_gpus and (g.gpus_of_log(workload) is not None or any(name in given for name in GPU_COLUMNS)):
        source = workload.source if path is None else os.fspath(path)
        gpus, joined = g.gpu_requests(workload, platform, given, workload.cores // unit_cores, source)
        unit_cores, per_unit = unit_cores * joined, np.minimum(per_unit * joined[:, None], _TOO_MUCH)
    begin_ns = given.get("begin_s")
    asked = Requests(names, platform.licence_names, unit_cores, per_unit, licences, nothing, begin_ns, gpus)
    accepted = nothing.copy()
    if switches > 0:
        units = workload.cores // unit_cores
        for rows, reach in _leaf_reach(platform, nothing if partition is None else partition, asked):
            # Those that each job needs on the empty machine; one more than there are if it does not fit.
            accepted[rows] = np.maximum(switches, np.searchsorted(reach, units[rows]) + 1)
    return replace(asked, switches=_first(given.get("switches"), accepted))


def _first(given: Array | None, otherwise: Array) -> Array:
    # The file's values if there are any; values beyond every possible amount become one more than that.
    if given is None:
        return otherwise.copy()
    return np.where(given >= 0, np.minimum(given, _TOO_MUCH), otherwise)


def fit_requests(
    workload: Workload, partition: Array, asked: Requests, platform: Platform
) -> tuple[Workload, Array, Requests]:
    """The jobs, their partitions and their requests, without jobs that could never run, which are counted as rejects:
    :func:`never_start`. Raises InputError if no job is left."""
    reasons = never_start(workload, partition, asked, platform)
    never = np.any([*reasons.values()], axis=0)
    if not never.any():
        return workload, partition, asked
    if never.all():
        counts = rejects_text({reason: int(np.count_nonzero(mask)) for reason, mask in reasons.items()})
        why = f"each {ASKS_TOO_MUCH}" if reasons[ASKS_TOO_MUCH].all() else counts
        raise InputError(f"{workload.source}: none of {len(workload)} jobs fits the empty machine: {why}")
    return workload.rejecting(reasons), partition[~never], asked.take(~never)


def never_start(workload: Workload, partition: Array, asked: Requests, platform: Platform) -> dict[str, Array]:
    """Masks of jobs that could never run, bool (n,) by reason; parameters as of :func:`fit_requests`. ``ASKS_TOO_MUCH``: their
    units do not all fit the empty hosts of their partition or the leaf switches they accept, or the machine has too few
    licences. ``BEYOND_LIMITS``: of others, they request more GPUs than their partition allows."""
    never = never_fits(workload, partition, asked, platform)
    most = platform.partition_table.max_gpus[partition]
    beyond = asked.gpus is not None and asked.gpus.milli_in_all(workload.cores // asked.unit_cores) > most
    return {ASKS_TOO_MUCH: never, BEYOND_LIMITS: ~never & beyond}


def never_fits(workload: Workload, partition: Array, asked: Requests, platform: Platform) -> Array:
    """Whether the empty machine cannot meet each job's request, bool (n,); parameters as of :func:`fit_requests`."""
    units = workload.cores // asked.unit_cores
    room = np.zeros(len(workload), np.int64)
    table = platform.partition_table
    begins = np.cumsum([0] + [group.count for group in platform.hosts[:-1]])
    inside = np.array([table.hosts(row, platform.n_hosts) for row in range(len(table))])
    in_partition = np.add.reduceat(inside.astype(np.int64), begins, axis=1)  # hosts of each group in each partition
    alike: dict[tuple[object, ...], list[int]] = {}  # a machine may have hundreds of groups of few kinds
    for group, hosts in enumerate(platform.hosts):
        alike.setdefault((hosts.cores, hosts.resources, hosts.gpus, hosts.gpu), []).append(group)
    for groups in alike.values():
        hosts = platform.hosts[groups[0]]
        has = dict(hosts.resources)
        fitting = np.array(hosts.cores // asked.unit_cores)
        for column, name in enumerate(asked.resource_names):
            fitting = np.minimum(fitting, _parts(has.get(name, 0), asked.per_unit[:, column]))
        if asked.gpus is not None:
            fitting = np.minimum(fitting, asked.gpus.units_on(hosts, platform.gpu_kinds))
        room += in_partition[:, groups].sum(axis=1)[partition] * fitting
    never = (room < units) | np.any(asked.licences > platform.licence_amounts, axis=1)
    limited = np.flatnonzero((asked.switches > 0) & (asked.switches < platform.topology.n_leaves) & ~never)
    for rows, reach in _leaf_reach(platform, partition[limited], asked.take(limited)):
        some = limited[rows]
        never[some] = reach[asked.switches[some] - 1] < units[some]
    return np.asarray(never)


def _parts(amount: int | Array, each: Array) -> Array:
    # How many times ``each`` fits into ``amount``; more than there are cores if nothing is requested.
    return np.where(each > 0, amount // np.maximum(each, 1), 2**24)


def _leaf_reach(platform: Platform, partition: Array, asked: Requests) -> Iterator[tuple[Array, Array]]:
    """Rows of jobs with equal units, and the number of these that fit on the best 1, 2, … leaf switches."""
    if not len(asked):
        return
    table, leaves = platform.partition_table, platform.topology
    cores = np.diff(platform.first_core)
    columns = [partition, asked.unit_cores, asked.per_unit, *(() if asked.gpus is None else asked.gpus.columns)]
    kinds, kind = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    by_kind = np.split(np.argsort(kind, kind="stable"), np.cumsum(np.bincount(kind))[:-1])
    for rows, (home, unit_cores, *each) in zip(by_kind, kinds.tolist(), strict=True):
        fitting = cores // unit_cores
        for column, amount in enumerate(each[: len(asked.resource_names)]):
            if amount:
                fitting = np.minimum(fitting, platform.host_resources[:, column] // amount)
        if asked.gpus is not None:
            one = asked.gpus.take(rows[:1])
            of_groups = [int(one.units_on(group, platform.gpu_kinds)[0]) for group in platform.hosts]
            fitting = np.minimum(fitting, np.repeat(of_groups, [group.count for group in platform.hosts]))
        inside = table.hosts(home, platform.n_hosts)
        units = np.bincount(leaves.leaf_of_host[inside], fitting[inside], leaves.n_leaves).astype(np.int64)
        yield rows, np.cumsum(np.sort(units)[::-1])
