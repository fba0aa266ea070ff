"""How kernels are called, what users do wrong, what they read, and how machine code is loaded."""

import ast
import copy
import importlib.util
import inspect
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tables import kept, table_text

from traces.compiled import Array, State, as_value, caller, compiled, function_table, jit_enabled, types, value_from
from traces.kernels.declared import OURS, Kernel
from traces.kernels.signatures import Bytes, Floats, Floats2, Ints, Ints2, Shorts, Words
from traces.kernels.units import CannotCompile, kernel_modules

pytestmark = pytest.mark.whole

ADD = types.int64(types.int64, types.Column(types.float64))
_call, _value = caller(ADD), value_from(ADD)


class Inner(State):
    a: Ints
    table: Floats2


class Outer(State):
    inner: Inner
    n: Ints
    share: float
    count: int


def outer() -> Outer:
    return Outer(
        inner=Inner(a=np.arange(5), table=np.ones((2, 3))), n=np.arange(9, dtype=np.int64), share=0.25, count=7
    )


@compiled(inner=True)
def _more(state: Inner, by: int) -> int:
    state.a[0] += by
    return int(state.a[0])


@compiled()
def looks(state: Outer, by: int, factor: float = 2.0) -> tuple[int, float, bool]:
    _more(state.inner, by)
    state.n = state.inner.a[1:3]
    return state.n.size + state.count, state.inner.table[1, 2] * factor + state.share, by > 2


@compiled(ADD)
def adds(x: int, column: Array) -> int:
    column[0] += 1.5
    return 2 * x


@compiled()
def calls(table: Ints, column: Floats, function: Any) -> int:
    total = _call(table[0], (3, column)) + _value(table[0])(4, column)
    return int(total + function(5, column))


@compiled()
def sums(words: Words, shorts: Shorts, bytes_: Bytes, table: Ints2) -> float:
    return float(words[0]) + float(shorts[0]) + float(bytes_[0]) + float(table[1, 1])


@compiled()
def fails(n: int) -> int:
    if n > 2:
        raise ValueError("too many")
    return n


def test_another_column_is_seen_by_kernels_and_a_wrong_one_leaves_the_one_before() -> None:
    state = outer()
    looks(state, 1)
    state.inner.a = np.array([10, 0, 0], np.int64)
    assert looks(state, 1)[0] == 9
    assert state.inner.a[0] == 11
    other = state.inner._replace(a=np.array([20, 0, 0], np.int64))
    state.inner = other
    looks(state, 1)
    assert other.a[0] == 21
    assert looks(state._replace(count=8), 0)[0] == 10
    assert (state._replace(count=8).count, state.count) == (8, 7)
    with pytest.raises(AttributeError, match=r"Inner: 'b' unknown; allowed: a, table"):
        state.inner.b = other.a
    if jit_enabled():
        with pytest.raises(TypeError, match=r"Inner.a: float64, 1 dimensions; allowed: int64"):
            state.inner.a = np.arange(3.0)
        assert state.inner.a is other.a


WRONG = (np.zeros(1, np.uint64), np.zeros(1, np.int32), np.zeros(1, np.uint8))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Inner(a=np.arange(3)), "missing or unknown"),
        (lambda: outer()._replace(nothing=1), "unknown"),
        (lambda: sums(*WRONG, np.zeros(3, np.int64)), "sums: table: int64, 1 dimensions; allowed: int64, 2 dimensions"),
        (lambda: sums(*WRONG, np.zeros((3, 2), np.int64).T), "in C order"),
        (lambda: looks(outer(), 2.5), r"looks: by: 2.5; allowed: a whole number"),
        (lambda: as_value(adds, types.int64(types.int64)), "adds is not compiled for"),
        (lambda: as_value(lambda x: x, ADD), "is not compiled for"),
    ],
)
def test_calls_that_are_refused_before_anything_happens(call: Any, words: str) -> None:
    if jit_enabled() or "unknown" in words:
        with pytest.raises(TypeError, match=words):
            call()
    assert looks(outer(), np.int64(3)) == (9, 2.25, True)
    assert looks(outer(), True)[2] is False  # type: ignore[comparison-overlap]


@compiled()
def makes(values: Floats) -> float:
    made = np.zeros(values.size)
    for k in range(values.size):
        made[k] = values[k]
    return float(np.sort(made)[0] + np.cumsum(made)[1] + len([k for k in made if k > 2.0]))


