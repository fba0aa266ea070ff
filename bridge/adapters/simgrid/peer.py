"""The application side of the bridge with SimGrid as the simulator: orders in, answers out, a process for each job."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from als.application_parts import GraphPart
from als.graphs.order import index_edges, topological_order, upward_ranks
from als.lengths.draw import length_cov
from als.network.topologies import topology
from als.network.topologies.dragonfly import Dragonfly
from als.network.topologies.fat_tree import FatTree
from als.planners import Planner
from als.schedulers import AnyScheduler
from als.techniques import Selection
from bridge.adapters.simgrid.asked import JobSchedulers, technique_of
from bridge.adapters.simgrid.process import Installation, JobProcess
from bridge.protocol import messages as m
from bridge.protocol.packing import pack_int64, unpack_float64, unpack_int32, unpack_int64
from bridge.protocol.task_payload import record_slices, transfer_slices
from bridge.protocol.vocabulary import Message
from bridge.workers.application_peer import JobPeer
from bridge.workers.drawn_job import Drawing, DrawnJob
from traces.base.errors import InputError, PeerError
from traces.compiled import Array


def engine_settings(network: m.NetworkFields | None) -> list[str]:
    """SimGrid's options for a network's model; its flow models differ only in numbers. The full solver is used: the lazy
    one overloads links where flows of several links begin at one instant."""
    if network is None or network.kind == "none":
        return []
    numbers = {
        "model": "CM02",
        "optim": "Full",
        "latency-factor": repr(network.latency_factor),
        "bandwidth-factor": repr(network.bandwidth_factor),
        "weight-S": repr(network.weight_bytes),
        "TCP-gamma": repr(network.gamma_bytes),
        "crosstraffic": int(network.crosstraffic),
    }
    return [f"--cfg=network/{name}:{value}" for name, value in numbers.items()]


def network_order(network: m.NetworkFields | None, core_host: list[int], file: Path | None) -> dict[str, Any] | None:
    """The network that ``inside.platform`` builds for the hosts of the cores; None if data take no time. The network of a
    SimGrid platform file replaces the topology. Raises InputError if SimGrid has no such network."""
    if network is None or network.kind == "none":
        return None
    memory = network.memory_bytes_per_s
    order: dict[str, Any] = {
        "core_host": core_host,
        "hosts": network.hosts,
        "bandwidth": network.bandwidth_bytes_per_s,
        "latency": network.latency_ns * 1e-9,
        "memory": None if memory is None else network.bandwidth_factor * memory,
        "fat": network.kind == "hockney",
    }
    if file is not None:
        if network.kind == "hockney":
            raise InputError(f"--network hockney: the links of {file} are shared; allowed with --platform: cm02, lv08")
        return order | {"zone": "file", "path": str(file)}
    made = topology(network.topology)
    if isinstance(made, FatTree | Dragonfly) and network.kind == "hockney":
        why = f"SimGrid's links of a {made.name} are shared"
        raise InputError(f"--network hockney: {why}; allowed with {network.topology}: cm02, lv08")
    if isinstance(made, FatTree):
        down = _numbers(made.down)
        up = _numbers(made.up) or [1] * len(down)
        return order | {"zone": "fat-tree", "numbers": [len(down), down, up, _numbers(made.cables) or [1] * len(down)]}
    if isinstance(made, Dragonfly):
        if made.routing != "simgrid":
            why = "SimGrid routes within a group itself; allowed: routing=simgrid"
            raise InputError(f"network.topology: {network.topology}: {why}")
        pairs = [(made.groups, made.blue), (made.chassis, made.black), (made.routers, made.green)]
        return order | {"zone": "dragonfly", "numbers": [*pairs, made.nodes]}
    return order | {"zone": made.name}


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split("x")] if text else []


#: Largest number of cores of a job: each is an actor, and each actor of a Python program is a thread.
MAX_ACTORS: Final = 8192


@dataclass
class _Job:
    start: m.SimulateJob
    drawn: DrawnJob
    asked: JobSchedulers
    process: JobProcess


class SimGridPeer(JobPeer):
    """Simulates jobs with SimGrid. The network of a SimGrid platform file, if given, replaces the machine's topology: the
    machine's hosts are the file's in the order of their names, with numbers in them compared as numbers."""

    name = "simgrid"
    releases = hints = resizes = wishes = scales = False

    def __init__(self, installation: Installation, platform: Path | None = None) -> None:
        self._installation, self._platform = installation, platform
        self._jobs: dict[int, _Job] = {}
        self._drawing = Drawing()

    def close(self) -> None:
        """End the processes of all jobs."""
        for job in list(self._jobs):
            self._end(job)

    def _simulated(self, order: m.SimulateJob | m.Resume) -> Iterator[Message]:
        if isinstance(order, m.SimulateJob):
            job = self._jobs[order.job] = self._begun(order)
        else:
            job = self._jobs[order.job]
            changes = _checked(order.changes)
            job.asked.change(changes)
            until, stop = (_since(instant, job.start.start_ns) for instant in (order.until_ns, order.stop_ns))
            job.process.resume(until, _listed(job.start, changes), stop)
        suspended_ns, ended = job.process.run()
        if suspended_ns is not None:
            now_ns = job.start.start_ns + suspended_ns
            yield m.Suspended(job=order.job, now_ns=now_ns, not_before_ns=now_ns)
            return
        assert ended is not None
        yield from _report(job, ended)
        self._end(order.job)

    def _end(self, key: int) -> None:
        job = self._jobs.pop(key, None)
        if job is not None:
            job.process.end()
            if self._jobs:
                return
            for phase in job.drawn.phases:
                if (technique := technique_of(phase)) is not None:
                    technique.forget_all()

    def _begun(self, start: m.SimulateJob) -> _Job:
        recipe = start.recipe
        assert recipe is not None  # guaranteed by the session, since our hello requests recipes
        speed = unpack_float64(start.core_speed_gflops)
        if len(speed) > MAX_ACTORS:
            raise PeerError(f"SimGrid: a job of {len(speed)} cores; allowed: up to {MAX_ACTORS}, one actor per core")
        if not (speed > 0.0).all():
            raise PeerError("SimGrid: an absent core; allowed: cores that are available from the start to the end")
        changes = _checked(start.changes)
        drawn = self._drawing.drawn(recipe, start.technique)
        if drawn.program is not None:
            raise PeerError("SimGrid: workers that are no cores; allowed: cores alone")
        asked = JobSchedulers(start, drawn)
        asked.change(changes)
        core_host = [] if start.core_host is None else unpack_int32(start.core_host).tolist()
        order = {
            "lengths": drawn.lengths.tolist(),
            "speed": speed.tolist(),
            "latency": [0] * len(speed) if start.latency_ns is None else unpack_int64(start.latency_ns).tolist(),
            "overhead": start.overhead_ns,
            "master": start.master,
            "network": network_order(start.network, core_host, self._platform),
            "settings": engine_settings(start.network),
            "parts": list(_parts(drawn)),
            "until": _since(start.until_ns, start.start_ns),
            "stop": _since(start.stop_ns, start.start_ns),
            "changes": _listed(start, changes),
        }
        return _Job(start, drawn, asked, JobProcess(self._installation, order, asked))


def _since(instant_ns: int | None, start_ns: int) -> int | None:
    return None if instant_ns is None else instant_ns - start_ns


def _checked(changes: Sequence[m.Change]) -> Sequence[m.Change]:
    if any(not change.speed_gflops for change in changes):  # for a while, or for good
        raise PeerError("SimGrid: a lost core; allowed: cores that are available from the start to the end")
    return changes


def _listed(start: m.SimulateJob, changes: Sequence[m.Change]) -> list[tuple[int, int, float]]:
    n_cores = len(start.core_speed_gflops) // 8
    return [
        (change.at_ns - start.start_ns, core, change.speed_gflops)
        for change in changes
        if change.speed_gflops is not None  # true for checked changes
        for core in (range(n_cores) if change.core == m.ALL_CORES else (change.core,))
    ]


def _parts(drawn: DrawnJob) -> Iterator[dict[str, Any]]:
    first = drawn.part_first.tolist()
    for number in range(len(first) - 1):
        phase = drawn.phases[number % len(drawn.phases)]
        kind, technique = _kind(phase), technique_of(phase)
        learns = technique is not None and technique.learns
        part: dict[str, Any] = {"kind": kind, "tasks": first[number + 1] - first[number], "learns": learns}
        if kind in ("rounds", "planned"):
            part["edges"] = list(zip(*(column.tolist() for column in drawn.edges_of(number)), strict=True))
            part["by_rank"] = isinstance(phase, GraphPart) and phase.by_rank
        yield part


def _kind(phase: AnyScheduler | GraphPart | None) -> str:
    """The kind of a phase in SimGrid's process. Raises PeerError if it is not supported there."""
    given = phase.scheduler if isinstance(phase, GraphPart) else phase
    if given is None:
        return "serial"
    if isinstance(given, Selection):
        raise PeerError(f"SimGrid: {given.name}: looks ahead by simulating the loop; allowed: techniques and planners")
    if isinstance(given, Planner):
        return "planned"
    technique = technique_of(phase)
    if technique is None:
        raise PeerError(f"SimGrid: {given.name}; allowed: techniques and planners")
    if not isinstance(phase, GraphPart):
        return "loop"
    if technique.places:
        allowed = "allowed with graphs: techniques that only choose sizes"
        raise PeerError(f"SimGrid: {technique.name}: chooses the tasks of a chunk; {allowed}")
    return "rounds"


