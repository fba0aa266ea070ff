"""Programs: what a job computes, from Python, a table or JSON; and texts of every kind that are refused in one line."""

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_graph_readers import parsed
from test_network import network

from als.core_speeds import core_speeds
from als.graphs import graph_model
from als.lengths import lengths
from als.network import network_model
from als.options import MAX_TASKS_PER_JOB
from als.programs.program import MAX_PHASES, Graph, Loop, Program, Serial
from als.programs.table import Programs, drawn_program
from als.programs.text import program_of
from als.techniques import TECHNIQUES, Technique, technique, technique_kernel
from als.workers import WorkerKind
from traces.base.errors import InputError

DATA = Path(__file__).parent / "data"


@technique_kernel
def one_task(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1


OWNED = Technique("mine", one_task)

shares = st.floats(1e-6, 1e6)
counts = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"tasks_per_core": st.integers(1, 10**8)}),
    st.fixed_dictionaries({"tasks": st.integers(1, 10**8)}),
)
wishes = st.none() | st.floats(1e-6, 1e6)
loops = st.builds(
    lambda technique, lengths, share, cores, count: Loop(technique, lengths, share=share, cores=cores, **count),
    st.sampled_from(["", *TECHNIQUES]),
    st.sampled_from(["", "equal", "normal", "normal:cov=0.5"]),
    shares,
    wishes,
    counts,
)
graphs = st.builds(
    lambda technique, graph, order, share, cores, count: Graph(
        technique, graph, order, share=share, cores=cores, **count
    ),
    st.sampled_from(["", "gss", "static"]),
    st.sampled_from(["layered", "layered:ccr=0.5", "stencil:ccr=2", "chain"]),
    st.sampled_from(["index", "rank"]),
    shares,
    wishes,
    counts,
)
programs = st.builds(
    Program,
    st.lists(st.one_of(st.builds(Serial, shares, wishes), loops, graphs), min_size=1, max_size=5).map(tuple),
    st.integers(1, 1000),
    st.booleans(),
    st.text(st.characters(categories=["L", "N", "P"]), max_size=20),
    st.lists(
        st.builds(
            WorkerKind,
            name=st.sampled_from(("gpu", "big-gpu", "0")),
            count=st.integers(1, 9),
            speed=st.floats(1e-3, 1e3),
            launch_ns=st.integers(0, 10**9),
            in_bytes=st.floats(0, 1e12),
            streams=st.integers(1, 3),
            data=st.sampled_from(("host", "first")),
            link=st.sampled_from(("device", "host")),
            variation=st.floats(0, 2),
        ),
        max_size=2,
        unique_by=lambda kind: kind.name,
    ).map(tuple),
)


def test_one_loop_in_a_table() -> None:
    table = {"als": "gss", "lengths": "normal:cov=0.25", "tasks": 1000, "steps": 5, "redraw": True, "name": "solver"}
    assert program_of(table, "x") == Program((Loop("gss", "normal:cov=0.25", tasks=1000),), 5, True, "solver")


def test_requested_cores_of_phases() -> None:
    """Half up, and no fewer and no more than the job may have; of a job of five cores, which may have two to eight."""
    table = {"phases": [{"kind": "loop", "cores": cores} for cores in (0.5, 0.3, 0.01, 1, 1.5, 1e6)]}
    table["phases"] += [{"kind": "serial", "share": 1}, {"kind": "serial", "share": 1, "cores": 0.2}]
    program = program_of(table, "x")
    assert program.wishes == (0.5, 0.3, 0.01, 1.0, 1.5, 1e6, 0.0, 0.2)
    assert program.wishes_of(5, 2, 8) == [3, 2, 2, 5, 8, 8, 0, 2]
    assert program.wishes_of(1, 1, 4) == [1, 1, 1, 1, 2, 4, 0, 1]
    assert Program((Loop("ss"),)).wishes_of(5, 2, 8) == [0]
    assert program_of({"als": "ss", "cores": 2}, "x").wishes == (2.0,)


