"""Spans of activities on locations; those of jobs on the GPUs of hosts, which they held whole or in part."""

from typing import NamedTuple

import numpy as np

from traces.algorithms.lanes import pack_lanes_of_places
from traces.compiled import Array, State
from traces.exporters.shown.part import shown_gpus
from traces.holdings import held_gpus
from traces.intervals import intervals_of
from traces.kernels.signatures import Ints, Ints2
from traces.ledger import Ledger
from traces.records.events import UINT64

#: The last attribute of traces with GPUs: on the Enter of jobs on them.
GPU_MILLI = ("gpu_milli", "thousandths of the GPU that the job held", UINT64)


class Spans(State):
    """Spans on some locations, each in the order of time."""

    first: Ints  # (n_locations + 1,): location ``k`` has the spans ``first[k]:first[k + 1]``
    # ndarray of int64: its instants (ns), its region as an index in ``traces.exporters.shown.batch_level.REGIONS``, or the job
    # that a GPU's lane shows, and its row of ``values``
    start: Ints
    end: Ints
    region: Ints
    row: Ints
    # (rows, attributes): values of attributes: numbers, and references of strings; -1 for a string that the row does not have
    values: Ints2
    # (attributes,): the references and types of the written attributes, which may be fewer
    attributes: Ints
    types: Ints

    @property
    def n_locations(self) -> int:
        """Number of locations."""
        return len(self.first) - 1

    @property
    def location(self) -> Array:
        """Location of each span."""
        return np.repeat(np.arange(self.n_locations), np.diff(self.first))


class GpuLanes(NamedTuple):
    """Lanes of GPUs: one for each GPU, and further ones where jobs share it."""

    names: list[str]  # ``<host> gpu <n>``, with the GPU's number within its host, and ``(2)`` on its second lane
    host: Array  # int64 (lanes,): host of each lane
    spans: Spans  # of jobs on lanes: ``region`` is the job's row in the ledger; the attribute is :data:`GPU_MILLI`


def gpu_lanes(ledger: Ledger, reference: int) -> GpuLanes | None:
    """Return the GPUs in a trace; None if it has no rows of GPUs. ``reference``: of the attribute."""
    if (number := shown_gpus(ledger)) is None or (held := held_gpus(ledger)) is None:
        return None
    place = np.searchsorted(number, held.gpu)
    depth, count = pack_lanes_of_places(place, held.start_ns, held.end_ns, len(number))
    first = np.cumsum(count) - count
    lane, gpu, nth = first[place] + depth, np.repeat(number, count), intervals_of(0 * count, count)
    order = np.lexsort((held.end_ns, held.start_ns, lane))
    columns = (np.ascontiguousarray(one[order], np.int64) for one in (held.start_ns, held.end_ns, held.job))
    upto = np.searchsorted(lane[order], np.arange(len(gpu) + 1))
    spans = Spans(upto, *columns, order, held.milli[:, None].copy(), np.array([reference]), np.array([UINT64]))
    host = np.searchsorted(held.first[1:], gpu, side="right")
    rows = zip(host.tolist(), (gpu - held.first[host]).tolist(), nth.tolist(), strict=True)
    hosts = ledger.machine.host_names
    return GpuLanes([f"{hosts[at]} gpu {own}{f' ({k + 1})' if k else ''}" for at, own, k in rows], host, spans)
