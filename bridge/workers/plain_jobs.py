"""Plain jobs, of one loop, that receive no commands: simulated in one kernel call, as most jobs of most runs can be.

Columns go from messages to the engine and back as bytes, without numpy: a process that simulates one job takes time for every
object that it uses (``bridge.workers.plain_worker``).
"""

from __future__ import annotations

import math

from als.engine.codes import FINISHED, STOPPED
from als.engine.state import NEVER
from als.lengths import normal_lengths
from als.plain_loops import PlainLoops, is_plain, run_loop
from als.schedulers import AnyScheduler
from bridge.protocol.messages import Outcome, SimulateJob
from bridge.protocol.vocabulary import Message
from bridge.workers.drawn_job import Drawing
from bridge.workers.slices import record_slices
from traces.base.errors import RAISED_BY_PLUGINS
from traces.base.time import duration_ns


class PlainJobs:
    """Simulates the plain ones among the jobs that a bridge orders."""

    def __init__(self) -> None:
        self._loops: dict[str, PlainLoops] = {}

    def answers(self, start: SimulateJob, drawing: Drawing) -> list[Message] | None:
        """The answers to an order; None if it is not plain, or fails: then an ``ApplicationSimulator`` simulates it, or
        says why it cannot."""
        recipe = start.recipe
        told = start.changes or start.hints or start.scales or start.resizes is not None or start.until_ns is not None
        if recipe is None or recipe.program or told or start.releases:
            return None
        cores = len(start.core_speed_gflops) // 8
        try:
            loops = self._loops.get(start.technique)
            if loops is None:
                technique: AnyScheduler = drawing.scheduler_of(start.technique)
                if not is_plain(technique):
                    return None
                loops = self._loops[start.technique] = PlainLoops(technique)
            loops.prepare(normal_lengths(recipe.variation), cores, recipe.n)
        except RAISED_BY_PLUGINS:
            return None
        columns = loops.columns
        columns["speed"][:cores] = memoryview(start.core_speed_gflops).cast("d")
        latency_ns = bytes(8 * cores) if start.latency_ns is None else start.latency_ns
        columns["latency_ns"][:cores] = memoryview(latency_ns).cast("l")
        status, end_ns, tasks, ran, chunks, scheduling_ns, total_gflop, cov = run_loop(
            loops.room,
            recipe.seed,
            recipe.job_number,
            recipe.n,
            recipe.mean_gflop,
            recipe.total_gflop,
            recipe.cores,
            float(duration_ns(recipe.core_gflop, recipe.speed_gflops)),
            recipe.speed_gflops,
            cores,
            start.overhead_ns,
            start.master,
            start.start_ns,
            NEVER if start.stop_ns is None else start.stop_ns,
            start.records,
        )
        if status not in (FINISHED, STOPPED):
            return None
        answers: list[Message] = []
        if start.records:
            records = (columns[name] for name in ("start_ns", "end_ns", "core", "chunk", "lengths"))
            answers += record_slices(start.job, *(column[:tasks] for column in records))
        outcome = Outcome(
            job=start.job,
            attempt=start.attempt,
            end_ns=end_ns,
            stopped=status == STOPPED,
            last_lost=None,
            tasks=tasks,
            ran=ran,
            chunks=chunks,
            transfers=0,
            length_gflop=float(total_gflop),  # of numpy where nothing is compiled
            length_cov=None if math.isnan(cov) else float(cov),
            finish_ns=columns["finish_ns"][:cores].tobytes(),
            busy_ns=columns["busy_ns"][:cores].tobytes(),
            released_ns=None,
            scheduling_ns=scheduling_ns,
            chosen=(),
            ahead_chunks=0,
            graph=None,
        )
        return [*answers, outcome]
