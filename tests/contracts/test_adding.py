"""Adding a variant as in CONTRIBUTING: with a file and a line, commands, studies and pages know it.

The plug-ins are the examples of the pages. An installed package brings them by entry points; in a copy of the project they, and
what has no entry point (a figure, a metric, an option), are added with a file and a line.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from command_line import succeeds, twolevel
from pages import ROOT, blocks, section, table
from tables import kept, table_rows, table_text

import traces
from bls.policies import POLICIES, policy
from bridge.runs.result import Result
from tools.feature_cost import cost
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

DOCS = ROOT / "docs"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
SWF = "".join(f"{k} {60 * k} -1 {600 + 60 * (k % 4)} {1 + k % 5} " + "-1 " * 12 + "-1\n" for k in range(1, 21))
LOG = "".join(f"{k},{60 * k},{600 + 60 * (k % 4)},{1 + k % 5}\n" for k in range(1, 21))

NETWORK = """from als.network import NetworkKind, NetworkModel

QUICK = NetworkModel("quick", NetworkKind.HOCKNEY)
"""


def example(page: Path, words: str) -> str:
    """The only block of Python of a page with these words."""
    (found,) = (block for block in blocks(page, "python") if words in block)
    return found


def modules() -> dict[str, str]:
    """The files of a package: the examples of the pages, by kind."""
    return {
        "policy": example(CONTRIBUTING, "class NarrowFirst"),
        "allocator": example(CONTRIBUTING, "TIGHTEST_GAP"),
        "reader": example(CONTRIBUTING, "def read_csv"),
        "exporter": example(CONTRIBUTING, "def write_csv"),
        "technique": example(CONTRIBUTING, "FIXED_TIME"),
        "estimator": example(DOCS / "reference/batch-estimates.md", "HistoryEstimator"),
        "observer": example(DOCS / "how-to/batch-plug-ins.md", "class EveryHour"),
        "lengths": example(DOCS / "reference/lengths.md", "def weibull"),
        "graph": example(DOCS / "reference/graph-generators.md", "class Ladder"),
        "planner": example(DOCS / "reference/planners.md", "FASTEST"),
        "network": NETWORK,
    }


ENTRY_POINTS = dict(table_rows(__file__, "entry_points"))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with a log, in an environment in which a package with one plug-in of each kind is installed."""
    site = tmp_path / "site"
    package, info = site / "outside", site / "outside-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").touch()
    for name, text in modules().items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "".join(f"[{group}]\n{entries}\n" for group, entries in ENTRY_POINTS.items()), encoding="utf-8"
    )
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / "log.plain").write_text(LOG)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    monkeypatch.chdir(desk)
    yield desk
    for name in [name for name in sys.modules if name.partition(".")[0] == "outside"]:
        del sys.modules[name]


def test_the_groups_are_those_of_the_contributing_page() -> None:
    rows = table(section(CONTRIBUTING, "How to add …"))
    said = {row[-1].strip("`") for row in rows if row[-1]} | {"twolevel.observers"}
    assert set(ENTRY_POINTS) == said


def test_commands_know_the_plug_ins_of_a_package(installed: Path) -> None:
    words = shlex.split("--bls narrow-first:exponent=2 --allocator tightest-gap --estimates mine --backfill easy")
    level = shlex.split(
        "--als fixed-time:seconds=30 --lengths weibull --tasks-per-core 8 --observe every-hour --trace none"
    )
    succeeds("run", "log.plain", *words, *level, "--out", "r")
    said = json.loads(Path("r/run.json").read_text())["arguments"]
    given = [said[name] for name in ("bls", "allocator", "estimates", "als", "lengths")]
    assert given == ["narrow-first:exponent=2", "tightest-gap", "mine", "fixed-time:seconds=30", "weibull"]
    assert pd.read_parquet("r/observations.parquet").observer.unique().tolist() == ["every-hour"]
    assert "planned_ns" in pd.read_parquet("r/jobs.parquet")
    graph = "graph ladder:ratio=3 --cores 4 --hosts 2 --als fastest --network quick --out g"
    succeeds(*graph.split())
    tasks = pd.read_parquet("g/tasks.parquet")
    assert tasks.core.nunique() == 1  # that is what this planner does


def test_an_error_lists_the_names_of_a_package(installed: Path) -> None:
    ran = twolevel("run", "log.plain", "--bls", "narow-first", "--out", "r")
    assert ran.code == 2
    assert "narrow-first" in ran.err
    # A name of the project's own is not changed by a package.
    assert policy("fcfs") is POLICIES["fcfs"]


