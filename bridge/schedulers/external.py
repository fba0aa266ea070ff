"""An external program, in any language, as the policy of a run: it decides, and the engine carries out its decisions."""

import contextlib
import logging
import os
import secrets
from collections import ChainMap
from typing import Final, Self

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
from bridge.schedulers.telling import free_gpus, in_mw, machine_of, messages_of
from traces.base.errors import InputError, PeerError, PluginError, TwolevelError, printable, shown

log = logging.getLogger("twolevel.bridge")

_SHOWN: Final = 300  # number of characters of a command that are shown: it may begin with long paths
_PARTING_S: Final = 2.0  # time that a scheduler may take to end after the run, before it is killed, s

#: Time to wait for the end of a process whose connection has closed, in order to report how it ended, s.
_DYING_S: Final = 1.0


class ExternalScheduler:
    """Another program as the policy of runs, one process for each: a ``bls.policies.contract.OtherProgram``. It speaks
    ``PROTOCOL.md``, section 15. ``timeout_s`` limits connecting and answering; ``socket`` is ``unix`` or ``tcp``. Raises
    InputError if an argument is not allowed."""

    def __init__(self, command: str, timeout_s: float = TIMEOUT.default, socket: str = "unix") -> None:
        self._words = words_of(command, str(BLS_COMMAND))
        self._timeout_s, self._socket = TIMEOUT.check(timeout_s), socket
        self.name = command
        self._address: Address | None = None
        self._process: SchedulerProcess | None = None
        self._line: Line | None = None
        self._machine_message = False
        self._waiting: dict[int, SeenJob] = {}
        self._running: dict[int, SeenJob] = {}
        self._cost: dict[str, int] = {}
        self._broken_off = self._break = -1

    @property
    def who(self) -> str:
        """The name of the scheduler in errors."""
        return f"scheduler {shown(self.name, _SHOWN)}"

    @property
    def directs(self) -> tuple[str, ...] | None:
        """The actions on running jobs that its hello announces; None before the hello."""
        return None if self._line is None else self._line.session.book.directs

    @property
    def cost(self) -> dict[str, int]:
        """Traffic so far or in the latest run: ``messages``, ``bytes_sent``, ``bytes_received``."""
        if self._line is not None:
            self._cost = self._line.cost
        return self._cost

    def __enter__(self) -> Self:
        """Start it, and wait for its hello. Raises InputError or PeerError if it cannot be run, or breaks the protocol."""
        if self._process is not None:
            raise InputError(f"{self.who}: it is running already; allowed: one run at a time")
        self._machine_message, self._waiting, self._running = False, {}, {}
        token = secrets.token_hex(32)
        self._broken_off, self._break = os.pipe()
        try:
            self._address = Address(self._socket)
            self._process = SchedulerProcess(self._words, self._address.text, token, str(BLS_COMMAND))
            self._line = meet(self._address, token, self._process, self._timeout_s)
            self._line.heed(self._broken_off)
        except BaseException as error:
            raise self._end(error) from error
        self._address.close()  # so that no other program can connect
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End it: notify it of the end of the run, and kill it if it does not exit."""
        line, process = self._line, self._process
        if line is None or process is None:
            return  # it died, and its process was closed already
        # Do not wait for a scheduler that has not answered, nor after an interrupt by the user.
        unheard = line.session.state is ConnectionState.DECIDING or isinstance(error, KeyboardInterrupt)
        patience_s = 0.0 if unheard else _PARTING_S
        if line.session.state in (ConnectionState.TELLING, ConnectionState.DECIDING):
            with contextlib.suppress(TwolevelError):
                line.send(line.session.send(SchedulerQuit(complete=error is None)), patience_s)
        line.hang_up()
        ended = process.wait(patience_s)
        how = self._close()
        if error is None and (not ended or how != "exited with status 0"):
            why = how if ended else f"had not ended {_PARTING_S:g} s after the run, and {how}"
            log.warning("%s %s", self.who, why)

    def break_off(self) -> None:
        """Stop waiting for its answer; called from another thread."""
        with contextlib.suppress(OSError):
            os.write(self._break, b"!")

    def decide(self, view: View) -> list[Choice]:
        """Report the news, request a decision, and return it. Raises PeerError, with the instant, if the scheduler breaks a
        rule, dies, is silent, or cannot go on; InputError if it reports a request of the user that is impossible."""
        line = self._line
        if line is None:
            raise RuntimeError("an ExternalScheduler decides within a run, or within its own with statement")
        news = view.news()
        try:
            line.check_silence()
            data = self._reported(line, view, news)
            question = Decide(
                decision=line.session.book.decision + 1,
                now_ns=view.now_ns,
                free_cores=view.free_cores,
                free_gpus=free_gpus(view),
                power_left_mw=in_mw(view.power_left_w),
                woken=view.woken,
            )
            line.messages += 1
            answer = line.ask(data + line.session.send(question), self._timeout_s)
        except (ProtocolError, Silence, Interrupted) as error:
            raise self._failed(error, f"at {view.now_ns} ns") from error
        if isinstance(answer, SchedulerFailed):
            kind = InputError if answer.blame == "user" else PeerError
            raise kind(f"{self.who}, at {view.now_ns} ns, reports: {printable(answer.reason)}")
        assert isinstance(answer, Decided)  # the session allows nothing else
        for rejected in answer.reject:
            view.reject(self._waiting[rejected.job], rejected.reason)
        for instant in answer.wake_ns:
            view.wake_at(instant)
        try:
            self._direct(view, answer)
        except PluginError as error:  # such as cores that the job does not hold, which the session does not check
            raise PeerError(f"{self.who}, at {view.now_ns} ns: {error.text}") from error
        starts = [(self._waiting[one.job], one.cores) for one in answer.start]
        return [job if cores is None else (job, _numbers(cores)) for job, cores in starts]

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
        """Report the news since its last decision. Raises PeerError if it breaks a rule, dies, or does not read."""
        line = self._line
        assert line is not None
        try:
            line.check_silence()
            line.send(self._reported(line, view, view.news()), self._timeout_s)
        except (ProtocolError, Silence, Interrupted) as error:
            raise self._failed(error, "at the end of the run") from error

    def _reported(self, line: Line, view: View, news: list[AnyNews]) -> bytes:
        frames: list[bytes] = []
        if not self._machine_message:
            frames.append(line.session.send(machine_of(view)))
            self._machine_message = True
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
        # The broken rule, or how the process ended; the scheduler gets the former, and is killed when the run is left.
        line, process = self._line, self._process
        assert line is not None
        assert process is not None
        if isinstance(error, ProtocolError):
            line.send_now(error.farewell)
            if line.gone and process.wait(_DYING_S):
                return PeerError(f"{self.who}, {when}: it {self._close()}")
            return PeerError(f"{self.who}, {when}: {error.reason}")
        more = f"; allowed: an answer within {TIMEOUT}" if isinstance(error, Silence) else ""
        return PeerError(f"{self.who}, {when}: {error.text}{more}")

    def _end(self, error: BaseException) -> BaseException:
        # Clean up after a failed start; returns the error to raise.
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
        # Leave nothing running; returns how the process ended.
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
