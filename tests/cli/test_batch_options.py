"""Every option of the batch level on the command line: what it does shows, and what it cannot do is one clear line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Ran, everything_in, twolevel

JOBS = """\
1 0 0 100 4 -1 -1 4 100 -1 1 1 1 -1 1 1 -1 -1
2 10 0 200 8 -1 -1 8 150 -1 1 2 1 -1 1 1 -1 -1
3 20 0 50 2 -1 -1 2 60 -1 1 1 1 -1 2 1 1 30
4 30 0 50 12 -1 -1 12 60 -1 1 3 1 -1 2 1 -1 -1
5 40 0 500 1 -1 -1 1 60 -1 1 1 1 -1 1 1 -1 -1
6 50 0 50 3 -1 -1 3 0 -1 1 1 1 -1 1 1 -1 -1
7 60 90 -1 3 -1 -1 3 100 -1 5 1 1 -1 1 1 -1 -1
8 70 0 30 16 -1 -1 16 100 2000 1 1 1 -1 1 1 5 10
9 80 0 30 1 -1 -1 1 100 -1 1 1 1 -1 1 1 99 10
10 90 0 30 1 -1 -1 64 100 -1 1 1 1 -1 1 1 -1 -1
"""

HOSTS = """\
name = "tiny"
licences = { matlab = 2 }

[[hosts]]
count = 4
cores = 4
speed_gflops = 16.0
resources = { memory_gb = 8, gpu = 1 }
"""

SWITCHES = """
[[switches]]
name = "left"
hosts = "0-1"

[[switches]]
name = "right"
hosts = "2-3"

[[switches]]
name = "top"
switches = ["left", "right"]
"""

PARTITIONS = """
[[partitions]]
name = "short"
hosts = "0-1"
swf_queues = [1]
max_running_jobs = 2

[[partitions]]
name = "long"
hosts = "1-3"
default = true
"""

WINDOWS = """\
[[maintenance]]
name = "service"
begin = "100s"
end = "200s"
hosts = "3"

[[reservation]]
name = "lecture"
begin = "50s"
end = "400s"
cores = "0-3"
jobs = "5"
"""

MINE = """\
from bls import ScorePolicy, score_kernel


class Widest:
    name = "widest"

    def keys(self, jobs):
        return -jobs.cores


@score_kernel
def _oldest(now_ns, waiting, n_waiting, eligible_ns, submit_ns, estimate_ns, cores, numbers, memory, key):
    for k in range(n_waiting):
        key[k] = submit_ns[waiting[k]] - now_ns
    return 0


OLDEST = ScorePolicy("oldest", _oldest)


@score_kernel
def _no_key(now_ns, waiting, n_waiting, eligible_ns, submit_ns, estimate_ns, cores, numbers, memory, key):
    for k in range(n_waiting):
        key[k] = (now_ns - submit_ns[waiting[k]]) / (now_ns - submit_ns[waiting[k]])
    return 0


NO_KEY = ScorePolicy("no-key", _no_key)


class ByHand:
    name = "by-hand"

    def decide(self, view):
        free, chosen = view.free_cores, []
        for job in view.waiting:
            if job.cores > free:
                break
            free -= job.cores
            chosen.append(job)
        return chosen


class CannotBeMade(ByHand):
    def __init__(self):
        raise ValueError("no idea")


class Raises(ByHand):
    def decide(self, view):
        return 1 / 0


class Idle(ByHand):
    def decide(self, view):
        return []


class Nothing:
    name = "nothing"


class Queue:
    name = "queue"
    every_ns = None

    def look(self, view):
        return {"waiting": view.n_waiting}


class Minute:
    name = "minute"
    every_ns = 60 * 10**9

    def look(self, view):
        return {"free": view.free_cores}


class Blind(Queue):
    def look(self, view):
        raise RuntimeError("dark")
