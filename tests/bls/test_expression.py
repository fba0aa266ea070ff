"""Expressions: what they compute, against a slow evaluator of Python's own; what is refused, and how that is said."""

import math
import operator
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

from bls.policies import KnownJobs, Policy, ScorePolicy, policy, ranks, scoring, unscored
from bls.policies.expression import FUNCTIONS, MAX_DEPTH, MAX_LENGTH, NAMES, parse, prepared, score_expression
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS, NS_PER_S

# (submit, estimate, cores), seconds
Rows = list[tuple[float, float, int]]


def known(rows: Rows, n_cores: int = 64) -> KnownJobs:
    n = len(rows)
    submit, estimate, cores = zip(*rows, strict=True)
    submit_ns, estimate_ns = ([round(value * NS_PER_S) for value in column] for column in (submit, estimate))
    columns = [np.array(column, np.int64) for column in (range(1, n + 1), submit_ns, estimate_ns, submit_ns, cores)]
    gpus = 250 * columns[4]  # a quarter of a GPU per core
    return KnownJobs(*columns, n_cores=n_cores, core_mw=np.full(n, 3500), gpus=gpus)


def scores(text: str, rows: Rows, now: float = 0, waiting: list[int] | None = None, n_cores: int = 64) -> list[float]:
    """The scores of the waiting jobs, NaN where there is none, whatever kind of policy the expression is."""
    jobs = known(rows, n_cores)
    rows_waiting = np.array(range(len(rows)) if waiting is None else waiting, np.int64)
    key = np.empty(len(rows_waiting))
    columns = [np.array(column) for column in (jobs.submit_ns, jobs.submit_ns, jobs.estimate_ns, jobs.cores)]
    numbers, memory = prepared(parse(text), jobs, "expr")
    with np.errstate(all="ignore"):
        code = score_expression(round(now * NS_PER_S), rows_waiting, len(rows_waiting), *columns, numbers, memory, key)
    missing = np.flatnonzero(np.isnan(key))
    assert code == (rows_waiting[missing[0]] + 1 if len(missing) else 0)
    return [-value for value in key.tolist()]


@pytest.mark.parametrize(("text", "value"), table_rows(__file__, "values_of_expressions"))
def test_values_of_expressions(text: str, value: float) -> None:
    assert scores(text, [(7, 100, 4)], now=50) == [value]


def test_the_jobs_that_wait_are_scored_in_the_order_in_which_they_are_given() -> None:
    rows: Rows = [(0, 30, 1), (0, 20, 1), (0, 10, 1)]
    assert scores("l", rows, waiting=[1, 0]) == [20, 20], "the shortest of those that wait"
    assert scores("w*n", [(0, 1, 1), (1, 1, 2), (2, 1, 3)], now=10, waiting=[2, 0]) == [24, 10]
    assert scores("w", [(0, 1, 1)], waiting=[]) == []
    rows = [(row, row % 7 + 1, row % 5 + 1) for row in range(1000)]
    found = scores("max(w/t, n) + l*s", rows, now=2000)
    assert found == [max((2000 - s) / t, n) + 1 * s for s, t, n in rows]
    late = MAX_NS / NS_PER_S
    assert (scores("s+t", [(late, late, 1)]), scores("w", [(0, late, 1)], now=late)) == ([2 * late], [late])


def test_an_expression_without_w_and_l_is_a_static_policy() -> None:
    for text, static in (("s*t+n/z", True), ("5", True), ("s+w", False), ("l", False), ("log(t)", True)):
        made = policy(f"expr:{text}")
        kinds = isinstance(made, Policy), isinstance(made, ScorePolicy)
        assert (*kinds, made.name) == (static, not static, f"expr:{text}")
    # The largest score first, ties by submit, then by place.
    jobs = known([(0, 5, 2), (0, 5, 3), (1, 9, 3), (2, 1, 9)])
    assert ranks(policy("expr:n"), jobs).argsort().tolist() == [3, 1, 2, 0]  # type: ignore[arg-type]


def test_an_expression_that_divides_by_zero_is_the_users_mistake() -> None:
    with pytest.raises(InputError) as caught:
        ranks(policy("expr:n/(s-2)"), known([(0, 1, 1), (2, 1, 1), (2, 1, 1)]))  # type: ignore[arg-type]
    assert str(caught.value) == "expr:n/(s-2): no finite value for job 2 (as by a division by zero)"
    made = policy("expr:n/w")
    assert isinstance(made, ScorePolicy)
    assert [math.isnan(value) for value in scores("n/w", [(0, 1, 1), (3, 1, 1)], now=3)] == [False, True]
    error = unscored(made, 17, 3 * NS_PER_S + 1)
    assert isinstance(error, InputError)
    assert str(error) == "batch policy expr:n/w: no finite key for job 17 at 3.000000001 s (as by a division by zero)"


@pytest.mark.parametrize("text", ["n/z", "w/z"])
def test_z_needs_a_machine(text: str) -> None:
    def prepare(n_cores: int) -> None:
        made, jobs = policy(f"expr:{text}"), known([(0, 1, 1)], n_cores)
        scoring(made, jobs) if isinstance(made, ScorePolicy) else ranks(made, jobs)  # type: ignore[arg-type]

    prepare(1)
    with pytest.raises(PluginError, match="how many cores the machine has is not known"):
        prepare(0)


