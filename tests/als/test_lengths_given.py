"""How task lengths are written: parameters, files, and distributions of the user's own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from als.lengths import (
    COUNT,
    FILL,
    LENGTHS,
    PATTERN,
    LengthModel,
    check_variation,
    length_kernel,
    lengths,
    takes_variation,
)
from als.lengths.draw import drawn
from als.lengths.file import read_lengths
from als.programs.tasks import MAX_TASKS_PER_JOB, TaskModel
from traces.base.errors import InputError, PluginError


def test_a_run_of_more_variation_than_a_distribution_can_have() -> None:
    with pytest.raises(InputError, match=r"^lengths uniform: cov: 1.0 is out of range; allowed: 0 to 0.57735$"):
        lengths("uniform", variation=1.0)
    assert lengths("uniform:cov=0.5", variation=1.0).cov == 0.5
    with pytest.raises(InputError, match=r"^--variation: 11.0 is out of range"):
        lengths("exponential", variation=11.0)


def test_the_option_is_named() -> None:
    with pytest.raises(InputError, match=r"^application\[2\]\.lengths: unknown distribution"):
        lengths("nothing", "application[2].lengths")


def test_a_file_of_lengths(tmp_path: Path) -> None:
    path = tmp_path / "loop, of a=b.txt"
    path.write_text("\ufeff# FLOP\n2e9\n\n  4000000000 # the second\n\t6e9\r\n", encoding="utf-8")
    assert read_lengths(path).tolist() == [2e9, 4e9, 6e9]
    assert read_lengths(path, "flop").tolist() == [2.0, 4.0, 6.0]
    scaled = lengths(f"file:{path},unit=flop")
    assert (scaled.name, scaled.mode, scaled.count, scaled.source) == ("file", PATTERN, 3, str(path))
    assert scaled.cov == pytest.approx(math.sqrt(8 / 3) / 4)
    assert drawn(scaled, 0, 0, 100, 1.0, 24.0).tolist() == [4.0, 8.0, 12.0]
    as_they_are = lengths(f"file:{path},unit=flop,scale=no")
    assert as_they_are.mode == COUNT
    assert drawn(as_they_are, 0, 0, 100, 1.0, 24.0).tolist() == [2.0, 4.0, 6.0]


def test_what_is_no_file_or_no_unit(tmp_path: Path) -> None:
    (tmp_path / "utf-16").write_bytes(b"\xff\xfe1\n")
    with pytest.raises(InputError, match=r"utf-16: not text: byte 0 is not UTF-8$"):
        read_lengths(tmp_path / "utf-16")
    with pytest.raises(InputError, match="is a directory, not a file of task lengths"):
        read_lengths(tmp_path)
    with pytest.raises(InputError, match="cannot be read: embedded null byte"):
        read_lengths("a\0b")
    with pytest.raises(InputError, match="unknown unit of lengths 'mflop'; known: flop, gflop"):
        read_lengths(tmp_path, "mflop")


MINE = """
from dataclasses import dataclass

import numpy as np

from als.lengths import COUNT, LengthModel, length_kernel
from als.streams import next_word, uniform_from_word


@length_kernel
def rule(k, n, mean, params, pattern, memo, keys, cursor, words):
    memo[0] += 1.0
    return mean * (params[0] + 0.0 * uniform_from_word(next_word(keys, cursor, words))) * memo[0]


MODEL = LengthModel("mine", rule, (0.5,), memo_size=1, mode=COUNT)


@dataclass(frozen=True)
class Steps:
    name = "steps"
    by: float = 1.0

    def lengths(self, variation):
        return LengthModel("steps", rule, (self.by,), memo_size=1, mode=COUNT)
