"""Application maps: which job computes what, and every mistake in such a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import ROOT, blocks
from tables import table_rows, table_text

import bridge.scenarios.application_map as maps
from als.programs.program import Graph, Loop, Program, Serial
from bls.workloads.workload import Workload
from bridge.scenarios.application_map import ApplicationMap, MappedJobs, Match, parse_application_map
from traces.base.errors import InputError

RUN = Program.plain("fac", "", 4)
PAGE = ROOT / "docs" / "reference/applications.md"
EXAMPLE = ROOT / "docs" / "examples" / "applications.toml"


def log(*jobs: dict[str, int]) -> Workload:
    """Jobs 1, 2, … of 4 cores, if nothing else is said of them."""
    plain = {"run_s": 60, "cores": 4, "estimate_s": 60}
    return Workload.from_jobs([{"job_id": k, "submit_s": k, **plain, **job} for k, job in enumerate(jobs, 1)])


def mapped(*matches: dict[str, Any]) -> ApplicationMap:
    """Applications a, b, … with these matches."""
    return ApplicationMap("m", tuple(MappedJobs(chr(97 + k), Match(**m), RUN) for k, m in enumerate(matches)))


def places(matches: ApplicationMap, jobs: Workload, seed: int = 0) -> list[int]:
    return list(matches.assign(jobs, seed, RUN)[1].tolist())


@pytest.mark.parametrize("key", ["application", "user", "group", "queue", "partition"])
def test_a_number_of_the_log_is_distinguished_from_others_and_from_none(key: str) -> None:
    jobs = log({key: 0}, {key: 1}, {key: 6}, {key: 7}, {key: 9}, {key: 10}, {})
    assert places(mapped({key: "1 7-9"}), jobs) == [1, 0, 1, 0, 0, 1, 1]
    assert places(mapped({key: "0-1000"}), jobs) == [0, 0, 0, 0, 0, 0, 1]
    assert places(mapped({key: "7-"}), jobs) == [1, 1, 1, 0, 0, 0, 1]
    assert places(mapped({key: "9- -0"}), jobs) == [0, 1, 1, 1, 0, 0, 1]


def test_shares_lie_side_by_side_where_an_application_fits() -> None:
    jobs = log(*({} for _ in range(2000)))
    found = mapped({"share": 0.5}, {"share": 0.3}, {"share": 0.2})
    counts = found.counts(found.assign(jobs, 1, RUN)[1])
    assert [abs(counts[name] - expected) < 80 for name, expected in (("a", 1000), ("b", 600), ("c", 400))] == [True] * 3
    assert counts["default"] == 0
    assert places(mapped({"share": 0.0}, {"share": 1.0}), jobs) == [1] * 2000
    # Half of user 1 is a; b is laid from where a would end, but for other users from 0 on.
    jobs = log(*({"user": k % 2} for k in range(2000)))
    halves, of_all = (
        places(mapped({"user": "1", "share": 0.5}, {"share": 0.5}), jobs),
        places(mapped({"share": 0.5}), jobs),
    )
    assert halves[1::2] == of_all[1::2]
    assert halves[::2] == [1 + place for place in of_all[::2]]


TEXT = table_text(__file__, "text")


def test_a_file_in_full(tmp_path: Path) -> None:
    path = tmp_path / "apps.toml"
    path.write_text("\ufeff" + TEXT + '[default]\nals = "ss"\ntasks = 100\n', encoding="utf-8")
    found = maps.load_application_map(path)
    assert found.source == str(path)
    matches = {one.name: one.match for one in found.applications}
    sweep = Match(application="1 7", queue="3", share=0.25)
    assert matches == {"solver": Match(user="12", cores="4-128"), "sweep": sweep}
    phases = (Serial(0.1), Loop("gss", "normal:cov=1", 8, share=0.9))
    programs = (
        Program(phases, steps=10, redraw=True, name="solver"),
        Program((Loop("fac", "equal", 4),), name="sweep"),
        Program((Loop("ss", tasks=100),), name="default"),
    )
    assert found.assign(log({"user": 12}), 1, RUN)[0] == programs
    # Without a default, other jobs have the program of the run.
    found_programs, place = parse_application_map(TEXT, "apps.toml").assign(log({"user": 12}, {}), 1, RUN)
    assert (place.tolist(), place.dtype) == ([0, 2], np.int64)
    assert found_programs[2] == Program(RUN.phases, name="default")


GRAPHS = table_text(__file__, "graphs")


def test_graphs_in_a_file() -> None:
    found = parse_application_map(GRAPHS, "m.toml")
    phases = (Serial(0.1), Graph("fac", "cholesky:tiles=4", "rank", 4, share=0.6), Loop("fac", "", 4, share=0.3))
    programs = (
        Program((Graph("heft", "layered:ccr=0.5", tasks_per_core=8),), name="dag"),
        Program(phases, steps=3, name="mixed"),
        Program((Graph("fac", "chain", "rank", tasks=7),), name="default"),
    )
    assert found.assign(log({"user": 12}, {"cores": 64}, {}), 1, RUN)[0] == programs
    assert all(program.has_graph for program in programs)
    for technique, words in (
        ("peft", r"order: rank: planner peft has an order of its own"),
        ("select:(fac,ss)", "als: select:.* looks ahead"),
    ):
        with pytest.raises(InputError, match=r"^m\.toml: application\[1\]\.phases\[1\]\." + words):
            found.assign(log({}), 0, Program.plain(technique))


def test_a_graph_of_a_file_and_its_faults(tmp_path: Path) -> None:
    path = tmp_path / "g.dot"
    path.write_text("digraph { a [size=1] b [size=2] a -> b }")
    text = f'{ONE}graph = "file:{path}"\nals = "ss"'
    (program, _), _ = parse_application_map(text, "m.toml").assign(log({}), 0, RUN)
    assert program.n_tasks(64) == 2
    path.write_text("digraph {\n a [size=1]\n a -> b }")
    with pytest.raises(
        InputError, match=rf"^m\.toml: application\[0\]\.graph: {path}: line 3: task 'b' \(named by an edge only\)"
    ):
        parse_application_map(text, "m.toml")


def test_a_job_that_would_have_too_many_tasks() -> None:
    text = '[[application]]\nname = "a"\nmatch = { user = 1 }\ntasks_per_core = 10_000_000'
    found = parse_application_map(text, "m.toml")
    found.assign(log({"user": 1}, {"cores": 64}), 0, RUN)
    with pytest.raises(InputError, match=r"^m\.toml: application\[0\]: job 2 of 64 cores would have 640000000 tasks"):
        found.assign(log({"user": 1}, {"user": 1, "cores": 64}), 0, RUN)


ONE = '[[application]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("text", "words"), [*table_rows(__file__, "mistakes"), (f"x = {'9' * 5000}", r"m\.toml: not usable TOML: ")]
)
def test_a_mistake_is_one_line_that_names_the_file_and_the_key(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        parse_application_map(text.replace("ONE ", ONE), "m.toml")
    assert str(caught.value).startswith("m.toml: ")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        maps.load_application_map(tmp_path / "none.toml")
    with pytest.raises(InputError, match="is a directory"):
        maps.load_application_map(tmp_path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not valid TOML: byte 0 is not UTF-8"):
        maps.load_application_map(tmp_path / "bytes.toml")
    with pytest.raises(InputError, match=r"match\.user: 12 is not a text"):
        Match(user=12)  # type: ignore[arg-type]


def test_the_example_and_the_page() -> None:
    example = maps.load_application_map(EXAMPLE)
    jobs = log({"user": 12, "cores": 64}, {"application": 7}, {"cores": 256}, *({} for _ in range(400)))
    programs, place = example.assign(jobs, 1, RUN)
    assert place.tolist()[:3] == [0, 1, 2]
    counts = example.counts(place)
    assert list(counts) == ["solver", "sweep", "wide", "irregular", "factorisation", "default"]
    assert all(counts.values())
    assert [len(program.phases) for program in programs] == [3, 1, 2, 1, 1, 1]
    text = EXAMPLE.read_text(encoding="utf-8")
    assert text in blocks(PAGE, "toml")
    for block in blocks(PAGE, "toml"):
        parse_application_map(block, "block")
