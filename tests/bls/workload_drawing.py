"""Workloads that hypothesis draws: every column that SWF can say, small and huge values, with gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from bls.workloads.workload import Workload
from traces.base.time import MAX_NS, NS_PER_S

__all__ = ["swf_workloads"]

# Few different values, so that jobs are submitted together and numbers clash; and some that are anything.
_INSTANTS = st.sampled_from([0, 1, NS_PER_S, 60 * NS_PER_S + 500_000_000]) | st.integers(0, MAX_NS // 4)
_LENGTHS = st.sampled_from([1, NS_PER_S, 3600 * NS_PER_S]) | st.integers(1, MAX_NS // 4)
_NUMBERS = st.sampled_from([-1, 0, 1, 7]) | st.integers(-1, MAX_NS)
_NAMES = st.sampled_from(["w0!3", "gpu job", "50%", "%41", " a\n", "ä\x00"]) | st.text(
    st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8
)
_WORDS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8)


@st.composite
def swf_workloads(draw: st.DrawFn, *, most: int = 8, latest_start_s: int | None = None) -> Workload:
    """A workload of one to ``most`` jobs, all of which SWF can say, some cancelled before their start.

    Its UnixStartTime is from 0 to ``latest_start_s``; without that it has none.
    """
    n = draw(st.integers(1, most))

    def column(values: st.SearchStrategy[int]) -> np.ndarray[Any, Any]:
        return np.array(draw(st.lists(values, min_size=n, max_size=n)), np.int64)

    numbers = draw(st.lists(st.integers(0, 9) | st.integers(0, MAX_NS), min_size=n, max_size=n, unique=True))
    submit, run, wait, status = np.sort(column(_INSTANTS)), column(_LENGTHS), column(_NUMBERS), column(_NUMBERS)
    gone = column(st.integers(0, 5)) == 5  # withdrawn before the start
    wait = np.where(gone, np.abs(wait) % (MAX_NS // 4), wait)
    status = np.where(gone, np.where(status % 2 == 0, 0, 5), status)
    memory = column(_NUMBERS)
    hold = column(_INSTANTS) if draw(st.booleans()) else np.zeros(n, np.int64)
    begin = np.where(hold > 0, submit + hold, -1)
    most_extras = 2 if hold.any() else 3  # begin_ns is the third
    begun = None if latest_start_s is None else draw(st.integers(0, latest_start_s))
    names = draw(st.lists(_WORDS, max_size=most_extras, unique=True))
    comments = draw(st.lists(_WORDS, max_size=3))
    return Workload(
        job_id=np.array(numbers, np.int64),
        submit_ns=submit,
        run_ns=np.where(gone, 1, run),
        cores=column(st.integers(1, 9) | st.integers(1, MAX_NS)),
        estimate_ns=column(_LENGTHS),
        line=np.arange(1, n + 1),
        header=(*(f"; {text}" for text in comments), *([] if begun is None else [f"; UnixStartTime: {begun}"])),
        rejects={},
        reordered=0,
        clamped=0,
        source="drawn.swf",
        n_lines=n,
        user=column(_NUMBERS),
        group=column(_NUMBERS),
        queue=column(_NUMBERS),
        partition=column(_NUMBERS),
        memory_kb=np.where(memory == 0, -1, memory),  # none is unknown to the format
        preceding=column(st.sampled_from([-1, *numbers]) | _NUMBERS),
        think_ns=column(st.just(0) | _LENGTHS),
        cancel_ns=np.where(gone, submit + wait, -1),
        wait_ns=wait,
        status=status,
        application=column(_NUMBERS),
        begin_ns=begin,
        ids=draw(st.dictionaries(st.sampled_from(numbers), _NAMES)),
        extras={name: column(st.integers(-MAX_NS, MAX_NS)) for name in names},
    )