"""


def test_distributions_of_the_users_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    assert drawn(lengths(f"{file}:MODEL"), 1, 1, 3, 2.0, 6.0).tolist() == [1.0, 2.0, 3.0]
    assert drawn(lengths(f"{file}:Steps"), 1, 1, 3, 2.0, 6.0).tolist() == [2.0, 4.0, 6.0]
    assert drawn(lengths(f"{file}:Steps:by=3"), 1, 1, 2, 2.0, 6.0).tolist() == [6.0, 12.0]
    assert drawn(TaskModel(0.0, 1, 0, f"{file}:MODEL").length_model, 1, 1, 1, 4.0, 6.0).tolist() == [2.0]
    with pytest.raises(InputError, match=r"MODEL:by=3: mine has no parameters$"):
        lengths(f"{file}:MODEL:by=3")
    with pytest.raises(InputError, match=r"mine.py:rule: .*; allowed: Lengths$"):
        lengths(f"{file}:rule")


@length_kernel
def _from_params(k, n, mean, params, pattern, memo, keys, cursor, words):  # type: ignore[no-untyped-def]
    return params[0]


@pytest.mark.parametrize("mode", [0, 1, 2, 4])
@pytest.mark.parametrize("length", [0.0, -1.0, math.nan, math.inf])
def test_lengths_that_cannot_be_end_the_run(mode: int, length: float) -> None:
    model = LengthModel("bad", _from_params, (length,), mode=mode)
    with pytest.raises(PluginError, match=r"^lengths bad: a task length that is not above 0 and finite$"):
        drawn(model, 1, 1, 5, 1.0, 5.0)


def test_a_loop_of_too_many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("als.lengths.draw.MAX_TASKS_PER_JOB", 100)
    model = LengthModel("tiny", _from_params, (1e-9,), mode=FILL)
    with pytest.raises(InputError, match=r"^lengths tiny: more than 100 tasks in one job$"):
        drawn(model, 1, 1, 5, 1.0, 5.0)


def test_models_that_cannot_be() -> None:
    with pytest.raises(
        InputError, match=r"^length_kernel: short takes 2 arguments; allowed: k, n, mean, params, pattern"
    ):

        @length_kernel
        def short(k: int, n: int) -> float:
            return 1.0

    with pytest.raises(InputError, match=r"^lengths x: next_length must be a function, not 3$"):
        LengthModel("x", 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^lengths x: mode: 7 is out of range; allowed: 0 to 6$"):
        LengthModel("x", _from_params, mode=7)
    with pytest.raises(InputError, match=r"^lengths x: count 4; allowed: None, where tasks are drawn until"):
        LengthModel("x", _from_params, mode=FILL, count=4)
    assert LengthModel("x", _from_params, count=4).tasks(9) == 4
    with pytest.raises(InputError, match=r"^lengths x: count 4; allowed: None, where tasks are drawn until"):
        LengthModel("x", _from_params, count=4).with_draw("paper")
    with pytest.raises(InputError, match=r"^lengths x: count: 0 is out of range"):
        LengthModel("x", _from_params, mode=COUNT, count=0)
    with pytest.raises(InputError, match=r"^lengths x: memo_size: -1 is out of range"):
        LengthModel("x", _from_params, memo_size=-1)


def test_a_loop_of_its_own_number_of_tasks_is_not_too_wide() -> None:
    wide, number = np.array([MAX_TASKS_PER_JOB]), np.array([8])
    TaskModel(0.0, 2, 0, "mandelbrot:width=2,height=2,iterations=2").check(wide, number)
    with pytest.raises(InputError, match=r"gives job 8 of 100000000 cores 200000000 tasks"):
        TaskModel(0.0, 2, 0, "gamma").check(wide, number)
    with pytest.raises(InputError, match=r"^--lengths: unknown distribution of task lengths"):
        TaskModel(0.0, 1, 0, "nothing")


def test_the_example_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference/lengths.md").read_text(encoding="utf-8")
    file = tmp_path / "weibull.py"
    file.write_text(page.partition("```python\n")[2].partition("```")[0])
    model = lengths(f"{file}:MINE")
    found = drawn(model, 1, 1, 20_000, 3.0, 60_000.0)
    assert found.mean() == pytest.approx(3.0, rel=0.02)
    assert found.std() / found.mean() == pytest.approx(model.cov, rel=0.02)


@dataclass(frozen=True)
class Spread:
    """What changes with the variation is neither a rule nor a parameter."""

    name: ClassVar[str] = "spread"

    def lengths(self, variation: float) -> LengthModel:
        return replace(lengths("equal"), name="spread", pattern=np.array([1.0 - variation, 1.0 + variation]))


def test_which_distributions_a_variation_is_of_use_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LENGTHS, "spread", Spread())
    takes = {name for name in LENGTHS if name != "file" and takes_variation(name)}
    assert takes == {"normal", "uniform", "gamma", "lognormal", "correlated", "spread"}
    assert takes_variation("")
    for spec in ("gamma:cov=0.5", "file:none.txt", "exponential"):
        assert not takes_variation(spec)
        check_variation(spec, 0.0)
    with pytest.raises(
        InputError, match=r"--variation: 0\.1 is of no use to --lengths exponential, whose spread is its own"
    ):
        check_variation("exponential", 0.1)
