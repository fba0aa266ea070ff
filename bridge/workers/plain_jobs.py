"""Plain jobs, of one loop, that receive no commands: simulated in one kernel call, as most jobs of most runs can be."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from als.engine.state import NEVER
from als.engine.status import FINISHED, STOPPED
from als.plain_loops import PlainLoops, is_plain, run_loop
from als.programs.tasks import normal_lengths
from als.schedulers import AnyScheduler
from bridge.protocol.messages import Message, Outcome, Start
from bridge.protocol.packing import pack_int64, unpack_float64, unpack_int64
from bridge.workers.drawn_job import Drawing
from bridge.workers.slices import record_slices
from traces.base.errors import RAISED_BY_PLUGINS
from traces.base.time import duration_ns

_NO_MESSAGES: Final = np.empty(0, np.int64)


class PlainJobs:
    """Simulates the plain ones among the jobs that a bridge orders."""

    def __init__(self) -> None:
        self._loops: dict[AnyScheduler, PlainLoops] = {}

    def answers(self, start: Start, drawing: Drawing) -> list[Message] | None:
        """The answers to an order; None if it is not plain, or fails: then an ``als.application.Application`` simulates it, or
        says why it cannot."""
        recipe = start.recipe
        told = start.changes or start.hints or start.scales or start.resizes is not None or start.until_ns is not None
        if recipe is None or recipe.program or told or start.releases:
            return None
        speed = unpack_float64(start.core_speed_gflops)
        try:
            technique = drawing.scheduler_of(start.technique)
            if not is_plain(technique):
                return None
            if technique not in self._loops:
                self._loops[technique] = PlainLoops(technique)
            room = self._loops[technique].room_for(normal_lengths(recipe.variation), len(speed), recipe.n)
        except RAISED_BY_PLUGINS:
            return None
        status = run_loop(
            room,
            np.uint64(recipe.seed),
            np.uint64(recipe.job_number),
            recipe.n,
            recipe.mean_gflop,
            recipe.total_gflop,
            recipe.cores,
            float(duration_ns(recipe.core_gflop, recipe.speed_gflops)),
            recipe.speed_gflops,
            speed,
            _NO_MESSAGES if start.latency_ns is None else unpack_int64(start.latency_ns),
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
            records = room.started_ns, room.ended_ns, room.core, room.chunk, room.lengths
            answers += record_slices(start.job, *(column[: room.tasks] for column in records))
        outcome = Outcome(
            job=start.job,
            attempt=start.attempt,
            end_ns=room.end_ns,
            stopped=status == STOPPED,
            last_lost=None,
            tasks=room.tasks,
            ran=room.ran,
            chunks=room.chunks,
            transfers=0,
            length_gflop=room.total_gflop,
            length_cov=None if math.isnan(room.cov) else room.cov,
            finish_ns=pack_int64(room.finish_ns[: len(speed)]),
            busy_ns=pack_int64(room.busy_ns[: len(speed)]),
            released_ns=None,
            scheduling_ns=room.scheduling_ns,
            chosen=(),
            ahead_chunks=0,
            graph=None,
        )
        return [*answers, outcome]
