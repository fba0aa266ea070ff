"""Allocators asked for one job, with sets of cores, as the batch engine asks them; and random such questions."""

import random
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from reference.machine import Host, Job, Machine

from bls.allocators import Allocator, HostAmounts, PlacementRequest, with_parameters
from bls.availability.free_cores import free_give, new_free
from traces.compiled import Array
from traces.intervals import parse_intervals


@dataclass(frozen=True)
class Question:
    """The request of a job on a machine; ``offered`` are those of the ``free`` cores that hosts' other resources allow."""

    job: Job
    machine: Machine
    free: frozenset[int]
    offered: frozenset[int]
    seed: int = 0

    def cores_of(self, host: int) -> set[int]:
        """The cores of a host."""
        return set(self.machine.cores_of(host))

    def shares(self, cores: set[int]) -> list[int]:
        """How many of the cores are on each host."""
        return [len(cores & self.cores_of(host)) for host in range(len(self.machine.hosts))]


def suggestion(allocator: Allocator, question: Question) -> set[int] | None:
    """The allocator's answer; None if it cannot place the job.

    The answer has the form that the contract requests, and nothing else has been changed.
    """
    job, machine = question.job, question.machine
    sizes = [host.cores for host in machine.hosts]
    host_first = np.cumsum([0, *sizes], dtype=np.int64)
    words, starts = new_free(sum(sizes))
    words[:] = 0
    for core in question.free if allocator.whole_hosts else question.offered:
        free_give(words, starts, core, core + 1)
    host_free = np.array(question.shares(set(question.offered)) if allocator.by_hosts else [], np.int64)
    switches = switch_arrays(machine)
    wanted = np.array(parse_intervals(" ".join(map(str, job.wanted or ())), "wanted"), np.int64).reshape(-1, 2).T.copy()
    parameters = np.array(with_parameters(allocator, seed=question.seed).parameters, np.int64)
    asked = (job.number, job.cores, job.unit_cores, job.limit)
    looked_at = (words, starts, host_first, host_free, *switches, wanted[0], wanted[1], parameters)
    before = [array.copy() for array in looked_at]
    room = max(2 * job.cores, wanted.shape[1])
    out = np.full((2, room + 1), -9, np.int64)
    n = allocator.place(PlacementRequest(*asked, *looked_at, out[0, :room], out[1, :room], HostAmounts.none()))
    assert all(np.array_equal(a, b) for a, b in zip(before, looked_at, strict=True)), "only looked at"
    assert out[:, room].tolist() == [-9, -9]
    assert 0 <= n <= room
    assert all(out[0, k] < out[1, k] for k in range(n))
    assert all(out[1, k] <= out[0, k + 1] for k in range(n - 1)), "ascending and disjoint"
    cores = {core for k in range(n) for core in range(out[0, k], out[1, k])}
    return cores if n else None


def switch_arrays(machine: Machine) -> tuple[Array, Array, Array, Array]:
    """``switch_lo, switch_hi, switch_level, switch_hosts`` of a request for cores."""
    switches = sorted(machine.switches, key=lambda switch: (switch[0], min(switch[1])))

    def path(host: int) -> list[int]:
        above = sorted((below for _, below in switches if host in below), key=len, reverse=True)
        return [*(min(below) for below in above), host]

    hosts = sorted(range(len(machine.hosts)), key=path) if switches else []
    places = [sorted(hosts.index(host) for host in below) for _, below in switches]
    assert all(some == list(range(some[0], some[0] + len(some))) for some in places)
    columns = ([some[0] for some in places], [some[-1] + 1 for some in places], [level for level, _ in switches], hosts)
    lo, hi, level, order = (np.array(column, np.int64) for column in columns)
    return lo, hi, level, order


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Machines of a few hosts, some across several words of the tree; more or less of them free."""
    sizes = draw(st.lists(st.integers(1, 6) | st.sampled_from((16, 31, 32, 33, 40)), min_size=1, max_size=9))
    hosts = tuple(Host(cores) for cores in sizes)
    n_hosts, n_cores = len(sizes), sum(sizes)
    machine = Machine(hosts, switches=draw(_switches(n_hosts)))
    free = set(range(n_cores))
    for _ in range(draw(st.integers(0, 8))):
        lo = draw(st.integers(0, n_cores - 1))
        free -= set(range(lo, lo + draw(st.integers(1, n_cores))))
    free |= draw(st.sets(st.integers(0, n_cores - 1), max_size=6))
    offered = set(free)
    if draw(st.booleans()):  # another resource is short on some hosts: their highest free cores are of no use
        for host in draw(st.sets(st.integers(0, n_hosts - 1), max_size=3)):
            on_host = sorted(free & set(machine.cores_of(host)))
            offered -= set(on_host[draw(st.integers(0, len(on_host))) :])
    unit_cores = draw(st.sampled_from((1, 1, 1, 2, 3, 4)))
    most = max(1, len(offered) // unit_cores)
    n_units = draw(st.integers(1, most + 1) | st.integers(1, min(most, 8)))
    cores = n_units * unit_cores
    wanted = None
    if cores <= n_cores and draw(st.booleans()):
        of = sorted(offered) if cores <= len(offered) and draw(st.booleans()) else range(n_cores)
        wanted = frozenset(random.Random(draw(st.integers(0, 999))).sample(of, cores))
    job = Job(
        number=draw(st.integers(1, 99) | st.sampled_from((0, 2**62))),
        submit=0,
        run=1,
        cores=cores,
        estimate=1,
        wanted=wanted,
        unit_cores=unit_cores,
        limit=draw(st.sampled_from((0, 0, 1, 2, 3))),
    )
    seed = draw(st.integers(0, 5) | st.sampled_from((2**32, 2**63 - 1)))
    return Question(job, machine, frozenset(free), frozenset(offered), seed)


@st.composite
def _switches(draw: st.DrawFn, n_hosts: int) -> tuple[tuple[int, frozenset[int]], ...]:
    # Level by level; a switch of a level is over one or more of the level below. Hosts of a leaf may be neighbours or not.
    if draw(st.booleans()):
        return ()
    found = []
    hosts = draw(st.permutations(range(n_hosts))) if draw(st.booleans()) else list(range(n_hosts))
    bounds = list(range(n_hosts + 1))
    for level in range(draw(st.integers(1, 3))):
        inner = bounds[1:-1]
        kept = draw(st.sets(st.sampled_from(inner))) if inner else set()
        bounds = [0, *sorted(kept), n_hosts]
        found += [(level, frozenset(hosts[lo:hi])) for lo, hi in pairwise(bounds)]
    return tuple(found)
