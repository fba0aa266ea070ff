"""OTF2, the trace format of Score-P and Vampir: the whole run from the cluster down to the core.

docs/reference/results.md ("The trace") defines the records. A tick is a nanosecond since the workload's time 0. References: of
a core its global number, of a host its number, of a job's region the job's row. At one instant a core leaves its task, sends,
receives, and enters the next task. Each core, lane and counter is a location, and readers open the files of all locations at
once: on a machine of more than :data:`traces.exporters.shown.part.MOST_CORES` cores only cores with events have one.
"""

from pathlib import Path
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.checks.core_bars import CoreBars, TaskTimes
from traces.checks.ledger import check_transfers
from traces.exporters.otf2 import kernels
from traces.exporters.otf2.batch import Location, write_batch
from traces.exporters.otf2.cores import BarTimes, CoreEvents, write_cores
from traces.exporters.otf2.definitions import CoreLocations, longest_definition, write_definitions
from traces.exporters.otf2.kernels import Calls
from traces.exporters.otf2.library import address_of, binding, writing
from traces.exporters.otf2.messages import core_messages, ranked
from traces.exporters.shown.batch_level import MOST_LANES, ShownBatchLevel, batch_level
from traces.exporters.shown.part import MOST_CORES, shown_bars
from traces.holdings import Holdings
from traces.ledger import Ledger, TaskRecords, TransferRecords
from traces.waits import bar_waits

ANCHOR = "traces.otf2"  #: name of the file that a reader opens; some readers require it

_NO_TIMES, _NO_NUMBERS = np.zeros(0, np.int64), np.zeros(0, np.int32)
_NO_TASKS = TaskRecords(_NO_TIMES, _NO_TIMES, _NO_TIMES, _NO_NUMBERS, _NO_NUMBERS, np.zeros(0))


def write_otf2(ledger: Ledger, directory: Path, *, most_lanes: int = MOST_LANES) -> Path:
    """Write a ledger as an OTF2 archive, with or without tasks or jobs. Equal ledgers give equal files except for the
    archive's identifier, eight bytes in ``traces.otf2`` that OTF2 draws at random.

    - ``directory``: where to write; created if it does not exist.
    - ``most_lanes``: jobs are shown from their submits on if this takes at most this many lanes, otherwise from their
      starts on.

    Besides the ledger it needs 8 bytes of memory per task, some 200 per job and 32 for each host that a job uses; with
    transfers, 40 bytes per task and 24 per transfer. Returns ``directory / "traces.otf2"``, which readers open; next to it
    are ``traces.def`` and the folder ``traces``, with two files per location.

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
    jobs, tasks = Holdings.at_starts(ledger.jobs), TaskTimes.of(ledger.tasks or _NO_TASKS)
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
