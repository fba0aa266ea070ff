"""An application simulator that requests lengths and knows graphs: our engine, given only what messages state of the tasks."""

import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from als.application import ApplicationSimulator
from als.application_parts import Edges as EngineEdges
from als.application_parts import GraphPart
from als.network.state import NO_NETWORK
from als.planners import Planner
from als.schedulers import AnyScheduler, scheduler
from bridge.protocol import messages
from bridge.protocol.messages import EdgeSlice, Lengths, SimulateJob
from bridge.protocol.network_fields import state_of
from bridge.protocol.packing import unpack_float64, unpack_int32, unpack_int64
from bridge.protocol.vocabulary import Message
from bridge.workers import worker
from bridge.workers.application_peer import ApplicationPeer, _Job
from bridge.workers.worker import BlockingConnection


class ToldPeer(ApplicationPeer):
    """Waits for the lengths and edges of a job, and then simulates these."""

    name, hints, scales = "told", False, False  # type: ignore[misc]

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[int, list[SimulateJob | Lengths | EdgeSlice]] = {}

    def answers(self, order: Message) -> Iterator[Message]:
        if not isinstance(order, SimulateJob | Lengths | EdgeSlice):
            yield from super().answers(order)
            return
        said = self._said.setdefault(order.job, [])
        said.append(order)
        start = said[0]
        assert isinstance(start, SimulateJob)
        parts = start.parts or ()
        tasks = sum(len(message.length_gflop) for message in said if isinstance(message, Lengths)) // 8
        edges = sum(len(message.bytes) for message in said if isinstance(message, EdgeSlice)) // 8
        if (tasks, edges) == (start.tasks, sum(part.edges for part in parts)):
            yield from super().answers(start)

    def _begun(self, start: SimulateJob) -> _Job:
        said = self._said.pop(start.job)
        lengths = [unpack_float64(message.length_gflop) for message in said if isinstance(message, Lengths)]
        edges = [message for message in said if isinstance(message, EdgeSlice)]
        n = start.tasks or 0
        parts = start.parts or (messages.Part(tasks=n, technique=start.technique, order="index", edges=0, cores=None),)
        phases = [self._phase(part) for part in parts]
        told = EngineEdges(
            np.cumsum([0, *(part.edges for part in parts)]),
            np.concatenate([np.zeros(0, np.int32), *(unpack_int32(message.source) for message in edges)]),
            np.concatenate([np.zeros(0, np.int32), *(unpack_int32(message.target) for message in edges)]),
            np.concatenate([np.zeros(0), *(unpack_float64(message.bytes) for message in edges)]),
        )
        has_graph = any(isinstance(phase, GraphPart | Planner) for phase in phases)
        application = ApplicationSimulator(
            np.concatenate(lengths),
            unpack_float64(start.core_speed_gflops),
            start_ns=start.start_ns,
            overhead_ns=start.overhead_ns,
            latency_ns=None if start.latency_ns is None else unpack_int64(start.latency_ns),
            master=start.master,
            keep_tasks=start.records,
            phases=phases,
            part_tasks=[part.tasks for part in parts],
            edges=told if has_graph else None,
            core_host=None if start.core_host is None else unpack_int32(start.core_host),
            network=NO_NETWORK if start.network is None else state_of(start.network),
            releases=start.releases,
            max_cores=1 + max([len(start.core_speed_gflops) // 8 - 1, *_places(start)]),
            wishes=None if start.wishes is None else [part.cores or 0 for part in parts],
        )
        job = self._jobs[start.job] = _Job(start, application, list(start.hints), list(start.resizes or ()), [])
        if "loses" in sys.argv and start.start_ns == 0:
            job.changes.append(
                messages.Change(at_ns=3 * 10**9, core=messages.ALL_CORES, speed_gflops=None)
            )  # no message told it
        return job

    def _phase(self, part: messages.Part) -> AnyScheduler | GraphPart | None:
        if part.technique is None:
            return None
        found = scheduler(part.technique, where="technique")
        if part.edges or part.order == "rank":
            return GraphPart(found, by_rank=part.order == "rank")
        return found


def _places(start: SimulateJob) -> list[int]:
    return [int(unpack_int32(one.places).max(initial=0)) for one in start.resizes or ()]


class Asks(BlockingConnection):
    """Says hello as a simulator that requests lengths."""

    def send(self, message: Any) -> None:
        if isinstance(message, messages.Hello):
            message = msgspec.structs.replace(message, tasks="lengths", conserves_work="loses" not in sys.argv)
        super().send(message)


if __name__ == "__main__":
    worker.BlockingConnection = Asks  # type: ignore[misc]
    worker.run_peer(ToldPeer())
