"""Rows of GPUs in a chart of cores: a host's GPUs follow its cores, and jobs fill their shares of a row's height."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from traces.compiled import Array
from traces.holdings import HeldGpus
from traces.records.gpus import WHOLE_GPU


class ChartRows(NamedTuple):
    """Rows of a chart of cores, and of GPUs below the cores of their host.

    Each core and each GPU has a place: of the whole machine, host by host, its cores and then its GPUs.
    """

    first: Array  # int64 (hosts + 1,): first place of each host, and one beyond the last
    place: Array  # int64 (rows,): the place that each row shows; ascending
    # int64: place of each core and of each GPU
    core: Array
    gpu: Array
    labels: Sequence[
        str
    ] = ()  # of rows, if there are GPUs: the number of a core, or ``gpu`` and its number within the host

    @classmethod
    def of(cls, first_core: Array, cores: Array, gpus: HeldGpus | None) -> "ChartRows":
        """Return the rows of some cores, ascending, and of the GPUs of their hosts."""
        every = np.arange(first_core[-1])
        if gpus is None:
            return cls(first_core, cores, every, every[:0])
        first, n_cores = first_core + gpus.first, np.diff(first_core)
        core = every + np.repeat(gpus.first[:-1], n_cores)
        gpu = np.arange(gpus.first[-1]) + np.repeat(first_core[1:], np.diff(gpus.first))
        of_gpu, of_core = (np.searchsorted(first, one, side="right") - 1 for one in (gpu, core[cores]))
        place = np.sort(np.concatenate([core[cores], gpu[np.isin(of_gpu, of_core)]]))
        host = np.searchsorted(first, place, side="right") - 1
        own = (place - first[host] - n_cores[host]).tolist()
        number = (place - gpus.first[host]).tolist()
        return cls(
            first, place, core, gpu, [f"gpu {k}" if k >= 0 else f"{n}" for k, n in zip(own, number, strict=True)]
        )


def parts_of_rows(gpus: HeldGpus) -> tuple[Array, Array, Array]:
    """Return where jobs are drawn on the rows of their GPUs: rows of ``gpus``, and the lower and upper end of a part of the
    height, in thousandths; int64 (k,) each. Parts do not overlap at any time; a share may have several."""
    found = [np.zeros((3, 0), np.int64)]
    now, held_until = -1, np.zeros(WHOLE_GPU, np.int64)
    for row in np.lexsort((gpus.end_ns, gpus.start_ns, gpus.gpu)).tolist():
        if gpus.gpu[row] != now:
            now, held_until = gpus.gpu[row], np.full(WHOLE_GPU, -1)
        taken = np.flatnonzero(held_until <= gpus.start_ns[row])[: gpus.milli[row]]
        held_until[taken] = gpus.end_ns[row]
        low, high = taken[np.diff(taken, prepend=-2) > 1], taken[np.diff(taken, append=WHOLE_GPU + 1) > 1] + 1
        found.append(np.stack([np.full(len(low), row), low, high]))
    row, low, high = np.concatenate(found, axis=1)
    return row, low, high
