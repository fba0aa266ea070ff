"""Graphs whose tasks a planner has given to cores beforehand: every core computes its sequence, and nobody asks."""

from __future__ import annotations

import simgrid

from .data import GraphData
from .talk import say
from .world import World


class PlannedPart(GraphData):
    """A part that is planned as it begins, at the speeds that the cores have then."""

    def __init__(self, world: World, number: int, first: int, tasks: int) -> None:
        super().__init__(world, number, first, tasks)
        self._sequences: list[list[int]] | None = None
        self._produced = [simgrid.Semaphore(0) for _ in range(tasks)]
        self._ended = [False] * len(world.speed)
        self._ready_ns = [0] * tasks  # when the last producer of a task had ended

    def core(self, c: int) -> None:
        """What core ``c`` does, in its actor: the tasks of its sequence, each as soon as it can."""
        world = self.world
        if self._sequences is None:
            self._sequences = say("plan", self.number, world.now_ns())
            for core, sequence in enumerate(self._sequences):
                for task in sequence:
                    self.at[task] = core
            begin_ns = world.now_ns()
            self._ready_ns = [begin_ns] * self.tasks
        for task in self._sequences[c]:
            free_ns = world.now_ns()
            for _ in self.producers[task]:
                self._produced[task].acquire()
            ready_ns = max(free_ns, self._ready_ns[task])
            self.wait_for_data(task)
            if world.job["network"] is not None:
                world.wait_ns += world.now_ns() - ready_ns
            chunk, world.chunks = world.chunks, world.chunks + 1
            world.compute(c, self.first + task, chunk)
            for target, n_bytes in self.consumers[task]:
                self.send(task, target, n_bytes)
                self._ready_ns[target] = max(self._ready_ns[target], world.now_ns())
                self._produced[target].release()
        self._ended[c] = True

    def idles(self, c: int) -> bool:
        """Whether its sequence has ended."""
        return self._ended[c]

    def number_chunks(self) -> None:
        """Each task is a chunk: they are numbered as they have begun, at one instant by their cores."""
        world = self.world
        tasks = [task for task in range(self.first, self.first + self.tasks) if world.chunk[task] >= 0]
        numbers = sorted(world.chunk[task] for task in tasks)
        tasks.sort(key=lambda task: (world.start_ns[task], world.core[task], world.chunk[task]))
        for task, number in zip(tasks, numbers, strict=True):
            world.chunk[task] = number
