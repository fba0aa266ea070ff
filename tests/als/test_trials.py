"""The first small loop of a rule of task lengths or of chunks that is not ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from als.lengths import LengthModel, length_kernel, lengths
from als.lengths import trial as length_trial
from als.techniques import TECHNIQUES, Technique, technique, technique_kernel
from als.techniques.trial import try_out
from traces.base.errors import InputError, PluginError
from traces.compiled import jit_enabled
from traces.trials import apart


@technique_kernel
def forgets_its_memo(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    memo[n_cores] = 1.0
    return 1


@technique_kernel
def later(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    memo[request // 10] += 1.0
    return 1


@technique_kernel
def goes_back(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    speed[core - n_cores - 1] = 2.0
    return 1


@technique_kernel
def raises(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    if remaining < 10:
        raise ValueError("too few")
    return 4


def tried_out(tried: Technique | LengthModel) -> None:
    if isinstance(tried, Technique):
        try_out(tried)
    else:
        length_trial.try_out(tried)


@length_kernel
def wanders(
    k: int, n: int, mean: float, params: Any, pattern: Any, memo: Any, keys: Any, cursor: Any, words: Any
) -> float:
    memo[k // 8] += 1.0
    if pattern.size > 0:
        pattern[pattern.size] = 1.0
    if params.size > 0:
        raise ValueError("no such parameter")
    return mean


def plain(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1


def plain_lengths(k, n, mean, params, pattern, memo, keys, cursor, words):  # type: ignore[no-untyped-def]
    return 1.0


SEE = "which has room for 0 there; see its memo_size"


@pytest.mark.parametrize(
    ("tried", "words"),
    [
        (Technique("a", forgets_its_memo), f"technique a: .* outside memo, {SEE}"),
        (Technique("a", forgets_its_memo, memo_per_core=1), "outside memo, which has room for 2 there"),
        (Technique("a", forgets_its_memo, memo_size=5, only_cores=5), "outside memo, which has room for 5"),
        (Technique("later", later, memo_size=1), "outside memo, which has room for 1"),
        (Technique("back", goes_back), "technique back: its rule writes outside speed, which has room for 2 there$"),
        (Technique("r", raises), "technique r: its rule raises ValueError too few; allowed: an answer"),
        (Technique("r", plain), "technique r: .* is not compiled for .*; decorate next_chunk with technique_kernel"),
        (LengthModel("w", wanders), f"lengths w: its rule writes outside memo, {SEE}"),
        (LengthModel("w", wanders, memo_size=1), "outside memo, which has room for 1"),
        (LengthModel("w", wanders, memo_size=2, pattern=np.ones(3)), "outside pattern, which has room for 3 there$"),
        (LengthModel("w", wanders, memo_size=2, params=(1.0,)), "lengths w: its rule raises ValueError no such param"),
        (LengthModel("w", plain_lengths), "lengths w: .* is not compiled for .*; decorate next_length with length_k"),
    ],
)
def test_what_a_rule_must_not_do_is_said(tried: Technique | LengthModel, words: str) -> None:
    with pytest.raises(PluginError, match=words):
        tried_out(tried)


def test_what_fits_is_taken() -> None:
    for fit in (
        Technique("memo", forgets_its_memo, memo_size=1, memo_per_core=1),
        Technique("later", later, memo_size=2),
        *(TECHNIQUES[name] for name in ("awf-b", "bold", "static-steal")),
        LengthModel("w", wanders, memo_size=2),
        *(lengths(name, variation=0.25) for name in ("gamma", "correlated", "mandelbrot")),
    ):
        tried_out(fit)
    if jit_enabled():  # no process is left of a trial
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


def test_rules_of_a_file_are_tried_when_they_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "tried.py"
    file.write_text(
        "from test_trials import *\nMINE, ENOUGH = Technique('m', later, memo_size=1), Technique('e', later, memo_size=2)\n"
        "LENGTHS, FIT = LengthModel('l', wanders), LengthModel('f', wanders, memo_size=2)\n"
    )
    assert technique(f"{file}:ENOUGH").name == "e"
    assert lengths(f"{file}:FIT").name == "f"
    for wrong in (f"{file}:MINE", f"select:ss,{file}:MINE"):
        with pytest.raises(PluginError, match="technique m: "):
            technique(wrong)
    with pytest.raises(PluginError, match="lengths l: "):
        lengths(f"{file}:LENGTHS")


@pytest.mark.parametrize("params", [("a",), 3, (1.0, None)])
def test_parameters_that_are_no_numbers(params: Any) -> None:
    for make, words in (
        (lambda: Technique("t", forgets_its_memo, params=params), "technique t"),
        (lambda: LengthModel("t", wanders, params=params), "lengths t"),
    ):
        with pytest.raises(InputError, match=rf"{words}: params .*; allowed: numbers"):
            make()


@technique_kernel
def has_no_type(
    n_tasks: int, n_cores: int, core: int, request: int, remaining: int, facts: Any, speed: Any, params: Any, memo: Any
) -> int:
    return int(speed.nothing)


def test_what_cannot_be_compiled_is_said() -> None:
    words = (
        r"technique n: has_no_type cannot be compiled: .*'nothing' .* \(.*test_trials\.py:\d+: return int\(speed\.nothing\)\)"
        if jit_enabled()
        else "has no attribute 'nothing'"
    )
    with pytest.raises(PluginError, match=words):
        try_out(Technique("n", has_no_type))


@technique_kernel
def goes_astray(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    memo[n_tasks * 100_000_000] = 1.0
    return 1


@technique_kernel
def turns_for_ever(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    k = 0
    while remaining > 0:
        k += 1
        memo[k & 1] = 1.0
    return 1


@length_kernel
def strays(
    k: int, n: int, mean: float, params: Any, pattern: Any, memo: Any, keys: Any, cursor: Any, words: Any
) -> float:
    return memo[n * 100_000_000] + mean


KILLED = r" its rule was killed by SIG[A-Z]+ in its first trial; allowed: to read and write its arrays only"
KILLED += r" \(.*\.py:\d+: \w+\)$"


@pytest.mark.skipif(not jit_enabled(), reason="Python does not let a rule go that far")
def test_what_would_kill_the_command_is_an_error() -> None:
    with pytest.raises(PluginError, match="technique astray:" + KILLED):
        try_out(Technique("astray", goes_astray, memo_size=2))
    with pytest.raises(PluginError, match="lengths astray:" + KILLED):
        length_trial.try_out(LengthModel("astray", strays))


@pytest.mark.skipif(not jit_enabled(), reason="what is not compiled can be interrupted")
def test_a_rule_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_LONGEST_S", 1)
    words = r"technique turns: its rule does not end; allowed: an answer within 1 s \(.*test_trials.py:\d+: turns_for_ever\)$"
    with pytest.raises(PluginError, match=words):
        try_out(Technique("turns", turns_for_ever, memo_size=2))
