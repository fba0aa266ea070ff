"""An event loop that handles interrupts as events: they cancel the work where it waits, and interrupt nothing else."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_interruptibly(
    work: Coroutine[Any, Any, T], interruptible: Callable[[Callable[[], object]], None] = lambda interrupt: None
) -> T:
    """Run a coroutine in a new event loop. An interrupt (SIGINT, or SIGTERM as Slurm sends it) cancels it; KeyboardInterrupt is
    raised when it has ended. ``interruptible`` receives a function that interrupts from another thread; it raises RuntimeError
    after the loop has ended."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        interrupted = False

        def interrupt() -> None:
            nonlocal interrupted
            if not interrupted:  # only once: a second one must not disturb the cleanup
                interrupted = True
                task.cancel()

        interruptible(lambda: loop.call_soon_threadsafe(interrupt))
        main = threading.current_thread() is threading.main_thread()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if main else {}
        handled = {number: handler for number, handler in handlers.items() if callable(handler)}
        for number in handled:
            loop.add_signal_handler(number, interrupt)
        try:
            result = loop.run_until_complete(task)
        except asyncio.CancelledError:
            if not interrupted:
                raise
        finally:
            for number, handler in handled.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
        if interrupted:
            raise KeyboardInterrupt
        return result
