"""The data of a graph's edges on their way from core to core, as SimGrid's communications between hosts."""

from __future__ import annotations

from typing import Any, NamedTuple

import simgrid

from .world import World


class Sending(NamedTuple):
    """Data under way."""

    source: int  # tasks counted within the part
    target: int
    bytes: float
    sent_ns: int
    comm: Any  # a SimGrid communication; None within a host
    due_s: float  # when they arrive, within a host


class GraphData:
    """A part that is a graph: its tasks and edges, and where its tasks are computed.

    - ``first``, ``tasks``: its tasks in the job.
    - ``producers``, ``consumers``: list of list of (task, bytes), of each task, by number.
    - ``at``: the core that computes a task, -1 as long as it is not known.
    """

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        self.world, self.number, self.first, self.tasks = world, number, first, tasks
        self.producers: list[list[tuple[int, float]]] = [[] for _ in range(tasks)]
        self.consumers: list[list[tuple[int, float]]] = [[] for _ in range(tasks)]
        for source, target, n_bytes in world.job["parts"][number]["edges"]:
            self.consumers[source].append((target, n_bytes))
            self.producers[target].append((source, n_bytes))
        self.at = [-1] * tasks
        self._inbound: list[list[Sending]] = [[] for _ in range(tasks)]

    def send(self, source: int, target: int, n_bytes: float) -> None:
        """Send what a task has produced to the core of another one, if it is another core and there is a network."""
        world, network = self.world, self.world.job["network"]
        here, there = self.at[source], self.at[target]
        if network is None or here == there or n_bytes == 0.0:
            return
        now_s, comm = world.engine.clock, None
        if world.hosts[here] is world.hosts[there]:
            memory = network["memory"]
            now_s += n_bytes / memory if memory else 0.0
        else:
            comm = simgrid.Comm.sendto_init(world.hosts[here], world.hosts[there])
            comm.set_payload_size(round(n_bytes))  # SimGrid counts whole bytes
            comm.start()
        self._inbound[target].append(Sending(source, target, n_bytes, world.now_ns(), comm, now_s))

    def wait_for_data(self, task: int) -> None:
        """Wait, in the actor that is to compute a task, until its data have arrived."""
        world = self.world
        for sending in self._inbound[task]:
            if sending.comm is None:
                simgrid.this_actor.sleep_until(max(sending.due_s, world.engine.clock))
                arrived_ns = round(sending.due_s * 1e9)
            else:
                sending.comm.wait()
                arrived_ns = round(sending.comm.finish_time * 1e9)
            pair = self.first + sending.source, self.first + sending.target
            world.transfers.append((*pair, sending.bytes, sending.sent_ns, max(sending.sent_ns, arrived_ns)))
        self._inbound[task].clear()