# A tree is ("number", x), ("name", c), (operator, tree, tree), (function, tree, …), ("-", tree) or ("+", tree).
Tree = tuple[Any, ...]

_OPERATORS: dict[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_OPERATORS |= {"/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "**": math.pow}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs}
_FUNCTIONS |= {name: getattr(math, name) for name in ("sqrt", "log", "log2", "log10", "exp")}


def worth(tree: Tree, values: dict[str, float]) -> float:
    """The value of a tree; raises ArithmeticError or ValueError where there is none."""
    kind, *rest = tree
    if kind == "number":
        return float(rest[0])
    if kind == "name":
        return values[rest[0]]
    operands = [worth(operand, values) for operand in rest]
    if kind in _FUNCTIONS:
        result = _FUNCTIONS[kind](*operands)
    elif len(operands) == 1:
        result = -operands[0] if kind == "-" else operands[0]
    else:
        result = _OPERATORS[kind](*operands)
    if not math.isfinite(result):
        raise OverflowError
    return result


def written(tree: Tree, rng: random.Random) -> str:
    """A text of the tree: always in parentheses, with spaces here and there."""
    kind, *rest = tree
    if kind == "number":
        return repr(rest[0])
    if kind == "name":
        return str(rest[0])
    parts = [written(operand, rng) for operand in rest]
    if kind in _FUNCTIONS:
        return f"{kind}({', '.join(parts)})"
    gap = " " * rng.randrange(2)
    return f"({kind}{gap}{parts[0]})" if len(parts) == 1 else f"({parts[0]}{gap}{kind}{gap}{parts[1]})"


def trees() -> st.SearchStrategy[Tree]:
    leaves = st.one_of(
        st.tuples(st.just("number"), st.integers(0, 9) | st.sampled_from((0.5, 2.25, 1e3, 1e200))),
        st.tuples(st.just("name"), st.sampled_from(NAMES)),
    )

    def grown(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.one_of(
            st.tuples(st.sampled_from(tuple(_OPERATORS)), inner, inner),
            st.tuples(st.sampled_from(("min", "max")), inner, inner, inner),
            st.tuples(st.sampled_from(tuple(name for name in FUNCTIONS if name not in ("min", "max"))), inner),
            st.tuples(st.sampled_from("+-"), inner),
        )

    return st.recursive(leaves, grown, max_leaves=12)


@settings(max_examples=400)
@given(
    tree=trees(),
    rows=st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from((1, 2, 7.5, 3600)), st.integers(1, 9)), min_size=1, max_size=4
    ),
    wait=st.sampled_from((0, 1, 0.25, 86400)),
    seed=st.integers(0, 3),
)
def test_any_expression_equals_python(tree: Tree, rows: Rows, wait: float, seed: int) -> None:
    now = max(submit for submit, _, _ in rows) + wait
    found = scores(written(tree, random.Random(seed)), rows, now=now)
    for (submit, estimate, cores), value in zip(rows, found, strict=True):
        values = {"s": submit, "t": estimate, "n": cores, "w": now - submit, "z": 64.0, "l": min(r[1] for r in rows)}
        values |= {"power_w": cores * 3.5, "energy_j": estimate * (cores * 3.5), "gpus": cores / 4}
        try:
            expected = worth(tree, values)
        except (ArithmeticError, ValueError):
            expected = math.nan
        assert value == expected or (math.isnan(value) and math.isnan(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9" * 400, "column 1: the number is too large"),
        ("s" * (MAX_LENGTH + 1), f"{MAX_LENGTH + 1} characters; allowed: at most {MAX_LENGTH}"),
        (
            "-" * MAX_DEPTH + "s",
            f"column {MAX_DEPTH + 1}: too deep; allowed: {MAX_DEPTH} operations within one another",
        ),
        ("1" + "+1" * MAX_DEPTH, "column 1: too deep"),
        ("(" * 400 + "s" + ")" * 400, "too many nested parentheses"),
    ],
)
def test_a_text_that_is_too_long_or_deep_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        policy(f"expr:{text}")
    assert str(caught.value).startswith("bls='expr:")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_as_deep_as_is_allowed() -> None:
    assert scores("-" * (MAX_DEPTH - 1) + "s", [(3, 1, 1)]) == [-3]
    assert scores("1" + "+1" * (MAX_DEPTH - 1), [(3, 1, 1)]) == [MAX_DEPTH]
    right = "n-(" * 99 + "s" + ")" * 99  # the stack is as high as it can be
    assert (parse(right).depth, scores(right, [(3, 1, 1)])) == (MAX_DEPTH, [1 - 3])


@settings(max_examples=300)
@given(text=st.text("stnwzl0123456789.+-*/%() ,minaxsqrtloge_'\"[]{}:=lambdaé\n", max_size=30))
def test_any_text_is_an_expression_or_an_error_of_the_users(text: str) -> None:
    try:
        program = parse(text)
    except InputError:
        return
    assert program.names <= set(NAMES)
    assert len(scores(text, [(1, 2, 3)])) == 1
