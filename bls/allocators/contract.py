"""The contract of an allocator: one function that chooses the cores of a job among the offered ones.

An allocator is a compiled function ``place(request) -> int`` of a :class:`PlacementRequest`. It returns the number of
intervals that it has written, or 0 if the job cannot be placed on the offered cores. It changes nothing else and replaces no
column, and its answer must depend on the request alone. The engine checks the answer and applies it; an error for an
impossible answer names the allocator.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bls.availability.free_cores import free_count, free_lowest, free_next
from traces.base.plugins import compiled_rule
from traces.compiled import State, compiled, types
from traces.kernels.signatures import Ints, Ints2, StateKind
from traces.kernels.state import column


@compiled(merged=True)
def accepts(kinds: int, kind: int) -> bool:
    """Whether accepted kinds, a sum of 1 << k, include a kind k. For arrays: ``bls.machine.platform.accepts_kind``."""
    return (kinds >> kind) & 1 == 1


class HostAmounts(State):
    """For allocators with ``by_units``: what R resources and the GPUs of H hosts have left during the whole slot, and what
    units of the job take of them. Other allocators ignore this, since their cores are trimmed to it."""

    gpus: int = 0  # different GPUs of its host that each unit takes
    gpus_per_host: int = 0  # those that the first unit on a host takes, also for the others there
    gpu_milli: int = 1000  # thousandths of each of these GPUs
    gpu_kinds: int = 0  # accepted kinds: sum of 1 << k
    own_class: int = 0  # the job's row of ``classes``
    n_gpus: int = 0  # part of the answer: number of entries of ``out_gpu``
    amounts: Ints  # resource r of host h at ``h * R + r``
    needs: Ints  # int64 (R,): what each unit takes
    most: Ints  # int64 (R,): the most that an empty host has
    gpu_first: Ints  # int64 (H + 1,): host h has the GPUs ``gpu_first[h]:gpu_first[h + 1]``; empty without GPUs
    gpu_kind: Ints  # int64 (H,): kind of the GPUs of a host
    gpu_left: Ints  # thousandths left of each GPU
    out_gpu: Ints  # part of the answer: the GPUs, one of several units once for each
    # int64 (C, 6 + R), with ``by_classes``: the different units of all jobs of the workload, each as its number of jobs, its
    # cores, its GPUs, GPUs per host, thousandths, kinds and needs; empty if no job requests GPUs
    classes: Ints2
    # int64 (N, 3 + R + most GPUs of a host), N at least H, with ``classes``: work space that is kept between calls, first -1.
    # Answers must not depend on it
    memo: Ints2


class PlacementRequest(State):
    """The input of an allocator: the job's request, the offered cores, and room for the answer.

    There is one in each run. The engine updates it before each call; an allocator must not keep it between calls.
    """

    number: int  # the job's number in the workload, the same for all of its attempts
    n_cores: int  # number of cores that the job needs, from 1
    # cores of each of the job's units, which is on one host: ``n_cores`` and the cores on each host are multiples of it
    unit_cores: int
    limit: int  # largest number of leaf switches of the job's hosts; 0: any number
    # the offered cores, read with ``bls.availability.free_cores``: free cores that the job may have, perhaps fewer than it
    # needs. Those of a host are trimmed to its other resources, but need not be a multiple of ``unit_cores``.
    words: Ints
    starts: Ints
    host_first: Ints  # int64 (H + 1,): host h has the cores ``host_first[h]:host_first[h + 1]``
    # int64 (H,): number of cores that each host offers, for allocators with ``by_hosts``; else empty. With ``whole_hosts``
    # only these are trimmed to other resources, not ``words``.
    host_free: Ints
    # int64 (S,): the switches of a tree network. Switch s is above the hosts ``switch_hosts[switch_lo[s]:switch_hi[s]]``.
    # First come the leaf switches, of level 0, with each host below one of them; then the next level, each level by its
    # lowest hosts. Empty without switches.
    switch_lo: Ints
    switch_hi: Ints
    switch_level: Ints
    # int64 (H,): all hosts; hosts below a switch are consecutive, hosts of a leaf ascend. Empty without switches.
    switch_hosts: Ints
    wanted_lo: Ints  # first cores of the ascending intervals that the job requests by number; mostly empty
    wanted_hi: Ints  # one past their last cores
    parameters: Ints  # the allocator's own numbers, :attr:`Allocator.parameters`
    # the answer: ascending, disjoint, half-open intervals of offered cores, together ``n_cores`` (with ``whole_hosts``: all
    # cores of the necessary hosts). There is room for 2 × ``n_cores`` intervals, and for all wanted ones.
    out_lo: Ints
    out_hi: Ints
    more: HostAmounts = column()  # only with ``by_units``: further resources of hosts


PLACE = types.int64(StateKind(PlacementRequest))  #: the signature of an allocator


@dataclass(frozen=True)
class Allocator:
    """A rule for choosing cores."""

    name: str  #: name in the literature, in lower case
    place: Callable[..., int]  #: the rule, decorated with :func:`allocator_kernel`
    #: Whether it places every job of 1-core units, without a limit on switches, for which enough cores are offered, wherever
    #: they are. When a job can start is then a matter of counting.
    countable: bool = False
    by_hosts: bool = False  #: whether it reads ``host_free``
    whole_hosts: bool = False  #: whether it takes all cores of every host that it takes
    by_units: bool = False  #: whether it reads what hosts have besides cores (``more``), and chooses GPUs
    by_classes: bool = False  #: whether it reads the requests of all jobs, ``more.classes``; needs ``by_units``
    parameters: tuple[int, ...] = ()  #: numbers that it receives in every call
    asks: tuple[str, ...] = ()  #: names of numbers of the run that replace its parameters: ``"seed"``
    #: A frozen dataclass of the parameters given as ``NAME:key=value``; its method ``allocator()`` makes the allocator.
    options: Any = None


def allocator_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function to the signature of an allocator.

    Raises
    ------
    InputError
        If it has another number of arguments.
    """
    return compiled_rule(function, "allocator_kernel", (PLACE, ("request",)))


@compiled(inner=True)
def usable(offered: int, unit_cores: int) -> int:
    """Number of a host's offered cores that a job can use: ``offered``, rounded down to a multiple of ``unit_cores``."""
    return offered if unit_cores == 1 else offered // unit_cores * unit_cores


@compiled(inner=True)
def take_in_order(request: PlacementRequest, first: int, stop: int, n_cores: int, n_out: int) -> tuple[int, int]:
    """Append the ``n_cores`` lowest usable cores of the hosts ``first`` … ``stop`` - 1 to the answer, host by host. ``n_out``:
    the number of intervals already in the answer, ``out_lo`` and ``out_hi`` of the request. Returns the new number, and the
    number of cores that are still missing."""
    words, starts, host_first, unit_cores = request.words, request.starts, request.host_first, request.unit_cores
    if unit_cores == 1:  # hosts do not matter
        lo, hi = host_first[first], host_first[stop]
        return free_lowest(words, starts, lo, hi, n_cores, n_out, request.out_lo, request.out_hi)
    missing, host = n_cores, first
    while missing > 0 and host < stop:
        core = free_next(words, starts, host_first[host])
        if core < 0:
            break
        while host < stop and host_first[host + 1] <= core:
            host += 1
        if host == stop:
            break
        hi = host_first[host + 1]
        here = min(missing, usable(free_count(words, core, hi), unit_cores))
        n_out, _ = free_lowest(words, starts, core, hi, here, n_out, request.out_lo, request.out_hi)
        missing -= here
        host += 1
    return n_out, missing
