"""The progress bar: after a second, on a terminal, and nowhere else. The clock is the test's."""

from __future__ import annotations

import io
import os
import pty
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import pytest

from bridge.live.progress import Progress, StudyProgress


class Clock:
    """Shows what the test says."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@contextmanager
def terminal() -> Iterator[tuple[TextIO, int]]:
    """A text stream to a terminal, and the file descriptor that reads what is shown there."""
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w", encoding="utf-8") as stream:
            yield stream, master
    finally:
        os.close(master)


def shown(stream: TextIO, master: int) -> str:
    stream.flush()
    os.set_blocking(master, False)
    seen = b""
    try:
        while part := os.read(master, 65536):
            seen += part
    except BlockingIOError:
        pass
    return seen.decode()


@pytest.fixture(autouse=True)
def a_capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def test_nothing_for_a_second_then_jobs_simulated_time_and_rate() -> None:
    clock = Clock()
    with terminal() as (stream, master):
        with Progress(2000, stream=stream, clock=clock) as watch:
            clock.now_s += 0.99
            watch(500, 3600 * 10**9)
            assert shown(stream, master) == ""
            clock.now_s += 1.01
            watch(1000, 7200 * 10**9 + 5 * 60 * 10**9)
            assert "1,000 of 2,000 jobs  simulated 2 h 05 min  500 jobs/s" in shown(stream, master)
            clock.now_s += 0.05  # too soon to draw again
            watch(1100, 0)
            assert "1,100" not in shown(stream, master)
            clock.now_s += 0.95
            watch(1200, 8000 * 10**9)
            assert "1,200 of 2,000 jobs" in shown(stream, master)
        assert shown(stream, master).endswith("\x1b[2K")  # the line is cleared at the end


def test_nothing_in_a_pipe() -> None:
    clock, stream = Clock(), io.StringIO()
    with Progress(10, stream=stream, clock=clock) as watch:
        clock.now_s += 100
        watch(5, 10**9)
    assert stream.getvalue() == ""


def test_a_study_shows_cells_done_and_the_time_left_on_a_terminal() -> None:
    clock = Clock()
    with terminal() as (stream, master), StudyProgress(stream=stream, clock=clock) as watch:
        watch.begin(1200, 200)
        clock.now_s += 0.9
        watch(90, 0)
        assert shown(stream, master) == ""
        clock.now_s += 9.1
        watch(250, 3)
        seen = shown(stream, master)
        assert "450 of 1,200 cells, 3 failed, 43 s left" in seen
        clock.now_s += 0.05
        watch(251, 3)
        assert "451" not in shown(stream, master)


def test_elsewhere_a_study_writes_a_line_every_half_minute() -> None:
    clock, stream = Clock(), io.StringIO()
    with StudyProgress(stream=stream, clock=clock) as watch:
        watch.begin(100, 0)
        for done in range(1, 100):
            clock.now_s += 2
            watch(done, 0)
    lines = stream.getvalue().splitlines()
    assert lines == [
        "15 of 100 cells, 2 min 50 s left",
        "30 of 100 cells, 2 min 20 s left",
        "45 of 100 cells, 110 s left",
        "60 of 100 cells, 80 s left",
        "75 of 100 cells, 50 s left",
        "90 of 100 cells, 20 s left",
    ]


def test_what_a_worker_waits_for_kernels_later_is_not_counted() -> None:
    clock, stream = Clock(), io.StringIO()
    with StudyProgress(stream=stream, clock=clock) as watch:
        watch.begin(100, 0)
        for done in range(1, 41):
            clock.now_s += 1 + 20 * (done == 30)
            watch(done, 0, 20.0 if done >= 30 else 0.0)
    assert stream.getvalue() == "30 of 100 cells, 70 s left\n"


def test_how_long_a_run_will_take_is_said_once_it_is_known() -> None:
    clock = Clock()
    with terminal() as (stream, master), Progress(2000, stream=stream, clock=clock) as watch:
        for ended in (100, 600, 1100):
            clock.now_s += 2
            watch(ended, 10**9)
        lines = [part for part in re.split(r"[\r\x1b]", shown(stream, master)) if "jobs/s" in part]
    assert [line.partition("jobs/s")[2].rstrip() for line in lines[:3]] == ["", ", 6 s left", ", 4 s left"]
