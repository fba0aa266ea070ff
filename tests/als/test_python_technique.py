"""Techniques in plain Python: they see what was asked, each job has its own, and their mistakes are said in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

from als.application import Application
from als.chunk_sequence import chunk_sequence
from als.techniques import TECHNIQUES, technique
from als.techniques.contract import FACTS, Technique
from als.techniques.python_technique import Ask, LoopStart, PythonTechnique
from traces.base.errors import InputError, PluginError

S = 10**9


class Guided:
    def chunk(self, ask: Ask) -> int:
        return -(-ask.remaining // ask.n_cores)


@pytest.fixture
def asks() -> Callable[..., int]:
    def asked(rule: Technique, memo: Any, remaining: int = 17, request: int = 0, core: int = 0) -> int:
        params = np.array(rule.params)
        return rule.asked(20, 2, core, request, remaining, np.zeros(FACTS), np.ones(2), params, memo)

    return asked


def test_gss_by_hand_is_gss() -> None:
    assert chunk_sequence(PythonTechnique(Guided), 100, 4) == chunk_sequence(TECHNIQUES["gss"], 100, 4)
    assert chunk_sequence(PythonTechnique(Guided()), 100, 4) == chunk_sequence(TECHNIQUES["gss"], 100, 4)


def test_it_sees_all_that_is_known() -> None:
    seen: list[tuple[Any, ...]] = []

    class Looks:
        def begin(self, loop: LoopStart) -> None:
            seen.append(("begin", loop.n_tasks, loop.n_cores, loop.step, loop.now_ns, loop.speed_gflops.tolist()))
            assert (loop.mean_s, loop.sigma_s, loop.overhead_s) == pytest.approx((2 / 3, 1 / 3, 1.0))

        def chunk(self, ask: Ask) -> int:
            assert (ask.n_tasks, ask.n_cores) == (6, 2)
            assert (ask.mean_s, ask.sigma_s, ask.overhead_s) == pytest.approx((2 / 3, 1 / 3, 1.0))
            assert ask.speed_gflops.tolist() == [2.0, 1.0]
            last = (ask.last_size, ask.last_work_ns / S, ask.last_total_ns / S) if ask.last_size else ()
            seen.append((ask.step, ask.core, ask.request, ask.remaining, ask.now_ns / S, last))
            return 2

        def finished(self, ask: Ask) -> None:
            assert ask.remaining == 0
            seen.append(("finished", ask.core, ask.last_size, ask.last_work_ns / S))

    given = {"phases": [PythonTechnique(Looks)], "part_tasks": [6, 6], "overhead_ns": S}
    assert Application([0.5, 1.5] * 6, [2.0, 1.0], **given).advance()
    once: list[Callable[[int, int], tuple[Any, ...]]] = [
        lambda step, at: ("begin", 6, 2, step, at * S, [2.0, 1.0]),
        lambda step, at: (step, 0, 0, 6, at, ()),
        lambda step, at: (step, 1, 1, 4, at, ()),
        lambda step, at: (step, 0, 2, 2, at + 2, (2, 1.0, 2.0)),
        lambda step, at: ("finished", 1, 2, 2.0),
        lambda step, at: ("finished", 0, 2, 1.0),
    ]
    # Core 1 is done at 3 s, core 0 at 4 s, where the second step begins.
    assert seen == [line(step, at) for step, at in ((0, 0), (1, 4)) for line in once]


def test_each_job_has_its_own(asks: Callable[..., int]) -> None:
    made = []

    class Counts:
        def __init__(self) -> None:
            self.count = 0
            made.append(self)

        def chunk(self, ask: Ask) -> int:
            self.count += 1
            return self.count

    for found, copies in ((Counts, 2), (Counts(), 0)):
        made.clear()
        rule = PythonTechnique(found)
        one, two = np.zeros(2), np.zeros(2)
        answers = [asks(rule, memo, request=request) for request, memo in ((0, one), (1, one), (0, two), (2, one))]
        assert answers == [1, 2, 1, 3]
        assert len(made) == copies
        assert asks(rule, one) == 4, "the next time step of the same job"


def test_a_request_can_be_looked_at_only_while_it_is_asked(asks: Callable[..., int]) -> None:
    kept: list[Ask] = []

    class Keeps:
        def chunk(self, ask: Ask) -> int:
            kept.append(ask)
            assert ask.speed_gflops.shape == (2,)
            return 1

    asks(PythonTechnique(Keeps), np.zeros(2))
    for name in ("now_ns", "speed_gflops", "last_size"):
        with pytest.raises(RuntimeError, match="only until chunk"):
            getattr(kept[0], name)


@pytest.mark.parametrize("answer", [0, -1, 18, 2**70, 2.0, True, None, "3", np.float64(3.0), np.int64(0)])
def test_an_impossible_chunk_is_said(answer: Any, asks: Callable[..., int]) -> None:
    class Gives:
        def chunk(self, ask: Ask) -> Any:
            return answer

    rule = PythonTechnique(Gives, "mine.py:Gives")
    assert asks(rule, np.zeros(2)) == -1
    error = rule.error()
    assert isinstance(error, PluginError)
    assert str(error) == f"technique mine.py:Gives: chunk() gave {answer!r}; allowed: 1 to 17, the tasks left"
    assert rule.error() is None


@pytest.mark.parametrize("method", ["__init__", "begin", "chunk", "finished"])
def test_what_it_raises_is_said(method: str, asks: Callable[..., int]) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("no such thing")

    members: dict[str, Any] = {"chunk": lambda self, ask: 1, "finished": lambda self, ask: None}
    rule = PythonTechnique(type("Fails", (), members | {method: fails}))
    memo = np.zeros(2)
    if method == "finished":
        assert asks(rule, memo) == 1
        assert asks(rule, memo, remaining=0, request=5) == -1
    else:
        assert asks(rule, memo) == -1
    what = "it cannot be made" if method == "__init__" else f"{method}() failed"
    error = rule.error()
    assert isinstance(error, PluginError)
    assert str(error).startswith(f"technique Fails: {what}: ValueError: no such thing (")
    assert str(error).endswith(': raise ValueError("no such thing"))')
    assert isinstance(error.__cause__, ValueError)


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), InputError("mine: a file is missing")])
def test_interrupts_and_one_line_errors_are_left_as_they_are(raised: BaseException, asks: Callable[..., int]) -> None:
    class Raises:
        def chunk(self, ask: Ask) -> int:
            raise raised

    rule = PythonTechnique(Raises)
    assert asks(rule, np.zeros(2)) == -1
    assert rule.error() is raised


FILE = """
from dataclasses import dataclass
import numba
from als.techniques import Technique, technique_kernel

