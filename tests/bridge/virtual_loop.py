"""An event loop whose clock is a number: it jumps to the next timer, so that nothing takes time and everything is repeatable.

What asyncio asks of the operating system (sockets, processes, signals) is asked of the ``system`` that the loop was given
(``virtual_network.py``, ``virtual_processes.py``). So whatever is written for asyncio runs on it unchanged.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import random
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from itertools import count
from typing import Any

__all__ = ["NeverEnds", "VirtualLoop"]

#: So many callbacks, and so much virtual time, are far more than any run takes that ends.
MOST_CALLBACKS = 200_000
LONGEST_S = 7200.0


class NeverEnds(AssertionError):
    """The run waits for what never comes, or is busy for ever."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs callbacks in the order in which they were asked for, and timers by time; of one time, asyncio promises no order."""

    def __init__(self, draw: random.Random) -> None:
        self.system: Any = None
        self._draw = draw
        self.complaints: list[str] = []
        self._now = 0.0
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, float, int, asyncio.TimerHandle]] = []
        self._numbers = count()
        self._callbacks, self._latest_s = 0, LONGEST_S
        self._closed = False
        self._signals: dict[int, Callable[[], Any]] = {}

    # Time

    def time(self) -> float:
        return self._now

    def leap(self, seconds: float) -> None:
        self._now += seconds

    # Callbacks

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, self._draw.random(), next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass  # it is passed over when it is due

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:  # type: ignore[override]
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, **options)
        self.system.begun(task)
        return task

    def waiting(self) -> list[str]:
        timers = [timer[-1] for timer in sorted(self._timers, key=lambda timer: timer[:-1])]
        return [repr(handle) for handle in (*self._ready, *timers) if not handle.cancelled()]

    # Running

    def run_until_complete(self, future: Any) -> Any:
        future = asyncio.ensure_future(future, loop=self)
        self._run(future.done)
        return future.result()

    def run_until_idle(self, longest_s: float) -> None:
        latest = self._now + longest_s
        self._run(lambda: not self._ready and self._next_s() > latest)

    def begin_again(self) -> None:
        """Count anew how much there was to do and how long it took."""
        self._callbacks, self._latest_s = 0, self._now + LONGEST_S

    def _run(self, done: Callable[[], bool]) -> None:
        events._set_running_loop(self)
        try:
            while not done():
                self._advance()
                for _ in range(len(self._ready)):
                    handle = self._ready.popleft()
                    if not handle.cancelled():
                        self._callbacks += 1
                        handle._run()
                if self._callbacks > MOST_CALLBACKS:
                    raise NeverEnds(f"{self._callbacks} callbacks up to {self._now:g} s, and no end")
        finally:
            events._set_running_loop(None)

    def _next_s(self) -> float:
        """When the next timer is due; infinite: there is none."""
        timers = self._timers
        while timers and timers[0][-1].cancelled():
            heapq.heappop(timers)
        return timers[0][0] if timers else math.inf

    def _advance(self) -> None:
        timers = self._timers
        if not self._ready:
            next_s = self._next_s()
            if next_s == math.inf:
                raise NeverEnds(f"nothing can happen any more, at {self._now:g} s")
            if next_s > self._now:
                self.system.quiet()
                self._now = next_s
            if self._now > self._latest_s:
                raise NeverEnds(f"{self._now:g} s have passed, and no end")
        while timers and timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(timers)[-1])

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")

    # The system

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:
        self._signals[sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self._signals.pop(sig, None) is not None

    def strike(self, sig: int) -> bool:
        """This process is sent a signal; False if nobody listens to it."""
        if sig not in self._signals:
            return False
        self.call_soon(self._signals[sig])
        return True

    async def create_unix_server(self, protocol_factory: Any, path: Any = None, **options: Any) -> Any:
        return await self.system.listen(protocol_factory, path)

    async def create_unix_connection(self, protocol_factory: Any, path: Any = None, **options: Any) -> Any:
        return await self.system.connect(protocol_factory, path)

    async def subprocess_exec(self, protocol_factory: Any, *args: Any, **options: Any) -> Any:
        return await self.system.start_process(protocol_factory)

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        return [(None, None, 0, "", (host, port))]

    async def sock_accept(self, sock: Any) -> Any:
        return await sock.accept(), None

    async def connect_accepted_socket(self, protocol_factory: Any, sock: Any, **options: Any) -> Any:
        return await self.system.secure(protocol_factory, sock)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """Another thread does it at once; this one hears of it later."""
        done: asyncio.Future[Any] = self.create_future()

        def tell(result: Any, error: BaseException | None) -> None:
            if not done.done():
                done.set_result(result) if error is None else done.set_exception(error)

        later_s = self.system.beside()
        try:
            self.call_later(later_s, tell, func(*args), None)
        except BaseException as error:
            self.call_later(later_s, tell, None, error)
        return done

    def remove_reader(self, fd: Any) -> bool:
        self.system.stop_accepting(fd)
        return True
