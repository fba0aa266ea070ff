"""Programs: what a job computes, from Python, a table or JSON, and every mistake in one."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from als.program import MAX_PHASES, Loop, Program, Serial, program_of
from als.program_table import Programs
from als.tasks import MAX_TASKS_PER_JOB
from als.techniques import TECHNIQUES, Technique, technique_kernel
from traces.errors import InputError, PluginError

OWN_TECHNIQUE = """
from als.techniques import Technique, technique_kernel

@technique_kernel
def rule(n_tasks, n_cores, core, request, remaining, memo):
    return 1

MINE = Technique("mine", rule)
"""


@technique_kernel
def one_task(n_tasks: int, n_cores: int, core: int, request: int, remaining: int, memo: Any) -> int:
    return 1


shares = st.floats(1e-6, 1e6)
counts = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"tasks_per_core": st.integers(1, 10**8)}),
    st.fixed_dictionaries({"tasks": st.integers(1, 10**8)}),
)
loops = st.builds(
    lambda technique, lengths, share, count: Loop(technique, lengths, share=share, **count),
    st.sampled_from(["", *TECHNIQUES]),
    st.sampled_from(["", "equal", "normal", "normal:cov=0.5"]),
    shares,
    counts,
)
programs = st.builds(
    Program,
    st.lists(st.one_of(st.builds(Serial, shares), loops), min_size=1, max_size=5).map(tuple),
    st.integers(1, 1000),
    st.booleans(),
    st.text(st.characters(categories=["L", "N", "P"]), max_size=20),
)


def test_one_loop_in_a_table() -> None:
    table = {"als": "gss", "lengths": "normal:cov=0.25", "tasks": 1000, "steps": 5, "redraw": True, "name": "solver"}
    assert program_of(table, "x") == Program((Loop("gss", "normal:cov=0.25", tasks=1000),), 5, True, "solver")


def test_phases_in_a_table() -> None:
    serial = {"kind": "serial", "share": 1}
    loop = {"kind": "loop", "share": 3, "als": "fac", "tasks_per_core": 8}
    found = program_of({"phases": [serial, loop, {"kind": "loop"}]}, "x")
    assert found == Program((Serial(1.0), Loop("fac", tasks_per_core=8, share=3.0), Loop()))
    assert found.shares == (0.2, 0.6, 0.2)
    assert found.loops == found.phases[1:]
    assert (found.steps, found.redraw, found.name) == (1, False, "")


def test_a_plain_program_is_one_loop_with_all_of_the_work() -> None:
    plain = Program.plain("ss", "equal", 4)
    assert plain == Program((Loop("ss", "equal", 4),))
    assert plain.shares == (1.0,)
    assert plain.n_tasks(8) == 32


@given(share=shares)
def test_a_single_phase_has_exactly_all_of_the_work(share: float) -> None:
    assert Program((Loop("ss", share=share),)).shares == (1.0,)


@given(program=programs)
def test_shares_are_divided_by_their_sum(program: Program) -> None:
    total = sum(Fraction(phase.share) for phase in program.phases)
    for phase, share in zip(program.phases, program.shares, strict=True):
        assert math.isclose(share, Fraction(phase.share) / total, rel_tol=1e-15)


@given(program=programs)
def test_json_gives_back_the_same_program(program: Program) -> None:
    assert Program.from_json(program.to_json()) == program
    assert hash(Program.from_json(program.to_json())) == hash(program)


@given(program=programs, run=loops)
def test_what_a_loop_leaves_out_is_the_runs(program: Program, run: Loop) -> None:
    for before, after in zip(program.phases, program.filled(run).phases, strict=True):
        assert after.share == before.share
        if isinstance(before, Serial) or isinstance(after, Serial):
            assert after == before
            continue
        assert after.technique == (before.technique or run.technique)
        assert after.lengths == (before.lengths or run.lengths)
        number = before.tasks, before.tasks_per_core
        assert (
            (after.tasks, after.tasks_per_core) == (run.tasks, run.tasks_per_core) if number == (None, None) else number
        )


def test_the_number_of_tasks() -> None:
    assert [Loop("ss", **count).n_tasks(6) for count in ({}, {"tasks_per_core": 4}, {"tasks": 7})] == [6, 24, 7]
    phases = (Serial(0.5), Loop("ss", tasks_per_core=4), Loop("ss", tasks=7))
    assert Program(phases, steps=10).n_tasks(6) == 10 * (1 + 24 + 7)


def test_lengths_from_a_file_bring_their_number(tmp_path: Path) -> None:
    (tmp_path / "flops.txt").write_text("1.5\n2\n4\n")
    given = f"file:{tmp_path}/flops.txt"
    assert Loop("ss", given).n_tasks(64) == Loop("ss", given, tasks=3).n_tasks(64) == 3
    with pytest.raises(InputError, match=r"loop\.tasks: 4; allowed: 3, which file:"):
        Loop("ss", given, tasks=4)
    assert Program((Loop("ss", given),)).filled(Loop("ss", tasks=4)).n_tasks(64) == 3
    with pytest.raises(InputError, match=r"x\.phases\[0\]\.tasks: 4; allowed: 3"):
        Program((Loop("ss", tasks=4),)).filled(Loop("ss", given), "x")


def test_files_are_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "mine.py").write_text(OWN_TECHNIQUE)
    (here / "flops.txt").write_text("1.5e9\n2e9\n")
    monkeypatch.chdir(here)
    program = Program((Loop("mine.py:MINE", "file:flops.txt,unit=flop"), Loop("mine.py:MINE", "file:flops.txt")))
    text = program.to_json()
    monkeypatch.chdir(there)
    found = Program.from_json(text)
    assert [loop.technique for loop in found.loops] == [f"{here}/mine.py:MINE"] * 2
    assert [loop.lengths for loop in found.loops] == [f"file:{here}/flops.txt,unit=flop", f"file:{here}/flops.txt"]
    assert found.loops[0].found_technique().name == "mine"


def test_parameters_stay_behind_the_path_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(
        OWN_TECHNIQUE
        + """
