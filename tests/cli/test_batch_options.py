"""Every option of the batch level on the command line: what it does shows, and what it cannot do is one clear line."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Ran, twolevel
from tables import table_rows, table_text

MINE = table_text(__file__, "mine")

#: Files of the folder ``files``, variants of some, and plug-ins.
KEPT = {path.name: path.read_text() for path in (Path(__file__).parent / "files").iterdir()}
JOBS, HOSTS, WINDOWS = (KEPT[name] for name in ("jobs.swf", "hosts.toml", "windows.toml"))
FILES = KEPT | {
    "cycle.swf": JOBS.replace("-1 -1\n2 10", "2 -1\n2 10").replace("1 1 -1 -1\n3 20", "1 1 1 -1\n3 20"),
    "narrow.toml": HOSTS
    + '[[partitions]]\nname = "one"\nhosts = "0"\ndefault = true\nmax_cores = 1\nmax_time = "1s"\n',
    "typo.toml": HOSTS + '[[partitions]]\nname = "one"\nhost = "0"\n',
    "overlap.toml": WINDOWS.replace("50s", "150s").replace('"0-3"', '"12-15"'),
    "stranger.toml": WINDOWS.replace('jobs = "5"', 'jobs = "77"'),
    "mine.py": MINE,
    "raises.py": "raise RuntimeError('on import')\n",
    "broken.py": "x = (\n",
}


@pytest.fixture
def files(here: Path) -> Path:
    for name, text in FILES.items():
        (here / name).write_text(text)
    return here


def ran(words: str, command: str = "run") -> Ran:
    before = ("--platform", "hosts.toml", "--als", "recorded", "--out", "out")
    return twolevel(command, "jobs.swf", *before, *words.split(), *(["--trace", "none"] if command == "run" else []))


def starts(words: str) -> dict[int, list[float]]:
    shown = ran(words + " --force")
    assert shown.code == 0, shown.err
    jobs = pd.read_parquet("out/jobs.parquet")
    found: dict[int, list[float]] = {}
    for number, start in zip(jobs.job_id.tolist(), jobs.start_ns.tolist(), strict=True):
        found.setdefault(number, []).append(start / 1e9)
    return found


def ends(words: str) -> list[str]:
    shown = ran(words + " --force")
    assert shown.code == 0, shown.err
    return [str(state) for state in pd.read_parquet("out/jobs.parquet").state]


FCFS = {1: [0], 2: [10], 3: [20], 4: [210], 5: [210], 6: [210], 8: [710], 9: [740]}


def test_orders_and_backfilling(files: Path) -> None:
    assert starts("") == FCFS
    assert starts("--bls mine.py:ByHand") == starts("--bls mine.py:OLDEST") == starts("--bls expr:-s") == FCFS
    assert starts("--bls mine.py:Widest") == starts("--bls expr:n") != FCFS
    assert starts("--bls multifactor:age=1000") == starts("--bls multifactor:config=priority.toml")
    backfilled = starts("--backfill easy")
    assert backfilled == starts("--backfill 1") != FCFS
    assert starts("--backfill none") == starts("--backfill 0") == FCFS
    for name in ("fcfs", "edf", "f4"):
        assert len(starts(f"--bls {name} --backfill conservative:rebuild")) == 8


def test_allocators(files: Path) -> None:
    for name in ("lowest", "best-fit", "worst-fit", "contiguous", "whole-host", "random", "topology"):
        assert len(starts(f"--allocator {name} --platform switches.toml")) == 8


def test_lives_of_jobs(files: Path) -> None:
    assert ends("--kill-at-walltime").count("killed") == 2
    assert ends("--failures failures.csv").count("requeued") == 2
    assert ends("--failures failures.csv --on-failure lose").count("failed") == 2
    assert ends("--failures mtbf:5m,mttr:10s --max-attempts 100000").count("completed") == 8
    assert ends("--cancelled").count("cancelled") == 1
    # 3 is submitted 30 s after the end of 1.
    assert starts("--dependencies")[3] >= [130]
    assert starts("--windows windows.toml --backfill easy")[5] == [50]
    assert starts("--decision-cost 5s")[1] == [5]
    for words in ("", "--preset "):
        assert starts(f"{words}--select window:10s+60s")[1] == [0]
    assert 1 not in starts("--no-preset --select window:10s+60s")


def test_what_the_machine_has(files: Path) -> None:
    assert len(starts("--platform partitions.toml")) == 7
    assert len(starts("--platform accasim.json")) == 8
    assert len(starts("--memory swf")) == 8
    assert starts("--requests requests.csv")[4] == [210]
    assert len(starts("--switches 1@2h --platform switches.toml --allocator topology")) == 8


def test_tables_on_request(files: Path) -> None:
    words = "--decisions --nodes --observe mine.py:Queue --observe mine.py:Minute --failures failures.csv"
    shown = ran(words)
    assert shown.code == 0, shown.err
    record: dict[str, Any] = json.loads((files / "out/run.json").read_text())
    assert record["arguments"]["observe"] == ["mine.py:Queue", "mine.py:Minute"]
    assert record["arguments"]["failures"] == "failures.csv"
    assert record["arguments"]["backfill"] == "none"
    decisions = pd.read_parquet(files / "out/decisions.parquet")
    assert len(decisions) == record["decisions"]["decisions"] > 8
    assert decisions.started.sum() == 10
    observed = pd.read_parquet(files / "out/observations.parquet")
    assert set(observed.observer) == {"queue", "minute"}
    assert observed[observed.observer == "minute"].now_ns.is_monotonic_increasing
    nodes = pd.read_parquet(files / "out/nodes.parquet")
    assert set(nodes.host) == {0, 1, 2, 3}
    assert "ends  " in shown.out
    assert "completed 8, requeued 2" in shown.out


@pytest.mark.parametrize(("words", "line"), table_rows(__file__, "plug_ins_that_err"))
def test_the_line_of_a_plug_in_that_errs_is_shown_and_its_traceback_on_request(
    files: Path, words: str, line: str
) -> None:
    file = words.split()[1].partition(":")[0]
    number = next(k for k, text in enumerate((files / file).read_text().splitlines(), 1) if line in text)
    short = ran(words).err.strip()
    assert f"({file}:{number}: " in short
    assert line in short
    long = ran(f"{words} --debug")
    assert long.code == 1
    assert "Traceback (most recent call last)" in long.err
    assert f'{file}", line {number}, in ' in long.err
    assert long.err.strip().splitlines()[-1] == short


def test_a_study_of_backfilling(files: Path) -> None:
    words = "--bls fcfs,expr:w/t,multifactor:age=1,size=2,mine.py:Widest --variation 0 --workers 1"
    shown = ran(f"{words} --backfill none,easy,conservative:rebuild", "grid")
    assert shown.code == 0, shown.err
    table = pd.read_parquet(files / "out/results.parquet")
    assert table.columns[:6].tolist() == ["cell", "workload", "bls", "backfill", "als", "variation"]
    assert len(table) == 12
    assert table.backfill.tolist() == ["none", "easy", "conservative:rebuild"] * 4
    names = {path.name for path in (files / "out/cells").iterdir()}
    assert len(names) == 12
    assert {
        "fcfs-recorded-0",
        "expr:w%2Ft+easy-recorded-0",
        "multifactor:age=1,size=2+conservative:rebuild-recorded-0",
    } <= names
    assert "Widest+easy-recorded-0" in names
    # Columns of its one line read as those of a single run.
    assert ran("--bls fcfs --backfill easy --force").code == 0
    metrics = json.loads((files / "out/run.json").read_text())["metrics"]
    assert table.makespan_ns[1] == metrics["makespan_ns"]