def _report(job: _Job, ended: dict[str, Any]) -> Iterator[Message]:
    start, lengths = job.start, job.drawn.lengths
    began, done = (_instants(ended[name], start.start_ns) for name in ("start_ns", "end_ns"))
    finish = np.array(ended["finish_ns"], np.int64) + start.start_ns
    transfers = _transfers(ended["transfers"], start)
    if start.records:
        core, chunk = (np.array(ended[name], np.int32) for name in ("core", "chunk"))
        yield from record_slices(start.job, began, done, core, chunk, lengths)
        yield from transfer_slices(start.job, *transfers)
    cov = float(length_cov(lengths, 0, len(lengths)))
    yield m.Outcome(
        job=start.job,
        attempt=start.attempt,
        end_ns=int(finish.max()),
        stopped=ended["stopped"],
        last_lost=None,
        tasks=len(lengths),
        ran=int((began >= 0).sum()),
        chunks=ended["chunks"],
        transfers=len(transfers[0]) if start.records else 0,
        length_gflop=float(np.cumsum(lengths)[-1]),
        length_cov=None if math.isnan(cov) else cov,
        finish_ns=pack_int64(finish),
        busy_ns=pack_int64(ended["busy_ns"]),
        released_ns=None,
        scheduling_ns=ended["scheduling_ns"],
        chosen=(),
        ahead_chunks=0,
        graph=_measured(job, int(finish.max()) - start.start_ns, ended, transfers),
    )