from dataclasses import dataclass

@dataclass(frozen=True)
class Sized:
    size: int = 1

    def technique(self):
        return Technique("sized", rule, params=(float(self.size),), parameters=self)

SIZED = Sized().technique()
"""
    )
    monkeypatch.chdir(tmp_path)
    (loop,) = Program.from_json(Program.plain("mine.py:SIZED:size=3").to_json()).loops
    assert loop.technique == f"{tmp_path}/mine.py:SIZED:size=3"
    assert loop.found_technique().params == (3.0,)


def test_technique_objects() -> None:
    assert Loop(TECHNIQUES["gss"]).found_technique() is TECHNIQUES["gss"]
    assert '"als":"gss"' in Program.plain(TECHNIQUES["gss"]).to_json()
    own = Program.plain(Technique("own", one_task))
    with pytest.raises(InputError, match=r"als: technique own is an object of this process; .* FILE\.py:NAME"):
        own.to_json()
    with pytest.raises(InputError, match=r"loop\.als: missing; allowed: static, ss"):
        Loop().found_technique()


def test_jobs_that_cannot_run_a_program() -> None:
    cores, job_id = np.array([4, 1000, 8]), np.array([11, 12, 13])
    Program.plain("ss", "", MAX_TASKS_PER_JOB // 1000).check(cores, job_id, "x")
    many = f"job 12 of 1000 cores would have {MAX_TASKS_PER_JOB + 1000} tasks; allowed: up to {MAX_TASKS_PER_JOB} a job"
    with pytest.raises(InputError, match=f"^x: {many}"):
        Program.plain("ss", "", MAX_TASKS_PER_JOB // 1000 + 1).check(cores, job_id, "x")
    with pytest.raises(InputError, match=r"^--tasks-per-core: job 12"):
        Program.plain("ss", "", MAX_TASKS_PER_JOB).check(cores, job_id, "")
    Program.plain("ss", "", MAX_TASKS_PER_JOB).check(cores[:0], job_id[:0])
    four = Program.plain(Technique("weighted", one_task, only_cores=4))
    four.check(cores[:1], job_id[:1])
    with pytest.raises(InputError, match=r"x\.als: technique weighted: its weights are for 4 cores; job 12 has 1000"):
        four.check(cores, job_id, "x")


SERIAL = {"kind": "serial", "share": 1}

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"alss": "gss"}, r"x\.alss: unknown key 'alss'; known: als"),
    "share of a single loop": ({"share": 1}, r"x\.share: unknown key"),
    "unknown technique": ({"als": "gsss"}, r"x\.als: unknown application technique 'gsss'; known: gss"),
    "technique of a wrong type": ({"als": 7}, r"x\.als: 7; allowed: a name or a Technique"),
    "no technique": ({"als": ""}, r"x\.als: ''; allowed: a name, or to leave the key out for the run's"),
    "no such file": ({"als": "no.py:X"}, r"x\.als: no file 'no\.py'"),
    "unknown lengths": ({"lengths": "nrmal:cov=1"}, r"x\.lengths: .*'nrmal'"),
    "parameter of lengths": ({"lengths": "normal:cov=-1"}, r"x\.lengths|cov"),
    "lengths of a wrong type": ({"lengths": 1.5}, r"x\.lengths: 1\.5 is not a text"),
    "no lengths": ({"lengths": ""}, r"x\.lengths: ''; allowed"),
    "no tasks": ({"tasks": 0}, rf"x\.tasks: 0 is out of range; allowed: 1 to {MAX_TASKS_PER_JOB}"),
    "half a task": ({"tasks": 1.5}, r"x\.tasks: 1\.5 is not a whole number"),
    "no tasks per core": ({"tasks_per_core": 0}, r"x\.tasks_per_core: 0 is out of range"),
    "both": ({"tasks": 5, "tasks_per_core": 5}, r"x\.tasks: given beside tasks_per_core; allowed: one of them"),
    "no steps": ({"steps": 0}, r"x\.steps: 0 is out of range; allowed: 1 to 1000000"),
    "redraw": ({"redraw": 1}, r"x\.redraw: 1; allowed: true or false"),
    "name": ({"name": "a\nb"}, r"x\.name: 'a\\nb'; allowed: up to 100 printable characters"),
    "long name": ({"name": "a" * 101}, r"x\.name: .*; allowed: up to 100"),
    "loop beside phases": ({"als": "gss", "phases": [SERIAL]}, r"x\.als: given beside phases; allowed: in the phases"),
    "unknown key beside phases": ({"stepz": 2, "phases": [SERIAL]}, r"x\.stepz: unknown key 'stepz'; known: steps"),
    "phases are no list": ({"phases": SERIAL}, r"x\.phases: .*; allowed: a list of tables"),
    "phases are no tables": ({"phases": ["serial"]}, r"x\.phases: \['serial'\]; allowed: a list of tables"),
    "no phases": ({"phases": []}, rf"x\.phases: 0 phases; allowed: 1 to {MAX_PHASES}"),
    "too many phases": ({"phases": [SERIAL] * 101}, r"x\.phases: 101 phases; allowed: 1 to 100"),
    "no kind": ({"phases": [SERIAL, {"share": 1}]}, r"x\.phases\[1\]\.kind: missing; allowed: serial, loop"),
    "unknown kind": ({"phases": [{"kind": "lop"}]}, r"x\.phases\[0\]\.kind: unknown kind of phase 'lop'; known: loop"),
    "kind of a wrong type": ({"phases": [{"kind": []}]}, r"x\.phases\[0\]\.kind: unknown kind of phase \[\]"),
    "key of a phase": ({"phases": [SERIAL | {"sharee": 1}]}, r"x\.phases\[0\]\.sharee: unknown key .*; known: share"),
    "serial with a technique": ({"phases": [SERIAL | {"als": "gss"}]}, r"x\.phases\[0\]\.als: unknown key"),
    "no share": ({"phases": [{"kind": "serial"}]}, r"x\.phases\[0\]\.share: missing; allowed: above 0"),
    "share 0": ({"phases": [{"kind": "loop", "share": 0}]}, r"x\.phases\[0\]\.share: 0 is no part of the work"),
    "share below 0": ({"phases": [{"kind": "serial", "share": -1}]}, r"x\.phases\[0\]\.share: -1 is out of range"),
    "share NaN": ({"phases": [{"kind": "serial", "share": math.nan}]}, r"x\.phases\[0\]\.share: nan is out of range"),
    "share of a wrong type": (
        {"phases": [{"kind": "loop", "share": "1"}]},
        r"x\.phases\[0\]\.share: '1' is not a number",
    ),
    "technique of a phase": ({"phases": [{"kind": "loop", "als": "x"}]}, r"x\.phases\[0\]\.als: unknown application"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_a_mistake_is_one_line_that_names_the_key(case: str) -> None:
    table, words = BAD[case]
    with pytest.raises(InputError, match=words) as caught:
        program_of(table, "x")
    assert "\n" not in str(caught.value)


def test_a_mistake_in_a_plain_program_names_the_option() -> None:
    with pytest.raises(InputError, match=r"^--als: unknown application technique"):
        Program.plain("gs")
    with pytest.raises(InputError, match=r"^--tasks-per-core: 0 is out of range"):
        Program.plain("gss", "", 0)
    with pytest.raises(InputError, match=r"^--lengths: "):
        Program.plain("gss", "no such")


def test_a_technique_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(PluginError, match=r"^x\.als: .*broken\.py cannot be loaded: ZeroDivisionError"):
        program_of({"als": f"{tmp_path}/broken.py:X"}, "x")


def test_mistakes_in_python() -> None:
    with pytest.raises(InputError, match=r"program\.phases\[1\]: 'loop'; allowed: Serial or Loop"):
        Program((Serial(1.0), "loop"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"serial\.share: 0\.0 is no part"):
        Serial(0.0)
    with pytest.raises(InputError, match=r"loop\.als: None; allowed"):
        Loop(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "program: not JSON: "),
        ("[1]", r"program: \[1\] is not a table"),
        ("[" * 100_000, "program: not JSON: "),
        ('{"phases":[{"kind":"serial","share":NaN}]}', r"program\.phases\[0\]\.share: nan"),
        ('{"als":"gss","x":1}', r"program\.x: unknown key"),
    ],
)
def test_a_text_that_is_no_program(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Program.from_json(text)


def test_json_is_plain() -> None:
    phases = (Serial(0.25), Loop("fac", "normal:cov=1", tasks_per_core=8, share=0.75))
    assert json.loads(Program(phases, steps=3, name="é").to_json()) == {
        "name": "é",
        "phases": [
            {"kind": "serial", "share": 0.25},
            {"kind": "loop", "als": "fac", "lengths": "normal:cov=1", "tasks_per_core": 8, "share": 0.75},
        ],
        "steps": 3,
        "redraw": False,
    }


def test_room_is_made_for_each_program_on_the_cores_that_run_it() -> None:
    """The program of many tasks a core runs on one core only: not on the 4,096 of another's job."""
    programs = Programs((Program.plain("ss", "equal", 1000), Program.plain("awf-c", "equal")), 0.0)
    place, cores = np.array([0, 1, 0]), np.array([1, 4096, 2])
    assert programs.room(place, cores) == 4096
    assert programs.room(place[:1], cores[:1]) == 1000
    assert programs.memo(place[:1], cores[:1]) < 10 < programs.memo(place, cores)
