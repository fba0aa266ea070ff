"""Reader of StarPU's ``tasks.rec``, completed by ``starpu_tasks_rec_complete`` with an estimated time on each worker.

A file in the format of GNU recutils: a record for each task, records separated by empty lines. See StarPU's handbook, "Offline
performance tools".
"""

import math

from als.graphs.readers.contract import Files, GraphRows, text_of
from als.graphs.task_graph import CORES
from traces.base.errors import shown

_READS, _WRITES = ("R", "RW"), ("W", "RW")


def read_starpu(data: bytes, rows: GraphRows, core_gflops: float) -> None:
    """Read records as tasks named by their ``JobId``, with edges from ``DependsOn``; data are the ``Sizes`` of ``Handles`` that
    one task writes and the other reads.

    Workers with equal times for all tasks are of one kind, named after the first of them: ``w0``, ``w3``; the last ones are the
    cores, as StarPU numbers its CPU workers last. A task without a ``Model``, which only waits, has no work. Raises InputError
    if a task with one has no ``EstimatedTime``, or only ``inf``."""
    files, edges = Files(rows), list[tuple[str, str, str]]()
    times: dict[str, tuple[float, ...]] = {}
    for record, place in _records(text_of(data, rows, "tasks.rec"), rows):
        if "JobId" not in record:
            raise rows.error(place, "a record without JobId")
        name = record["JobId"]
        of_task = _times(record, rows, place, f"task {shown(name)}")
        least = min(of_task, default=0.0)
        if least == math.inf:
            raise rows.error(
                place, f"task {shown(name)}: EstimatedTime: inf on each worker; allowed: a time on one of them"
            )
        on_cores = of_task[-1] if of_task and of_task[-1] < math.inf else least
        rows.add_task(name, on_cores * core_gflops, place)
        times[name] = of_task
        _add_data(record, rows, files, name, place)
        edges += ((producer, name, place) for producer in record.get("DependsOn", "").split())
    _add_works(rows, times, core_gflops)
    for producer, consumer, place in edges:
        rows.add_edge(producer, consumer, files.passed(producer, consumer, place), place)


def _records(text: str, rows: GraphRows) -> list[tuple[dict[str, str], str]]:
    # The fields of each record, and the line at which it begins.
    found: list[tuple[dict[str, str], str]] = []
    record: dict[str, str] = {}
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        place = f"line {number}"
        if line.strip():
            key, colon, value = line.partition(":")
            if not colon:
                raise rows.error(place, f"{shown(line)}; allowed: a field, as JobId: 3")
            if not record:
                found.append((record, place))
            record[key.strip()] = value.strip()
        else:
            record = {}
    return found


def _times(record: dict[str, str], rows: GraphRows, place: str, task: str) -> tuple[float, ...]:
    # Its time on each worker, s; empty if it only waits.
    if "EstimatedTime" not in record:
        if "Model" not in record:
            return ()
        raise rows.error(place, f"{task} has no EstimatedTime; starpu_tasks_rec_complete adds it")
    words = record["EstimatedTime"].split()
    where = f"{task}: EstimatedTime"
    return tuple(math.inf if word == "inf" else rows.amount(place, where, word) / 1e6 for word in words)


def _add_data(record: dict[str, str], rows: GraphRows, files: Files, name: str, place: str) -> None:
    columns = [record.get(key, "").split() for key in ("Handles", "Modes", "Sizes")]
    if len({len(column) for column in columns}) != 1:
        raise rows.error(place, f"task {shown(name)}: Handles, Modes, Sizes; allowed: as many of each")
    for handle, mode, size in zip(*columns, strict=True):
        number = rows.amount(place, f"task {shown(name)}: Sizes", size)
        if mode in _READS:
            files.read[name][handle] = number
        if mode in _WRITES:
            files.written[name][handle] = number


def _add_works(rows: GraphRows, times: dict[str, tuple[float, ...]], core_gflops: float) -> None:
    n_workers = {len(of_task) for of_task in times.values() if of_task}
    if len(n_workers) > 1:
        raise rows.error(
            "", f"EstimatedTime of {' or '.join(map(str, sorted(n_workers)))} workers; allowed: one number"
        )
    columns = list(zip(*(of_task for of_task in times.values() if of_task), strict=True))
    names = [name for name, of_task in times.items() if of_task]
    kinds: dict[tuple[float, ...], str] = {}
    for worker, column in enumerate(columns):
        kinds.setdefault(column, CORES if column == columns[-1] else f"w{worker}")
    for column, kind in kinds.items():
        if kind == CORES and max(column) < math.inf:
            continue  # it is the work of the tasks
        waiting = [name for name, of_task in times.items() if not of_task]
        for name, seconds in (*zip(names, column, strict=True), *((name, 0.0) for name in waiting)):
            if seconds < math.inf:
                rows.add_work(name, kind, seconds * core_gflops)