@given(program=programs)
def test_json_gives_back_the_same_program(program: Program) -> None:
    assert Program.from_json(program.to_json()) == program
    assert hash(Program.from_json(program.to_json())) == hash(program)


def test_the_work_of_phases_counts_those_that_take_part() -> None:
    """Of eight cores three drive devices, which are as fast as 10 and 2 cores."""
    kinds = {"gpu": {"count": 2, "speed": 5}, "slow": {"count": 1, "speed": 2}}
    phases = [{"kind": "loop", "on": on} for on in ("cores", "gpu", "gpu+slow", "cores+slow", "")]
    program = program_of({"phases": [*phases, {"kind": "serial", "share": 1}], "workers": kinds}, "x")
    assert [cores * 8 + more for cores, more in map(program.capacity, range(6))] == [5, 10, 12, 7, 17, 5]
    assert [program.mask(at) for at in range(6)] == [1, 2, 6, 5, 7, 1]
    with pytest.raises(InputError, match="3 cores drive devices; job 7 has 3; allowed: more"):
        program.check(np.array([8, 3]), np.array([6, 7]), "apps")
    graph = program_of({"graph": "cholesky", "als": "heft", "workers": {"gpu": {"launch": "1us"}}}, "x")
    with pytest.raises(InputError, match="gpu: with a graph; allowed: count and speed alone"):
        graph.check(np.array([8]), np.array([6]), "x")
    graph = {"graph": f"file:{DATA / 'timed.rec'}", "workers": {"w0": {"count": 1}}}
    for changes, words in (
        ({"als": "heft", "workers": {}}, "task 1 cannot run on any of the workers that are there"),
        (
            {"als": "heft", "workers": {"w0": {}}},
            "task 1 cannot run on any of the workers that are there",
        ),  # of all jobs
        ({"als": "ss"}, "ss: task 1 cannot run on cores; allowed: a planner"),
    ):
        with pytest.raises(InputError, match=rf"x\.phases\[0\]: .*{words}"):
            program_of(graph | changes, "x").check(np.array([8]), np.array([6]), "x")
    program_of(graph | {"als": "heft"}, "x").check(np.array([8]), np.array([6]), "x")
    planned = Program((Loop("heft"),), workers=(WorkerKind(variation=0.5),))
    with pytest.raises(InputError, match="with a graph"):
        planned.check(np.array([8]), np.array([6]))


def test_a_graph_in_a_table() -> None:
    table = {"graph": "layered:ccr=0.5", "als": "heft", "tasks_per_core": 4, "steps": 5, "redraw": True, "name": "dag"}
    assert program_of(table, "x") == Program((Graph("heft", "layered:ccr=0.5", tasks_per_core=4),), 5, True, "dag")
    ranked = {"kind": "graph", "graph": "layered:ccr=0.5", "order": "rank", "als": "ss", "tasks": 9, "share": 3}
    found = program_of({"phases": [{"kind": "serial", "share": 1}, ranked, {"kind": "loop"}]}, "x")
    graph = Graph("ss", "layered:ccr=0.5", "rank", tasks=9, share=3.0)
    assert found.phases == (Serial(1.0), graph, Loop())
    assert found.shares == (0.2, 0.6, 0.2)
    assert (found.loops, found.parallel) == ((Loop(),), (graph, Loop()))
    assert found.has_graph


