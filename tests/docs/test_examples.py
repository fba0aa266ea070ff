"""Every command and every piece of Python in the documentation runs as it stands, in an empty folder."""

import json
import os
import re
import runpy
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import succeeds, twolevel
from layers import these_stay
from pages import PAGES, ROOT, blocks

import traces
from als import PythonTechnique
from als.application import ApplicationSimulator
from bls import KnownJobs, Workload
from bls.policies import ranks

README, TOUR, PLUG_INS = ROOT / "README.md", ROOT / "docs" / "tutorials/tour.md", ROOT / "docs" / "how-to/plug-ins.md"


#: Groups of arguments, each with a page of the reference.
ARGUMENTS = ("workload", "machine", "batch", "application", "power", "execution")


def commands(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("twolevel ")]


EXAMPLES = {
    page.relative_to(ROOT).as_posix(): lines
    for page in PAGES
    if (lines := [line for block in blocks(page, "bash") for line in commands(block)])
}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder but for a view of ``tests``, where ``python`` is the one that runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return tmp_path


def perform(line: str) -> None:
    """A line of a shell: a command, maybe with its output sent to a file."""
    words = shlex.split(line)
    target = None
    for sign in (">", ">>"):
        if sign in words:
            at = words.index(sign)
            words, target = words[:at], words[at + 1]
    ran = succeeds(*words[1:])
    assert "PROBLEM" not in ran.out
    if target:
        Path(target).write_text(ran.out, encoding="utf-8")


#: How a comment with a file's name begins a block; and, for CSV, which has no comments, the first line's words and the name.
_NAMED = {"python": r"# (\w+\.py)\n", "toml": r"# ([\w-]+\.toml)\n", "text": r"# (\w+\.txt)\n"}
_NAMED |= {"dot": r"// (\w+\.dot)\n", "xml": r"<!-- (\w+\.xml) -->\n"}
_BY_HEAD = {
    "time_s,core,factor\n": "speeds.csv",
    "from,to,limit_w\n": "evening.csv",
    "job_id,power": "jobs.csv",
    "from,to,limit_w,where\n": "racks.csv",
    "from,price_per_kwh": "signals.csv",
    "JobID|User": "mycluster.sacct",
    "id,owner,submitted": "my-jobs.csv",
}


def named_files(page: Path) -> dict[str, str]:
    """The blocks of a page that are whole files, by the names of these."""
    texts = [
        (found[1], text)
        for kind, name in _NAMED.items()
        for text in blocks(page, kind)
        if (found := re.match(name, text))
    ]
    texts += [
        (name, text)
        for text in (*blocks(page, "csv"), *blocks(page, "text"))
        for head, name in _BY_HEAD.items()
        if text.startswith(head)
    ]
    return dict(texts)


def test_the_examples_of_the_pages_are_found() -> None:
    assert (len(EXAMPLES), sum(map(len, EXAMPLES.values()))) == (41, 232)


#: Pages whose commands take several seconds, and use what those of other pages use.
LONG = (
    *("batch-plug-ins", "choosing-a-technique", "cli", "constraint-programming", "couplings", "figures", "plug-ins"),
    *("simgrid", "studies", "study-to-figure", "tour", "workloads"),
)


#: Pages whose commands other tests run: test_first_hour.py, test_figures_page.py, test_gpu_page.py, and
#: those below.
ELSEWHERE = ("README", "compare", "coordination", "gpu-packing", "malleable", "story")


@pytest.mark.parametrize(
    "page",
    these_stay(
        [page for page in EXAMPLES if Path(page).stem not in ELSEWHERE], lambda page: Path(page).stem not in LONG
    ),
)
def test_the_commands_of_a_page(desk: Path, page: str, request: pytest.FixtureRequest) -> None:
    if page != "docs/reference/figures.md":
        request.getfixturevalue("unrendered")
    if ROOT / page == PLUG_INS:
        (desk / "my.py").write_text(blocks(PLUG_INS, "python")[0], encoding="utf-8")
    for name, text in named_files(ROOT / page).items():
        (desk / name).write_text(text, encoding="utf-8")
    for line in EXAMPLES[page]:
        perform(line)


