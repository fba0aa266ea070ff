"""What Slurm is asked for, jobs and reservations, and what it means if it refuses."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.machine.platform import Platform
from bls.options import WINDOWS
from bridge.replay.book import ReplayedRows
from bridge.replay.controller import Controller, SlurmRefused
from bridge.replay.host_names import compressed
from bridge.replay.messages import SlurmLaunch
from bridge.replay.submissions import Submissions
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import InputError, PeerError
from traces.base.time import NS_PER_S


def reservation_name(place: int) -> str:
    """What Slurm calls a window."""
    return f"window{place}"


def reservation_lines(windows: Windows, platform: Platform, nodes: Sequence[str], origin_ns: int) -> list[list[str]]:
    """The fields of the requests that make the windows (``native/requests.c``).

    Jobs of all users may name a reservation: who is in which is said by the windows. Raises InputError if a reservation
    has some cores of several hosts, and not equally many of each.
    """
    # Everybody but a user who submits nothing.
    nobody = next(user.pw_name for user in pwd.getpwall() if user.pw_uid != os.geteuid())
    lines = []
    for w, window in enumerate(windows.windows):
        cores = np.zeros(platform.n_cores, bool)
        for k in range(windows.core_first[w], windows.core_first[w + 1]):
            cores[windows.core_lo[k] : windows.core_hi[k]] = True
        counts = np.add.reduceat(cores.astype(np.int64), platform.first_core[:-1])
        hosts = np.flatnonzero(counts)
        whole = bool((counts[hosts] == np.diff(platform.first_core)[hosts]).all())
        if not whole and len(hosts) > 1:
            raise InputError(
                f"{WINDOWS}: {window}: has parts of {len(hosts)} hosts; for Slurm, allowed: whole hosts, or cores of one"
            )
        begin_s = (int(windows.begin_ns[w]) + origin_ns) // NS_PER_S
        end_s = -(-(int(windows.end_ns[w]) + origin_ns) // NS_PER_S)
        names = compressed([nodes[host] for host in hosts.tolist()])
        part = "-" if whole else str(int(counts[hosts[0]]))
        maintenance = "0" if windows.is_reservation[w] else "1"
        lines.append(["reserve", reservation_name(w), str(begin_s), str(end_s), names, part, f"-{nobody}", maintenance])
    return lines


_MINUTE_NS = 60 * NS_PER_S


class Asking:
    """Requests of a replay (``native/requests.c``)."""

    def __init__(self, scenario: ReadyScenario, controller: Controller, book: ReplayedRows, asked: Submissions) -> None:
        self._workload, self._constraints, self._platform = scenario.workload, scenario.constraints, scenario.platform
        self._requeue = int(scenario.options.batch.on_failure == "requeue")
        self._controller, self._book, self._asked = controller, book, asked

    def _fields(self, row: int, longer_ns: int = 0) -> list[str]:
        minutes = max(1, -(-(int(self._workload.estimate_ns[row]) + longer_ns) // _MINUTE_NS))
        fields = [*self._asked.fields[row], f"minutes={minutes}", f"requeue={self._requeue}"]
        if (window := int(self._asked.window[row])) >= 0:
            fields.append(f"reservation={reservation_name(window)}")
        return fields

    def submit(self, row: int, more: Sequence[str]) -> int:
        """Submit a job of the workload, with further fields; returns Slurm's number of it. Raises InputError if Slurm
        does not take it."""
        fields = [*self._fields(row), *more]
        try:
            return self._controller.request("submit", *fields)
        except SlurmRefused as why:
            minutes = next(word[8:] for word in fields if word.startswith("minutes="))
            cores = self._workload.cores[row]
            raise InputError(
                f"Slurm does not take job {self._book.job(row)}, {cores} cores for {minutes} min: {why}"
            ) from None

    def allocate(self, row: int, longer_ns: int) -> SlurmLaunch:
        """Start a job then and there: on the nodes where it has run, where they are known and free; its limit is
        longer. Raises InputError if there are no cores for it."""
        fields, nodes = self._fields(row, longer_ns), self._asked.nodes[row]
        for choice in [[f"on={nodes}"], []] if nodes else [[]]:
            try:
                number, names, groups = self._controller.words("allocate", *fields, *choice)
            except SlurmRefused as refused:
                why = str(refused)
                continue
            counts = [group.split("x") for group in groups.split(",")]
            return SlurmLaunch(
                int(number), names, tuple(int(each) for each, times in counts for _ in range(int(times)))
            )
        cores = self._workload.cores[row]
        raise InputError(
            f"Slurm does not start job {self._book.job(row)}, which runs already by the log, on {cores} cores: {why}"
        )

    def of_job(self, what: str, row: int, *more: object) -> None:
        """Ask for something that becomes of a job, which Slurm is to do. Raises PeerError if it does not."""
        try:
            self._controller.request(what, self._book.number[row], *more)
        except SlurmRefused as why:
            raise PeerError(f"Slurm does not {what} job {self._book.job(row)}: {why}") from None

    def why_not(self, row: int) -> str:
        """Why a job does not start, in Slurm's words."""
        if row not in self._book.number:
            return "it was not submitted, as the job that it waits for was not"
        try:
            self._controller.request("why", self._book.number[row])
        except SlurmRefused as why:
            return str(why)
        return "no reason"

    def set_node(self, name: str, state: str) -> None:
        """A node goes ``down``, is drained (``drain``), or comes back from either (``resume``). Raises PeerError if
        Slurm does not believe it."""
        try:
            self._controller.request("node", name, state, "by the trace")
        except SlurmRefused as why:
            raise PeerError(f"Slurm does not change the state of node {name}: {why}") from None

    def make_windows(self, nodes: Sequence[str], origin_ns: int) -> None:
        """Make the reservations and maintenance of the scenario. Raises InputError if Slurm does not take one."""
        if self._constraints.windows is None:
            return
        for line in reservation_lines(self._constraints.windows, self._platform, nodes, origin_ns):
            try:
                self._controller.request(*line)
            except SlurmRefused as why:
                raise InputError(f"{WINDOWS}: Slurm does not make the reservation of {line[4]}: {why}") from None
