"""The heap of (time, key) pairs against a sorted list."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from traces.algorithms.event_heap import heap_drop_top, heap_push, heap_remove_keys, heap_replace_top, heap_settle

ROOM = 40


@settings(max_examples=400)
@given(data=st.data())
def test_the_smallest_pair_is_first_whatever_is_done(data: st.DataObject) -> None:
    time, key = np.full(ROOM, -99, np.int64), np.full(ROOM, -99, np.int64)
    pairs: list[tuple[int, int]] = []
    times = st.integers(0, 6) | st.sampled_from((2**62, 2**63 - 1))
    for number in range(data.draw(st.integers(1, ROOM))):
        action = (
            data.draw(st.sampled_from(("push", "push", "drop", "replace", "settle", "remove"))) if pairs else "push"
        )
        t = data.draw(times)
        if action == "push":
            # Pairs are unique: keys are, but do not come in order.
            size = heap_push(time, key, len(pairs), t, (number * 17) % ROOM)
            pairs.append((t, (number * 17) % ROOM))
            assert size == len(pairs)
        elif action == "drop":
            assert heap_drop_top(time, key, len(pairs)) == len(pairs) - 1
            pairs.remove(min(pairs))
        elif action == "replace":
            top = min(pairs)
            heap_replace_top(time, key, len(pairs), t, top[1])
            pairs[pairs.index(top)] = (t, top[1])
        elif action == "remove":
            lo = data.draw(st.integers(0, ROOM))
            hi = data.draw(st.integers(lo, ROOM))
            size = heap_remove_keys(time, key, len(pairs), lo, hi)
            pairs = [(at, one) for at, one in pairs if not lo <= one < hi]
            assert size == len(pairs)
        else:
            at = data.draw(st.integers(0, len(pairs) - 1))
            old = (int(time[at]), int(key[at]))
            heap_settle(time, key, len(pairs), at, t)
            pairs[pairs.index(old)] = (t, old[1])
        held = list(zip(time[: len(pairs)].tolist(), key[: len(pairs)].tolist(), strict=True))
        assert sorted(held) == sorted(pairs)
        assert not pairs or held[0] == min(pairs)
    size = len(pairs)
    left = []
    while size:
        left.append((int(time[0]), int(key[0])))
        size = heap_drop_top(time, key, size)
    assert left == sorted(pairs)
