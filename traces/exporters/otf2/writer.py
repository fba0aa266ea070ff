"""OTF2, the trace format of Score-P and Vampir: the whole run from the cluster down to the core.

The machine
    System tree: cluster (domain machine) → hosts (domain shared memory).
A host
    Location group of its name.
A core
    CPU-thread location ``<host> core <n>``, n from 0 in each host; reference: the global core number. On a machine of more
    than 4,096 cores (:data:`traces.exporters.shown.detail.MOST_CORES`) only cores with events are defined, and only counters
    of hosts with events: readers open the files of all locations at once.
A job
    Region ``job <job number>``, or ``job <job number> <name>`` if the log has a name for the job; reference: the job's row, so
    each attempt at a job has its own region. The description states the attempt, the reason of its start and its end:
    ``attempt 0, backfill, completed``.
A task
    Enter and Leave of its job's region on its core; on Enter the uint64 attributes ``task`` and ``chunk``.
A transfer between tasks on different cores
    A message: MpiSend on the producer's core, MpiRecv on the consumer's core, in the communicator ``cores``, in which a core's
    rank is its number (on a machine of more than 4,096 cores, its index among the cores that have a location). Its length is
    the bytes, rounded to a whole number, its tag the transfer's row in the ledger modulo 2**31, so that each MpiSend has its
    own MpiRecv, whatever the order of arrival.
A core that waits for data
    Enter and Leave of the region ``wait for data`` (:mod:`traces.waits`), within which the message is received.
The batch scheduler
    Location group ``batch scheduler``. Metric location ``batch scheduler``: ``queue length`` (jobs), ``busy cores`` (cores)
    and, if tasks are known, ``computing cores`` (cores inside tasks, the mean until the next change of the busy cores), at
    every change, valid until the next. Location ``submits``: an Enter and a Leave of region ``submit`` for each job. The
    following locations exist if the ledger has such events, each with attributes: ``scheduling passes``, region ``scheduling
    pass``;
    ``hints``, region ``hint``; ``widths``, region ``width`` (cores given to, taken from or requested by running jobs);
    ``scales``, region ``scale`` (changed core speeds); ``releases``, region ``release`` (cores returned).
A host's load
    Metric location ``<host> counters`` in its group: ``busy cores`` at every change.
The states of jobs
    Location group ``jobs``, locations ``lane <n>``, as few as possible. A job is on one lane from its submit to the end of its
    last attempt: region ``held`` while it must wait for another job, ``queued`` while it could start, ``running`` while it
    holds cores; with attributes (:data:`traces.exporters.shown.batch_level.ATTRIBUTES`) on Enter, with ``job name`` if the log
    has names, and with :data:`traces.exporters.shown.batch_level.CUT` for ``running`` jobs that lost all their cores. If this
    takes more than ``most_lanes`` lanes, the group is ``running jobs``, and lanes show ``running`` only.

A tick is a nanosecond since the workload's time 0. A job without task rows is one Enter and Leave, without attributes, on
each of its cores. A job that never started has a region, and events only on its lane and at its submit; a task that never ran
has no events. A run without transfers has no communicator and no region for waiting. At one instant a core leaves its task,
sends, receives, and enters the next task.
"""

from pathlib import Path
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.checks.core_bars import CoreBars, JobTimes, TaskTimes
from traces.checks.transfers import check_transfers
from traces.exporters.otf2 import kernels
from traces.exporters.otf2.batch import Location, write_batch
from traces.exporters.otf2.cores import BarTimes, CoreEvents, write_cores
from traces.exporters.otf2.definitions import CoreLocations, longest_definition, write_definitions
from traces.exporters.otf2.kernels import Calls
from traces.exporters.otf2.library import address_of, binding, writing
from traces.exporters.otf2.messages import core_messages, ranked
from traces.exporters.shown.batch_level import MOST_LANES, ShownBatchLevel, batch_level
from traces.exporters.shown.detail import MOST_CORES, shown_bars
from traces.ledger import Ledger, TaskRecords, TransferRecords
from traces.waits import bar_waits

__all__ = ["ANCHOR", "MOST_LANES", "write_otf2"]


#: Name of the file that a reader opens; some readers require it.
ANCHOR = "traces.otf2"

_NO_TIMES, _NO_NUMBERS = np.zeros(0, np.int64), np.zeros(0, np.int32)
_NO_TASKS = TaskRecords(_NO_TIMES, _NO_TIMES, _NO_TIMES, _NO_NUMBERS, _NO_NUMBERS, np.zeros(0))


