"""Read the tasks of an archive that :func:`traces.exporters.otf2.writer.write_otf2` has written."""

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from traces.base.errors import InputError, TwolevelError
from traces.compiled import Array
from traces.exporters.otf2.library import reading
from traces.exporters.shown.part import MOST_CORES

_OF_TASK = ("task", "chunk")


class ArchiveTasks(NamedTuple):
    """One row per task, int64, by job and then by number: ``row`` of its job in the ledger, ``task`` and ``chunk`` within the
    job, the global ``core``, start and end. ``messages``: whether the archive contains messages."""

    row: Array
    task: Array
    chunk: Array
    core: Array
    start_ns: Array
    end_ns: Array
    messages: bool


def read_tasks(path: Path, core_names: Sequence[str], job_id: Sequence[int]) -> ArchiveTasks:
    """Read the tasks of cores, some 10,000 per second: the binding makes an object of each event.

    - ``path``: the anchor file, ``traces.otf2``.
    - ``core_names``: names of all cores of the machine (``traces.ledger.MachineShape.core_names``).
    - ``job_id``: job numbers of the ledger's rows.

    Raises InputError if OTF2 cannot read it, or it has other cores or jobs, because it shows another run or a part of one.
    """
    try:
        return _read(path, core_names, job_id)
    except TwolevelError as error:
        raise InputError(error.text) from None
    except Exception as error:  # the binding raises any exception
        raise InputError(f"{path}: is no OTF2 archive that can be read: {error}") from None


def _read(path: Path, core_names: Sequence[str], job_id: Sequence[int]) -> ArchiveTasks:
    columns = [array("q") for _ in range(6)]
    *begin, end = columns
    inside: dict[int, int] = {}
    with reading(path) as trace:
        # The reference of a core is its number, the reference of a job's region is the job's row. On large machines the archive
        # has only cores with events.
        places = {one: one._ref for one in trace.definitions.locations if one._ref < len(core_names)}
        regions = {region: reference for reference, region in enumerate(trace.definitions.regions)}
        cores = list(places)
        # A region is called "job NUMBER", followed by the log's name of the job.
        jobs = [" ".join(region.name.split(" ", 2)[:2]) for region in list(regions)[: len(job_id)]]
        ours = all(core.name == core_names[number] for core, number in places.items())
        ours &= len(cores) == len(core_names) or len(core_names) > MOST_CORES
        if not ours or jobs != [f"job {number}" for number in job_id]:
            raise InputError(f"{path}: has other cores or jobs than the run")
        messages = len(list(trace.definitions.comms)) > 0
        known = {attribute.name: attribute for attribute in trace.definitions.attributes}
        keys = [known[name] for name in _OF_TASK]
        for location, event in trace.events(cores):
            kind, core = type(event).__name__, places[location]
            if kind == "Enter" and event.attributes is not None:
                inside[core] = len(end)
                values = (regions[event.region], *(event.attributes[key] for key in keys), core, event.time)
                for column, value in zip(begin, values, strict=True):
                    column.append(value)
                end.append(-1)
            elif kind == "Leave" and core in inside:
                end[inside.pop(core)] = event.time
    row, task, chunk, core_of, start_ns, end_ns = (np.array(column, np.int64) for column in columns)
    order = np.lexsort((task, row))
    return ArchiveTasks(row[order], task[order], chunk[order], core_of[order], start_ns[order], end_ns[order], messages)