"""

FILES = {
    "jobs.swf": JOBS,
    "cycle.swf": JOBS.replace("-1 -1\n2 10", "2 -1\n2 10").replace("1 1 -1 -1\n3 20", "1 1 1 -1\n3 20"),
    "hosts.toml": HOSTS,
    "switches.toml": HOSTS + SWITCHES,
    "partitions.toml": HOSTS + PARTITIONS,
    "narrow.toml": HOSTS
    + '[[partitions]]\nname = "one"\nhosts = "0"\ndefault = true\nmax_cores = 1\nmax_time = "1s"\n',
    "typo.toml": HOSTS + '[[partitions]]\nname = "one"\nhost = "0"\n',
    "windows.toml": WINDOWS,
    "overlap.toml": WINDOWS.replace("50s", "150s").replace('"0-3"', '"12-15"'),
    "stranger.toml": WINDOWS.replace('jobs = "5"', 'jobs = "77"'),
    "failures.csv": "host,down_s,up_s\n0,30,60\n1,100,150\n",
    "unknown-host.csv": "host,down_s,up_s\n4,30,60\n",
    "for-ever.csv": "host,down_s,up_s\n0,30,\n1,30,\n2,30,\n",
    "requests.csv": "job_id,unit_cores,gpu,memory_gb,matlab\n4,3,1,2,\n2,,,,2\n",
    "unknown.csv": "job_id,gpus\n4,1\n",
    "accasim.json": json.dumps({"groups": {"g": {"core": 4, "mem": 1024}}, "resources": {"g": 5}}),
    "priority.toml": 'age = 1000\nmax_age = "7d"\n',
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
    given = words.split(" ")
    if "--platform" not in given:
        given += ["--platform", "hosts.toml"]
    given += [] if "--als" in given else ["--als", "recorded"]
    return twolevel(command, "cycle.swf" if "CYCLE" in given else "jobs.swf", *[w for w in given if w not in ("CYCLE", "")],
                    "--out", "out", *(["--no-trace"] if command == "run" else []))  # fmt: skip


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
    for name in ("fcfs", "sjf", "ljf", "edf", "saf", "wfp3", "unicef", "f1", "f2", "f3", "f4"):
        assert len(starts(f"--bls {name} --backfill conservative --conservative rebuild")) == 8


@pytest.mark.parametrize(
    "name", ["first-fit", "lowest", "best-fit", "worst-fit", "contiguous", "whole-host", "random", "topology"]
)
def test_allocators(files: Path, name: str) -> None:
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
    assert starts("--charge-decisions --decision-cost 5s")[1] == [5]
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
    assert "how they ended" in shown.out
    assert "completed 8, requeued 2" in shown.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bls multifactor:agee=1", "--bls: multifactor: unknown key 'agee'; known: age, "),
        ("--bls multifactor:config=none.toml", "none.toml: no such file"),
        ("--bls sjf:a=1", "--bls: batch policy sjf has no parameter 'a'; it has none"),
        ("--bls expr:1/0", "expr:1/0: no finite value for job 1 (as by a division by zero)"),
        ("--bls expr:1/w", "batch policy expr:1/w: no finite key for job 1 at 0 s (as by a division by zero)"),
        ("--bls expr:n/(l-100)", "no finite key for job 1 at 0 s"),
        ("--bls expr:foo(n)", "unknown function 'foo'; allowed: min, max, abs"),
        ("--bls expr:__import__('os')", "--bls: expr: "),
        ("--bls expr:", "invalid syntax"),
        ("--bls none.py:X", "--bls: no file 'none.py'"),
        ("--bls mine.py:X", "--bls: mine.py has no 'X'"),
        ("--bls mine.py:ByHand --backfill easy", "--backfill easy: batch policy by-hand decides itself which jobs start"),
        ("--backfill esy", "--backfill: 'esy'; allowed: none, easy, conservative, or a number of reservations"),
        (f"--backfill {'9' * 5000}", "--backfill: '999"),
        ("--backfill -1", "--backfill: '-1'; allowed: none"),
        ("--backfill 1000000001", "--backfill: '1000000001'; allowed: none"),
        ("--conservative keep", "--conservative keep: needs --backfill conservative"),
        ("--backfill easy --conservative rebuild", "--conservative rebuild: needs --backfill conservative"),
        ("--backfill conservative --conservative rebild", "kind of conservative backfilling 'rebild'; known: rebuild"),
        ("--allocator given", "--allocator given needs the cores that each job asks for"),
        ("--allocator bestfit", "--allocator: unknown allocator 'bestfit'; known: best-fit, "),
        ("--dependencies CYCLE", "cycle.swf: jobs wait for each other: 2 before 1 before 2"),
        ("--platform narrow.toml", "none of 8 jobs fits its partition"),
        ("--platform typo.toml", "typo.toml: partitions[0].host: unknown key 'host'; known: hosts, "),
        ("--windows overlap.toml", "maintenance 'service' and reservation 'lecture' both have core 12 at 2 min 30 s"),
        ("--windows stranger.toml", "reservation 'lecture': job 77 is not in jobs.swf, or not simulated"),
        ("--windows none.toml", "none.toml: no such file"),
        ("--failures unknown-host.csv", "unknown-host.csv: line 2: host '4' is unknown; the platform has the hosts 0 to 3"),
        ("--failures for-ever.csv", "stuck at job 2, at 2 min 50 s: nothing runs or arrives any more, and 3 hosts are down"),
        ("--failures for-ever.csv --als ss", "3 hosts are down for ever; 6 jobs wait"),
        ("--failures mtbf:1s,mttr:10s", "cut by the failure of a host 1000 times: it would never end; allowed: fewer"),
        ("--failures mtbf:1s,mttr:10s --max-attempts 3 --als ss", "was cut by the failure of a host 3 times"),
        ("--failures mtbf:10s", "--failures: 'mtbf:10s' says no mttr"),
        ("--failures none.csv", "none.csv: no such file"),
        ("--on-failure loose", "--on-failure: unknown treatment of jobs that lose a host 'loose'; known: lose, requeue"),
        ("--max-attempts 0", "--max-attempts: 0 is out of range; allowed: 1 to 1000000000"),
        ("--preset", "--preset needs busiest:, heaviest: or window:"),
        ("--memory sfw", "--memory: unknown source of memory requests 'sfw'; known: swf, none"),
        ("--requests unknown.csv", "unknown.csv: unknown column 'gpus'; known: gpu, "),
        ("--switches 1", "--switches: allocator first-fit does not look at switches; allowed: topology"),
        ("--switches 1 --allocator topology", "--switches: the platform names no switches; give it [[switches]]"),
        ("--switches 0 --allocator topology --platform switches.toml", "--switches: '0'; allowed: a number of switches from 1"),
        ("--switches 1@x --allocator topology --platform switches.toml", "--switches: 'x' is not a duration"),
        ("--decision-cost 5s", "--decision-cost: needs --charge-decisions"),
        ("--charge-decisions --decision-cost soon", "--decision-cost: 'soon' is not a duration"),
        ("--observe queue", "--observe: unknown observer 'queue'; known: FILE.py:NAME"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(files: Path, words: str, said: str) -> None:
    before = everything_in(files)
    shown = ran(words)
    assert (shown.code, shown.out) == (2, ""), shown
    *progress, line = shown.err.splitlines()
    assert not progress, shown.err
    assert line.startswith("twolevel: ")
    assert said in line
    assert {name: at for name, at in everything_in(files).items() if "__pycache__" not in name} == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--bls raises.py:X", "--bls: raises.py cannot be loaded: RuntimeError: on import"),
        ("--bls broken.py:X", "--bls: broken.py cannot be loaded: SyntaxError: '(' was never closed (broken.py:1: "),
        ("--bls mine.py:CannotBeMade", "--bls: mine.py:CannotBeMade() cannot be made: ValueError: no idea"),
        ("--bls mine.py:Raises", "batch policy by-hand, at 0 ns: decide() failed: ZeroDivisionError: division by zero"),
        ("--bls mine.py:Idle", "stuck at job 1, at 80 s: nothing runs or arrives any more, and batch policy by-hand"),
        ("--bls mine.py:NO_KEY", "batch policy no-key: no finite key for job 1 at 0 s"),
        ("--observe mine.py:Blind", "observer queue, at 0 ns: look() failed: RuntimeError: dark"),
    ],
)  # fmt: skip
def test_a_plug_in_that_errs_is_named(files: Path, words: str, said: str) -> None:
    shown = ran(words)
    assert (shown.code, shown.out) == (1, ""), shown
    assert shown.err.startswith("twolevel: ")
    assert shown.err.count("\n") == 1, shown.err
    assert said in shown.err
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--bls raises.py:X", "raise RuntimeError('on import')"),
        ("--bls mine.py:Raises", "1 / 0"),
        ("--bls mine.py:CannotBeMade", 'raise ValueError("no idea")'),
        ("--observe mine.py:Blind", 'raise RuntimeError("dark")'),
    ],
)  # fmt: skip
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
    words = "--bls fcfs,expr:w/t,multifactor:age=1,size=2,mine.py:Widest --als recorded --variation 0 --workers 1"
    shown = ran(f"{words} --backfill none,easy,conservative --conservative rebuild", "grid")
    assert shown.code == 0, shown.err
    table = pd.read_parquet(files / "out/results.parquet")
    assert table.columns[:6].tolist() == ["cell", "workload", "bls", "backfill", "als", "variation"]
    assert len(table) == 12
    assert table.backfill.tolist() == ["none", "easy", "conservative"] * 4
    names = {path.name for path in (files / "out/cells").iterdir()}
    assert len(names) == 12
    assert {
        "fcfs-recorded-0",
        "expr:w%2Ft+easy-recorded-0",
        "multifactor:age=1,size=2+conservative-recorded-0",
    } <= names
    assert "Widest+easy-recorded-0" in names
    # Columns of its one line read as those of a single run.
    assert ran("--bls fcfs --backfill easy --force").code == 0
    metrics = json.loads((files / "out/run.json").read_text())["metrics"]
    assert table.makespan_ns[1] == metrics["makespan_ns"]


def test_what_a_study_refuses(files: Path) -> None:
    for words, said in (
        ("--bls fcfs --backfill easy,none --conservative keep", "--conservative keep: needs --backfill conservative"),
        ("--bls fcfs --backfill none,none", "--backfill: 'none,none' has one twice"),
        ("--bls fcfs,mine.py:ByHand --backfill easy", "batch policy by-hand decides itself which jobs start"),
        ("--bls fcfs --backfill none,esy", "--backfill: 'esy'; allowed: none"),
    ):
        shown = ran(words, "grid")
        assert (shown.code, shown.out) == (2, ""), shown
        assert said in shown.err
        assert not (files / "out").exists()
