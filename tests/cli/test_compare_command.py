"""``twolevel compare``: what it prints and writes, and what it refuses."""

import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import everything_in, succeeds, twolevel
from tables import table_rows, table_text

from traces.tables import JOB_COLUMNS, POWER_COLUMNS, read_jobs

HOUR = 3600 * 10**9

#: Job, submit, start, end, cores; h.
STATIC = ((1, 0, 0, 1, 256), (2, 0.5, 1, 2, 256), (3, 0.5, 2, 3, 128), (4, 0.5, 2, 4, 64))
GSS = ((1, 0, 0, 1.5, 256), (2, 0.5, 1.5, 2.75, 256), (3, 0.5, 2.75, 3.5, 128), (4, 0.5, 2.75, 4.75, 64))


def folder(name: str, rows: tuple[tuple[float, ...], ...], **record: Any) -> Path:
    """A result of ``twolevel run``, as far as it is needed."""
    made = Path(name)
    made.mkdir()
    table = []
    for job, submit, start, end, cores in rows:
        values: dict[str, Any] = dict.fromkeys(JOB_COLUMNS, 0)
        submit_ns, start_ns, end_ns = (round(at * HOUR) for at in (submit, start, end))
        values |= {"job_id": int(job), "submit_ns": submit_ns, "eligible_ns": submit_ns, "start_ns": start_ns}
        values |= {"end_ns": end_ns, "cores": int(cores), "allocation": f"0-{int(cores) - 1}"}
        table.append(values | {"why": "head", "state": "completed"})
    pd.DataFrame(table).to_parquet(made / "jobs.parquet")
    host = {"count": 4, "cores": 64, "speed_gflops": 3000.0}
    known: Mapping[str, Any] = {
        "arguments": {"als": name, "speeds": [], "seed": 3, "trace": False},
        "platform": {"hosts": [host]},
        "versions": {"twolevel": "1"},
        "metrics": {"makespan_ns": round(max(row[3] for row in rows) * HOUR), "mean_wait_ns": HOUR / 2},
    }
    (made / "run.json").write_text(json.dumps(known | record), encoding="utf-8")
    return made


@pytest.fixture
def runs(here: Path) -> Path:
    folder("static", STATIC)
    folder("gss", GSS)
    return here


WORDS = table_text(__file__, "printed")

ADVICE = "\nThis compares two single runs. Use several seeds for a confidence interval (twolevel grid --seeds).\n"


def test_what_is_printed(runs: Path) -> None:
    before = everything_in(runs)
    ran = twolevel("compare", "static", "gss")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == WORDS
    assert everything_in(runs) == before
    short = twolevel("compare", "static", "gss", "--top", 1).out
    assert "job 3 started 45 min" in short
    assert "job 4" not in short
    assert "job 2 ran" not in short
    assert (
        "job" not in twolevel("compare", "static", "gss", "--top", 0).out.partition("same start")[2].partition("\n")[2]
    )


def test_seeds_are_advised_where_a_run_draws_something(runs: Path) -> None:
    folder("drawn", GSS, arguments={"als": "gss", "variation": 0.25, "speeds": [], "seed": 3, "trace": False})
    assert twolevel("compare", "static", "drawn").out.endswith(ADVICE)
    assert twolevel("compare", "drawn", "static").out.endswith(ADVICE)
    assert ADVICE not in twolevel("compare", "static", "gss").out


def test_the_chain_of_one_job(runs: Path) -> None:
    ran = succeeds("compare", "static", "gss", "--job", 3)
    assert ran.out == table_text(__file__, "chain")


def test_what_differs_is_said_first(runs: Path) -> None:
    host = {"count": 8, "cores": 32, "speed_gflops": 1.5}
    arguments = {"als": "static", "speeds": ["a", "b"], "seed": 4, "trace": True, "new": None, "set": [], "extra": "x"}
    folder(
        "other", GSS[:3], arguments=arguments, platform={"hosts": [host, host]}, versions={"twolevel": "2"}, metrics={}
    )
    out = twolevel("compare", "static", "other").out
    assert out.startswith(table_text(__file__, "differing"))
    assert "\nmakespan      A 4 h 00 min (14400000000000 ns), B unknown\n" in out


