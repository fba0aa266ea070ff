"""Progress of a run: a bar on a terminal, and ``live.json`` for other processes."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO, TypeAlias

from bridge.live.file import FINISHING, SIMULATING, STARTING, Live, LiveFile, Look, Process
from bridge.live.sampler import Sampler
from traces.base.time import NS_PER_S, format_ns
from traces.base.written_file import of_system
from traces.kernels.units import working_s

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from bls.simulator import BatchSimulator
    from bridge.live.screen import LiveScreen
    from bridge.scenarios.ready import ReadyScenario

Clock: TypeAlias = Callable[[], float]  # seconds
_log = logging.getLogger("twolevel.live")

#: Runs shorter than this show no bar; the time left is shown no sooner after the first job or cell has ended, s.
QUIET_S = 1.0
_KNOWN = 3  # number that must have ended before the time left is shown

#: Interval between redraws of the bar, and between a study's lines where stderr is not a terminal, s.
_REDRAW_S, _LINE_S = 0.1, 30.0
_EVERY_S = 0.2  # shortest interval between samples of the state, s

#: Rest after each sample, as a multiple of the time that it took; limits the share of a processor that monitoring uses.
_REST, _REST_SCREEN = 100, 30


class TimeLeft:
    """Estimate of the remaining time from the rate since the first job or cell ended; starting processes is not counted."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None

    def text(self, done: int, total: int, now_s: float) -> str:
        """Text such as ``, 22 s left``; empty until a rate is known. ``now_s``: monotonic, without time that does not count."""
        if self._first is None:
            self._first = (done, now_s) if done else None
            return ""
        since, since_s = done - self._first[0], now_s - self._first[1]
        if since < _KNOWN or since_s < QUIET_S:
            return ""
        return f", {format_ns(round((total - done) * since_s / since) * NS_PER_S)} left"


class _Shown:
    """Progress on a stream (default stderr) after the first second: on a terminal a bar followed by text. ``total``: number of
    ``what`` in all, or None. ``clock``: monotonic seconds."""

    def __init__(
        self, total: int | None = None, what: str = "jobs", *, stream: TextIO | None = None, clock: Clock = working_s
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self.total, self._what, self._clock, self._left = total, what, clock, TimeLeft()
        self._began = self._shown_s = clock()
        self._gone = False  # the terminal is closed
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.stop()

    def _due(self, every_s: float) -> bool:
        """Whether the next output is due; resets the timer if so."""
        now_s = self._clock()
        if self._gone or now_s - self._began < QUIET_S or now_s < self._shown_s + every_s:
            return False
        self._shown_s = now_s
        return True

    def _show(self, completed: int, text: str) -> None:
        try:
            if self._terminal:
                self._bar = self._bar or self._new_bar()
                self._bar.update(self._bar.task_ids[0], completed=completed, state=text, refresh=True)
            else:
                print(text, file=self._stream, flush=True)
        except OSError:
            self._gone = self._terminal  # a closed terminal stays closed; a full disk may have room again later

    def _new_bar(self) -> Bar:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        from bridge.live.screen import console_on

        bar = Bar(BarColumn(), TextColumn("{task.fields[state]}"), console=console_on(self._stream), transient=True)
        bar.add_task("", total=self.total, state="")
        bar.start()
        return bar


class Progress(_Shown):
    """A ``bridge.couplings.Watch`` that shows a bar on a terminal once a run has taken a second."""

    def __call__(self, ended: int, now_ns: int) -> None:
        """Note the number of ended jobs and the simulated instant; below 0: no instant to show."""
        if not self._terminal or not self._due(_REDRAW_S):
            return
        per_s = ended / (self._shown_s - self._began)
        rate = f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.2g}"
        simulated = f"  simulated {format_ns(now_ns)}" if now_ns >= 0 else ""
        left = "" if self.total is None else self._left.text(ended, self.total, self._shown_s)
        of = "" if self.total is None else f" of {self.total:,}"
        self._show(ended, f"{ended:,}{of} {self._what}{simulated}  {rate} {self._what}/s{left}")


class StudyProgress(_Shown):
    """A ``bridge.studies.run_study.StudyWatch`` that shows cells done and the time left: a bar on a terminal, else lines."""

    _cells = _kept = 0

    def begin(self, total: int, kept: int) -> None:
        """Note the number of cells × seeds, and how many of them are finished already."""
        self.total = self._cells = total
        self._kept = kept
        self._began = self._shown_s = self._clock()

    def __call__(self, done: int, failed: int, waited_s: float = 0.0) -> None:
        """See ``bridge.studies.run_study.StudyWatch``."""
        # Such as ``812 of 1,200 cells, 1 failed, 22 s left``.
        left = self._left.text(done, self._cells - self._kept, self._clock() - waited_s)
        if self._due(_REDRAW_S if self._terminal else _LINE_S):
            lost = f", {failed:,} failed" if failed else ""
            self._show(self._kept + done, f"{self._kept + done:,} of {self._cells:,} cells{lost}{left}")