def test_studies_know_the_plug_ins_of_a_package(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # of the workers: the kernels are needed once
    Path("study.toml").write_text(
        '[[workload]]\nfile = "log.plain"\n'
        "[grid]\n"
        'bls = ["fcfs", "narrow-first"]\nals = ["ss", "fixed-time"]\nallocator = ["first-fit", "tightest-gap"]\n'
        '[run]\nlengths = "weibull"\nestimates = "mine"\nbackfill = "easy"\n'
    )
    succeeds("study", "study.toml", "--out", "studied")
    rows = pd.read_parquet("studied/results.parquet")
    assert len(rows) == 2 * 2 * 2
    assert rows.error.isna().all() or (rows.error == "").all()
    assert set(rows.bls) == {"fcfs", "narrow-first"}
    assert set(rows.als) == {"ss", "fixed-time"}
    assert set(rows.allocator) == {"first-fit", "tightest-gap"}


def test_a_trace_writer_of_a_package_writes_a_run(installed: Path) -> None:
    import bridge

    result = bridge.simulate("log.plain", als="recorded")
    assert isinstance(result, Result)
    path = traces.exporter("lines")(result.ledger, installed / "lines")
    assert len(path.read_text().splitlines()) == 21
    with pytest.raises(InputError, match="lines"):
        traces.exporter("liens")


FIGURE = table_text(__file__, "figure")

DECLARATION = """FEW = Whole(
    name="few", default=0, lowest=0, highest=10**9, metavar="N", help="Only the first N jobs; 0: all that are selected"
)
"""

OPTION = "    few: int = holds(b.FEW)\n"


def inserted(file: Path, before: str, line: str) -> None:
    """Put a line before the only place where ``before`` stands."""
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1, (file, before)
    file.write_text(text.replace(before, line + before), encoding="utf-8")


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, (file, old)
    file.write_text(text.replace(old, new), encoding="utf-8")


def registered(tree: Path, registry: str, name: str, value: str, module: str) -> None:
    file = tree / registry
    text = file.read_text(encoding="utf-8")
    begin, entry = r"^([A-Z]+ = Registry\[\w+\]\(\n    \{\n)", f'        "{name}": "{module}:{value}",'
    if "Registry" not in text:
        begin, entry = r"^([A-Z]+: dict\[str, \w+\] = \{\n)", f'    "{name}": {value},'
        inserted(file, f"from {module.rpartition('.')[0]}.contract import ", f"from {module} import {value}\n")
        text = file.read_text(encoding="utf-8")
    text, n = re.subn(begin, rf"\1{entry}\n", text, flags=re.MULTILINE)
    assert n == 1, file
    file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with one more policy, allocator, technique, estimator, figure, metric and option."""
    tree = tmp_path_factory.mktemp("copy") / "project"
    skip = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".*_cache", "demo", "bench", "dist", "*.npz")
    shutil.copytree(ROOT, tree, ignore=skip)
    found = modules()
    for registry, file, kind, name, value, public in (
        ("bls/policies", "narrow_first", "policy", "narrow-first", "NarrowFirst", "bls"),
        ("bls/allocators", "tightest_gap", "allocator", "tightest-gap", "TIGHTEST_GAP", "bls"),
        ("bls/estimates", "mine", "estimator", "mine", "MINE", "bls.estimates"),
        ("als/techniques", "so_long", "technique", "fixed-time", "FIXED_TIME", "als"),
    ):
        # Within a package its modules are named, not its public names.
        package = registry.replace("/", ".")
        text = found[kind].replace(f"from {public} import ", f"from {package}.contract import ")
        (tree / registry / f"{file}.py").write_text(text, encoding="utf-8")
        registered(tree, f"{registry}/__init__.py", name, value, f"{package}.{file}")
    (tree / "traces/figures/run/starts.py").write_text(FIGURE, encoding="utf-8")
    inserted(
        tree / "bridge/runs/figures.py",
        "#: The figures of a run by name",
        "from traces.figures.run.starts import starts_figure  # noqa: E402\n\n",
    )
    inserted(
        tree / "bridge/runs/figures.py",
        '    "waits": RunFigure(',
        '    "starts": RunFigure("jobs", lambda jobs, view: starts_figure(_chosen(jobs, view), title=view.title)),\n',
    )
    inserted(
        tree / "bls/metrics/batch.py",
        '        "utilisation": ',
        '        "mean_run_ns": exact_mean(np.concatenate([part.times[2] - part.times[1] for part in parts])),\n',
    )
    inserted(tree / "bls/options.py", "MEMORY = Choice(\n", DECLARATION)
    scenario = tree / "bridge/scenarios/scenario.py"
    inserted(scenario, "    oversize: str = holds(b.OVERSIZE)", OPTION)
    replaced(scenario, "selection=chosen.select,", 'selection=f"first:{chosen.few}" if chosen.few else chosen.select,')
    return tree


def within(tree: Path, desk: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of Python with the copy of the project; the copy's kernels run uncompiled, as they are needed once."""
    environment = os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'tests'}", "NUMBA_DISABLE_JIT": "1"}
    return subprocess.run(
        [sys.executable, *words], cwd=desk, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_commands_studies_and_figures_know_added_variants(tree: Path, tmp_path: Path) -> None:
    words = shlex.split(
        "--bls narrow-first --allocator tightest-gap --als fixed-time --estimates mine --backfill easy --few 5"
    )
    (tmp_path / "log.swf").write_text(SWF)
    ran = within(tree, tmp_path, "-m", "bridge.cli", "run", "log.swf", *words, "--trace", "none", "--out", "r")
    assert ran.returncode == 0, ran.stderr
    record = json.loads((tmp_path / "r" / "run.json").read_text())
    jobs = pd.read_parquet(tmp_path / "r" / "jobs.parquet")
    assert len(jobs) == record["arguments"]["few"] == 5
    assert record["metrics"]["mean_run_ns"] == pytest.approx((jobs.end_ns - jobs.start_ns).mean())
    ran = within(tree, tmp_path, "-m", "bridge.cli", "figures", "r", "--only", "starts", "--format", "png")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "r" / "figures" / "starts.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "study.toml").write_text(
        '[[workload]]\nfile = "log.swf"\n[run]\nfew = 4\n[grid]\nbls = ["fcfs", "narrow-first"]\nals = ["ss", "fixed-time"]\n'
    )
    ran = within(
        tree, tmp_path, "-m", "bridge.cli", "study", "study.toml", "--workers", "1", "--no-figures", "--out", "s"
    )
    assert ran.returncode == 0, ran.stderr
    rows = pd.read_parquet(tmp_path / "s" / "results.parquet")
    assert rows.bls.tolist() == ["fcfs", "fcfs", "narrow-first", "narrow-first"]
    assert rows.als.tolist() == ["ss", "fixed-time"] * 2
    assert rows.few.tolist() == [4] * 4
    assert (rows.mean_run_ns > 0).all()


