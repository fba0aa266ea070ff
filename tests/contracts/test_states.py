"""How engines name what they hold: columns and numbers by their names, never by the place of a constant."""

import ast
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path

import numpy as np
import pytest
from inside import held

from bls import Rules
from bls.constraints.job_constraints import JobConstraints
from bls.engine.codes import QueueOrder
from bls.engine.features.order import FEATURES
from bls.engine.jobs import Jobs
from bls.engine.settings import Settings
from bls.engine.state import BatchState
from traces.algorithms.event_heap import Heap
from traces.compiled import compiled, copy_columns, copy_words, lay_out, relocate, resized, slab_words, state_at
from traces.kernels.signatures import Floats, Ints, Ints2
from traces.kernels.slabs import CHANGING, WHOLE, slab_fault
from traces.kernels.snapshots import Snapshot
from traces.kernels.state import State, column, fields_of

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ("bls/engine", "als/engine", "als/network", "als/core_speeds", "als/programs", "bridge/couplings")

#: What may have places: tables of functions, what techniques and planners receive, and the parameters of a topology.
TABLES = {"hooks", "roles", "first_subscriber", "functions", "engines", "facts", "told", "costs"}
TABLES |= {"loops", "parameters", "GRAPH_METRICS", "LOOP_METRICS"}


