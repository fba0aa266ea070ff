"""An event loop whose clock is a number: it jumps to the next timer, so that nothing takes time and everything is repeatable.

What asyncio requests from the operating system (sockets, processes, signals) the loop requests from its ``system``
(``simulated_world.py``). Code that is written for asyncio runs on it unchanged.
"""

import asyncio
import heapq
import random
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

#: Callbacks and virtual time (s) that no run takes that ends.
MOST_CALLBACKS = 200_000
LONGEST_S = 7200.0


class NeverEnds(AssertionError):
    """The run waits for an event that never comes, or is busy for ever."""


class _Timer(asyncio.TimerHandle):
    """Order of timers that are due at one instant: asyncio promises none, so it is drawn."""

    __slots__ = ("tie",)

    def __lt__(self, other: Any) -> bool:
        return (self._when, self.tie) < (other._when, other.tie)  # type: ignore[attr-defined]


class VirtualLoop(asyncio.BaseEventLoop):
    """asyncio's own loop, except that time passes in the selector, which is this object, too."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.set_debug(False)
        self.system: Any = None
        self.complaints: list[str] = []
        self._draw, self._selector, self._clock_resolution = draw, self, 1e-9
        self._now, self._latest_s, self._callbacks = 0.0, LONGEST_S, 0
        self._signals: dict[int, Callable[[], Any]] = {}

    # Time

    def time(self) -> float:
        return self._now

    def leap(self, seconds: float) -> None:
        self._now += seconds

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        timer = _Timer(when, callback, args, self, context)
        timer.tie = self._draw.random()
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True
        return timer

    def select(self, timeout: float | None) -> tuple[()]:
        """Once in every turn of the loop: jump to the next timer if no callback is ready."""
        self._callbacks += len(self._ready)  # type: ignore[attr-defined]
        if self._callbacks > MOST_CALLBACKS:
            raise NeverEnds(f"{self._callbacks} callbacks up to {self._now:g} s, and no end")
        if timeout is None:
            raise NeverEnds(f"nothing can happen any more, at {self._now:g} s")
        if timeout:
            self.system.quiet()
            self._now = self._scheduled[0]._when  # type: ignore[attr-defined]
            if self._now > self._latest_s:
                raise NeverEnds(f"{self._now:g} s have passed, and no end")
        return ()

    def run_until_idle(self, longest_s: float) -> None:
        """Run whatever is due within this time."""
        self._callbacks, self._latest_s = 0, self._now + longest_s
        self.call_later(longest_s, self.stop)
        self.run_forever()

    def waiting(self) -> list[str]:
        handles = (*self._ready, *sorted(self._scheduled))  # type: ignore[attr-defined]
        return [repr(handle) for handle in handles if not handle.cancelled()]

    # The system

    def _process_events(self, events: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.complaints.append(f"{context.get('message')}: {context.get('exception')!r}")

    def create_task(self, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:  # type: ignore[override]
        task = super().create_task(coro, **options)
        self.system.begun(task)
        return task

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:
        self._signals[sig] = lambda: callback(*args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self._signals.pop(sig, None) is not None

    def strike(self, sig: int) -> bool:
        """This process receives a signal; return whether there is a handler."""
        if sig in self._signals:
            self.call_soon(self._signals[sig])
        return sig in self._signals

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
        """Another thread does it at once; the result arrives later."""
        done: asyncio.Future[Any] = self.create_future()
        later_s = self.system.beside()
        try:
            result = func(*args)
        except BaseException as error:
            finish: Callable[[], None] = lambda error=error: done.done() or done.set_exception(error)  # noqa: E731
        else:
            finish = lambda: done.done() or done.set_result(result)  # noqa: E731
        self.call_later(later_s, finish)
        return done

    def remove_reader(self, fd: Any) -> bool:
        self.system.stop_accepting(fd)
        return True