def test_a_feature_of_the_batch_engine_is_a_folder_and_a_few_lines(tree: Path, tmp_path: Path) -> None:
    """It has an option, a conflict, columns and a kind of events."""
    features = tree / "bls/engine/features"
    (features / "patience").mkdir()
    for name, text in kept(__file__, "patience").items():
        (features / "patience" / name).write_text(text, encoding="utf-8")
    inserted(features / "order.py", '    ("presets:PRESETS"', '    ("patience:LATE", ("patience_ns",)),\n')
    inserted(tree / "bls/engine/state.py", "    power: PowerState", '    patience: PatienceState = column("late")\n')
    replaced(
        tree / "bls/scheduler_options.py", "(EstimateRules, SwitchRules", "(PatienceRules, EstimateRules, SwitchRules"
    )
    replaced(features / "order.py", '"releases:ReleaseRecords")', '"releases:ReleaseRecords", "patience:LateRecords")')
    imported = "from bls.engine.features.patience"
    inserted(tree / "bls/engine/state.py", "from bls.engine.features.sleep", f"{imported}.state import PatienceState\n")
    inserted(
        tree / "bls/scheduler_options.py",
        "from bls.engine.features.switches",
        f"{imported}.options import PatienceRules\n",
    )
    (tmp_path / "log.swf").write_text("".join(f"{k} 0 -1 60 256 " + "-1 " * 12 + "-1\n" for k in range(1, 5)))
    command = shlex.split("-m bridge.cli run log.swf --als recorded --trace none --patience 50s --out r")
    ran = within(tree, tmp_path, *command)
    assert ran.returncode == 0, ran.stderr
    assert pd.read_parquet(tmp_path / "r" / "lates.parquet").waited_ns.tolist() == [
        60 * 10**9,
        120 * 10**9,
        180 * 10**9,
    ]
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    name = 'mine'\n\n    def decide(self, view):\n        return []\n"
    )
    ran = within(tree, tmp_path, *command, "--bls", "mine.py:Mine", "--force")
    assert "--patience: not with batch policy mine, which has its own patience" in ran.stderr


def test_the_cost_of_a_feature_counts_the_product_files_outside_its_folder() -> None:
    sleep, files = "bls/engine/features/sleep", ("features/limits/easy.py", "loop.py", "features/sleep/state.py")
    lines = [f"{40 if 'sleep' in file else 3}\t1\tbls/engine/{file}" for file in files]
    others = (
        "-\t-\ttraces/picture.png",
        "90\t0\ttests/bls/test_sleep.py",
        "9\t0\tbridge/report/assets/definitions.json",
    )
    changed = "\n".join([*lines, *others])
    assert cost(changed) == (sleep, [f"{sleep}/state.py"], [f"bls/engine/{file}" for file in files[:2]])
    removed = changed.replace("40\t1", "1\t40").replace("3\t1", "9\t1")  # as a commit that removes the feature
    assert cost(removed) == cost(changed)
    assert cost(lines[1]) == ("", [], ["bls/engine/loop.py"])