def test_the_files_of_the_batch_pages_do_what_they_say(desk: Path) -> None:
    files = named_files(ROOT / "docs" / "how-to/batch-plug-ins.md") | named_files(
        ROOT / "docs" / "reference/batch-estimates.md"
    )
    known = ("explains", "greedy", "mine", "packs", "power", "slowdown", "watch", "yields")
    assert sorted(files) == [f"{name}.py" for name in known]
    for name, text in files.items():
        (desk / name).write_text(text, encoding="utf-8")
    import bridge
    from bls import HostGroup, Platform

    # Job 3 fits beside job 1 and delays job 2; job 4 has waited for longer than job 5 for what it asks.
    jobs = Workload.from_jobs(
        [(1, 0, 10, 3, 10), (2, 1, 5, 4, 5), (3, 2, 20, 1, 20), (4, 3, 5, 4, 5), (5, 4, 9, 4, 999)]
    )
    machine = Platform((HostGroup(1, 4, 4.0),))

    def starts(bls: str, backfill: str) -> list[int]:
        ran = bridge.simulate(jobs, machine, bls=bls, backfill=backfill, als="recorded")
        return [start // 10**9 for start in ran.ledger.jobs.start_ns.tolist()]

    assert starts("greedy.py:Greedy", "none") == [0, 22, 2, 27, 32]
    packed = bridge.simulate(jobs, machine, bls="packs.py:Packs", als="recorded").jobs
    assert packed.state.tolist() == ["rejected", "rejected", "completed", "rejected", "rejected"]
    assert packed.rejected_because.tolist()[:3] == ["wider than half of the machine"] * 2 + [""]
    explained = bridge.simulate(jobs, machine, bls="explains.py:Explains", als="recorded", keep_decisions=True)
    assert (explained.ledger.jobs.start_ns // 10**9).tolist() == [0, 22, 2, 27, 32]
    assert explained.jobs.started_because.tolist() == ["", "", "went past 2", "", ""]
    assert explained.decisions.z_exact.tolist()[:4] == ["0", "0", "1/5", "2/5"]
    within = bridge.simulate(jobs, machine, bls="power.py:Within", observers=["power.py:Power"], als="recorded")
    assert (within.ledger.jobs.start_ns // 10**9).tolist() == starts("fcfs", "none") == [0, 10, 15, 35, 40]
    # 180 of the 256 cores take 780 W with the hosts, so that job 3 has to wait; job 4 needs more than there is, and runs alone.
    wide = [(1, 0, 10, 100, 10), (2, 0, 10, 80, 10), (3, 0, 10, 10, 10), (4, 0, 10, 200, 10)]
    within = bridge.simulate(
        Workload.from_jobs(wide), bls="power.py:Within", observers=["power.py:Power"], als="recorded"
    )
    assert (within.ledger.jobs.start_ns // 10**9).tolist() == [0, 0, 10, 20]
    assert starts("slowdown.py:LARGEST_SLOWDOWN", "none") == [0, 10, 20, 15, 40]
    planned = bridge.simulate(jobs, machine, als="recorded", estimates="mine.py:Half").jobs.planned_ns
    assert planned.tolist() == (jobs.estimate_ns // 2 + 1).tolist()
    assert "planned_ns" in bridge.simulate(jobs, machine, als="recorded", estimates="mine.py:MINE").jobs
    watched = bridge.simulate(jobs, machine, als="recorded", observers=["watch.py:EveryHour"])
    assert watched.observations["waiting"].tolist()[:1] == [0]
    assert watched.observations["free_cores"].tolist()[:1] == [1]
    assert watched.observations["now_ns"].tolist()[:1] == [0]


HELPED = ("run", "loop", "graph", "workload info", "platform", "gantt", "compare", "doctor")


@pytest.mark.parametrize("command", these_stay([*HELPED, "grid", "study", "repeat", "figures"], HELPED.__contains__))
@pytest.mark.usefixtures("unrendered")
def test_the_example_of_a_commands_help(desk: Path, command: str) -> None:
    text = " ".join(twolevel(*command.split(), "--help-all").out.split())
    example = re.search(r"Example: (twolevel .*)$", text)
    assert example
    assert example[1].startswith(f"twolevel {command}")
    if command == "gantt":
        perform("twolevel run sample --variation 0.25 --tasks --trace none --out results")
    if command == "study":
        Path("study.toml").write_text('[[workload]]\nfile = "sample"\nselect = "first:20"\n', encoding="utf-8")
    if command == "repeat":
        perform("twolevel grid sample --select first:20 --bls fcfs --als gss --variation 0.2 --out results")
    if command == "figures":
        perform("twolevel run sample --select first:20 --tasks --trace none --out results")
    if command == "compare":
        for als in ("static", "gss"):
            perform(f"twolevel run sample --als {als} --variation 0.25 --trace none --out {als}")
    perform(example[1])


def test_cores_that_are_no_longer_needed(desk: Path) -> None:
    *runs, story = EXAMPLES["docs/explanation/coordination.md"]
    for line in runs:
        perform(line)
    kept, released = (json.loads((desk / name / "run.json").read_text())["metrics"] for name in ("kept", "released"))
    assert released["makespan_ns"] < kept["makespan_ns"]
    assert "no longer needed" in twolevel(*shlex.split(story)[1:]).out


def test_cores_that_come_and_go(desk: Path) -> None:
    *runs, comparison, evolving = EXAMPLES["docs/reference/malleable.md"]
    for name, text in named_files(ROOT / "docs" / "reference/malleable.md").items():
        (desk / name).write_text(text, encoding="utf-8")
    for line in (*runs, evolving):
        perform(line)
    assert (desk / "malleable" / "widths.parquet").is_file()
    rigid, malleable = (
        json.loads((desk / name / "run.json").read_text())["metrics"] for name in ("rigid", "malleable")
    )
    assert malleable["mean_wait_ns"] < rigid["mean_wait_ns"]
    assert "as it had to" in "".join(twolevel("story", "malleable", str(job)).out for job in _asked(desk / "malleable"))
    succeeds(*shlex.split(comparison)[1:])
    asked = "".join(twolevel("story", "evolving", str(job)).out for job in _asked(desk / "evolving"))
    assert "requested" in asked
    assert "as it requested fewer" in asked


def _asked(folder: Path) -> list[int]:
    widths = pd.read_parquet(folder / "widths.parquet")
    found: list[int] = widths[widths["change"] < 0]["job_id"].unique().tolist()[:5]
    return found


def test_the_story_of_the_page_is_the_one_that_is_printed(desk: Path) -> None:
    run, story = EXAMPLES["docs/reference/story.md"]
    perform(run)
    assert blocks(ROOT / "docs" / "reference/story.md", "text") == [twolevel(*shlex.split(story)[1:]).out]


@pytest.mark.release  # test_first_hour.py has rows of it
@pytest.mark.usefixtures("unrendered")
def test_the_table_of_the_demo_is_the_one_that_is_printed(desk: Path) -> None:
    demo = re.search(r"/(twolevel grid .*?) --force", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert demo
    ran = succeeds(*shlex.split(demo[1])[1:])
    assert blocks(README, "text")[1] == ran.out.partition("\n\n")[0] + "\n"


def test_the_python_of_the_page_on_kernels(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block, declared = blocks(ROOT / "docs" / "explanation/kernels.md", "python")
    (desk / "shelf.py").write_text(block, encoding="utf-8")
    names = runpy.run_path("shelf.py")
    assert capsys.readouterr().out.strip() == block.rsplit("# ", 1)[1].strip()
    # What is said there of a state.
    shelf = names["shelf"]
    other = shelf._replace(least=2.0)
    assert other.amount is shelf.amount
    assert (names["take"](shelf, 1.0), names["take"](other, 1.0)) == (1, -1)
    imports = "import numpy as np\nfrom traces.kernels.signatures import Floats, Ints, Ints2\n"
    imports += "from traces.kernels.state import State, column\n"
    made = 'state = Batch.new({"hosts": 2, "rows": 3}, host_speed=np.ones(2))\n'
    (desk / "batch.py").write_text(imports + declared + made, encoding="utf-8")
    state = runpy.run_path("batch.py")["state"]
    assert (state.jobs.start_ns.tolist(), state.host_load.shape, state.now_ns) == ([-1, -1, -1], (2, 2), 0)


@pytest.mark.parametrize(("page", "trace"), [(README, "first-trace"), (TOUR, "tour-trace")], ids=["readme", "tour"])
def test_the_first_steps_in_python(desk: Path, capsys: pytest.CaptureFixture[str], page: Path, trace: str) -> None:
    (desk / "tour.py").write_text(blocks(page, "python")[0], encoding="utf-8")
    names = runpy.run_path("tour.py")
    shown = capsys.readouterr().out
    assert repr(names["result"]) in shown
    assert "hours" in shown
    assert (desk / trace / "traces.otf2").is_file()
    traces.check_ledger(names["result"].ledger)


@pytest.mark.parametrize("page", ["api", *(f"python-{group}" for group in ARGUMENTS)])
def test_the_python_of_the_pages_on_arguments(desk: Path, capsys: pytest.CaptureFixture[str], page: str) -> None:
    for block in blocks(ROOT / "docs" / f"reference/{page}.md", "python"):
        (desk / "example.py").write_text(block, encoding="utf-8")
        runpy.run_path("example.py")


def test_the_python_of_the_page_on_studies(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "reference/studies.md"
    for name, text in named_files(page).items():
        (desk / name).write_text(text.replace("first:100", "first:12"), encoding="utf-8")
    (block,) = blocks(page, "python")
    (desk / "studied.py").write_text(block, encoding="utf-8")
    names = runpy.run_path("studied.py")
    assert len(names["results"]) == 2 * 3 * 2 * 10
    assert "ratio_low" in capsys.readouterr().out


def test_the_backfilling_of_the_tour(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "backfilling.py").write_text(blocks(TOUR, "python")[1], encoding="utf-8")
    runpy.run_path("backfilling.py")
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    waits = {line[0]: int(line[1]) for line in shown}
    assert list(waits) == ["none", "easy", "conservative"]
    assert waits["easy"] < waits["none"]


def test_the_plug_ins_of_their_page_do_what_they_say(desk: Path) -> None:
    (desk / "my.py").write_text(blocks(PLUG_INS, "python")[0], encoding="utf-8")
    names = runpy.run_path("my.py")
    workload = Workload.from_jobs([(1, 0, 9, 4, 100), (2, 0, 9, 1, 300), (3, 0, 9, 2, 100)])
    known = KnownJobs(workload.job_id, workload.submit_ns, workload.estimate_ns, workload.estimate_ns, workload.cores)
    assert ranks(names["SmallestArea"](), known).tolist() == [2, 1, 0]
    application = ApplicationSimulator([1.0] * 16, [1.0, 1.0], names["HALF_OF_GSS"])
    application.advance()
    assert application.state.chunk.tolist() == [0] * 4 + [1] * 3 + [2] * 3 + [3] * 2 + [4, 5, 6, 7]
    again = ApplicationSimulator([1.0] * 16, [1.0, 1.0], PythonTechnique(names["Half"]))
    again.advance()
    assert again.state.chunk.tolist() == application.state.chunk.tolist()


def test_the_python_of_the_power_page(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks(ROOT / "docs" / "reference/power.md", "python"):
        exec(compile(block, "power.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"\)  # (.*)$", block, re.MULTILINE)[-2:]


def test_the_python_of_the_applications_page(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "docs" / "reference/applications.md"
    for name, text in named_files(page).items():
        (desk / name).write_text(text, encoding="utf-8")
    (block,) = blocks(page, "python")
    (desk / "mapped.py").write_text(block, encoding="utf-8")
    names = runpy.run_path("mapped.py")
    counts = names["applications"].counts(names["place"])
    assert capsys.readouterr().out == f"{counts}\n"
    assert sum(counts.values()) == 320
    assert names["programs"][-1].steps == 1  # the map's own default comes first


def test_trapezoid_chunks_are_the_published_ones(desk: Path) -> None:
    block = next(text for text in blocks(ROOT / "CONTRIBUTING.md", "python") if "trapezoid" in text)
    (desk / "plugin.py").write_text(block, encoding="utf-8")
    application = ApplicationSimulator([1.0] * 1000, [1.0] * 4, runpy.run_path("plugin.py")["TSS"])
    application.advance()
    sizes = [int((application.state.chunk == chunk).sum()) for chunk in range(application.chunks)]
    # Tzen and Ni: first chunk N/(2P) = 125, last 1, 16 chunks, so steps of 8.
    assert sizes == [*(125 - 8 * i for i in range(12)), 28]  # the last takes what is left