def test_the_tasks_of_a_graph_are_its_own_or_about_as_many_as_are_asked_for() -> None:
    """Cholesky of 3 tiles: 3 factorizations, 3 + 3 updates of panels and diagonals, 1 of the rest; 12 edges."""
    tiles = Graph("ss", "cholesky:tiles=3", tasks_per_core=8)
    assert (tiles.room(4), tiles.n_tasks(4), tiles.wanted_tasks(4)) == ((10, 12), 10, 32)
    assert [Graph("ss", "chain", **count).room(4) for count in ({}, {"tasks": 7}, {"tasks_per_core": 3})] == [
        (4, 3),
        (7, 6),
        (12, 11),
    ]
    program = Program((Serial(1.0), tiles, Loop("ss", tasks=5)), steps=10)
    assert program.n_tasks(4) == 10 * (1 + 10 + 5)
    programs = Programs((program, Program.plain("ss", "equal", 100)), 0.0)
    assert programs.room(np.array([0, 1]), np.array([4, 1])) == (10 * (1 + 10 + 5), 10 * 12)
    assert programs.room(np.array([0, 1]), np.array([4, 4])) == (400, 10 * 12)
    assert programs.expected_tasks(np.array([0, 1, 0]), np.array([4, 2, 8])) == 2 * 160 + 200


