"""The columns of hosts that fall asleep."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bls.engine.codes import HostState
from bls.engine.cores import Offer
from bls.engine.heaps import Heap
from traces.compiled import own
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class SleepHosts(State, dim="hosts"):
    """Of each host, where hosts that idle fall asleep."""

    state: Ints = column(fill=HostState.UP)  # OFF: off or on its way; UP: awake
    due_ns: Ints = column()  # when it is off, or up again
    idle_since_ns: Ints = column()  # NEVER if it does not idle
    is_sleepy: Ints = column(fill=1)  # whether it is in the heap of those that may fall asleep
    slept_at: Ints = column()  # place of its latest sleep in the log
    booted_at: Ints = column()  # and of its latest boot


class SleepState(State):
    """Where hosts that idle fall asleep; H of them, else none."""

    passages: Ints2  # (2, H): how long a host takes to shut down, and to boot
    after_ns: int = 0  # for how long a host idles before it falls asleep
    keep_awake: int = 0  # how many idle hosts stay awake
    host: SleepHosts = column()  # each host
    sleepy: Heap = column("hosts")  # hosts by when they may fall asleep, or earlier; host h is H - 1 - h
    boots: Heap = column("hosts")  # hosts by when they are up
    away: Ints = column("free_words")  # the cores of hosts that are asleep or booting, 32 in a word
    booting: Ints = column("free_words")  # and of those of these that boot
    offered: Offer = column(saved=False)  # work space: cores that are offered to the allocator
    saved: Offer = column(saved=False)  # work space: the first slice of the profile of cores, where there is one


def all_awake(rules: Mapping[str, Any], sizes: dict[str, int], since_ns: int) -> SleepState:
    """The state in which all hosts are up and have idled since an instant; ``rules`` are its given fields."""
    n = sizes["hosts"]
    sleep = SleepState.new(sizes, **{**rules, "passages": own(rules["passages"], np.int64)})
    sleep.host.idle_since_ns[:] = since_ns
    sleep.sleepy.refill(np.full(n, since_ns + sleep.after_ns), np.arange(n))
    return sleep