class Broadcast:
    """A ``bridge.watches.RunWatch`` that shows a run in its folder's ``live.json`` and on a terminal: as a bar, or with
    ``live`` as the screen of ``bridge.live.screen``.

    The run only samples its state when it pauses. A thread writes and draws the samples, as engines release Python's lock while
    they compute; without ``threaded`` call :meth:`beat`. ``clock``: monotonic seconds; ``wall_clock``: seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        *,
        live: bool = False,
        stream: TextIO | None = None,
        clock: Clock = working_s,
        wall_clock: Clock = time.time,
        threaded: bool = True,
    ) -> None:
        self._clock, self._wall_clock = clock, wall_clock
        self._stream = sys.stderr if stream is None else stream
        self._live = live
        self._bar = None if live else Progress(stream=stream, clock=clock)
        self._screen: LiveScreen | None = None
        self._file: LiveFile | None = LiveFile(folder)
        self._process, self._phase = Process.this(), STARTING
        self._sampler: Sampler | None = None
        self._look: Look | None = None
        self._began = clock()
        self._sample_s = self._write_s = self._draw_s = 0.0  # next times
        self._thread = threading.Thread(target=self._beat_on, name="twolevel-live", daemon=True) if threaded else None
        self._end = threading.Event()
        self._beating = threading.Lock()

    def __enter__(self) -> Self:
        self.beat()
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        if self._screen is not None:
            with contextlib.suppress(OSError):
                self._screen.close()
        if self._bar is not None:
            self._bar.__exit__(*error)
        if self._file is not None:
            self._file.remove()

    def begin(self, scenario: ReadyScenario, simulator: BatchSimulator, coupling: str) -> None:
        """Start, before the first event."""
        if self._bar is not None:
            self._bar.total = len(scenario.workload)
        options = {name: str(value) for name, value in scenario.options.names().items() if value is not None}
        sampler = Sampler(simulator, options | {"coupling": coupling})
        self._look = sampler.look()
        self._sampler = sampler

    def __call__(self, ended: int, now_ns: int) -> None:
        """Sample the state from time to time, while the engine pauses."""
        if self._bar is not None:
            self._bar(ended, now_ns)
        now_s = self._clock()
        if self._sampler is not None and now_s >= self._sample_s:
            self._phase = SIMULATING
            self._look = self._sampler.look()
            self._sample_s = _next(self._clock(), now_s, _EVERY_S, _REST)

    def finish(self) -> None:
        """Show the final phase, after the last event."""
        assert self._sampler is not None  # begin() was called
        self._look = self._sampler.look()
        self._sampler.let_go()
        self._phase = FINISHING
        self._sample_s = self._write_s = self._draw_s = 0.0
        self.beat()

    def beat(self) -> None:
        """Show the latest sample and the current numbers, if it is time to."""
        with self._beating:
            now_s = self._clock()
            if self._file is not None and now_s >= self._write_s:
                try:
                    self._file.write(self._now())
                except OSError as error:  # monitoring must not stop the run
                    self._file = None
                    _log.warning("the run goes on, but twolevel watch will not see it: %s", of_system(error))
                self._write_s = _next(self._clock(), now_s, _EVERY_S, _REST)
            if self._live and now_s >= max(self._draw_s, self._began + QUIET_S):
                every_s = self._draw(self._now())
                self._draw_s = _next(self._clock(), now_s, every_s, _REST_SCREEN)

    def _beat_on(self) -> None:
        while not self._end.wait(_EVERY_S):
            self.beat()

    def _now(self) -> Live:
        sampler, look = self._sampler, self._look
        if sampler is None or look is None:
            return Live(self._process, self._phase, self._wall_clock())
        pulse = sampler.pulse(self._clock() - self._began)
        return Live(self._process, self._phase, self._wall_clock(), sampler.setting, pulse, look)

    def _draw(self, live: Live) -> float:
        """Draw the state; return the shortest time that it stays on the screen, s."""
        if self._screen is None:
            from bridge.live.screen import LiveScreen

            self._screen = LiveScreen(self._stream)
        try:
            self._screen.show(live)
        except OSError:  # such as a pipe without a reader
            self._live = False
        return self._screen.every_s


def _next(now_s: float, since_s: float, every_s: float, rest: int) -> float:
    return max(since_s + every_s, now_s + rest * (now_s - since_s))
