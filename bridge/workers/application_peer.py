"""The application side of the bridge without any I/O: orders in, answers out, applications in between."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from als.application import ApplicationSimulator
from als.engine.codes import FINISHED, STOPPED
from als.engine.state import NEVER
from als.lengths import normal_lengths
from als.lengths.draw import length_cov
from als.metrics import GRAPH_METRICS
from als.metrics.graphs import arrived_transfers, measure_graph
from als.network.state import NO_NETWORK
from als.plain_loops import PlainLoops, is_plain, run_loop
from als.schedulers import AnyScheduler
from bridge.protocol import messages as m
from bridge.protocol.network_fields import state_of
from bridge.protocol.packing import pack_int64, unpack_float64, unpack_int32, unpack_int64
from bridge.protocol.task_payload import record_slices, transfer_slices
from bridge.protocol.vocabulary import Message
from bridge.workers.drawn_job import Drawing
from bridge.workers.process_names import PROCESS_NAME
from traces.base.errors import RAISED_BY_PLUGINS, InputError, TwolevelError
from traces.base.time import duration_ns


class PlainJobs:
    """Simulates plain jobs, of one loop without commands, in one kernel call each. Columns stay bytes, without numpy: in a
    process for one job, every object used takes time (``bridge.workers.plain_worker``)."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._loops: dict[str, PlainLoops] = {}

    def answers(self, start: m.SimulateJob) -> list[Message] | None:
        """The answers to an order; None if it is not plain, or fails: an ``ApplicationSimulator`` then states the error."""
        recipe = start.recipe
        commanded = start.changes or start.hints or start.scales or start.resizes is not None
        if recipe is None or recipe.program or commanded or start.releases or start.until_ns is not None:
            return None
        cores = len(start.core_speed_gflops) // 8
        try:
            if (loops := self._loops.get(start.technique)) is None:
                technique: AnyScheduler = self._drawing.scheduler_of(start.technique)
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
        outcome = m.Outcome(
            job=start.job,
            attempt=start.attempt,
            end_ns=end_ns,
            stopped=status == STOPPED,
            last_lost=None,
            tasks=tasks,
            ran=ran,
            chunks=chunks,
            transfers=0,
            length_gflop=float(total_gflop),  # a numpy number where nothing is compiled
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


@dataclass
class _Job:
    start: m.SimulateJob
    application: ApplicationSimulator
    hints: list[m.Hint]  # not applied yet, ascending
    resizes: list[m.WidthChange]  # not applied yet, ascending
    scales: list[m.Scale]  # not applied yet, ascending
    changes: list[m.Change] = field(default_factory=list)  # not applied yet, ascending

    @property
    def commands(self) -> tuple[Sequence[m.WidthChange | m.Hint | m.Scale], ...]:
        """The commands by kind, in the order in which those of one instant are applied."""
        return self.resizes, self.hints, self.scales


class JobPeer:
    """Simulates jobs one by one as a bridge orders them; an error ends the job with a ``failed``."""

    def answers(self, order: Message) -> Iterator[Message]:
        """Yield the answers to an order, in sequence."""
        if isinstance(order, m.Cancel):
            self._end(order.job)
        elif isinstance(order, m.SimulateJob | m.Resume):
            try:
                yield from self._simulated(order)
            except RAISED_BY_PLUGINS as error:  # also a plug-in's error, or no memory: another process would fail, too
                self._end(order.job)
                # Options are spelled where the text is shown.
                reason = error.text if isinstance(error, TwolevelError) else f"{type(error).__name__}: {error}"
                blame: Literal["user", "application"] = "user" if isinstance(error, InputError) else "application"
                yield m.Failed(job=order.job, reason=" ".join(reason.split())[:500], blame=blame)

    def _simulated(self, order: m.SimulateJob | m.Resume) -> Iterator[Message]:
        raise NotImplementedError

    def _end(self, job: int) -> None:
        raise NotImplementedError


class ApplicationPeer(JobPeer):
    """Simulates jobs with the engine of :mod:`als`; it generates the tasks from recipes."""

    name = PROCESS_NAME
    releases = hints = resizes = wishes = scales = True

    def __init__(self) -> None:
        self._jobs: dict[int, _Job] = {}
        self._drawing = Drawing()
        self.plain_answers = PlainJobs(self._drawing).answers

    def _simulated(self, order: m.SimulateJob | m.Resume) -> Iterator[Message]:
        plain = self.plain_answers(order) if isinstance(order, m.SimulateJob) else None
        if plain is not None:
            yield from plain
            return
        job = self._begun(order) if isinstance(order, m.SimulateJob) else self._jobs[order.job]
        yield from self._run(job, list(order.changes), order.until_ns, order.stop_ns)

    def _end(self, job: int) -> None:
        self._jobs.pop(job, None)

    def _begun(self, start: m.SimulateJob) -> _Job:
        recipe = start.recipe
        assert recipe is not None  # guaranteed by the session, since our hello requests recipes
        speed = unpack_float64(start.core_speed_gflops)
        drawn = self._drawing.drawn(recipe, start.technique)
        resizes = start.resizes or ()
        places = [len(speed) - 1, *(int(unpack_int32(one.places).max(initial=0)) for one in resizes)]
        speed, workers = drawn.slots(speed)
        core_host, network = start.core_host, start.network
        if recipe.placement is not None:
            core_host, network = recipe.placement.core_host, recipe.placement.network
        application = ApplicationSimulator(
            drawn.lengths,
            speed,
            start_ns=start.start_ns,
            overhead_ns=start.overhead_ns,
            latency_ns=None if start.latency_ns is None else unpack_int64(start.latency_ns),
            master=start.master,
            keep_tasks=start.records,
            phases=drawn.phases,
            part_tasks=drawn.part_tasks,
            seed=recipe.seed,
            job=recipe.job_number,
            edges=drawn.edges,
            core_host=None if core_host is None else unpack_int32(core_host),
            network=NO_NETWORK if network is None else state_of(network),
            releases=start.releases,
            max_cores=1 + max(places),
            wishes=self._drawing.wishes(recipe, start.wishes),
            workers=workers,
        )
        self._jobs[start.job] = _Job(start, application, list(start.hints), list(resizes), list(start.scales))
        return self._jobs[start.job]

    def _run(self, job: _Job, changes: list[m.Change], until_ns: int | None, stop_ns: int | None) -> Iterator[Message]:
        application = job.application
        job.changes = sorted(job.changes + changes, key=lambda change: change.at_ns)
        stopping = stop_ns is not None and (until_ns is None or stop_ns < until_ns)
        last = stop_ns if stopping else until_ns
        self._apply(job, last)
        self._change(job, last)
        if stopping:
            assert last is not None
            application.run_to_stop(last)
        elif not application.advance(last) and not application.only_messages:
            assert last is not None
            yield m.Suspended(job=job.start.job, now_ns=last, not_before_ns=_not_before(job, last, stop_ns))
            return
        if not application.finished:
            application.advance()  # only notifications of cores are left
        yield from self._report(job)

    def _apply(self, job: _Job, last: int | None) -> None:
        """Apply commands before an instant: at each instant first cores that come and go, then hints, then speeds."""
        application = job.application
        while True:
            pending = [(one[0].at_ns, place) for place, one in enumerate(job.commands) if one]
            if not pending or (last is not None and min(pending)[0] >= last):
                return
            at_ns, what = min(pending)
            # Earlier requests were all served before.
            if self._change(job, at_ns + 1) or application.advance(at_ns + 1):
                return
            if what == 0:
                _resize(application, job.resizes.pop(0), job.start.resize_ns)
            elif what == 1:
                application.hint(unpack_int32(job.hints.pop(0).cores).tolist())
            else:
                scale = job.scales.pop(0)
                cores = None if scale.cores is None else unpack_int32(scale.cores).tolist()
                application.scale(scale.factor, cores, at_ns=at_ns)

    def _change(self, job: _Job, before_ns: int | None) -> bool:
        """Change the speeds of cores before an instant; return whether the application has ended."""
        application = job.application
        while job.changes and (before_ns is None or job.changes[0].at_ns < before_ns):
            change = job.changes.pop(0)
            if application.advance(change.at_ns):
                return True
            core = None if change.core == m.ALL_CORES else change.core
            if change.speed_gflops is None:
                application.lose(core)
            else:
                application.set_speed(change.speed_gflops, core)
        return False

    def _report(self, job: _Job) -> Iterator[Message]:
        start, state = job.start, job.application.state
        wishes = job.application.wishes
        if len(wishes) > m.MAX_WISHES:
            raise InputError(f"it requests cores {len(wishes)} times; allowed: up to {m.MAX_WISHES}; use inline")
        for at_ns, cores in wishes:
            yield m.Wish(job=start.job, at_ns=at_ns, cores=cores)
        del self._jobs[start.job]
        if not self._jobs:
            job.application.forget_all()
        measured, reports_releases = _measured(job.application, start), start.releases or start.resizes is not None
        transfers = 0
        if start.records:
            yield from record_slices(start.job, state.start_ns, state.end_ns, state.core, state.chunk, state.lengths)
            if start.network is not None and start.network.kind != "none":
                columns = arrived_transfers(state)
                transfers = len(columns.source)
                yield from transfer_slices(start.job, *columns)
        n = len(state.lengths)
        cov = float(length_cov(state.lengths, 0, n))
        yield m.Outcome(
            job=start.job,
            attempt=start.attempt,
            end_ns=job.application.end_ns,
            stopped=job.application.stopped,
            last_lost=job.application.last_lost if job.application.lost else None,
            tasks=n,
            ran=job.application.ran,
            chunks=job.application.chunks,
            transfers=transfers,
            length_gflop=job.application.length_gflop,
            length_cov=None if math.isnan(cov) else cov,
            finish_ns=pack_int64(state.cores.finish_ns[: len(state.speed)]),
            busy_ns=pack_int64(state.cores.busy_ns[: len(state.speed)]),
            released_ns=pack_int64(job.application.released_ns) if reports_releases else None,
            scheduling_ns=job.application.scheduling_ns,
            chosen=tuple(state.chosen.tolist()),
            ahead_chunks=job.application.ahead_chunks,
            graph=measured,
        )


def _resize(application: ApplicationSimulator, resize: m.WidthChange, cost_ns: int) -> None:
    """Add cores to an application, and have it release others, except those already released, and its last one."""
    places = unpack_int32(resize.places).tolist()
    columns = unpack_float64(resize.speed_gflops).tolist(), unpack_int64(resize.latency_ns).tolist()
    staying = set(application.staying)
    asked = [place for place in unpack_int32(resize.asked).tolist() if place in staying]
    given = list(zip(places, *columns, strict=True))
    came = application.resize(given, asked[: len(staying) - 1], cost_ns=cost_ns)
    if came != places:
        raise InputError(f"resize at {resize.at_ns} ns: cores are added at the places {places}; allowed: {came}")


def _not_before(job: _Job, now_ns: int, stop_ns: int | None) -> int:
    """The promise of a suspended job: the last end of its current chunks, if nothing changes before."""
    known = [one[0].at_ns for one in (job.changes, *job.commands) if one] + ([] if stop_ns is None else [stop_ns])
    return max(now_ns, min([job.application.not_before_ns, *known]))


def _measured(application: ApplicationSimulator, start: m.SimulateJob) -> m.Measurement | None:
    if start.network is None:
        return None
    values = np.empty(len(GRAPH_METRICS))
    devices = len(application.state.devices.slots.kind) > 0  # whose speeds do not change
    fastest = float((application.state.speed if devices else unpack_float64(start.core_speed_gflops)).max())
    cut = application.stopped or application.lost
    measure_graph(values, application.state, start.start_ns, application.end_ns, fastest, cut)
    named = zip((name for name, _ in GRAPH_METRICS), values.tolist(), strict=True)
    found: dict[str, Any] = {name: value if math.isfinite(value) else None for name, value in named}
    return m.Measurement(**found | {name: int(found[name]) for name in ("transfers", "transfer_wait_ns")})
