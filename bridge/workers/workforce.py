"""The workforce: the application processes of a run on all hosts. Those that die, hang or break the protocol are replaced."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from bridge.options.declared import TIMEOUT
from bridge.protocol.messages import Outcome, Quit
from bridge.protocol.tables import ConnectionState
from bridge.protocol.vocabulary import Message
from bridge.workers.assignment import Place, Worker, possible_processes
from bridge.workers.outstanding_jobs import OutstandingJobs
from traces.base.errors import PeerError

if TYPE_CHECKING:
    from bridge.workers.hosts import Hosts

log = logging.getLogger("twolevel.bridge")

#: Time in which a process must connect before another takes its place, s, once any process has connected. Until then the
#: user's timeout applies, and ends the run.
CONNECT_S = 30.0

_STILLBORN: Final = 5  # number of consecutive processes that may end before they are admitted
_PARTING_S: Final = 5.0  # time that a process may take to end after a quit, s
PAUSE_S: Final = 0.2  # time to wait before another attempt if a process could not be started, s


def loop_s() -> float:
    """Time of the running event loop, s."""
    return asyncio.get_running_loop().time()


class Workforce:
    """The application processes of a run; an ``Owner`` of launchers. Parameters as of ``workers.supervisor.Supervisor``."""

    def __init__(
        self, jobs: OutstandingJobs, jobs_per_worker: int | None, timeout_s: float, command: str | None
    ) -> None:
        self._jobs, self._jobs_per_worker, self._timeout_s, self._command = jobs, jobs_per_worker, timeout_s, command
        self._parting: dict[str, float] = {}  # workers that were sent a quit, and the time
        self.places: list[Place] = []  # this host, if it takes part, and those that are ready
        self.place_of: dict[str, Place] = {}  # of each process that is not known to have ended
        self.workers: dict[str, Worker] = {}  # the active ones
        self.hosts: Hosts | None = None  # once the run listens for them
        self.launched = 0
        self.alone_since = self._unmet_since = 0.0  # when the last place was lost; since when no process has connected
        self.closing = False  # whether the run has ended or was given up
        self.met = False  # whether any process has sent a hello
        jobs.submitted, jobs.expects_more = self.dispatch, self.recruit

    def recruit(self) -> None:
        """Start as many processes as may run at once, but no more than there are jobs left for them."""
        while len(self.workers) < self._jobs.expected and not (self.closing or self._jobs.failure):
            places = [place for place in self.places if len(place.names) < place.alive]
            if not places:
                return
            place = min(places, key=lambda one: len(one.names) / one.alive)
            if not self.launched:
                self._unmet_since = loop_s()
            worker = Worker(f"w{self.launched}" + ("" if place.here else f"@{place.name}"), loop_s())
            self.launched += 1
            place.launched += 1
            self.workers[worker.name], self.place_of[worker.name] = worker, place
            place.names.add(worker.name)
            place.processes.launch(worker.name)

    def _kill(self, worker: str) -> None:
        if (place := self.place_of.get(worker)) is not None:
            place.processes.kill(worker)

    def unborn(self, worker: str, why: str) -> None:
        """Handle a failed start: continue with fewer processes, if there are any."""
        self.workers.pop(worker, None)
        if (place := self.place_of.pop(worker, None)) is None:
            return
        place.names.discard(worker)
        if not place.names:
            self._count_stillborn(place, f"no application process can be started: {why}")
            if not self._jobs.failure:
                asyncio.get_running_loop().call_later(PAUSE_S, self.recruit)
        elif len(place.names) < place.alive:
            place.alive = len(place.names)
            where = "" if place.here else f" on host {place.name}"
            log.warning("no more than %d application processes can be started%s: %s", place.alive, where, why)

    def _count_stillborn(self, place: Place, what: str) -> None:
        """Count a process that ended before it was admitted; after too many in a row, report ``what``."""
        place.stillborn += 1
        if place.stillborn < _STILLBORN:
            return
        if place.here:
            self.fail(PeerError(what))
        elif self.hosts is not None:
            log.warning("host %s: %s; it is dismissed", place.name, what)
            self.hosts.dismiss(place)

    def room_more(self, processes: int) -> bool:
        """Whether ``processes`` more processes, of hosts that are not ready yet, may connect."""
        wanted = sum(place.alive for place in self.places) + processes
        return possible_processes(wanted)[0] == wanted

    def awaited_elsewhere(self) -> int:
        """Number of processes on other hosts whose hello is still to come."""
        return sum(one.connection is None and not self.place_of[one.name].here for one in self.workers.values())

    def joined(self, place: Place) -> None:
        """Add a host that is ready."""
        self.places.append(place)
        self.recruit()

    def lost(self, place: Place, how: str) -> None:
        """Remove a lost host: have its jobs simulated again elsewhere."""
        log.warning("host %s was lost: %s", place.name, how)
        if place in self.places:
            self.places.remove(place)
        if not self.places:
            self.alone_since = loop_s()
        for name in list(place.names):
            if (worker := self.workers.get(name)) is None:
                continue
            worker.how = f"was lost with its host ({how})"
            worker.ended.set()
            if worker.connection is None:
                del self.workers[name]
            else:
                self.lose(worker)
        for name in [name for name, its in self.place_of.items() if its is place]:
            self._parting.pop(name, None)
            del self.place_of[name]
        place.names.clear()
        self.recruit()

    def gone(self, worker: str, how: str, *, blameless: bool) -> None:
        """Handle the end of a process. If it was ever connected, the end of its stream shows the same, less exactly."""
        self._parting.pop(worker, None)
        if (lost := self.workers.get(worker)) is None:
            self.place_of.pop(worker, None)
            return
        lost.how, lost.blameless = how, blameless
        lost.ended.set()
        if lost.connection is None:
            self.lose(lost)

    def lose(self, worker: Worker) -> None:
        """Remove a lost worker: have its jobs simulated again, and start another process in its place."""
        if self.workers.pop(worker.name, None) is None:
            return
        worker.pouring.clear()  # nothing more is sent to it
        if self.closing:
            return
        place = self.place_of[worker.name]
        self._kill(worker.name)
        place.names.discard(worker.name)
        if worker.ended.is_set():
            del self.place_of[worker.name]
        if worker.connection is None:
            log.warning("application process %s, which had not sent a hello, %s", worker.name, worker.how)
            if not worker.blameless:
                what = self._command or "the application simulator"
                times = f"{place.stillborn + 1} processes in a row did not send a hello"
                self._count_stillborn(place, f"{what}: {times}; the last one {worker.how}")
            if self._jobs.failure:
                return
        else:
            place.assignment.drop(worker)
            worker.connection.abort()
        place.retries += len(worker.jobs)
        self._jobs.take_back(worker)
        self.recruit()
        self.dispatch()

    async def watch(self) -> None:
        """Kill workers that hold a job, or have not connected, and have been silent for too long; until cancelled."""
        period = min(1.0, self._timeout_s / 4)
        before = loop_s()
        while True:
            await asyncio.sleep(period)
            now = loop_s()
            stopped = now - before > max(1.0, 4 * period)  # this process was suspended; the others may have been, too
            if stopped:
                self._unmet_since = now
                for worker in self.workers.values():
                    worker.since = now
            before = now
            if not self.met and self.workers:
                if now - self._unmet_since > self._timeout_s:
                    what = f"{self._command or 'the application simulator'}: no process has connected"
                    self.fail(PeerError(f"{what} within {self._timeout_s:g} s; allowed: within {TIMEOUT}"))
                    return
                continue
            if self.hosts is not None:
                self._watch_hosts(self.hosts, now, stopped=stopped)
            for worker in list(self.workers.values()):
                allowed = CONNECT_S if worker.connection is None else self._timeout_s
                if now - worker.since > allowed and (worker.jobs or worker.connection is None):
                    what = "connect within" if worker.connection is None else "answer for"
                    worker.how = f"did not {what} {allowed:g} s"
                    self.lose(worker)
            for name, since in list(self._parting.items()):
                if now - since > _PARTING_S:
                    del self._parting[name]
                    self._kill(name)

    def _watch_hosts(self, hosts: Hosts, now: float, *, stopped: bool) -> None:
        hosts.watch(now, stopped=stopped)
        if self.places or hosts.there or stopped:
            self.alone_since = now
        elif now - self.alone_since > self._timeout_s:
            what = "no host has joined" if not hosts.places else "all hosts are lost, and no other has joined"
            what = f"{what} for {self._timeout_s:g} s; on every host that is to take part: {hosts.command}"
            self.fail(PeerError(what))

    def _dismiss(self, worker: Worker) -> None:
        assert worker.connection is not None
        place = self.place_of[worker.name]
        place.assignment.drop(worker)
        place.names.discard(worker.name)
        del self.workers[worker.name]
        worker.connection.send(Quit())
        self._parting[worker.name] = loop_s()
        self.recruit()

    def take(self, worker: Worker, message: Message) -> None:
        """Handle a message of an active worker."""
        worker.since = loop_s()
        self._jobs.take(self.place_of[worker.name], worker, message)
        if isinstance(message, Outcome):
            if worker.served == self._jobs_per_worker:
                self._dismiss(worker)
            self.dispatch()

    def close(self, *, patient: bool) -> None:
        """Stop replacing processes; with ``patient``, ask workers to quit if they can be asked, and kill the others."""
        self.closing = True
        for worker in self.workers.values():
            connection = worker.connection
            if patient and connection is not None and connection.session.state is ConnectionState.READY:
                connection.send(Quit())
            else:
                self._kill(worker.name)

    def dispatch(self) -> None:
        """Give waiting jobs to workers with room."""
        self._jobs.hand_out(self.places)

    def fail(self, error: Exception) -> None:
        self._jobs.fail(error)