class Mine:
    def chunk(self, ask):
        return -(-ask.remaining // ask.n_cores)

class Named:
    name = "of-mine"
    def chunk(self, ask):
        return 1

mine = Named()

@dataclass(frozen=True)
class Sized:
    size: int = 7
    def chunk(self, ask):
        return min(self.size, ask.remaining)

@technique_kernel
def plain(n_tasks, n_cores, core, request, remaining, memo):
    return min(5, remaining)

@technique_kernel
def full(n_tasks, n_cores, core, request, remaining, facts, speed, params, memo):
    return min(int(params[0]), remaining)

PLAIN = Technique("plain", plain)
FULL = Technique("full", full, params=(6.0,))

class Neither:
    pass
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return str(path)


@pytest.mark.parametrize(
    ("name", "called", "sizes"),
    [
        ("Mine", None, [5, 4, 3, 2, 2, 1, 1, 1, 1]),
        ("Named", "of-mine", [1] * 20),
        ("mine", "of-mine", [1] * 20),
        ("Sized", None, [7, 7, 6]),
        ("Sized:size=9", None, [9, 9, 2]),
        ("PLAIN", "plain", [5] * 4),
        ("FULL", "full", [6, 6, 6, 2]),
    ],
)
def test_from_a_file(mine: str, name: str, called: str | None, sizes: list[int]) -> None:
    rule = technique(f"{mine}:{name}")
    assert rule.name == (called or f"{mine}:{name.split(':')[0]}")
    assert chunk_sequence(rule, 20, 4) == sizes


@pytest.mark.parametrize(("name", "message"), table_rows(__file__, "what_is_wrong_with_a_file"))
def test_what_is_wrong_with_a_file_is_said(mine: str, name: str, message: str) -> None:
    with pytest.raises((InputError, PluginError)) as caught:
        technique(f"{mine}:{name}")
    assert re.match(message, str(caught.value))
    assert "\n" not in str(caught.value)
