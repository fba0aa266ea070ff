"""Messages during compilation of kernels, and time that no clock counts."""

import io
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from traces.kernels import units
from traces.kernels.units import Compiling


class Clock:
    """Seconds that go on by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def steps(stream: io.StringIO, clock: Clock, units: dict[str, int], each_s: float) -> Iterator[Compiling]:
    shown = Compiling(units, stream=stream, clock=clock)
    for unit, kernels in units.items():
        for _ in range(kernels):
            clock.now_s += each_s
            shown.kernel()
            yield shown
        shown.unit(unit, kernels)
    shown.close()


def test_a_line_every_few_seconds_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    for _ in steps(stream, Clock(), {"one": 4, "two": 6}, 1.0):
        pass
    lines = stream.getvalue().splitlines()
    assert lines == [
        "compiling for this version, once: 2 of 10 kernels, about 12 s left",
        "compiling for this version, once: 5 of 10 kernels, about 6 s left",
        "compiling for this version, once: 8 of 10 kernels, about 3 s left",
    ]


def test_a_bar_on_a_terminal_that_goes() -> None:
    stream = Terminal()
    for _ in steps(stream, Clock(), {"one": 8}, 0.5):
        pass
    shown = stream.getvalue().split("\r\x1b[K")
    assert shown[0] == ""
    assert shown[-1] == ""
    assert "━━━" in shown[-2]
    assert "8 of 8 kernels" in shown[-2]


def test_why_nothing_is_kept_is_reported_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(units, "_SAID", set())
    units.not_kept("for a test")
    units.not_kept("for another")
    assert capsys.readouterr().err == "kernels are compiled again in every run: for a test\n"


def test_waiting_for_the_compiler_is_never_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(units, "time", SimpleNamespace(monotonic=clock))
    spent_s, working_s = units.spent_s(), units.working_s()
    with units.compiling({"one": 1}):
        clock.now_s += 7
    assert units.spent_s() - spent_s == pytest.approx(7)
    clock.now_s += 1
    assert units.working_s() - working_s == pytest.approx(1)
