"""Whatever a user gives that cannot be used: one clear line on stderr, its exit code, nothing written."""

import gzip
import random
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from command_line import everything_in, twolevel
from pages import ROOT, blocks
from tables import table_rows
from test_batch_options import FILES

from bls import sample_path

#: What goes before the words of a table.
KINDS = {
    "run": "run sample --select first:5 --out out",
    "grid": "grid sample --select first:5 --out out",
    "jobs": "run jobs.swf --platform hosts.toml --als recorded --trace none --out out",
    "loop": "loop",
    "any": "",
}
REFUSED = [(f"{KINDS[kind]} {words}".strip(), said) for kind in KINDS for words, said in table_rows(__file__, kind)]

KERNEL = "@technique_kernel\ndef {0}(n_tasks, n_cores, core, request, remaining, memo):\n    return {1}\n"

#: What is on the shelf, by name.
TEXTS = {
    **FILES,
    **table_rows(__file__, "texts")[0],
    "ring.dot": blocks(ROOT / "docs" / "reference/graphs.md", "dot")[0],
    "other.py": "X = 3\n",
    "bad.py": "class Foo: pass\n\nclass NoDecide:\n    name = 'no'\n",
    "policies.py": 'class Short:\n    name = "short"\n',
    "theirs.py": (
        "class Mine:\n    def chunk(self, ask): return 1\n"
        "class Zero:\n    def chunk(self, ask): return 0\n"
        "class Much:\n    def chunk(self, ask): return ask.remaining + 1\n"
        "class Raises:\n    def chunk(self, ask): raise ValueError('no\\nidea')\n"
        "class Arguments:\n    def chunk(self): return 1\n"
        "class Begin:\n    def begin(self, loop): raise KeyError('x')\n    def chunk(self, ask): return 1\n"
        "class Needs:\n    def __init__(self, x): pass\n    def chunk(self, ask): return 1\n"
    ),
    "kernels.py": (
        "from als import Technique, technique_kernel\n"
        f"{KERNEL.format('zero', '0')}{KERNEL.format('much', 'remaining + 1')}"
        'ZERO, MUCH = Technique("zero", zero), Technique("much", much)\n'
    ),
    "arguments.py": "from als import technique_kernel\n@technique_kernel\ndef two(n_tasks, n_cores):\n    return 1\n",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory, result: Path) -> Path:
    """A folder of files and results, few of which can be used."""
    shelf = tmp_path_factory.mktemp("shelf")
    for name, text in TEXTS.items():
        (shelf / name).parent.mkdir(exist_ok=True)
        (shelf / name).write_text(text)
    packed, noise = gzip.compress(sample_path().read_bytes()), random.Random(7).randbytes(3000)
    (shelf / "noise.swf").write_bytes(noise)
    (shelf / "cut.swf.gz").write_bytes(packed[:-200])
    (shelf / "damaged.swf.gz").write_bytes(packed[:1000] + noise + packed[4000:])
    (shelf / "nothing.gz").write_bytes(b"\x1f\x8b")
    shutil.copytree(result, shelf / "r")
    for name, kept in (("bare", ()), ("no-tasks", ("jobs",)), ("spoilt", ()), ("lacks-tasks", ("jobs",))):
        (shelf / name).mkdir()
        shutil.copy(result / "run.json", shelf / name)
        for table in kept:
            shutil.copy(result / f"{table}.parquet", shelf / name)
    (shelf / "spoilt" / "tasks.parquet").write_text("spoilt")
    pd.read_parquet(result / "tasks.parquet").iloc[1:].to_parquet(shelf / "lacks-tasks" / "tasks.parquet")
    return shelf


@pytest.fixture(autouse=True)
def _nothing_changes(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(shelf)
    before = everything_in(shelf)
    yield
    assert everything_in(shelf).keys() == before.keys()


def one_line(words: str, code: int = 2) -> str:
    ran = twolevel(*shlex.split(words))
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), ran
    assert ran.err.startswith("twolevel: ")
    return ran.err


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_refused(words: str, said: str) -> None:
    assert said in one_line(words)


@pytest.mark.parametrize(("words", "said"), table_rows(__file__, "faults"))
def test_a_plug_in_that_fails_is_named(words: str, said: str) -> None:
    assert said in one_line(f"{KINDS['jobs']} {words}", 1)


@pytest.mark.parametrize(("words", "meant"), table_rows(__file__, "meant"))
def test_what_was_meant_is_said(words: str, meant: str) -> None:
    found = re.search(r"(?:did you mean|Did you mean|Possible options:) '?([^ ,'?)]+)", one_line(words))
    assert found
    assert found[1] == meant


def test_long_and_odd_texts() -> None:
    run = KINDS["run"]
    assert "--seed" in one_line(f"{run} --seed {'9' * 5000}")
    assert "--backfill: '999" in one_line(f"{run} --als recorded --backfill {'9' * 5000}")
    assert "--out" in one_line(f"run sample --out {'x' * 300}")
    assert f"no file '{'n' * 300}.py'" in one_line(f"{run} --als {'n' * 300}.py:X")  # longer than the name of any file
    assert "no such file" in one_line("run 'two\nlines.swf' --out out")


def test_applications_of_another_program_may_lose_cores() -> None:
    assert "--on-failure" not in one_line(f"{KINDS['run']} --als ss --als-command false --on-failure lose")