def _instants(since_start_ns: list[int], start_ns: int) -> Array:
    column = np.array(since_start_ns, np.int64)
    return np.where(column < 0, -1, column + start_ns)


def _transfers(rows: list[list[Any]], start: m.SimulateJob) -> tuple[Array, ...]:
    columns = list(zip(*rows, strict=True)) or [()] * 5
    source, target = (np.array(column, np.int64) for column in columns[:2])
    sent, arrived = (np.array(column, np.int64) + start.start_ns for column in columns[3:])
    return source, target, np.array(columns[2], np.float64), sent, arrived


def _measured(job: _Job, took_ns: int, ended: dict[str, Any], transfers: tuple[Array, ...]) -> m.Measurement | None:
    start, lengths = job.start, job.drawn.lengths
    if start.network is None:
        return None
    fastest = float(unpack_float64(start.core_speed_gflops).max())
    work, longest = float(np.cumsum(lengths)[-1]), _longest_gflop(job.drawn)
    critical_ns = longest / fastest * 1e9
    across = np.zeros(len(transfers[0]), np.bool_)
    if start.core_host is not None:
        host = unpack_int32(start.core_host)[np.array(ended["core"])]
        across = host[transfers[0]] != host[transfers[1]]
    return m.Measurement(
        critical_path_ns=critical_ns,
        parallelism=work / longest if longest > 0.0 else None,
        slr=took_ns / critical_ns if critical_ns > 0.0 and not ended["stopped"] else None,
        speedup=work / fastest * 1e9 / took_ns if took_ns > 0 and not ended["stopped"] else None,
        transfers=int(across.sum()),
        transfer_bytes=float(transfers[2][across].sum()),
        transfer_wait_ns=ended["wait_ns"],
    )


def _longest_gflop(drawn: DrawnJob) -> float:
    first, total = drawn.part_first.tolist(), 0.0
    for part, (begin, stop) in enumerate(pairwise(first)):
        gflop, n = drawn.lengths[begin:stop], stop - begin
        source, target, n_bytes = drawn.edges_of(part)
        if not len(source):
            total += float(gflop.max())
            continue
        out_first, in_first, order, missing = (np.zeros(size, np.int64) for size in (n + 1, n + 1, n, n))
        index_edges(source, target, n, out_first, in_first, np.zeros(len(source), np.int64))
        topological_order(out_first, target, in_first, n, order, missing)
        ranks = np.zeros(n)
        upward_ranks(np.ascontiguousarray(gflop), out_first, target, n_bytes, order, ranks, 1.0, 0.0, 0.0)
        total += float(ranks.max())
    return total