def test_the_folder(runs: Path) -> None:
    ran = twolevel("compare", "static", "gss", "-o", "c", "--top", 1)
    assert (ran.code, ran.err) == (0, "comparison: c\n")
    names = ["captions.txt", "chain.png", "chain.svg", "comparison.json", "delays.parquet", "delays.png", "delays.svg"]
    assert sorted(everything_in(runs / "c")) == names
    chain, delays = Path("c/captions.txt").read_text(encoding="utf-8").strip().split("\n\n")
    for caption, shows in ((chain, "chain: "), (delays, "delays: ")):
        assert caption.startswith(shows)
        assert "differences: als static → gss. " in caption
        assert "(n = 4 " in caption
        assert caption.endswith("Two single runs: no confidence interval.")
    delays = pd.read_parquet("c/delays.parquet")
    assert delays["start_delta_ns"].tolist() == [0, HOUR // 2, 3 * HOUR // 4, 3 * HOUR // 4]
    record = json.loads(Path("c/comparison.json").read_text(encoding="utf-8"))
    assert record["runs"] == {"A": "static", "B": "gss"}
    assert record["differing"] == {"als": ["static", "gss"]}
    assert record["jobs"]["later"] == 3
    assert record["makespan_ns"] == [4 * HOUR, 19 * HOUR // 4]
    assert [row["job_id"] for row in record["most_delayed"]] == [3]
    assert [(row["job_id"], row["later_ns"]) for row in record["most_delaying"]] == [(1, 1.5 * HOUR)]
    assert record["most_advanced"] == record["most_advancing"] == []
    assert record["chain_of"] == "B"
    assert [link["job_id"] for link in record["chain"]] == [3, 2, 1]
    first = {path.name: path.read_bytes() for path in Path("c").iterdir()}
    refused = twolevel("compare", "static", "gss", "--out", "c")
    assert (refused.code, refused.out) == (2, "")
    assert "--out: c exists" in refused.err
    succeeds("compare", "static", "gss", "--out", "c", "--top", 1, "--force")
    assert {path.name: path.read_bytes() for path in Path("c").iterdir()} == first
    succeeds("compare", "static", "gss", "--out", "c", "--job", 2, "--force")
    record = json.loads(Path("c/comparison.json").read_text(encoding="utf-8"))
    assert [link["job_id"] for link in record["chain"]] == [2, 1]


def test_runs_in_which_no_job_started(runs: Path) -> None:
    for name in ("none", "nobody"):
        folder(name, ((1, 0, -1 / HOUR, -1 / HOUR, 4),))
    ran = succeeds("compare", "none", "nobody", "-o", "c")
    assert "not compared  1 job started in neither\n" in ran.out
    assert sorted(everything_in(runs / "c")) == ["comparison.json", "delays.parquet"]
    refused = twolevel("compare", "none", "nobody", "--job", 1)
    assert (refused.code, refused.err) == (2, "twolevel: --job: 1 did not start in both runs\n")


def test_bad_input_is_refused(runs: Path) -> None:
    folder("three", GSS[:3])
    folder("wider", ((1, 0, 0, 1, 255), *STATIC[1:]))
    folder("loop", STATIC)
    Path("loop/jobs.parquet").unlink()
    folder("tasks", STATIC)
    pd.DataFrame({"job_id": [1], "task": [2]}).to_parquet("tasks/jobs.parquet")
    folder("odd", STATIC, arguments=None)
    Path("empty").mkdir()
    before = everything_in(runs)
    for words, said in table_rows(__file__, "refused"):
        ran = twolevel("compare", *shlex.split(words))
        assert (ran.code, ran.out, ran.err) == (2, "", f"twolevel: {said}\n"), words
    assert everything_in(runs) == before


def test_runs_that_were_simulated(here: Path, result: Path) -> None:
    # A result as it is written: with itself, and with one whose second job ran longer by hand.
    shutil.copytree(result, "longer")
    jobs = read_jobs(Path("longer/jobs.parquet"))
    jobs.loc[1, "end_ns"] += 5
    jobs.to_parquet("longer/jobs.parquet")
    assert f"same start    {len(jobs)} jobs\n" in twolevel("compare", result, result).out
    succeeds("compare", result, "longer", "-o", "c")
    assert pd.read_parquet("c/delays.parquet")["run_delta_ns"].tolist() == [0, 5] + [0] * (len(jobs) - 2)


POWER = {"idle_w": 200.0, "limits": [[0, HOUR, 407_000.0]]}


@pytest.mark.parametrize(("power", "words"), table_rows(__file__, "power"))
def test_a_record_of_power_that_was_edited(power: Any, words: str, here: Path) -> None:
    """One line says what is wrong, and where."""
    for name, rows, record in (("static", STATIC, POWER), ("gss", GSS, power)):
        made = folder(name, rows, power=record)
        row = dict.fromkeys(POWER_COLUMNS, 0) | {"power_mw": 300_000, "limit_mw": 407_000_000}
        pd.DataFrame([row]).to_parquet(made / "power.parquet")
    found = twolevel("compare", "static", "gss")
    if power in (POWER, None):
        assert found.code == 0, found.err
        assert words in found.out
        assert power is not None or "energy" not in found.out
    else:
        assert (found.code, found.err.count("\n")) == (2, 1)
        assert words in found.err


def test_a_table_of_power_without_rows(here: Path) -> None:
    for name, rows in (("static", STATIC), ("gss", GSS)):
        made = folder(name, rows, power=POWER)
        pd.DataFrame({column: np.zeros(0, np.int64) for column in POWER_COLUMNS}).to_parquet(made / "power.parquet")
    found = twolevel("compare", "static", "gss")
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert "power.parquet: it has no row" in found.err
