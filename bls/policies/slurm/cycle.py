"""The scheduling threads of slurmctld: the ticks of the background thread, the main scheduler, backfilling, and their wake-ups.

Computing takes no time. Messages to slurmctld are handled one at a time, each a microsecond later (``_throttle_start``): a
job is removed one microsecond after its end; after another microsecond its nodes have cleaned up, and the main scheduler runs.
At one instant the order is: the background thread, the backfilling, the main scheduler, then messages.
"""

from collections import deque
from collections.abc import Callable
from functools import partial, reduce
from heapq import heappop, heappush
from itertools import count
from operator import or_
from typing import Final

from bls.policies.slurm.backfill import backfill
from bls.policies.slurm.parameters import SlurmCycle
from bls.policies.slurm.places import FreeNodes, SlurmJob
from traces.base.time import NS_PER_S

NEVER: Final = 2**63 - 1  #: no instant

_US: Final = 1000

#: The interval at which records of ended jobs are deleted, and the least time since their ends (``MinJobAge``), s.
_FORGET_S: Final = 60
_KEEP_S: Final = 300

# Order of simultaneous messages: reports that nodes have cleaned up are handled before further requests.
_MAIN, _CLEANED, _ASKED = range(3)


class Threads:
    """slurmctld, from its start at ``up_ns``. ``nodes``: all nodes, as bits. ``date_ns``: the date at time 0. ``started``:
    called with each starting job, its cores by node, and the scheduler that starts it."""

    def __init__(
        self, how: SlurmCycle, places: FreeNodes, nodes: int, up_ns: int, date_ns: int,
        started: Callable[[SlurmJob, dict[int, int], str], None],
    ) -> None:  # fmt: skip
        self._how, self._places, self._nodes = how, places, nodes
        self._up_ns, self._date_ns, self._started = up_ns, date_ns, started
        self.waiting: dict[int, SlurmJob] = {}  # by number, in their order
        self._coming = 0  # jobs whose submission has not been handled yet
        self._tick = 0  # the latest tick at which anything was done
        self._called = 0  # the latest instant at which the main scheduler was requested
        # the first tick after jobs were submitted or nodes registered
        self._asked: int | None = 1
        self._records: deque[int] = deque()  # ends of the jobs whose records are still kept, s
        self._pass_us = -NEVER
        self._is_due = self._is_full = False
        plans = how.scheduler == "backfill" and how.bf_interval > 0
        self._backfill_ns = up_ns + how.bf_interval * NS_PER_S if plans else NEVER
        self._backfill_s = self._changed_s = self._s(up_ns)
        self._planned = 0
        self._told_ns = 0  # messages are being handled until then
        self._queue: list[tuple[int, int, int, Callable[[int], None]]] = []
        self._order = count()
        self._killed: list[SlurmJob] = []
        self._kill_ns = NEVER

    def _s(self, ns: int) -> int:
        return (ns + self._date_ns) // NS_PER_S

    def _us(self, ns: int) -> int:
        return (ns + self._date_ns) // _US

    def kill_ns(self, job: SlurmJob, start_ns: int) -> int:
        """The latest instant at which a starting job is killed: the first check after its limit."""
        every = self._how.kill_interval
        if not every:
            return start_ns + job.limit_s * NS_PER_S
        looks = -((self._s(self._up_ns) - self._s(start_ns) - job.limit_s) // every)
        return self._up_ns + looks * every * NS_PER_S

    def submitted(self, job: SlurmJob, now_ns: int) -> None:
        """A job is submitted."""
        self._coming += 1

        def comes(instant_ns: int) -> None:
            self._coming -= 1
            last = next(reversed(self.waiting.values()), job)
            self.waiting[job.number] = job
            if last.priority < job.priority:
                self.waiting = dict(sorted(self.waiting.items(), key=lambda one: (-one[1].priority, one[0])))
            self._change(instant_ns, 1)
            if not self._how.tick:
                self._ask(instant_ns, False)
            elif self._asked is None:
                self._asked = (instant_ns - self._up_ns) // NS_PER_S + 1

        self._tell(now_ns, comes)

    def ended(self, job: SlurmJob, now_ns: int) -> None:
        """A job ends by itself."""

        def gone(instant_ns: int) -> None:
            self._end(job, instant_ns, 1)
            self._places.clean(job, False)
            self._push(instant_ns + self._message_ns, _CLEANED, partial(self._clean, job))

        self._tell(now_ns, gone)

    def withdrawn(self, job: SlurmJob, now_ns: int) -> None:
        """A waiting job is cancelled."""

        def goes(instant_ns: int) -> None:
            self.waiting.pop(job.number, None)
            self._records.append(self._s(instant_ns))
            self._change(instant_ns, 1)

        self._tell(now_ns, goes)

    def killed(self, job: SlurmJob, now_ns: int, *, ended: bool = False) -> None:
        """A job is killed at its limit. It may have ended at the same instant: the message of its end is then too late."""
        if not self._how.kill_interval:
            self.ended(job, now_ns)
            return
        self._killed.append(job)
        self._kill_ns = now_ns
        if ended:
            self._told_ns = max(now_ns, self._told_ns) + self._message_ns

    @property
    def _message_ns(self) -> int:
        return self._how.message * _US

    def _tell(self, now_ns: int, what: Callable[[int], None]) -> None:
        self._told_ns = max(now_ns, self._told_ns) + self._message_ns
        self._push(self._told_ns, _ASKED, what)

    def _push(self, instant_ns: int, age: int, what: Callable[[int], None]) -> None:
        heappush(self._queue, (instant_ns, age, next(self._order), what))

    def _end(self, job: SlurmJob, instant_ns: int, younger: int) -> None:
        self._places.end(job)
        self._records.append(self._s(instant_ns))
        self._change(instant_ns, younger)

    def _clean(self, job: SlurmJob, instant_ns: int) -> None:
        self._places.clean(job, True)
        self._change(instant_ns, 1)
        self._ask(instant_ns, False)

    def next_ns(self) -> int:
        """The next instant of an internal event that may start a job."""
        if not self.waiting and not self._coming:
            return NEVER
        found = self._queue[0][0] if self._queue else NEVER
        return min(found, self._tick_ns(), self._next_backfill_ns())

    def run_to(self, now_ns: int) -> None:
        """Handle all events up to and including an instant."""
        while True:
            tick_ns, backfill_ns = self._tick_ns(), self._next_backfill_ns()
            asked_ns = self._queue[0][0] if self._queue else NEVER
            first_ns = min(tick_ns, backfill_ns, asked_ns)
            if first_ns > now_ns:
                return
            if tick_ns == first_ns:
                self._look(tick_ns)
            elif backfill_ns == first_ns:
                self._backfill(backfill_ns)
            else:
                instant_ns, _, _, what = heappop(self._queue)
                what(instant_ns)

    def _tick_ns(self) -> int:
        # The next tick at which there is anything to do.
        every = self._how.sched_interval
        tick = (self._tick // every + 1) * every
        if self._asked is not None:
            tick = min(tick, max(self._asked, self._called + self._how.batch_sched_delay))
        if self._records:
            tick = min(tick, (self._tick // _FORGET_S + 1) * _FORGET_S)
        return min(self._up_ns + tick * NS_PER_S, self._kill_ns)

    def _look(self, instant_ns: int) -> None:
        tick = (instant_ns - self._up_ns) // NS_PER_S
        killed: list[SlurmJob] = []
        # An earlier tick, handled only now because the queue was empty, kills no job.
        if instant_ns == self._kill_ns:
            killed, self._killed, self._kill_ns = self._killed, [], NEVER
        for place, job in enumerate(killed, 1):
            self._end(job, instant_ns, 0)
            # A message that is being handled is first.
            cleaned_ns = instant_ns + (place + (self._told_ns > instant_ns)) * self._message_ns
            self._push(cleaned_ns, _CLEANED, partial(self._clean, job))
        if tick % _FORGET_S == 0:
            self._forget(instant_ns)
        full = tick // self._how.sched_interval > self._tick // self._how.sched_interval
        asked = self._asked is not None and tick >= max(self._asked, self._called + self._how.batch_sched_delay)
        self._tick = tick
        if full or asked:
            self._called, self._asked = tick, None
            self._ask(instant_ns, full)
        for job in killed:
            self._places.clean(job, False)

    def _forget(self, instant_ns: int) -> None:
        # Deleting records of jobs counts as a change of jobs.
        before_s = self._s(instant_ns) - _KEEP_S
        if self._records and self._records[0] <= before_s:
            self._change(instant_ns, 0)
        while self._records and self._records[0] <= before_s:
            self._records.popleft()

    def _ask(self, instant_ns: int, full: bool) -> None:
        self._is_full |= full
        if self._is_due:
            return
        if self._us(instant_ns) - self._pass_us > self._how.sched_min_interval:
            self._pass(instant_ns)
            return
        self._is_due = True
        due_ns = (self._pass_us + self._how.sched_min_interval + 1) * _US - self._date_ns
        self._push(due_ns, _MAIN, self._pass)

    def _pass(self, instant_ns: int) -> None:
        full, self._is_full, self._is_due = self._is_full, False, False
        self._pass_us = self._us(instant_ns)
        nodes, blocked, changed = self._places.usable(), False, False
        for looked_at, job in enumerate(list(self.waiting.values())):
            if not full and looked_at > self._how.default_queue_depth:
                break
            if blocked:
                changed = True
                break
            on = self._places.now(job, nodes)
            blocked = on is None
            if on is not None:
                self._start(job, on, "main", instant_ns)
        if changed:
            self._change(instant_ns, 0)
        if self._how.bf_interval == 0 and self._how.scheduler == "backfill":
            self._backfill(instant_ns)

    def _start(self, job: SlurmJob, on: dict[int, int], by: str, instant_ns: int) -> None:
        del self.waiting[job.number]
        job.start_s = self._s(instant_ns)
        job.end_s = job.start_s + job.limit_s
        self._places.take(job, on)
        self._change(instant_ns, 0)
        self._started(job, on, by)

    def _has_work(self) -> bool:
        return self._changed_s >= self._backfill_s

    def _change(self, instant_ns: int, younger: int) -> None:
        # Something has changed, and the check for changes, once a second, has not found it until now.
        if not self._has_work() and self._backfill_ns < instant_ns + younger:
            self._backfill_ns += -((self._backfill_ns - instant_ns - younger) // NS_PER_S) * NS_PER_S
        self._changed_s = self._s(instant_ns)

    def _next_backfill_ns(self) -> int:
        return self._backfill_ns if self._has_work() else NEVER

    def _backfill(self, instant_ns: int) -> None:
        now_s = self._s(instant_ns)
        changed = bool(self._planned)
        self._planned = 0
        if self.waiting:
            start = partial(self._start, by="backfill", instant_ns=instant_ns)
            queue = list(self.waiting.values())
            updated, planned = backfill(self._how, self._places, self._nodes, start, queue, now_s)
            held = reduce(or_, (job.nodes for job in self._places.running.values()), 0)
            self._planned = planned & ~held
            changed = changed or updated or bool(self._planned)
        self._backfill_s = now_s
        if changed:
            self._changed_s = now_s
        if self._how.bf_interval:
            self._backfill_ns = self._us(instant_ns) * _US - self._date_ns + self._how.bf_interval * NS_PER_S
