"""The power of every host of a machine, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from bls.machine.host_power import HostPower, milliwatts
from bls.machine.platform import Platform
from traces.base.columns import Columns
from traces.base.errors import InputError
from traces.compiled import Array

#: Highest allowed power of all hosts together: twice this power, and its energy in MJ over the longest time, fit int64.
MOST_MW: Final = 2**60


@dataclass(frozen=True)
class PowerTable(Columns):
    """The power of G groups of equal hosts, in whole mW; all int64.

    A group with fewer states than another repeats its last state.
    """

    first_host: Array  # (G + 1,): group ``g`` has the hosts ``first_host[g]:first_host[g + 1]``
    first_core: Array  # (G + 1,): the same for its cores
    cores: Array  # (G,): number of cores of one host
    speed: Array  # (S, G): speed in each state, in parts per billion of full speed; fastest first
    active_mw: Array  # (S, G): power of a core that works, in each state
    idle_mw: Array  # (G,): of a core that no job holds
    waiting_mw: Array  # (G,): of a held core without a task
    base_mw: Array  # (G,): of a host that is up, without its cores
    off_mw: Array  # (G,): of a host that is off
    shutdown_ns: Array  # (G,): duration
    shutdown_mw: Array  # (G,): of a host meanwhile
    boot_ns: Array  # (G,): duration
    boot_mw: Array  # (G,): of a host meanwhile
    gpus: Array  # (G,): number of GPUs of one host
    # In whole W, which are the mW of a thousandth of a GPU; 0 if the power of GPUs is unknown
    gpu_idle_w: Array  # (G,): of a GPU that no job holds
    gpu_w: Array  # (S, G): of a GPU that a job holds, in each state
    gpu_speed: Array  # (S, G): its speed, as ``speed``, and equal to it if the power of GPUs is unknown

    @property
    def n_states(self) -> int:
        """The largest number of states of any group."""
        return len(self.speed)

    @cached_property
    def n_hosts(self) -> Array:
        """The number of hosts of each group: int64 (G,)."""
        return np.asarray(np.diff(self.first_host))

    @cached_property
    def host_idle_mw(self) -> Array:
        """The power of an idle host of each group: int64 (G,)."""
        return np.asarray(self.base_mw + self.cores * self.idle_mw + 1000 * self.gpus * self.gpu_idle_w)

    @cached_property
    def host_full_mw(self) -> Array:
        """The power of a host of each group whose cores and GPUs all work at full speed: int64 (G,)."""
        return self.host_most_mw(self.active_mw[0], self.gpu_w[0])

    def host_most_mw(self, core_mw: Array, gpu_w: Array) -> Array:
        """The power of a host of each group whose cores and GPUs all draw this: int64 (G,)."""
        return np.asarray(self.base_mw + self.cores * core_mw + 1000 * self.gpus * gpu_w)

    @property
    def idle_total_mw(self) -> int:
        """The power of the idle machine."""
        return int((self.n_hosts * self.host_idle_mw).sum())

    @property
    def full_total_mw(self) -> int:
        """The power of the machine if all its cores and GPUs work at full speed."""
        return int((self.n_hosts * self.host_full_mw).sum())

    def group_of_host(self, host: Array) -> Array:
        """The group of each host: int64."""
        return np.asarray(np.searchsorted(self.first_host, host, side="right") - 1)

    def group_of_core(self, core: Array) -> Array:
        """The group of each core: int64."""
        return np.asarray(np.searchsorted(self.first_core, core, side="right") - 1)


def power_table(platform: Platform, option: str) -> PowerTable:
    """The table of a platform; ``option`` is the option that needs it. Raises InputError if the power of any host is
    unknown, or the total exceeds :data:`MOST_MW`."""
    powers = [group.power for group in platform.hosts]
    missing = next((place for place, power in enumerate(powers) if power is None), None)
    if missing is not None:
        lacks = f"hosts[{missing}] lacks a [hosts.power] table with idle_w and states"
        where = "docs/reference/power.md describes it, and the platform demand-response has one"
        raise InputError(f"{option}: the platform has no power data: {lacks}; {where}")
    known = [power for power in powers if power is not None]
    _check_most(platform, known, option)
    states = [power.states_mw for power in known]
    of_gpus = [power.gpu_states_w or [(speed, 0) for speed, _ in power.states_mw] for power in known]
    most = max(map(len, states + of_gpus))

    def by_state(states: list[list[tuple[int, int]]]) -> Array:
        padded = [own + own[-1:] * (most - len(own)) for own in states]
        return np.array(padded, np.int64).transpose(2, 1, 0)

    shape, gpu_shape = by_state(states), by_state(of_gpus)
    count = np.array([group.count for group in platform.hosts], np.int64)
    cores = np.array([group.cores for group in platform.hosts], np.int64)

    def column(name: str) -> Array:
        return np.array([milliwatts(name, getattr(power, name)) for power in known], np.int64)

    def passage(name: str, part: int) -> Array:
        return np.array([power.passage(name)[part] for power in known], np.int64)

    idle = column("idle_w")
    as_idle = [power.idle_w if power.waiting_w is None else power.waiting_w for power in known]
    waiting = [milliwatts("waiting_w", watts) for watts in as_idle]
    return PowerTable(
        first_host=np.concatenate([[0], np.cumsum(count)]),
        first_core=np.concatenate([[0], np.cumsum(count * cores)]),
        cores=cores,
        speed=shape[0],
        active_mw=shape[1],
        idle_mw=idle,
        waiting_mw=np.array(waiting, np.int64),
        base_mw=column("base_w"),
        off_mw=column("off_w"),
        gpus=np.array([group.gpus for group in platform.hosts], np.int64),
        gpu_idle_w=column("gpu_idle_w") // 1000,
        gpu_w=gpu_shape[1],
        gpu_speed=gpu_shape[0],
        **{f"{name}_{unit}": passage(name, k) for name in ("shutdown", "boot") for k, unit in enumerate(("ns", "mw"))},
    )


def _check_most(platform: Platform, powers: Sequence[HostPower], option: str) -> None:
    # The power at work, while shutting down, or while booting.
    total = 0
    for group, power in zip(platform.hosts, powers, strict=True):
        cores = milliwatts("base_w", power.base_w) + group.cores * power.states_mw[0][1]
        cores += 1000 * group.gpus * power.gpu_states_w[0][1] if power.gpu_states else 0
        rest = (milliwatts("off_w", power.off_w), power.passage("shutdown")[1], power.passage("boot")[1])
        total += group.count * max(cores, *rest)
    if total > MOST_MW:
        draw = f"the platform's hosts draw up to {total / 1000:.4g} W"
        raise InputError(f"{option}: {draw}; allowed: up to {MOST_MW / 1000:.4g} W")


def idle_mw(platform: Platform) -> int:
    """The mean power of an idle core of the machine, mW, rounded half up; 0 if the power of some is unknown."""
    if any(group.power is None for group in platform.hosts):
        return 0
    idle = [milliwatts("idle_w", group.power.idle_w) for group in platform.hosts if group.power is not None]
    return platform.mean_over_cores(idle)
