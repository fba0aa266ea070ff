"""An interrupt ends a command, wherever Python is as it comes: also in what compiled code calls, which no exception leaves."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from command_line import everything_in, twolevel

from als.techniques.python_technique import _Calls
from bls.simulator import BatchSimulator

WRITTEN = """
class Waits:
    name = "waits"

    def decide(self, view):
        view.wake_after(60 * 10**9)
        free = view.free_cores
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                yield job

class Halves:
    def begin(self, start):
        pass

    def chunk(self, ask):
        return -(-ask.remaining // 2)
"""


@contextmanager
def interrupted(code: Any, event: str) -> Iterator[list[str]]:
    """SIGTERM comes at the first step of the third call of a function, or at its last one: what Python would do by itself."""
    came: list[str] = []
    calls = 0

    def step(frame: FrameType, happened: str, given: object) -> Any:
        nonlocal calls
        if frame.f_code is not code:
            return None
        calls += happened == event
        if calls == 3 and not came:
            came.append(event)
            handler = signal.getsignal(signal.SIGTERM)
            assert callable(handler)
            handler(signal.SIGTERM, frame)
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        yield came
    finally:
        sys.settrace(before)


def codes() -> dict[str, Any]:
    """What compiled code calls: a policy in Python, and a technique in Python, asked for a chunk or told that a loop begins."""
    chunk = next(one for one in _Calls._chunk_called.__code__.co_consts if getattr(one, "co_name", "") == "called")
    return {"decide": BatchSimulator._called.__code__, "begin": _Calls._begin_called.__code__, "chunk": chunk}


@pytest.mark.parametrize(("called", "event"), [("decide", "return"), ("begin", "call"), ("chunk", "return")])
def test_as_what_compiled_code_calls_begins_and_ends(
    called: str, event: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.py").write_text(WRITTEN)
    before = everything_in(here)
    plugin = ("--bls", "mine.py:Waits") if called == "decide" else ("--als", "mine.py:Halves")
    words = ("run", "sample", "--select", "first:12", "--variation", 0.25, *plugin, "--no-trace", "--out", "r")
    with interrupted(codes()[called], event) as came:
        ran = twolevel(*words)
    assert came == [event]
    assert (ran.code, ran.out, ran.err) == (130, "", "twolevel: interrupted; nothing was written\n")
    assert capfd.readouterr() == ("", "")
    assert everything_in(here) == before
