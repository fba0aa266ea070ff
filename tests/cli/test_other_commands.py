"""Several commands: cite, doctor, gantt, run --check and --same-as, story, warm-up; modules and messages of run."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from command_line import everything_in, succeeds, twolevel
from pages import ROOT
from tables import table_text

import bridge
import traces.figures.run.gantt
from bls import sample_path
from bridge.cli import doctor, installation_commands
from bridge.cli.installation_commands import references
from bridge.replay import installed
from traces import InputError
from traces.checks.faults import InvariantError
from traces.kernels import store
from traces.tables import read_jobs, read_rows

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def test_it_is_what_the_citation_file_says() -> None:
    paper, (own,) = CITATION["preferred-citation"], CITATION["authors"]
    of_both = [paper["title"], str(paper["year"]), paper["conference"]["name"], paper["publisher"]["name"]]
    of_both += [CITATION["title"], CITATION["version"], own["name"]]
    text, bibtex = references(bibtex=False), references(bibtex=True)
    assert [words for words in of_both if words not in text or words not in bibtex] == []
    assert " and ".join(f"{one['family-names']}, {one['given-names']}" for one in paper["authors"]) in bibtex
    assert [one["family-names"] in text for one in paper["authors"]] == [True] * 3
    assert (paper["type"], CITATION["version"]) == ("conference-paper", version("twolevel"))


def test_as_text(here: Path) -> None:
    ran = twolevel("cite")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "Eleliemy, A., Mohammed, A., & Ciorba, F. M. (2017). Exploring the Relation Between Two Levels of Scheduling Using a "
        "Novel Simulation Approach. International Symposium on Parallel and Distributed Computing (ISPDC). IEEE.\n"
        "\n"
        "The twolevel developers. twolevel: co-simulation of batch-level and application-level scheduling "
        f"(Version {version('twolevel')}) [Computer software].\n"
    )


def test_as_bibtex(here: Path) -> None:
    ran = twolevel("cite", "--bibtex")
    assert (ran.code, ran.err) == (0, "")
    paper, own = ran.out.strip().split("\n\n")
    for entry in (paper, own):
        assert re.fullmatch(r"@\w+\{\w+,\n(    \w+ = \{.+\},\n)+\}", entry)
        assert entry.count("{") == entry.count("}")
    assert "    author = {Eleliemy, Ahmed and Mohammed, Ali and Ciorba, Florina M.},\n" in paper
    assert "    author = {{The twolevel developers}},\n" in own
    assert "year" not in own


#: Of the packages that are tested: a clone that is not installed, too, or what a source distribution unpacks to.
HERE = Path(doctor.__file__).resolve().parents[2]


def test_a_sound_installation(here: Path) -> None:
    ran = twolevel("doctor")
    assert (ran.code, ran.err) == (0, "")
    lines = dict(
        line.split(maxsplit=1) for line in ran.out.replace("package ", "").splitlines() if " c" not in line[:9]
    )
    for name in ("bls", "als", "bridge", "traces"):
        assert lines[name] == str(HERE / name)
    assert lines["twolevel"] == str(HERE / "twolevel.py")
    assert set(doctor.versions()) >= {"twolevel", "python", "numba", "otf2", "pandas", "pyarrow"}
    assert "not installed" not in doctor.versions().values()
    assert "C functions found" in ran.out
    assert lines["OR-Tools"].split()[:2] == ["(optional)", doctor.versions_of(("ortools",))["ortools"].split()[0]]
    assert "PROBLEM" not in ran.out


@pytest.mark.parametrize(("name", "kind"), [("bls", "package"), ("als", "module"), ("traces", "folder")])
def test_another_package_of_our_name_is_noticed_and_is_one_line_in_other_commands(
    tmp_path: Path, name: str, kind: str
) -> None:
    if kind == "module":
        (tmp_path / f"{name}.py").write_text("")
    else:
        (tmp_path / name).mkdir()
        if kind == "package":
            (tmp_path / name / "__init__.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{HERE}"}

    def called(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "bridge.cli", *words]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    ran = called("doctor")
    found = next(line for line in ran.stdout.splitlines() if line.startswith(f"package {name} "))
    if kind == "folder":  # a folder without code gives way to a real package, wherever it is
        assert (ran.returncode, str(HERE / name) in found) == (0, True), ran
    else:
        assert (ran.returncode, "shadows ours" in found, str(tmp_path) in found) == (1, True, True), ran
        assert ran.stderr == ""
        ran = called("workload", "info", "sample")
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1), ran.stderr
        assert "twolevel doctor" in ran.stderr


def test_another_distribution_with_our_package_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "packages_distributions", lambda: {"bridge": ["twolevel", "bridge-builder"]})
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["package bridge"] == ("also installed by bridge-builder: uninstall one of them", False)
    assert found["package bls"][1]


def test_what_is_optional_is_no_problem_where_it_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installed.shutil, "which", lambda *words, **options: None)
    monkeypatch.setattr(doctor, "versions_of", lambda names: dict.fromkeys(names, "not installed"))
    monkeypatch.setenv("CC", "nocc -m64")
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["Slurm (optional)"][0].startswith("none that `twolevel replay` can use: twolevel replay needs Slurm")
    assert found["C compiler (optional)"] == ("no nocc, which `twolevel replay` and `measure` need", True)
    assert found["OR-Tools (optional)"][0].startswith("not installed; --bls hcp19")
    assert all(found[f"{name} (optional)"][1] for name in ("Slurm", "OpenMP runtime", "C compiler", "OR-Tools"))
    program = tmp_path / "slurmctld"
    program.write_text("#!/bin/sh\necho slurm 19.05.1\n")
    program.chmod(0o700)
    monkeypatch.setattr(installed.shutil, "which", lambda name, **options: str(program))
    text, well = next((text, well) for name, text, well in doctor.examine() if name == "Slurm (optional)")
    assert (well, "is slurm 19.05.1; allowed: 22.05" in text) == (True, True)


def test_a_cache_that_cannot_be_written_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "why_unused", lambda: "/there: Permission denied")
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["kernels"] == ("compiled again in every run: /there: Permission denied", False)


HEAD = {"png": b"\x89PNG", "svg": b"<?xml"}


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("form", list(HEAD))
def test_a_chart_in_each_format(here: Path, result: Path, form: str) -> None:
    before = everything_in(result)
    ran = twolevel("gantt", result, "-o", f"figures/chart.{form}", "--title", "some jobs")
    assert (ran.code, ran.out, ran.err) == (0, f"figures/chart.{form}\n", "")
    assert (here / "figures" / f"chart.{form}").read_bytes().startswith(HEAD[form])
    assert everything_in(result) == before


def test_jobs_and_cores_are_selected(here: Path, result: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = pd.read_parquet(result / "tasks.parquet")
    drawn: list[pd.DataFrame] = []
    columns = ["job_id", "core", "start_ns", "end_ns"]
    select = traces.figures.run.gantt.select_bars

    def noting(*given: Any) -> object:
        found = select(*given)
        drawn.append(pd.DataFrame(dict(zip(columns, found[0], strict=True))))
        return found

    monkeypatch.setattr(traces.figures.run.gantt, "select_bars", noting)
    for words, chosen in [
        ([], tasks),
        (["--jobs", "3-7 12"], tasks[tasks.job_id.between(3, 7) | (tasks.job_id == 12)]),
        (["--jobs", "12,3-7"], tasks[tasks.job_id.between(3, 7) | (tasks.job_id == 12)]),
        (["--cores", "8-15"], tasks[tasks.core.between(8, 15)]),
        (["--cores", "0-15", "--jobs", "2"], tasks[tasks.core.between(0, 15) & (tasks.job_id == 2)]),
    ]:
        assert len(chosen) > 0
        succeeds("gantt", result, "--out", "x.png", *words)
        pd.testing.assert_frame_equal(drawn.pop(), chosen[columns].reset_index(drop=True))


@pytest.mark.parametrize("coupling", ["inline", "pool"])
def test_a_run_that_is_checked_has_the_same_results(here: Path, monkeypatch: pytest.MonkeyPatch, coupling: str) -> None:
    calls: list[str] = []
    for name in ("bls.engine.validation.validate", "bridge.runs.simulation.check_ledger"):
        monkeypatch.setattr(name, lambda _, name=name: calls.append(name))
    options = (
        "run",
        "sample",
        "--select",
        "first:40",
        "--als",
        "ss",
        "--trace",
        "none",
        "--tasks",
        "--coupling",
        coupling,
    )
    succeeds(*options, "--check", "--out", "checked")
    assert calls.count("bridge.runs.simulation.check_ledger") == 1
    assert len(calls) > 20
    succeeds(*options, "--out", "plain")
    for name in ("jobs.parquet", "tasks.parquet"):
        assert (here / "checked" / name).read_bytes() == (here / "plain" / name).read_bytes()


def test_a_run_that_fails_its_check_says_so_and_leaves_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise InvariantError("batch engine at 5 ns: job 1 holds core 3 twice")

    monkeypatch.setattr("bls.engine.validation.validate", fail)
    ran = twolevel(
        "run", "sample", "--select", "first:5", "--als", "recorded", "--check", "--trace", "none", "--out", "r"
    )
    assert ran.code == 1
    assert "job 1 holds core 3 twice" in ran.err
    assert not (here / "r").exists()


def test_nothing_is_left_to_compile(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(store, "shipped_units", lambda: frozenset({"als.engine.loop", "bls.engine.loop"}))
    monkeypatch.setattr("traces.compiled.jit_enabled", lambda: True)
    installation_commands.warm_up_command(everything=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "machine code of all 2 modules came with the package: there is nothing to compile\n"
    found = {name: (text, well) for name, text, well in doctor.examine()}
    assert found["kernels"] == (f"{store.SHIPPED}: machine code of all 2 modules came with the package", True)


def test_a_full_disk_is_not_warm(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    few = "from bridge.runs import kernels as r; r.BATCH = r.INLINE = r.WORKER = {}; r.APPLICATION = {'als.streams': 1}"
    code = f"{limit}\n{few}\nimport sys; sys.argv = ['twolevel', 'warm-up']\nfrom bridge.cli import main\nmain()"
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    env.pop("NUMBA_CACHE_DIR", None)
    # -B, or what it imports first would be kept, cut, as everybody's bytecode.
    done = subprocess.run([sys.executable, "-B", "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert "machine code of 1 of 1 modules is not kept" in done.stderr


#: ``warm-up`` of three modules, of which this process compiles none: it waits until another has, and does WAITING meanwhile.
_WAITS = table_text(__file__, "waits")


def _warmed(cache: Path, waiting: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"XDG_CACHE_HOME": str(cache), "NUMBA_DISABLE_JIT": "0"}
    env.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", _WAITS.replace("WAITING", waiting)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


def test_processes_share_what_is_to_be_compiled(tmp_path: Path) -> None:
    done = _warmed(tmp_path, "pass")
    assert (done.returncode, done.stderr.splitlines()[-1].partition(", in ")[0]) == (0, "3 modules are compiled")


def test_who_compiles_for_a_command_ends_with_it(tmp_path: Path) -> None:
    dies = "print(multiprocessing.active_children()[0].pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    done = _warmed(tmp_path, f"if store.has('als.metrics.loops'): {dies}")
    assert done.returncode == -signal.SIGKILL
    until = time.monotonic() + 10
    while _runs(done.stdout.strip()):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert len(list(tmp_path.rglob("*.code"))) < 3


def _runs(pid: str) -> bool:
    try:
        return " Z " not in Path("/proc", pid, "stat").read_text()
    except FileNotFoundError:
        return False


#: What tables, figures, graphs of files, studies, processes and terminals are for.
ELSEWHERE = (
    *("_otf2", "asyncio", "dask", "distributed", "matplotlib", "multiprocessing", "networkx", "otf2", "pandas"),
    *("pyarrow.compute", "pyarrow.dataset", "pydantic", "rich", "scipy", "sqlite3", "xml", "als.graphs.readers"),
    *("bls.workloads.generators", "bridge.workers.application_peer", "bridge.report", "bridge.runs.figures"),
    *("bridge.runs.page", "bridge.workers.credentials", "bridge.workers.hosts", "bridge.workers.supervisor"),
    *("bridge.protocol.messages", "bridge.protocol.session", "bridge.studies", "traces.exporters.otf2"),
    *("traces.figures", "traces.statistics", "traces.timeline"),
)

#: Packages of features and of plug-ins. A plain run has the declarations of all, and the plug-ins that it uses.
OPTIONAL = (
    *("als.engine.dag.", "als.engine.features.", "als.graphs.", "als.metrics.", "als.network.", "als.planners."),
    *("als.techniques.", "bls.allocators.", "bls.constraints.", "bls.cp.", "bls.engine.features.", "bls.fair_start"),
    *("bls.policies.", "bls.power.", "bls.seen.", "bls.stream", "bls.view", "bls.workloads.readers."),
)
DECLARING = ("contract", "feature", "options", "records", "state")
USED = (
    *("als.graphs.draw", "als.metrics.loops", "als.techniques.arithmetic", "als.techniques.fixed.gss"),
    *(
        "als.techniques.fixed.static",
        "als.techniques.openmp",
        "bls.allocators.first_fit",
        "bls.constraints.job_constraints",
    ),
    *("bls.engine.features.core_choices", "bls.engine.features.order", "bls.engine.features.report_results"),
    *("bls.policies.expression", "bls.policies.orders", "bls.seen.notes", "bls.workloads.readers.decimals"),
    *("bls.workloads.readers.lines", "bls.workloads.readers.sacct_columns", "bls.workloads.readers.swf"),
)

MAIN = "from bridge.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
LISTED = f"""print([name for name in {ELSEWHERE!r} if name in sys.modules] + [
    name for name, module in sys.modules.items() if name.startswith({OPTIONAL!r}) and not hasattr(module, "__path__")
    and name not in {USED!r} and name.rpartition(".")[2] not in {DECLARING!r}
])"""


OTHERS = "print([name for name in sys.modules if name.startswith('bridge.cli.') and name.endswith('commands')])"


@pytest.mark.parametrize(
    ("code", "last"),
    [
        (f"import bridge, bls; bridge.simulate(bls.sample_path(), select='first:3')\n{LISTED}", "[]"),
        (
            "sys.argv = 'twolevel run sample --select first:3 --trace none --out r --als gss --variation 0.25 --seed 1 "
            f"--overhead 1us'.split()\n{MAIN}\nopen('r/jobs.parquet')\n{LISTED}",
            "[]",
        ),
        (f"sys.argv = ['twolevel', 'run', '--help']\n{MAIN}\n{OTHERS}", "['bridge.cli.run_commands']"),
    ],
    ids=["library", "run", "help"],
)
def test_modules_that_are_not_needed_are_not_loaded(code: str, last: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"import sys\n{code}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.splitlines()[-1] == last


RUN = ("run", "sample", "--select", "first:12", "--als", "gss", "--variation", "0.25", "--trace", "none")


@pytest.fixture
def inline(here: Path) -> Path:
    succeeds(*RUN, "--tasks", "--out", "inline")
    return here


def record(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(folder, "run.json").read_text())
    return found


def test_processes_give_the_same_and_say_what_it_took(inline: Path) -> None:
    ran = succeeds(*RUN, "--tasks", "--coupling", "process", "--same-as", "inline", "--out", "apart")
    assert "compared with inline    identical jobs.parquet, tasks.parquet\n" in ran.out
    assert record("apart")["same_as"] == {
        "run": "inline",
        "tables": {"jobs.parquet": True, "tasks.parquet": True},
        "only_here": [],
        "only_there": [],
    }
    assert "same_as" not in record("inline")
    cost = record("apart")["coupling"]
    assert cost["processes"] == 12
    # Each job's end is sent, and its bound before; the batch level has waited at least once for each start and each end.
    assert cost["injected"] == 24
    assert cost["resumes"] == cost["suspends"] >= 2
    sent = (cost["bytes_sent"] + cost["bytes_received"]) / 1e6
    said = re.search(
        r"^bridge +(\d+) suspends, (\d+) resumes, 24 injected events, (\d+) messages, (\S+) MB$", ran.out, re.M
    )
    assert said is not None
    assert [*map(int, said.groups()[:3])] == [cost["suspends"], cost["resumes"], cost["messages"]]
    assert float(said[4]) == pytest.approx(sent, rel=0.01)


def test_other_tables_are_named_and_kept(inline: Path) -> None:
    ran = twolevel(*RUN, "--seed", "7", "--tasks", "--same-as", "inline", "--out", "other")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == (
        "twolevel: --same-as: not the tables of inline: jobs.parquet, tasks.parquet; twolevel compare inline other says where"
    )
    assert record("other")["same_as"]["tables"] == {"jobs.parquet": False, "tasks.parquet": False}
    assert "identical" not in ran.out
    succeeds("compare", "inline", "other")


def test_tables_of_one_run_alone_are_said(inline: Path) -> None:
    Path("inline", "mine.parquet").write_text("of somebody else")
    ran = succeeds(*RUN, "--nodes", "--same-as", "inline", "--out", "other")
    alone = "only here, not compared: nodes.parquet; only there, not compared: tasks.parquet"
    assert f"identical jobs.parquet; {alone}\n" in ran.out
    assert record("other")["same_as"] == {
        "run": "inline",
        "tables": {"jobs.parquet": True},
        "only_here": ["nodes.parquet"],
        "only_there": ["tasks.parquet"],
    }


HEADER = "JobID|User|AllocTRES|Submit|Eligible|Start|ElapsedRaw|TimelimitRaw|State\n"
PLAIN = "1|ann|cpu=4,mem=4G,node=1|1700000000|1700000000|1700000000|60|10|COMPLETED\n"
HELD = "2|bob|cpu=4,mem=4G,node=1|1700000000|1700003600|1700003600|60|10|COMPLETED\n"
GPUS = "3|eve|cpu=4,gres/gpu:a100=2,mem=4G|1700000000|1700000000|1700000000|60|10|COMPLETED\n"
BARE = "4|eve|cpu=4|1700000000|1700000000|1700000000|60|10|COMPLETED\n"

MACHINE = "[[hosts]]\ncount = 2\ncores = 8\nspeed_gflops = 1.0\nresources = { memory_gb = 64, gpu = 4 }\n"

ONE_HELD = "1 job of the log was held after the submit (begin, Eligible): it starts at that time at the earliest"
ONE_GPU = "1 job of the log requested GPUs. They are not simulated"
NO_MEMORY = "--memory swf: the log records no memory requests, so memory limits no job"


@pytest.fixture
def desk(here: Path) -> Path:
    (here / "m.toml").write_text(MACHINE)
    (here / "r.csv").write_text("job_id,gpu\n3,2\n")
    return here


@pytest.mark.parametrize(
    ("jobs", "options", "said"),
    [
        (PLAIN + HELD + HELD.replace("2|", "5|", 1), (), ["2 jobs of the log were held after the submit"]),
        (PLAIN + GPUS, ("--requests", "r.csv"), []),
        (PLAIN + GPUS + HELD, (), [ONE_HELD, ONE_GPU]),
        (PLAIN, ("--memory", "swf"), []),
        (BARE, ("--memory", "swf"), [NO_MEMORY]),
    ],
)
def test_a_run_and_a_grid_say_it(desk: Path, jobs: str, options: tuple[str, ...], said: list[str]) -> None:
    (desk / "w.sacct").write_text(HEADER + jobs)
    shared = ("w.sacct", "--platform", "m.toml", "--bls", "fcfs", "--als", "recorded", *options)
    for command in (
        ("run", *shared, "--trace", "none", "--out", "o"),
        ("grid", *shared, "--out", "g", "--workers", "1"),
    ):
        lines = twolevel(*command).err.splitlines()
        for words in (ONE_HELD[6:40], ONE_GPU[6:40], NO_MEMORY[:40]):
            found = [line for line in lines if words in line]
            assert len(found) == any(words in one for one in said), (command, words)
        assert all(any(line.startswith(one) for line in lines) for one in said), command


def test_a_description_says_it_and_counts_waits_from_then(desk: Path) -> None:
    (desk / "w.sacct").write_text(HEADER + HELD.replace("|1700003600|60|", "|1700003690|60|") + GPUS)
    done = twolevel("workload", "info", "w.sacct")
    assert done.err.startswith(ONE_HELD)
    assert ONE_GPU in done.err
    assert "--like" not in done.err  # the log names no machine
    assert (
        "recorded wait              min 0 s            median 45 s           mean 45 s           max 90 s" in done.out
    )


def test_a_stream_says_it_and_writes_the_same_table(desk: Path) -> None:
    (desk / "w.sacct").write_text(HEADER + HELD + GPUS)
    twolevel("workload", "cut", "w.sacct", "-o", "w.swf")
    assert "; Field 19: begin_ns" in (desk / "w.swf").read_text()
    shared = ("w.swf", "--platform", "m.toml", "--als", "recorded", "--trace", "none")
    said = twolevel("run", *shared, "--stream", "--out", "s").err
    assert ONE_HELD in said
    assert ONE_GPU in said
    twolevel("run", *shared, "--out", "o")
    assert (desk / "s/jobs.parquet").read_bytes() == (desk / "o/jobs.parquet").read_bytes()


def test_kinds_of_a_log_that_no_host_has_are_named(desk: Path) -> None:
    (desk / "k.csv").write_text("id,submit,run,gpus,kind\n1,0,9,1,h800\n2,0,9,1,v100|k80\n3,0,9,1,\n")
    columns = "job_id = 'id'\nsubmit = 'submit'\nrun = 'run'\ncores = 1\ngpus = 'gpus'\n"
    kind = "[extras]\ngpu_kind = { column = 'kind', kind = 'label' }\n"
    (desk / "k.toml").write_text(f"file = 'k.csv'\n[columns]\n{columns}{kind}[machine]\ncores = 8\n")
    assert "as twolevel platform --like LOG does\n" in twolevel("workload", "info", "k.toml").err
    shared = ("run", "k.toml", "--als", "recorded", "--trace", "none", "--force", "--out", "k", "--platform", "g.toml")
    for gpu, kinds in {"gpu = 'v100'": "h800, k80", "": ""}.items():
        (desk / "g.toml").write_text(f"[[hosts]]\ncount = 1\ncores = 8\nspeed_gflops = 1.0\ngpus = 4\n{gpu}\n")
        said = [line for line in twolevel(*shared).err.splitlines() if line.startswith("no host has GPUs")]
        tail = "jobs that accept no other kind are omitted"
        assert said == [f"no host has GPUs of these kinds in the log: {kinds}; {tail}"] * bool(kinds)


STORY = ("run", "sample", "--als", "gss", "--variation", "0.25", "--backfill", "easy", "--trace", "none")


def test_the_story_of_jobs(here: Path) -> None:
    succeeds(*STORY, "--decisions", "--out", "r")
    assert twolevel("story", "r", "1").out.splitlines() == [
        "job 1",
        "  0:05:23  submitted: requests 1 core for 30 min 00 s",
        "  0:05:23  eligible: 256 of 256 cores are free, 0 jobs before it wait",
        "  0:05:23  started as the head of the queue; scheduling pass 0 starts 1 of 1 waiting job; on core 0",
        "  0:32:15  completed, after 26 min 52 s; 1 task in 1 chunk, imbalance 0",
    ]
    lines = twolevel("story", "r", "100").out.splitlines()
    assert (
        "waited 12 h 08 min: 256 cores requested, 12 free when it became eligible; 163 jobs submitted later" in lines[3]
    )
    assert "23:08:20.368035011  started at its reservation" in lines[4]
    assert "job 227 releases 100 cores then" in lines[4]
    result = bridge.simulate(
        sample_path(), als="gss", variation=0.25, backfill="easy", keep_decisions=True, keep_tasks=False
    )
    assert result.story(100) + "\n" == twolevel("story", "r", "100").out


def test_a_job_that_is_not_there_and_results_that_are_none(here: Path) -> None:
    succeeds(*STORY, "--select", "first:9", "--out", "r")
    ran = twolevel("story", "r", "99")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "twolevel: JOB: '99': there is no such job; allowed: 1-9\n"
    assert twolevel("story", "nowhere", "1").code == 2
    assert twolevel("story", "r", "abc").err == (
        "twolevel: JOB: 'abc' is no job; allowed: one number, as 3, one of Slurm's names, as 900_2 or 901+0\n"
    )
    ran = twolevel("story", "r/jobs.parquet", "1")
    assert ran.err == "twolevel: r/jobs.parquet is a file; allowed: the folder that twolevel run has written\n"
    result = bridge.simulate(sample_path(), als="recorded", select="first:9")
    with pytest.raises(InputError, match=r"allowed: 1-9$"):
        result.story(0)
    assert "scheduling pass" not in result.story(9)


NAMED = """JobID|JobName|QOS|NCPUS|Submit|Start|End|ElapsedRaw|State
7|relax|high|8|1700000000|1700000000|1700003600|3600|COMPLETED
8||high|8|1700000000|1700003600|1700007200|3600|COMPLETED
"""

ARRAY = """JobID|User|NCPUS|Submit|Start|End|ElapsedRaw|Timelimit|State
900_1|ann|8|1700000000|1700000000|1700003600|3600|02:00:00|COMPLETED
900_2|ann|8|1700000000|1700003600|1700007200|3600|02:00:00|COMPLETED
9002|bob|4|1700000060|1700007200|1700007800|600|00:30:00|COMPLETED
"""

BATSIM = """{"nb_res": 4, "profiles": {"d": {"type": "delay", "delay": 10}}, "jobs": [
 {"id": "a!7", "subtime": 0, "res": 3, "profile": "d"}, {"id": "b!7", "subtime": 1, "res": 2, "profile": "d"}]}"""


def test_jobs_have_the_names_of_slurm(here: Path) -> None:
    Path("log.sacct").write_text(ARRAY, encoding="utf-8")
    succeeds("run", "log.sacct", "--als", "recorded", "--trace", "none", "--out", "r")
    lines = twolevel("story", "r", "900_2").out.splitlines()
    assert lines[0] == "job 9000000000002 (900_2)"
    assert lines[-1].endswith("completed, after 60 min 00 s")
    assert twolevel("story", "r", "9002").out.startswith("job 9002\n")
    assert "chain of job 9000000000002 in B" in twolevel("compare", "r", "r", "--job", "900_2").out
    for words in ("story r 900_3", "story r 901+0", "compare r r --job 900_3", "trace cut r --jobs 900_3 --out x"):
        ran = twolevel(*words.split())
        assert (ran.code, ran.out) == (2, ""), words
        assert words.split()[-1 if words.startswith(("story", "compare")) else 4] in ran.err
    ran = twolevel("trace", "cut", "r", "--jobs", "900_2", "--trace-cores", "200-255", "--out", "x")
    assert (ran.code, ran.err) == (2, "twolevel: --jobs: no such job held one of these cores: 900_2\n")
    succeeds("trace", "cut", "r", "--jobs", "900_[1-2]", "--trace", "csv", "--out", "part")
    held = Path("part/csv/jobs.csv").read_text(encoding="utf-8")
    assert "9000000000001" in held
    assert ",9002," not in held


@pytest.mark.parametrize(
    ("log", "words", "lost"),
    [(NAMED, (), "names of jobs"), (NAMED, ("--workload", "log.sacct"), "QOS, names of jobs"), (ARRAY, (), None)],
)
def test_what_a_log_of_slurm_loses_as_swf(here: Path, log: str, words: tuple[str, ...], lost: str | None) -> None:
    Path("log.sacct").write_text(log, encoding="utf-8")
    succeeds("run", "log.sacct", "--als", "recorded", "--trace", "none", "--out", "r")
    ran = twolevel("workload", "export", "r", *words, "-o", "x.swf")
    said = [line.partition(": ")[2] for line in ran.err.splitlines() if line.startswith("not written, as SWF")]
    assert (ran.code, said) == (0, [lost] if lost else [])


def test_jobs_have_the_ids_of_their_log(here: Path) -> None:
    Path("w.json").write_text(BATSIM, encoding="utf-8")
    succeeds("run", "w.json", "--als", "recorded", "--trace", "none", "--out", "r")
    assert read_jobs(Path("r/jobs.parquet"))["name"].tolist() == ["a!7", "b!7"]
    assert twolevel("story", "r", "b!7").out.startswith("job 2 (b!7)\n")
    assert "chain of job 2 (b!7) in B" in twolevel("compare", "r", "r", "--job", "b!7", "--out", "c").out
    assert read_rows(Path("c/delays.parquet"), ("name",))["name"].tolist() == ["a!7", "b!7"]
    succeeds("workload", "export", "r", "--trace", "batsim", "-o", "jobs.csv")
    rows = [line.split(",")[:2] for line in Path("jobs.csv").read_text(encoding="utf-8").splitlines()[1:]]
    assert rows == [["7", "a"], ["7", "b"]]
    for words in (("--workload", "w.json"), ()):
        ran = twolevel("workload", "export", "r", *words, "-o", "x.swf", "--force")
        assert (ran.code, ran.out) == (0, "x.swf\n"), ran.err
        assert "not written" not in ran.err, words
        assert [line for line in Path("x.swf").read_text(encoding="utf-8").splitlines() if "Job:" in line] == [
            "; Job: 1 a!7",
            "; Job: 2 b!7",
        ]


def test_ids_of_jobs_go_through_swf(here: Path) -> None:
    Path("w.json").write_text(BATSIM, encoding="utf-8")
    succeeds("workload", "merge", "w.json", "--align", "start", "-o", "w.swf")
    succeeds("run", "w.swf", "--als", "recorded", "--trace", "none", "--stream", "--out", "r")
    assert twolevel("story", "r", "b!7").out.startswith("job 2 (b!7)\n")
    succeeds("trace", "convert", "r", "--trace", "swf", "--out", "again")
    assert "\n; Job: 2 b!7\n" in Path("again/jobs.swf").read_text(encoding="utf-8")


def test_parts_of_a_stored_run_have_the_ids_of_jobs(here: Path) -> None:
    """Tasks are read back from the OTF2 trace, whose regions have the names, too."""
    Path("w.json").write_text(BATSIM, encoding="utf-8")
    succeeds("run", "w.json", "--als", "ss", "--trace", "otf2,chrome,csv,text,paje", "--out", "r")
    succeeds("trace", "convert", "r", "--trace", "chrome,csv,text,paje", "--out", "again")
    for name in ("trace.json", "csv/cores.csv", "csv/jobs.csv", "text/batch.txt", "trace.paje"):
        whole = Path("r/trace", name).read_text(encoding="utf-8")
        assert whole == Path("again", name).read_text(encoding="utf-8"), name
    succeeds("trace", "cut", "r", "--jobs", "b!7", "--trace", "chrome,csv", "--out", "part")
    assert '"name":"job 2 b!7"' in Path("part/trace.json").read_text(encoding="utf-8")
    assert {line.split(",")[-1] for line in Path("part/csv/jobs.csv").read_text(encoding="utf-8").splitlines()} == {
        *("name", "b!7")
    }
