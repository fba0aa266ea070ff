"""``run`` and ``grid`` with the options of the application level: what is simulated, printed and recorded."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from command_line import Ran, twolevel
from tables import table_text

import bridge
from bls import sample_path
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.balance import balance_words
from bridge.scenarios.scenario import Options

APPLICATIONS = table_text(__file__, "applications")

SPEEDS = ("square:period=10m,low=0.5,cores=0-63", "late:cores=100,at=1h")


def run(*words: object, command: str = "run") -> Ran:
    ran = twolevel(command, "sample", "--select", "first:40", *words)
    assert ran.code == 0, ran.err
    return ran


def shown(ran: Ran) -> dict[str, str]:
    """The summary's rows by name."""
    return dict(re.split(r"  +", line, maxsplit=1) for line in ran.out.splitlines())


def record(folder: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(folder, "run.json").read_text())
    return found


def test_every_option_does_what_the_same_one_in_python_does(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    ran = run(
        *("--als", "fac", "--variation", 0.3, "--lengths", "lognormal", "--overhead", 10**6, "--latency", 500),
        *("--assignment", "master", "--applications", "apps.toml", "--speeds", SPEEDS[0], "--speeds", SPEEDS[1]),
        *("--seed", 3, "--tasks", "--no-trace", "--out", "r"),
    )
    level = ApplicationLevel("lognormal", 500, "master", "apps.toml", SPEEDS)
    words = {"als": "fac", "variation": 0.3, "overhead_ns": 10**6, "seed": 3, "select": "first:40"}
    result = bridge.simulate(sample_path(), level=level, **words)
    pd.testing.assert_frame_equal(pd.read_parquet("r/jobs.parquet"), result.jobs)
    pd.testing.assert_frame_equal(pd.read_parquet("r/tasks.parquet"), result.tasks)
    found = record("r")
    assert found["metrics"] == json.loads(json.dumps(dict(result.metrics)))
    assert ran.out.splitlines() == [f"{name.ljust(22)}  {text}" for name, text in result.summary()]


def test_the_summary_says_of_the_application_level_what_was_given(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    plain = shown(run("--no-trace", "--out", "a"))
    further = {"task lengths", "costs", "applications", "core speeds", "chosen"}
    assert set(plain) & further == set()
    ran = shown(run("--lengths", "gamma:cov=1", "--latency", 500, "--no-trace", "--out", "b"))
    assert {name: ran[name] for name in set(ran) & further} == {
        "task lengths": "gamma:cov=1",
        "costs": "overhead 0 ns, latency 500 ns",
    }
    ran = shown(run("--assignment", "master", "--speeds", SPEEDS[0], "--speeds", SPEEDS[1], "--no-trace", "--out", "c"))
    assert ran["costs"] == "overhead 0 ns, latency 0 ns, a master"
    planned = shown(run("--als", "heft", "--latency", 500, "--no-trace", "--out", "planned"))
    assert "costs" not in planned  # nobody asks for anything
    assert ran["core speeds"] == ", ".join(SPEEDS)
    ran = shown(run("--applications", "apps.toml", "--no-trace", "--out", "d"))
    counts = pd.read_parquet("d/jobs.parquet").application.value_counts().to_dict()
    named = [f"{name} {counts.get(name, 0)}" for name in ("narrow", "nobody's", "chosen", "default")]
    assert ran["applications"] == f"apps.toml: {', '.join(named)}"
    assert re.fullmatch(r"(gss|fac) \d+(, fac \d+)?", ran["chosen"])


def test_the_record_counts_applications_and_choices(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    run("--als", "ss", "--variation", 0.25, "--applications", "apps.toml", "--no-trace", "--out", "r")
    found, jobs = record("r"), pd.read_parquet("r/jobs.parquet")
    assert found["arguments"]["applications"] == "apps.toml"  # type: ignore[index]
    cores = jobs.cores
    by_hand = {"narrow": int((cores <= 8).sum()), "nobody's": 0, "chosen": int((cores == 32).sum())}
    assert found["applications"] == {**by_hand, "default": 40 - sum(by_hand.values())}
    assert by_hand["narrow"] > 0 < by_hand["chosen"]
    of_choice = jobs[jobs.application == "chosen"]
    assert found["chosen"] == of_choice.chosen.value_counts().sort_index(ascending=False).to_dict()
    assert sum(found["chosen"].values()) == by_hand["chosen"]  # type: ignore[attr-defined]
    assert found["ahead_chunks"] == of_choice.ahead_chunks.sum() > 0
    assert set(jobs[jobs.application != "chosen"].chosen) == {""}
    distribution = found["metrics"]["distribution"]  # type: ignore[index]
    assert distribution["efficiency"]["mean"] == pytest.approx(jobs.efficiency.mean())
    assert distribution["scheduling_ns"]["max"] == 0
    run("--als", "recorded", "--no-trace", "--out", "none")
    found = record("none")
    assert (found["applications"], found["chosen"], found["ahead_chunks"]) == ({}, {}, 0)
    assert found["metrics"]["distribution"]["efficiency"]["mean"] is None  # type: ignore[index]


def test_run_and_grid_say_that_one_task_per_core_leaves_nothing_to_balance(here: Path) -> None:
    line = balance_words([Options(als="gss", variation=0.25)])
    assert run("--als", "gss", "--variation", "0.25", "--no-trace", "--out", "one").err.count(line) == 1
    run("--als", "static", "--variation", "0.25", "--no-trace", "--out", "other")
    one, other = (pd.read_parquet(Path(folder, "jobs.parquet")) for folder in ("one", "other"))
    assert one.end_ns.equals(other.end_ns), "all techniques give the same schedule"
    assert (
        run(
            "--bls", "fcfs", "--als", "gss", "--variation", "0,0.25", "--workers", 1, "--out", "grid", command="grid"
        ).err.count(line)
        == 1
    )


def test_it_is_said_where_nobody_hears_what_applications_wish_for(here: Path) -> None:
    (here / "apps.toml").write_text('[default]\nphases = [{ kind = "loop", cores = 0.5 }]\n')
    wishing = ("--applications", "apps.toml", "--no-trace", "--force", "--out", "o")
    unheard = "applications wish for cores, and nobody hears it: --resize evolve does"
    assert unheard in run(*wishing).err
    assert unheard in run(*wishing, "--malleable", "1").err
    evolving = ("--malleable", "1", "--resize", "evolve")
    assert "wish" not in run(*wishing, *evolving).err
    assert (pd.read_parquet("o/widths.parquet")["change"] == 0).any()
    nothing = "--resize evolve: no phase of an application says for how many cores it wishes"
    assert nothing in run(*evolving, "--no-trace", "--out", "p").err


def test_a_job_that_a_host_cut_is_counted_once(here: Path) -> None:
    (here / "apps.toml").write_text(APPLICATIONS)
    (here / "outages.csv").write_text("host,down_s,up_s\n0,5400,7200\n1,9000,9600\n")
    run("--als", "ss", "--applications", "apps.toml", "--failures", "outages.csv", "--no-trace", "--out", "r")
    assert len(pd.read_parquet("r/jobs.parquet")) > 40
    assert sum(record("r")["applications"].values()) == 40  # type: ignore[attr-defined]


def test_a_grid_of_techniques_with_commas_in_their_names(here: Path) -> None:
    (here / "mine.py").write_text("class Mine:\n    def chunk(self, ask): return 1\n")
    names = ["ss", "fsc:h=1e-6,sigma=0.2", "select:gss,mine.py:Mine", "mine.py:Mine", "wf"]
    words = (
        "--bls",
        "fcfs",
        "--als",
        ",".join(names).replace(names[2], "select:(gss, mine.py:Mine)"),
        "--variation",
        "0.25",
        "--tasks-per-core",
        4,
    )
    ran = run(*words, "--lengths", "gamma", "--workers", 1, "--out", "g", command="grid")
    assert [line.split()[2] for line in ran.out.splitlines() if line.startswith("fcfs × ")] == names
    table = pd.read_parquet("g/results.parquet")
    assert table["als"].tolist() == names
    assert table.makespan_ns[0] == table.makespan_ns[3]
    assert set(os.listdir("g/cells")) == {
        f"fcfs-{name}-0.25" for name in ("ss", "fsc:h=1e-6,sigma=0.2", "select:gss,Mine", "Mine", "wf")
    }
    assert 'lengths = "gamma"' in json.loads(Path("g/study.json").read_text())["study"]
    assert "chosen" not in table.columns
    assert "chosen" in pd.read_parquet("g/cells/fcfs-select:gss,Mine-0.25/seed-0/jobs.parquet").columns


@pytest.mark.parametrize(
    ("users", "said"),
    [
        ((999, 998), "--applications: no job matches a, b; all jobs run the default"),
        ((999, "0-"), "--applications: no job matches a"),
        (("0-", "0-"), "--applications: no job matches b"),
    ],
)
def test_applications_that_no_job_has_are_named(here: Path, users: tuple[object, object], said: str) -> None:
    tables = (
        f'[[application]]\nname = "{name}"\nmatch = {{ user = {user!r} }}\nals = "gss"\n'
        for name, user in zip("ab", users, strict=True)
    )
    Path("map.toml").write_text("".join(tables), encoding="utf-8")
    ran = twolevel("run", "sample", "--select", "first:5", "--applications", "map.toml", "--no-trace", "--out", "r")
    assert ran.code == 0, ran.err
    assert said in ran.err.splitlines()