def _constant(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lstrip("_").isupper()


def places(path: Path) -> Iterator[str]:
    """Where a file reads or writes an entry of something at the place of a constant."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name | ast.Attribute):
            continue
        name = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name.islower() and name not in TABLES and any(map(_constant, index)):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("folder", ENGINES)
def test_no_column_is_named_by_the_place_of_a_constant(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert len(files) > 1
    assert [place for path in files for place in places(path)] == []


class Part(State, dim="rows"):
    """A table."""

    given_ns: Ints = column(constant=True)
    found_ns: Ints = column(fill=-1)


class Whole(State):
    """A state with all that there is."""

    weight: Floats
    now_ns: int = 7
    share: float = 0.5
    load: Ints2 = column("hosts", 2)
    part: Part = column()


def whole() -> Whole:
    """One of three hosts and two rows."""
    part = Part.new({"rows": 2}, given_ns=np.array([5, 6]))
    return Whole.new({"hosts": 3, "rows": 2}, weight=np.arange(4.0), part=part)


def test_a_state_is_made_as_it_is_declared() -> None:
    state = whole()
    assert (state.now_ns, state.share, state.load.tolist()) == (7, 0.5, [[0, 0]] * 3)
    assert (state.part.given_ns.tolist(), state.part.found_ns.tolist()) == ([5, 6], [-1, -1])
    state.now_ns += 1
    state.load[1, 0] = 4
    state.part.grow(rows=4)
    state.grow(hosts=4)
    assert (state.now_ns, state.load[:, 0].tolist()) == (8, [0, 4, 0, 0])
    assert (state.part.given_ns.tolist(), state.part.found_ns.tolist()) == ([5, 6, 0, 0], [-1] * 4)
    with pytest.raises(TypeError, match=r"Part: \['nothing'\] unknown"):
        Part.new({"rows": 1}, nothing=1)
    with pytest.raises(TypeError, match=r"Whole.weight: not given"):
        Whole.new({"hosts": 1, "rows": 1})
    with pytest.raises(TypeError, match=r"Part.found_ns: float64, 1 dimensions; allowed: int64, 1 dimensions"):
        state.part.found_ns = np.zeros(4)


def test_a_fork_shares_constant_columns_only() -> None:
    state = whole()
    fork = state.fork()
    assert np.shares_memory(fork.weight, state.weight)
    assert np.shares_memory(fork.part.given_ns, state.part.given_ns)
    fork.now_ns, fork.share = 9, 0.25
    fork.load[...] = 1
    fork.part.found_ns[:] = 3
    again = fork.fork()
    # With another address of its slab a part would read memory that nobody holds.
    for found, one in ((fork.load, fork), (again.load, again), (again.part.found_ns, again.part)):
        assert found.base is one._slab
    fork.part.grow(rows=3)
    fork.part.given_ns[:] = 0  # it has more room, and so its own
    assert (state.now_ns, state.share, state.load.sum()) == (7, 0.5, 0)
    assert (state.part.given_ns.tolist(), state.part.found_ns.tolist()) == ([5, 6], [-1, -1])
    assert (again.now_ns, again.load.sum(), again.part.found_ns.tolist()) == (9, 6, [3, 3])
    assert again.part.given_ns.tolist() == [5, 6]


class Queue(State, dim="entries"):
    """A waiting state."""

    first: int = 0
    end: int = 0
    key: Ints = column(used=("first", "end"))


class Busy(State):
    n_log: int = 0
    part: Part = column()
    load: Ints2 = column("hosts", 2)
    queue: Queue = column("queue")
    log: Part = column("log", used=("n_log",))
    space: Ints = column("hosts", saved=False)


def busy() -> Busy:
    state = Busy.new({"rows": 3, "hosts": 2, "queue": 3, "log": 3})
    state.queue.key[:], state.queue.first, state.queue.end = [1, 2, 3], 1, 2
    state.n_log, state.log.found_ns[0] = 1, 4
    return state


def change(state: Busy) -> None:
    """Change all that there is, but of rows the second and the third only."""
    state.part.found_ns[1:], state.load[0], state.space[:] = 5, 6, 9
    state.queue.key[:], state.queue.first, state.queue.end = 7, 0, 3
    state.log.found_ns[:], state.n_log = 8, 3


def test_a_snapshot_has_the_used_parts_and_the_rows_that_may_change() -> None:
    state = busy()
    snapshot, before = Snapshot(state), held(state)
    snapshot.keep({"rows": np.array([1])})
    change(state)
    snapshot.put_back({"rows": slice(2, 3)})
    assert held(state) == before
    assert state.part.found_ns.tolist() == [-1, -1, -1]
    found = [column.tolist() for column in (state.queue.key, state.log.found_ns, state.space)]
    assert found == [[7, 2, 7], [4, 8, 8], [9, 9]]


def test_a_temporary_fork_shares_some_dimensions_and_unsaved_columns() -> None:
    state = busy()
    before, fork = held(state), state.fork({"rows"})
    assert held(fork) == before
    pairs = [(fork.part.found_ns, state.part.found_ns), (fork.space, state.space), (fork.load, state.load)]
    assert [np.shares_memory(*pair) for pair in pairs] == [True, True, False]
    change(fork)
    state.part.found_ns[:] = -1
    assert held(state) == before


class Sizes(State):
    hosts: int = 0
    rows: int = 0


@compiled()
def run_ahead(like: Whole, words: Ints, ahead: Ints, sizes: Sizes) -> int:
    """Keep a state in a slab, change it there and in a copy, and return by how much the copy is ahead."""
    if slab_words(like, sizes) != words.size - 2:
        return -1
    lay_out(like, words, 2, sizes)
    kept = state_at(like, words, 2)
    copy_columns(kept, like, 3)
    kept.now_ns, kept.load[0, 1] = 9, 5
    kept.part.found_ns = resized(kept.part.found_ns, 1)
    copy_words(ahead, 0, words, 2, words[2 + CHANGING])
    relocate(like, ahead, 0, ahead[CHANGING])
    copy = state_at(like, ahead, 0)
    copy.load[0, 1] += 2
    copy.part.found_ns[0] = copy.part.given_ns[1]
    copy.now_ns += copy.part.found_ns.size + int(copy.weight[3])
    kept.part.found_ns = resized(kept.part.found_ns, 3)
    wide = 10_000 * kept.part.found_ns[1] + 1_000 * kept.part.found_ns[0]
    return int(wide + 100 * (copy.load[0, 1] - kept.load[0, 1]) + copy.now_ns - kept.now_ns)


@pytest.mark.parametrize("function", [run_ahead, run_ahead.py_func], ids=["compiled", "in Python"])
def test_kernels_keep_states_and_run_copies_ahead(function: Callable[..., int]) -> None:
    state, sizes = whole(), Sizes(5, 3)
    state.part.found_ns[:] = 4, 8
    words, ahead = np.zeros(slab_words(state, sizes) + 2, np.int64), np.zeros(200, np.int64)
    assert function(state, words, ahead, sizes) == 80_000 + 4_000 + 200 + 4
    assert (state.now_ns, state.load.sum(), state.part.found_ns.tolist()) == (7, 0, [4, 8])
    moved = np.concatenate([np.zeros(9, np.int64), words[2:]])
    relocate(state, moved, 9, moved[9 + WHOLE])
    words[:] = 0
    kept = state_at(state, moved, 9)
    assert (kept.now_ns, kept.share, kept.load.tolist()) == (9, 0.5, [[0, 5], *[[0, 0]] * 4])
    assert (kept.part.given_ns[:2].tolist(), kept.part.found_ns[:2].tolist()) == ([5, 6], [4, 8])
    assert np.shares_memory(kept.weight, state.weight)
    assert slab_fault(state, moved, 9) == ""
    for at in (-1, len(moved)):
        assert slab_fault(state, moved, at).startswith(f"begins at word {at} of {len(moved)}; its blocks alone have ")


class Kind(IntEnum):
    ONE = 1
    TWO = 2


class Codes(State, dim="rows"):
    kind: Ints = column(fill=Kind.ONE)
    other: Ints = column(fill=-1, codes=Kind)
    way: int = Kind.TWO


def test_wrong_columns_of_a_state_are_described() -> None:
    state = Codes.new({"rows": 2})
    assert list(state.faults()) == []
    assert state.entry(0) == {"kind": "one", "other": -1}
    state.kind[1], state.way, state.other = 3, 0, np.array([-1, 1, 2])
    assert list(state.faults()) == [
        "other has 3 rows; others have 2",
        "way is 0; allowed: Kind, [1, 2]",
        "kind[1] is 3; allowed: Kind, [1, 2]",
    ]


def test_missing_parts_are_as_declared() -> None:
    assert Codes.new({"rows": 2}, kind=None, way=None).kind.tolist() == [1, 1]


def test_the_front_of_a_state_has_the_first_entries_of_every_column() -> None:
    state = Codes.new({"rows": 3})
    state.kind[:] = 1, 2, 1
    state.other = np.array([1, 2, -1])
    front = state.front(2)
    assert (front.kind.tolist(), front.other.tolist(), front.way, list(front.faults())) == ([1, 2], [1, 2], 2, [])
    assert np.shares_memory(front.kind, state.kind)
    unread = Codes.new({"rows": 3}).front(2)
    assert (unread.kind.tolist(), unread.as_kernels_see("other").tolist()) == ([1, 1], [-1, -1])
    assert len(state.kind) == len(state.front(5).kind) == 3


def test_a_heap_is_refilled_in_order() -> None:
    heap = Heap.new({"entries": 4})
    heap.refill(np.array([7, 3, 3]), np.array([0, 2, 1]))
    assert [column.tolist() for column in heap.entries()] == [[3, 3, 7], [1, 2, 0]]
    with pytest.raises(ValueError):
        heap.refill(np.arange(5), np.arange(5))
    assert heap.n == 3


def test_a_number_of_codes_may_begin_with_the_code_0() -> None:
    assert fields_of(Settings)["order"].codes is QueueOrder


def test_constant_columns_of_jobs_come_from_the_input() -> None:
    constant = [name for name, field in fields_of(Jobs).items() if field.constant]
    assert {"submit_ns", "origin", "user"} <= set(constant)
    assert not {"start_ns", "estimate_ns", "cores"} & set(constant)
    assert fields_of(BatchState)["now_ns"].place == 0  # numbers come first


def test_no_two_public_classes_have_the_same_name() -> None:
    named: dict[str, list[Path]] = {}
    for package in ("als", "bls", "bridge", "traces"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    named.setdefault(node.name, []).append(path)
    assert {name: paths for name, paths in named.items() if len(paths) > 1} == {}


def test_features_need_what_a_run_can_have() -> None:
    known = set(fields_of(Settings)) | set(fields_of(BatchState)) | set(dir(Rules)) | set(dir(JobConstraints))
    counted = {"cancels", "presets"}  # jobs of these kinds, in ``bls.engine.initial_state``
    assert {need for _, needs in FEATURES for need in needs} <= known | counted
