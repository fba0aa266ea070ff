"""GPUs that jobs held."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from traces.base.errors import InputError, shown
from traces.compiled import Array
from traces.intervals import intervals_text, parse_intervals
from traces.records.declared import RecordColumn, RecordsOfJobs, column

WHOLE_GPU = 1000  #: a whole GPU in thousandths
_MOST = 10**8  # GPUs of a machine


class GpuRecords(RecordsOfJobs):
    """One row per GPU that a job held, whole or in part, from its start until it had left the GPU's host.

    Sorted as ``JobRecords``, then by GPU.
    """

    gpu: Array = column("number of the GPU; all GPUs of the machine are numbered host by host")
    milli: Array = column("thousandths of it that the job held")
    left_ns: Array | None = column(
        "instant at which the job had left its host, if the ledger is a part of a run; None: as the cores of the job say",
        "ns",
        table="",
        default=None,
    )

    @classmethod
    def of(cls, n_jobs: int, job: Array, gpu: Array, milli: Array) -> Self:
        """Return the records of parts of GPUs, sorted by job; a job may have several parts of a GPU."""
        (job, gpu), place = np.unique(np.stack([job, gpu]), axis=1, return_inverse=True)
        total = np.bincount(place.reshape(-1), milli, len(job)).astype(np.int64)
        return cls(np.searchsorted(job, np.arange(n_jobs + 1)), gpu, total)

    @classmethod
    def none(cls, n_jobs: int) -> Self:
        """Return the records of jobs without GPUs."""
        return cls(*(np.zeros(size, np.int64) for size in (n_jobs + 1, 0, 0)))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Self:
        """Parse the column ``gpu_allocation``. Raises InputError if a text is not as this column has it."""
        found: list[tuple[int, int, int]] = []
        for job, text in enumerate(texts):
            for word in text.split():
                gpus, _, milli = word.partition(":")
                if milli and not (milli.isdecimal() and 0 < int(milli) < WHOLE_GPU):
                    raise InputError(f"gpu_allocation: {shown(word)}; allowed: as 0-3 or 4:250, 1 to 999 thousandths")
                for lo, hi in parse_intervals(gpus, "gpu_allocation"):
                    if hi > _MOST:
                        raise InputError(f"gpu_allocation: GPU {hi - 1}; allowed: numbers below {_MOST}")
                    found += [(job, gpu, int(milli or WHOLE_GPU)) for gpu in range(lo, hi)]
        return cls.of(len(texts), *np.array(found, np.int64).reshape(-1, 3).T)

    @classmethod
    def table_columns(cls) -> dict[str, RecordColumn]:
        """The columns of these records in the table of jobs."""
        held = "the GPUs it held, numbered over the whole machine: ascending intervals, and shares with their thousandths, as "
        held += "`0-2 5:250`"
        return {
            "gpus": RecordColumn("thousandths of GPUs held, as a sum"),
            "gpu_allocation": RecordColumn(held, dtype="string"),
        }

    def columns_of_jobs(self) -> dict[str, Any]:
        """Return these columns."""
        total = np.bincount(self.job, self.milli, len(self.first) - 1).astype(np.int64)
        gpu, milli = self.gpu.tolist(), self.milli.tolist()
        texts = [_text(gpu[lo:hi], milli[lo:hi]) for lo, hi in pairwise(self.first.tolist())]
        return dict(zip(self.table_columns(), (total, texts), strict=True))


def _text(gpu: list[int], milli: list[int]) -> str:
    words, whole = list[str](), list[tuple[int, int]]()
    for one, part in zip(gpu, milli, strict=True):
        if part == WHOLE_GPU and whole and whole[-1][1] == one:
            whole[-1] = (whole[-1][0], one + 1)
        elif part == WHOLE_GPU:
            whole.append((one, one + 1))
        else:
            words += [intervals_text(whole)] * bool(whole) + [f"{one}:{part}"]
            whole = []
    return " ".join(words + [intervals_text(whole)] * bool(whole))