ONE = Program((Graph("ss", "chain", tasks_per_core=100_001),))
STEPS = Program((Graph("ss", "chain", tasks_per_core=10_001),), steps=10)
RANKED = Program((Serial(1.0), Graph(graph="chain", order="rank")))
OWN = Program.plain(Technique("own", one_task))
TWO_JOBS = np.array([1, 1000]), np.array([11, 12])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ONE.check(*TWO_JOBS, "x"),
         r"^x: job 12 of 1000 cores: graph chain: 100001000 tasks in one job; allowed: 1 to 100000000"),
        (lambda: STEPS.check(*TWO_JOBS, "x"), r"^x: job 12 of 1000 cores would have 100010000 tasks; allowed: up to 10"),
        (lambda: RANKED.filled(Loop("heft"), "x"), r"^x\.phases\[1\]\.order: rank: planner heft has an order of its own"),
        (lambda: RANKED.filled(Loop("select:(fac,ss)"), "x"), r"^x\.phases\[1\]\.als: select:\(fac,ss\) looks ahead"),
        (lambda: Graph(graph="chain").found_technique(), r"graph\.als: missing; allowed: static, ss"),
        (lambda: Loop().found_technique(), r"loop\.als: missing; allowed: static, ss"),
        (OWN.to_json, r"als: own is an object of this process; .* FILE\.py:NAME"),
        (lambda: Program.plain("gs"), r"^als='gs': unknown application technique"),
        (lambda: Program.plain("gss", "", 0), r"^tasks_per_core=0: 0 is out of range"),
        (lambda: Program.plain("gss", "no such"), r"^lengths='no such': "),
        (lambda: Program.from_json("{"), "program: not valid JSON: "),
        (lambda: Program.from_json("[1]"), r"program: \[1\] is not a table"),
        (lambda: Program.from_json("[" * 100_000), "program: not usable JSON: nested too deeply"),
        (lambda: Program.from_json('{"phases":[{"kind":"serial","share":NaN}]}'), r"program\.phases\[0\]\.share: nan"),
        (lambda: Program.from_json('{"als":"gss","x":1}'), r"program\.x: unknown key"),
        (lambda: Program((Serial(1.0), "loop")), r"program\.phases\[1\]: 'loop'; allowed: Serial, Loop or Graph"),
        (lambda: Serial(0.0), r"serial\.share: 0\.0 is no part"),
        (lambda: Loop(None), r"loop\.als: None; allowed"),
    ],
)  # fmt: skip
def test_programs_that_cannot_be(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()
    ONE.check(*(column[:1] for column in TWO_JOBS), "x")


def test_a_graph_is_filled_with_the_runs_technique_and_number() -> None:
    assert RANKED.filled(Loop("fac", "equal", 4)).phases[1] == Graph("fac", "chain", "rank", 4)
    assert RANKED.filled(Loop("fac", tasks=4)).phases[1] == Graph("fac", "chain", "rank")
    assert Loop(TECHNIQUES["gss"]).found_technique() is TECHNIQUES["gss"]
    assert '"als":"gss"' in Program.plain(TECHNIQUES["gss"]).to_json()


def test_a_graphs_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "g.dot"
    path.write_text('digraph { node [size="1e9"]; a -> b }', encoding="utf-8")
    phase = Graph("ss", f"file:{path}")
    path.write_text('digraph { node [size="1e9"]; a -> b -> c }', encoding="utf-8")
    assert [phase.n_tasks(cores) for cores in (1, 2, 3)] == [2, 2, 2]
    assert phase.found_graph(variation=0.5) is phase.found_graph()
    assert Graph("ss", f"file:{path}").n_tasks(1) == 3


DOT = 'digraph { a [size="1e9"]; b [size="2e9"]; a -> b [size="1e6"] }'


def test_files_are_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    for name, content in (
        ("small.dot", DOT),
        ("mine.py", "from test_program import OWNED as MINE\n"),
        ("flops.txt", "1.5e9\n2e9\n"),
    ):
        (here / name).write_text(content)
    monkeypatch.chdir(here)
    loop = Loop("mine.py:MINE", "file:flops.txt,unit=flop")
    graphs = (Graph("heft", "file:small.dot"), Graph("ss", "file:small.dot,scale=no", "rank", share=2.0))
    text = Program((loop, replace(loop, lengths="file:flops.txt"), *graphs)).to_json()
    assert json.loads(text)["phases"][2:] == [
        {"kind": "graph", "als": "heft", "graph": f"file:{here}/small.dot", "order": "index", "share": 1.0},
        {"kind": "graph", "als": "ss", "graph": f"file:{here}/small.dot,scale=no", "order": "rank", "share": 2.0},
    ]
    monkeypatch.chdir(there)
    found = Program.from_json(text)
    assert [phase.technique for phase in found.loops] == [f"{here}/mine.py:MINE"] * 2
    assert [phase.lengths for phase in found.loops] == [f"file:{here}/flops.txt,unit=flop", f"file:{here}/flops.txt"]
    assert found.loops[0].found_technique().name == "mine"
    graphs_found = [phase.graph for phase in found.parallel if isinstance(phase, Graph)]
    assert graphs_found == [f"file:{here}/small.dot", f"file:{here}/small.dot,scale=no"]
    assert found.n_tasks(64) == 2 + 2 + 2 + 2
    assert Program.from_json(found.to_json()) == found
    with pytest.raises(InputError, match=r"^x\.graph: small\.dot: no such file"):
        program_of({"graph": "file:small.dot"}, "x")


def test_lengths_from_a_file_bring_their_number(tmp_path: Path) -> None:
    (tmp_path / "flops.txt").write_text("1.5\n2\n4\n")
    given = f"file:{tmp_path}/flops.txt"
    assert Loop("ss", given).n_tasks(64) == Loop("ss", given, tasks=3).n_tasks(64) == 3
    with pytest.raises(InputError, match=r"loop\.tasks: 4; allowed: 3, which file:"):
        Loop("ss", given, tasks=4)
    assert Program((Loop("ss", given),)).filled(Loop("ss", tasks=4)).n_tasks(64) == 3
    with pytest.raises(InputError, match=r"x\.phases\[0\]\.tasks: 4; allowed: 3"):
        Program((Loop("ss", tasks=4),)).filled(Loop("ss", given), "x")


def test_jobs_that_cannot_run_a_program() -> None:
    cores, job_id = np.array([4, 1000, 8]), np.array([11, 12, 13])
    Program.plain("ss", "", MAX_TASKS_PER_JOB // 1000).check(cores, job_id, "x")
    many = f"job 12 of 1000 cores would have {MAX_TASKS_PER_JOB + 1000} tasks; allowed: up to {MAX_TASKS_PER_JOB} a job"
    with pytest.raises(InputError, match=f"^x: {many}"):
        Program.plain("ss", "", MAX_TASKS_PER_JOB // 1000 + 1).check(cores, job_id, "x")
    with pytest.raises(InputError, match=r"^tasks_per_core: job 12"):
        Program.plain("ss", "", MAX_TASKS_PER_JOB).check(cores, job_id, "")
    Program.plain("ss", "", MAX_TASKS_PER_JOB).check(cores[:0], job_id[:0])
    four = Program.plain(Technique("weighted", one_task, only_cores=4))
    four.check(cores[:1], job_id[:1])
    with pytest.raises(InputError, match=r"x\.als: technique weighted: its weights are for 4 cores; job 12 has 1000"):
        four.check(cores, job_id, "x")


def test_room_is_made_for_each_program_on_the_cores_that_run_it() -> None:
    """The program of many tasks a core runs on one core only: not on the 4,096 of another's job."""
    programs = Programs((Program.plain("ss", "equal", 1000), Program.plain("awf-c", "equal")), 0.0)
    place, cores = np.array([0, 1, 0]), np.array([1, 4096, 2])
    assert programs.room(place, cores) == (4096, 0)
    assert programs.room(place[:1], cores[:1]) == (1000, 0)
    assert programs.memo(place[:1], cores[:1]) < 10 < programs.memo(place, cores)


def test_a_graph_of_more_edges_than_its_model_makes_room_for(tmp_path: Path) -> None:
    """A generator may promise too few edges, even none."""
    (tmp_path / "promises.py").write_text(
        "from als.graphs import GENERATORS, GraphModel\n"
        "chain = GENERATORS['chain'].graph(0.0)\n"
        "NONE = GraphModel('promises', chain.make, chain.params, lambda tasks, cores: (tasks or cores, 0))\n",
        encoding="utf-8",
    )
    programs = Programs((Program((Graph("ss", f"{tmp_path}/promises.py:NONE", tasks=40),)),), 0.0)
    drawn = drawn_program(programs, 0, 1, 1, 4, 100.0, 1.0, 1.0)
    assert (len(drawn.lengths), drawn.source.tolist(), drawn.target.tolist()) == (40, [*range(39)], [*range(1, 40)])


HERE = Path(__file__).parent

KINDS: dict[str, Callable[[str], Any]] = {
    "technique": technique,
    "lengths": lengths,
    "graph": graph_model,
    "speeds": lambda text: core_speeds([text], 4, 7),
    "network": network_model,
    "topology": lambda text: network(text, 16),
    "dot": parsed,
}
#: Kinds of files.
FILES: dict[str, Callable[[Path], Any]] = {
    "trace": lambda path: core_speeds([f"trace:{path},periodic=60s"], 4, 7),
    "length_file": lambda path: lengths(f"file:{path}"),
}


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        pytest.param(kind, *row, id=f"{kind} {row[0][:60]}")
        for kind, rows in tomllib.loads((HERE / "refused.toml").read_text(encoding="utf-8")).items()
        for row in rows
    ],
)
def test_a_text_is_refused_in_one_line(kind: str, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        KINDS[kind](text) if kind in KINDS else FILES[kind](path)
    pattern = ".*".join(map(re.escape, words.replace("{}", str(path)).split("…")))
    match = re.fullmatch if kind == "length_file" else re.match
    assert match(pattern, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
    if kind == "graph":
        with pytest.raises(InputError, match=r"^map\.toml: line 3: "):
            graph_model(text, "map.toml: line 3")


SERIAL = {"kind": "serial", "share": 1}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        *tomllib.loads((HERE / "refused_programs.toml").read_text(encoding="utf-8"))["refused"],
        ({"name": "a" * 101}, r"x\.name: .*; allowed: up to 100"),
        ({"phases": [SERIAL] * 101}, rf"x\.phases: 101 phases; allowed: 1 to {MAX_PHASES}"),
        ({"tasks": 10**9}, rf"x\.tasks: 1000000000 is out of range; allowed: 1 to {MAX_TASKS_PER_JOB}"),
    ],
)
def test_a_mistake_in_a_program_is_one_line_that_names_the_key(table: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"^(?:{words})") as caught:
        program_of(table, "x")
    assert "\n" not in str(caught.value)
