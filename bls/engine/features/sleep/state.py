"""The columns of hosts that fall asleep."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bls.engine.codes import HostState
from bls.engine.cores import Offer
from traces.algorithms.event_heap import Heap
from traces.compiled import own
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class SleepHosts(State, dim="hosts"):
    """Hosts that fall asleep when idle."""

    state: Ints = column(fill=HostState.UP)  # OFF: off or shutting down; UP: awake
    due_ns: Ints = column()  # instant at which it is off, or up again
    idle_since_ns: Ints = column()  # NEVER: not idle
    is_sleepy: Ints = column(fill=1)  # 1: in the heap ``sleepy``
    slept_at: Ints = column()  # place of its latest sleep in the log
    booted_at: Ints = column()  # place of its latest boot in the log


class SleepState(State):
    """Sleeping hosts; H hosts, or none without sleep."""

    passages: Ints2  # (2, H): duration of shutdown and boot, ns
    after_ns: int = 0  # idle time before sleep
    keep_awake: int = 0  # idle hosts that stay awake
    max_boot_wait_ns: int = 0  # longest wait of a job for its hosts
    n_away: int = 0  # hosts that are asleep or booting
    n_idle: int = 0  # hosts that are awake, or booting, and idle
    idle_changed_ns: int = 0  # when an awake host last became idle, was allocated, failed or returned
    host: SleepHosts = column()  # states of hosts
    sleepy: Heap = column("hosts")  # hosts by earliest instant of sleep; key H - 1 - h for host h
    boots: Heap = column("hosts")  # hosts by end of boot
    away: Ints = column("free_words")  # set of cores of sleeping and booting hosts
    booting: Ints = column("free_words")  # set of cores of booting hosts
    offered: Offer = column(saved=False)  # work space: cores offered to the allocator
    saved: Offer = column(saved=False)  # work space: first slice of the profile of cores


def all_awake(rules: Mapping[str, Any], sizes: dict[str, int], since_ns: int) -> SleepState:
    """The state in which all hosts are up and have idled since an instant; ``rules`` are its given fields."""
    n = sizes["hosts"]
    sleep = SleepState.new(sizes, **{**rules, "passages": own(rules["passages"], np.int64), "n_idle": n})
    sleep.host.idle_since_ns[:] = since_ns
    sleep.sleepy.refill(np.full(n, since_ns + sleep.after_ns), np.arange(n))
    return sleep