def test_a_users_function_may_make_arrays_keep_lists_and_sort() -> None:
    assert makes(np.array([4.0, 1.0, 2.0])) == 1.0 + 5.0 + 1


def test_a_state_is_copied_with_its_columns() -> None:
    state = outer()
    looks(state, 1)
    again = pickle.loads(pickle.dumps(state))
    assert [again.count, again.share, again.n.tolist()] == [7, 0.25, state.n.tolist()]
    assert looks(again, 1) == looks(copy.deepcopy(state), 1)


def test_functions_are_called_by_their_address() -> None:
    column = np.zeros(2)
    function = as_value(adds, ADD)
    assert calls(function_table([function]), column, function) == 6 + 8 + 10
    assert column[0] == 4.5
    assert adds(4, column) == 8


def test_errors_of_a_users_function_are_raised() -> None:
    assert fails(2) == 2
    with pytest.raises(ValueError, match="too many"):
        fails(3)
    assert fails(1) == 1  # it is forgotten


@compiled()
def gives_an_array(n: int) -> Any:
    return np.zeros(n)


@compiled()
def perhaps(n: int) -> Any:
    return n if n > 2 else None


@compiled()
def first(values: Any) -> float:
    return float(values[0])


@pytest.mark.parametrize(
    ("kernel", "given", "wrong"),
    [
        (
            gives_an_array,
            3,
            r"gives_an_array cannot be compiled: it returns array\(float64, 1d, C\); allowed: a number",
        ),
        (perhaps, 3, r"perhaps cannot be compiled: it returns OptionalType\(int64\)"),
        (first, np.zeros(3, np.int16), "an array of int16; allowed: of int64, float64"),
    ],
)
def test_unsupported_code_in_kernels_gives_one_line(kernel: Any, given: Any, wrong: str) -> None:
    if jit_enabled():
        with pytest.raises((TypeError, CannotCompile), match=wrong):
            kernel(given)


def test_a_class_that_is_changed_and_keeps_its_name_is_another() -> None:
    def made(fields: list[str]) -> Any:
        # As two cells of a notebook make it.
        space: dict[str, Any] = {"__annotations__": dict.fromkeys(fields, Floats), "__module__": __name__}
        shelf = type("Shelf", (State,), space)

        def value(state: Any) -> float:
            return 1.0 * state.a[0]

        value.__annotations__["state"] = shelf
        return compiled()(value)(shelf(a=np.array([1.0]), b=np.array([7.0])))

    assert [made(["a", "b"]), made(["b", "a"])] == [1.0, 1.0]


USERS = kept(__file__, "users")


def user(here: Path, text: str) -> ModuleType:
    """The user's file, loaded again as a new run would."""
    path = here / "users.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("users", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", USERS)
def test_globals_are_those_of_this_run(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    first, last = USERS[case]
    imports = "from pathlib import Path\nimport numpy as np\nfrom traces.compiled import compiled"
    text = f"{imports}\n{first}\n@compiled()\ndef kernel():\n    {last}\n"
    found = []
    for given in (1, 2, 3):
        (tmp_path / "given.txt").write_text(str(given), encoding="utf-8")
        (tmp_path / "theirs.py").write_text(f"GIVEN = {given}\n#{'-' * given}", encoding="utf-8")
        monkeypatch.delitem(sys.modules, "theirs", raising=False)
        found.append(user(tmp_path, text).kernel())
    if case in ("a number of ours", "numpy"):
        assert len(set(found)) == 1
    else:
        assert found == [1, 2, 3]


def _negative(kernel: Kernel) -> Iterator[str]:
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kernel.py_func)))):
        if isinstance(node, ast.Subscript):
            places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(place, ast.UnaryOp) and isinstance(place.op, ast.USub) for place in places):
                yield ast.unparse(node)


def test_no_kernel_of_ours_counts_from_the_end() -> None:
    assert kernel_modules()  # which imports them, and so those whose kernels are others' alone
    ours = [module for name, module in tuple(sys.modules.items()) if name.partition(".")[0] in OURS]
    kernels = {one for module in ours for one in vars(module).values() if isinstance(one, Kernel)}
    assert len(kernels) > 400
    assert {repr(one): found for one in kernels if (found := list(_negative(one)))} == {}


# In a process of its own: where this fails, LLVM ends the process.
_PROGRAM = table_text(__file__, "program")


def test_between_arrays_of_gigabytes() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM, "1"], capture_output=True, text=True, check=False)
    assert run.stdout == "all loaded\n", run.stderr[-2000:]
