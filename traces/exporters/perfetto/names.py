"""What is interned: texts that are written once and referred to by number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from traces import records
from traces.exporters.perfetto.wire import interned, message, text
from traces.exporters.shown.batch_level import ATTRIBUTES, CUT, JOB_NAME, REGIONS, WORDS, ShownBatchLevel
from traces.exporters.shown.core_slices import KINDS
from traces.exporters.shown.job_names import JobNames
from traces.exporters.shown.rows import BLOCK, Rows
from traces.ledger import Ledger

# InternedData's fields.
_CATEGORIES, _EVENTS, _ANNOTATIONS, _STRINGS = b"\x0a", b"\x12", b"\x1a", b"\xea\x01"

_FURTHER = ("wait for data", "send", "receive", "frees", "freed")

#: iids of names of events: those of the batch level, and of what cores do beside tasks; behind them those of jobs, by row.
EVENTS = {
    name: 1 + place for place, name in enumerate((*REGIONS, *(kind.event() for kind in records.EVENTS), *_FURTHER))
}
JOBS = 1 + len(EVENTS)

#: iids of categories; behind them those of techniques.
CATEGORIES = {name: 1 + place for place, name in enumerate((*KINDS, "batch", "transfer", "cause"))}
TECHNIQUES = 1 + len(CATEGORIES)

#: iids of names of annotations.
ANNOTATIONS = {
    name: 1 + place
    for place, name in enumerate(
        dict.fromkeys(
            (
                *("task", "chunk", "bytes", "source", "target"),
                *(name for name, _, _ in (*ATTRIBUTES, CUT)),
                *(name for kind in records.EVENTS for name, _, _ in kind.attributes),
                JOB_NAME[0],  # the last one, as it is written only where jobs have names
            )
        )
    )
}


def write_names(ledger: Ledger, batch: ShownBatchLevel) -> Iterator[bytes]:
    """All packets that intern something; what attributes of the batch level refer to has the same numbers."""
    # The first packet of the sequence: nothing was interned before.
    yield b"\x0a\x04\x50\x01\x68\x01"
    yield interned(_EVENTS, 1, text(b"\x12", list(EVENTS))).tobytes()
    yield interned(_CATEGORIES, 1, text(b"\x12", [*CATEGORIES, *ledger.techniques])).tobytes()
    annotations = [name for name in ANNOTATIONS if name != JOB_NAME[0] or batch.job_names]
    yield interned(_ANNOTATIONS, 1, text(b"\x12", annotations)).tobytes()
    known = [*WORDS, *batch.cut_because]
    yield interned(_STRINGS, 1, text(b"\x12", known)).tobytes()
    for lo in range(0, len(batch.job_names), BLOCK):
        some_names = batch.job_names[lo : lo + BLOCK]
        yield interned(_STRINGS, 1 + len(known) + lo, text(b"\x12", some_names)).tobytes()
    numbers, of_jobs = ledger.jobs.job_id, JobNames(ledger)
    for lo in range(0, len(numbers), BLOCK):
        some = np.asarray(numbers[lo : lo + BLOCK], np.int64)
        label = of_jobs.append(Rows(len(some)).put(b"job ").number(some), lo + np.arange(len(some)), b" ")
        names = message(b"\x12", label)
        yield interned(_EVENTS, JOBS + lo, names).tobytes()
