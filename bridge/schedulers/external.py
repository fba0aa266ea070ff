"""A scheduler of the user's own, in any language, as the policy of a run: it decides, the own engine keeps the books."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from collections import ChainMap
from types import TracebackType
from typing import Final

from bls.options import BLS_COMMAND
from bls.seen.answers import Choice
from bls.seen.jobs import SeenJob
from bls.seen.news import AnyNews, JobEligible, JobEnded, JobStarted, JobSubmitted
from bls.view import View
from bridge.options.declared import TIMEOUT
from bridge.protocol.scheduler_book import intervals
from bridge.protocol.scheduler_messages import Decide, Decided, SchedulerFailed, SchedulerQuit
from bridge.protocol.session import ProtocolError
from bridge.protocol.tables import ConnectionState
from bridge.schedulers.line import Address, Interrupted, Line, Silence, meet
from bridge.schedulers.process import SchedulerProcess, words_of
from bridge.schedulers.telling import in_mw, machine_of, messages_of
from traces.base.errors import InputError, PeerError, PluginError, TwolevelError, printable, shown

log = logging.getLogger("twolevel.bridge")

#: So much of a command is shown: it may begin with long paths.
_SHOWN: Final = 300

#: How long a scheduler that was told that the run is over may take before it is killed, s.
_PARTING_S: Final = 2.0

#: How long after the end of its connection the end of a process is waited for, to say how it came, s.
_DYING_S: Final = 1.0


class ExternalScheduler:
    """Another program as the policy of runs, one process for each: a ``bls.policies.contract.OtherProgram``.

    - ``command``: a command line; split into words as a shell would, but no shell runs it. It speaks ``PROTOCOL.md``,
      section 15.
    - ``timeout_s``: so long it may take to connect, and to answer.
    - ``socket``: ``unix`` or ``tcp`` (on the loopback interface).

    Raises InputError if the command is none, or another value is not allowed.
    """

    def __init__(self, command: str, timeout_s: float = TIMEOUT.default, socket: str = "unix") -> None:
        self._words = words_of(command, str(BLS_COMMAND))
        self._timeout_s, self._socket = TIMEOUT.check(timeout_s), socket
        self.name = command
        self._address: Address | None = None
        self._process: SchedulerProcess | None = None
        self._line: Line | None = None
        self._told_machine = False
        self._waiting: dict[int, SeenJob] = {}
        self._running: dict[int, SeenJob] = {}
        self._cost: dict[str, int] = {}
        self._broken_off = self._break = -1

    @property
    def who(self) -> str:
        """Whom an error names."""
        return f"scheduler {shown(self.name, _SHOWN)}"

    @property
    def directs(self) -> tuple[str, ...] | None:
        """What it does to running jobs, as its hello says; None before that."""
        return None if self._line is None else self._line.session.book.directs

    @property
    def cost(self) -> dict[str, int]:
        """What went over the connection, so far or in the latest run: ``messages``, ``bytes_sent``, ``bytes_received``."""
        if self._line is not None:
            self._cost = self._line.cost
        return self._cost

    def __enter__(self) -> ExternalScheduler:
        """Start it, and wait until it has said hello. Raises InputError or PeerError if it cannot be run, or is no
        scheduler."""
        if self._process is not None:
            raise InputError(f"{self.who}: it runs already; allowed: one run at a time")
        self._told_machine, self._waiting, self._running = False, {}, {}
        token = secrets.token_hex(32)
        self._broken_off, self._break = os.pipe()
        try:
            self._address = Address(self._socket)
            self._process = SchedulerProcess(self._words, self._address.text, token, str(BLS_COMMAND))
            self._line = meet(self._address, token, self._process, self._timeout_s)
            self._line.heed(self._broken_off)
        except BaseException as error:
            raise self._end(error) from error
        self._address.close()  # and with it the way in for strangers
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it: told that the run is over where it is, killed where it does not end by itself."""
        line, process = self._line, self._process
        if line is None or process is None:
            return  # it has died, and was buried
        # Whoever has not answered is not waited for again, nor is anybody by whom the user interrupts.
        unheard = line.session.state is ConnectionState.DECIDING or isinstance(error, KeyboardInterrupt)
        patience_s = 0.0 if unheard else _PARTING_S
        if line.session.state in (ConnectionState.TELLING, ConnectionState.DECIDING):
            with contextlib.suppress(TwolevelError):
                line.tell(line.session.send(SchedulerQuit(complete=error is None)), patience_s)
        line.hang_up()
        ended = process.wait(patience_s)
        how = self._close()
        if error is None and (not ended or how != "exited with status 0"):
            why = how if ended else f"had not ended {_PARTING_S:g} s after the run was over, and {how}"
            log.warning("%s %s", self.who, why)

    def break_off(self) -> None:
        """From another thread: have whoever waits for its answer give up."""
        with contextlib.suppress(OSError):
            os.write(self._break, b"!")

    def decide(self, view: View) -> list[Choice]:
        """Tell it what has happened, ask, and hand over its answer.

        Raises PeerError if it breaks a rule, dies, is silent, or cannot go on; the message says at which instant.
        Raises InputError if it says that the user has asked for something impossible.
        """
        line = self._line
        if line is None:
            raise RuntimeError("an ExternalScheduler decides within a run, or within its own with statement")
        news = view.news()
        try:
            line.hear_early()
            data = self._told(line, view, news)
            question = Decide(
                decision=line.session.book.decision + 1,
                now_ns=view.now_ns,
                free_cores=view.free_cores,
                power_left_mw=in_mw(view.power_left_w),
                woken=view.woken,
            )
            line.messages += 1
            answer = line.ask(data + line.session.send(question), self._timeout_s)
        except (ProtocolError, Silence, Interrupted) as error:
            raise self._failed(error, f"at {view.now_ns} ns") from error
        if isinstance(answer, SchedulerFailed):
            kind = InputError if answer.blame == "user" else PeerError
            raise kind(f"{self.who}, at {view.now_ns} ns, says: {printable(answer.reason)}")
        assert isinstance(answer, Decided)  # the session allows nothing else
        for rejected in answer.reject:
            view.reject(self._waiting[rejected.job], rejected.reason)
        for instant in answer.wake_ns:
            view.wake_at(instant)
        try:
            self._direct(view, answer)
        except PluginError as error:  # as of cores that a job does not hold, which the session does not know
            raise PeerError(f"{self.who}, at {view.now_ns} ns: {error.text}") from error
        return [
            self._waiting[one.job] if one.cores is None else (self._waiting[one.job], _numbers(one.cores))
            for one in answer.start
        ]

    def _direct(self, view: View, answer: Decided) -> None:
        if not (answer.scale or answer.end or answer.resize or answer.hint):
            return
        known = ChainMap(self._waiting, self._running)
        for one in answer.scale:
            view.scale(known[one.job], one.factor, None if one.cores is None else _numbers(one.cores))
        for last in answer.end:
            (view.requeue if last.requeue else view.cancel)(known[last.job])
        for resized in answer.resize:
            view.resize(known[resized.job], resized.cores)
        for hint in answer.hint:
            waiting = None if hint.waiting is None else known[hint.waiting]
            view.hint(known[hint.job], () if hint.cores is None else _numbers(hint.cores), waiting)

    def finish(self, view: View) -> None:
        """Tell it what has happened since its last decision. Raises PeerError if it breaks a rule, dies, or does not
        listen."""
        line = self._line
        assert line is not None
        try:
            line.hear_early()
            line.tell(self._told(line, view, view.news()), self._timeout_s)
        except (ProtocolError, Silence, Interrupted) as error:
            raise self._failed(error, "at the end of the run") from error

    def _told(self, line: Line, view: View, news: list[AnyNews]) -> bytes:
        frames: list[bytes] = []
        if not self._told_machine:
            frames.append(line.session.send(machine_of(view)))
            self._told_machine = True
        for one in news:
            if isinstance(one, JobSubmitted | JobEligible):
                self._waiting[one.job.row] = one.job
            elif isinstance(one, JobStarted | JobEnded):
                self._waiting.pop(one.job.row, None)
                self._running.pop(one.job.row, None)
                if isinstance(one, JobStarted):
                    self._running[one.job.row] = one.job
        frames += map(line.session.send, messages_of(news, view))
        line.messages += len(frames)
        return b"".join(frames)

    def _failed(self, error: PeerError, when: str) -> PeerError:
        # What it did, or how it ended; it is told the former, and is killed as the run is left.
        line, process = self._line, self._process
        assert line is not None
        assert process is not None
        if isinstance(error, ProtocolError):
            line.say(error.farewell)
            if line.gone and process.wait(_DYING_S):
                return PeerError(f"{self.who}, {when}: it {self._close()}")
            return PeerError(f"{self.who}, {when}: {error.reason}")
        more = f"; allowed: an answer within {TIMEOUT}" if isinstance(error, Silence) else ""
        return PeerError(f"{self.who}, {when}: {error.text}{more}")

    def _end(self, error: BaseException) -> BaseException:
        # What is left of a start that has failed, and what to say of it.
        process, said = self._process, isinstance(error, ProtocolError)
        ended = process is not None and process.wait(_DYING_S if said else 0.0)
        how = self._close()
        if not isinstance(error, PeerError):
            return error
        reason = error.reason if isinstance(error, ProtocolError) else error.text
        if isinstance(error, Silence):
            reason += f"; allowed: within {TIMEOUT}"
        return PeerError(f"{self.who}: {reason}{f', and {how}' if ended else ''}")

    def _close(self) -> str:
        # Leave nothing behind; returns how the process ended.
        if self._address is not None:
            self._address.close()
        if self._line is not None:
            self._cost = self._line.cost
            self._line.close()
        how = "" if self._process is None else self._process.close()
        for descriptor in (self._broken_off, self._break):
            if descriptor >= 0:
                os.close(descriptor)
        self._address = self._process = self._line = None
        self._broken_off = self._break = -1
        return how


def _numbers(column: bytes) -> list[int]:
    return [core for lo, hi in intervals(column) for core in range(lo, hi)]