def write_otf2(ledger: Ledger, directory: Path, *, most_lanes: int = MOST_LANES) -> Path:
    """Write a ledger as an OTF2 archive.

    Writing a ledger twice gives equal files except for the archive's identifier, eight bytes in ``traces.otf2`` that OTF2 draws
    at random.

    - ``ledger``: Any ledger, with or without tasks or jobs. Besides the ledger it needs 8 bytes of memory per task, some
      200 per job and 32 for each host that a job uses; with transfers, 40 bytes per task and 24 per transfer.
    - ``directory``: Where to write; created if it does not exist.
    - ``most_lanes``: jobs are shown from their submits on if this takes at most this many lanes, otherwise from their
      starts on.

    Returns ``directory / "traces.otf2"``, which readers open. It has ``traces.def`` and the folder ``traces``, with two
    files per location, next to it.

    Raises InputError if there is a trace already, the folder cannot be made, or a job is submitted before time 0;
    InvariantError if a core runs two tasks at once, or a transfer does not match its tasks; TwolevelError if OTF2 cannot
    write, with its message.
    """
    path = Path(directory) / ANCHOR
    if path.exists():
        raise InputError(f"{path} exists already")
    bars = shown_bars(ledger)
    transfers = _transfers(ledger)
    batch = batch_level(ledger, most_lanes)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent}: cannot make a folder for the trace: {error.strerror}") from error
    messages = len(transfers) > 0
    with writing(path, longest_definition(ledger, batch, messages=messages)) as archive:
        binding.Archive_SetCreator(archive, "twolevel")
        binding.Archive_SetMachineName(archive, ledger.machine.name)
        call = Calls(path, address_of(archive))
        cores, further = _write_events(call, archive, ledger, bars, transfers, batch)
        write_definitions(call, archive, ledger, cores, batch, further, messages=messages)
    return path


def _transfers(ledger: Ledger) -> TransferRecords:
    """Return the ledger's transfers, checked; empty if there are none."""
    if ledger.transfers is not None:
        check_transfers(ledger.jobs, ledger.tasks, ledger.transfers)
        return ledger.transfers
    first = np.zeros(len(ledger.jobs) + 1, np.int64)
    return TransferRecords(first, _NO_NUMBERS, _NO_NUMBERS, np.zeros(0), _NO_TIMES, _NO_TIMES)


def _write_events(
    call: Calls, archive: Any, ledger: Ledger, bars: CoreBars, transfers: TransferRecords, batch: ShownBatchLevel
) -> tuple[CoreLocations, list[Location]]:
    """Write all event files in sequence, so that only one is open at a time.

    Return the locations of cores, and the others.
    """
    messages = core_messages(ledger, transfers)
    wait_bar, wait_from = bar_waits(ledger, bars, transfers)
    n_waits = np.diff(np.searchsorted(wait_bar, bars.first))
    n_messages = np.diff(messages.send_first) + np.diff(messages.receive_first)
    n_events = 2 * (np.diff(bars.first) + n_waits) + n_messages
    # Each location is two files, and a reader opens all at once.
    few = ledger.shows == "cores" and ledger.machine.n_cores <= MOST_CORES
    number = np.arange(len(n_events)) if few else np.flatnonzero(n_events)
    jobs, tasks = JobTimes.of(ledger.jobs), TaskTimes.of(ledger.tasks or _NO_TASKS)
    binding.Archive_OpenEvtFiles(archive)
    attributes = binding.AttributeList_New()
    try:
        run = CoreEvents(number, bars, jobs, tasks, ranked(messages, number), wait_bar, wait_from, BarTimes.empty())
        call(write_cores, call.archive, address_of(attributes), run)
        first_region = len(ledger.jobs) + (len(transfers) > 0)
        further = write_batch(call, attributes, batch, ledger, first_region, all_hosts=few)
    finally:
        binding.AttributeList_Delete(attributes)
    binding.Archive_CloseEvtFiles(archive)

    binding.Archive_OpenDefFiles(archive)
    locations = np.concatenate([number, ledger.machine.n_cores + np.arange(len(further))])
    call(kernels.write_local_definitions, call.archive, locations)
    binding.Archive_CloseDefFiles(archive)
    return CoreLocations(number, n_events[number]), further
