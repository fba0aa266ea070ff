"""``twolevel trace``, and what ``run`` writes with ``--trace`` and its kin."""

import csv
import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from command_line import succeeds, twolevel
from nesting import check_nesting
from perfetto.protos.perfetto.trace import perfetto_trace_pb2

import bridge
from bls import sample_path
from bridge.runs.figures import view_of_folder
from traces.exporters.otf2.library import reading

#: Of each format what is to be opened.
FILES = {
    "otf2": "traces.otf2",
    "perfetto": "trace.perfetto-trace",
    "chrome": "trace.json",
    "paje": "trace.paje",
    "csv": "csv/cores.csv",
    "text": "text/batch.txt",
    "measured": "measured/measurement.json",
}


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twenty jobs with its tasks and a trace in each format."""
    folder = tmp_path_factory.mktemp("traced") / "r"
    words = ("--als", "gss", "--variation", 0.25, "--select", "first:20", "--tasks", "--decisions")
    ran = succeeds("run", "sample", *words, "--trace", ",".join(FILES), "--out", folder)
    shown = "; ".join(f"trace: {folder / 'trace' / file}" for file in FILES.values())
    assert ran.err.splitlines()[-1] == f"results: {folder}; {shown}"
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_every_format_shows_the_tasks_of_the_table(traced: Path) -> None:
    tasks = pd.read_parquet(traced / "tasks.parquet")
    columns = ["core", "job_id", "task", "chunk", "start_ns", "end_ns"]
    shown = sorted(tasks[columns].itertuples(index=False, name=None))
    found = rows(traced / "trace" / FILES["csv"])
    names = ["core", "job", "task", "chunk", "start_ns", "end_ns"]
    assert sorted(tuple(int(row[name]) for name in names) for row in found) == shown
    assert {row["technique"] for row in found} == {"gss"}
    assert check_nesting(traced / "trace" / FILES["otf2"]) > len(tasks)
    packets = perfetto_trace_pb2.Trace.FromString((traced / "trace" / FILES["perfetto"]).read_bytes()).packet
    begins = [one.timestamp for one in packets if one.track_event.type == 1 and len(one.track_event.category_iids) == 2]
    assert sorted(begins) == sorted(tasks["start_ns"])
    events = json.loads((traced / "trace" / FILES["chrome"]).read_text())["traceEvents"]
    assert sum(one["ph"] == "X" and one["cat"] == "task,gss" for one in events) == len(tasks)
    dumped = subprocess.run(["pj_dump", traced / "trace" / FILES["paje"]], capture_output=True, text=True, check=True)
    assert sum(", on the core, " in line for line in dumped.stdout.splitlines()) == len(tasks)


def test_what_is_converted_is_what_the_run_wrote(traced: Path, here: Path) -> None:
    ran = twolevel("trace", "convert", traced, "--trace", ",".join(FILES), "--out", "c")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [f"c/{file}" for file in FILES.values()]
    for file in ("trace.paje", "csv/cores.csv", "csv/counters.csv", "csv/causes.csv", "csv/transfers.csv"):
        assert (here / "c" / file).read_bytes() == (traced / "trace" / file).read_bytes(), file
    mine, theirs = rows(here / "c" / "csv" / "jobs.csv"), rows(traced / "trace" / "csv" / "jobs.csv")
    assert [row | {"user": ""} for row in mine] == [row | {"user": ""} for row in theirs]
    assert {row["user"] for row in mine} == {"-1"}  # no table has it
    succeeds("trace", "convert", traced, "--trace", "perfetto,chrome", "--out", "d")
    for name in ("perfetto", "chrome"):
        assert (here / "c" / FILES[name]).read_bytes() == (here / "d" / FILES[name]).read_bytes()


HARD = {
    "hints and releases": "--coordination hint --als static --variation 0.5 --backfill easy",
    "widths": "--malleable 0.5 --als gss --tasks-per-core 4 --backfill easy",
    "power": "--limits limits.csv --fallback dvfs --platform demand-response --als gss",
    "graphs": "--applications graphs.toml --network lv08",
    "failures": "--failures mtbf:6h,mttr:1h,seed:7 --als gss --tasks-per-core 2",
    "recorded": "--als recorded --backfill easy",
    "GPUs": "--platform gpus.toml --requests gpus.csv --coordination release:host --als static --variation 0.5",
}


@pytest.mark.parametrize("words", HARD.values(), ids=list(HARD))
def test_whatever_a_run_shows_comes_back_from_its_tables(here: Path, words: str) -> None:
    (here / "limits.csv").write_text("from,to,limit_w\n1h,30h,12000\n")
    (here / "graphs.toml").write_text('[default]\ngraph = "layered:tasks=40,ccr=1"\nals = "heft"\n')
    (here / "gpus.toml").write_text('[[hosts]]\ncount = 8\ncores = 64\nspeed_gflops = 3000.0\ngpus = 2\ngpu = "a100"\n')
    asked = ["job_id,gpus_per_host,gpus_per_task,gpu_milli", "4,2,,", "14,1,,", "26,2,,"]
    asked += [
        f"{job},,1,{share}" for job, share in ((1, 500), (5, 250), (6, 300), (9, 333), (10, 100), (18, 250), (25, 200))
    ]
    (here / "gpus.csv").write_text("\n".join(asked) + "\n")
    # Without a table of tasks they are read from the archive.
    tasks = ("otf2,csv,paje",) if "recorded" in words or "failures" in words else ("csv,paje", "--tasks")
    succeeds("run", "sample", "--select", "first:30", *words.split(), "--out", "r", "--trace", *tasks)
    succeeds("trace", "convert", "r", "--trace", "csv,paje", "--out", "c")
    for file in ("csv/cores.csv", "csv/counters.csv", "csv/transfers.csv", "csv/causes.csv", "trace.paje"):
        assert (here / "c" / file).read_bytes() == (here / "r" / "trace" / file).read_bytes(), file
    if "gpus" in words:
        jobs, held = pd.read_parquet("r/jobs.parquet"), view_of_folder(here / "r").gpus
        assert (held.end_ns <= jobs["end_ns"].to_numpy()[held.job]).all()
        assert len(set(held.end_ns.tolist())) > len(set(held.job.tolist())), "a job leaves its hosts one by one"


def test_archives_of_which_tasks_cannot_be_read(here: Path) -> None:
    words = ("run", "sample", "--select", "first:5", "--als", "gss")
    (here / "graphs.toml").write_text('[default]\ngraph = "layered:tasks=40,ccr=1"\nals = "heft"\n')
    succeeds(*words, "--trace-window", "..1h", "--out", "part")
    succeeds(*words, "--trace-detail", "chunk", "--out", "coarse")
    for name in ("whole", "damaged", "other"):
        succeeds(*words, "--out", name)
    graphs = ("--applications", "graphs.toml", "--network", "lv08")
    succeeds(*words[:4], *graphs, "--out", "sent")
    (here / "damaged" / "trace" / "traces.otf2").write_text("no archive")
    jobs = pd.read_parquet("other/jobs.parquet")
    jobs.assign(job_id=jobs["job_id"] + 1).to_parquet("other/jobs.parquet")
    instead = "; simulate again with --tasks to keep one row per task, or give --trace-detail job"
    of_run = "is an OTF2 archive; allowed: the folder that twolevel run has written, here whole"
    for name, said in {
        "part": f"part has no tasks.parquet, and part/trace/traces.otf2 lacks some tasks{instead}",
        "coarse": f"coarse has no tasks.parquet, and coarse/trace/traces.otf2 lacks some tasks{instead}",
        "sent": "sent has no tasks.parquet, and sent/trace/traces.otf2 does not name the jobs of its transfers"
        + instead,
        "damaged": "damaged/trace/traces.otf2: OTF2 could not read the trace: ",
        "other": "other/trace/traces.otf2: has other cores or jobs than the run",
        "whole/trace": f"whole/trace {of_run}",
        "whole/trace/traces.otf2": f"whole/trace/traces.otf2 {of_run}",
    }.items():
        ran = twolevel("trace", "convert", name, "--trace", "csv", "--out", "x")
        assert (ran.code, ran.out) == (2, ""), name
        assert ran.err.startswith(f"twolevel: {said}"), ran.err
        assert len(ran.err.splitlines()) == 1


def test_a_wide_machine_has_rows_of_cores_on_request(here: Path) -> None:
    (here / "wide.toml").write_text('name = "wide"\n[[hosts]]\ncount = 1001\ncores = 5\nspeed_gflops = 1.0\n')
    words = ("run", "sample", "--select", "first:5", "--als", "gss", "--platform", "wide.toml")
    rows_for = "trace: shows jobs only, since few viewers can open 5,005 rows of cores; "
    ran = twolevel(*words, "--tasks", "--out", "r")
    line = f"{rows_for}add --trace-detail task for all cores, --trace-cores for some"
    assert (ran.code, line in ran.err.splitlines()) == (0, True), ran.err
    ran = twolevel(*words, "--trace-detail", "task", "--out", "all")
    assert (ran.code, "rows" in ran.err) == (0, False), ran.err
    ran = twolevel("trace", "convert", "r", "--trace", "csv,paje", "--out", "c")
    line = f"{rows_for}add --trace-detail task for all cores, trace cut --trace-cores for some"
    assert (ran.code, ran.err.splitlines()) == (0, [line])
    ran = twolevel("trace", "convert", "all", "--trace", "csv", "--out", "d")
    assert (ran.code, ran.err) == (0, "")
    assert (here / "c" / "csv" / "cores.csv").read_bytes() == (here / "d" / "csv" / "cores.csv").read_bytes()
    ran = twolevel("trace", "cut", "r", "--trace-cores", "0-9", "--trace", "paje", "--out", "e")
    assert (ran.code, ran.err) == (0, "")
    for name, there in {"c": False, "e": True}.items():
        assert ("host 1 core 4" in (here / name / "trace.paje").read_text()) == there
    ran = twolevel("trace", "convert", "r", "--out", "otf2")
    locations = json.loads(twolevel("trace", "info", "otf2", "--json").out)["locations"]
    assert len(list((here / "otf2" / "traces").iterdir())) == 2 * locations < 40


def test_a_part_of_a_run_is_the_same_as_it_is_cut_out_later(traced: Path, here: Path) -> None:
    words = ("--als", "gss", "--variation", 0.25, "--select", "first:20", "--trace", "csv")
    part = ("--trace-window", "1h..3h", "--trace-cores", "0-63 100", "--trace-detail", "chunk")
    succeeds("run", "sample", *words, *part, "--out", "r")
    part = ("--trace-window", "1h+2h", "--trace-cores", "0-63 100", "--trace-detail", "chunk", "--trace", "csv")
    ran = twolevel("trace", "cut", traced, *part, "--out", "c")
    assert (ran.code, ran.err, ran.out) == (0, "", "c/csv/cores.csv\n")
    mine, theirs = (rows(here / place / "csv" / "cores.csv") for place in ("c", "r/trace"))
    assert mine == theirs
    assert mine
    hour = 3600 * 10**9
    assert all(hour <= int(row["start_ns"]) <= int(row["end_ns"]) <= 3 * hour for row in mine)
    assert {row["host"] for row in mine} <= {"host 0", "host 1"}


def test_the_same_from_python(traced: Path, here: Path) -> None:
    result = bridge.simulate(sample_path(), als="gss", variation=0.25, select="first:20")
    path = result.write_trace(here / "t", "csv", detail="job", window="1h..", jobs="1-10")
    assert path == here / "t" / "csv" / "cores.csv"
    found = rows(path)
    assert {row["kind"] for row in found} == {"job"}
    assert all(1 <= int(row["job"]) <= 10 for row in found)
    with pytest.raises(
        bridge.InputError if hasattr(bridge, "InputError") else Exception, match="unknown detail 'jobs'"
    ):
        result.write_trace(here / "u", detail="jobs")


def test_info(traced: Path) -> None:
    ran = twolevel("trace", "info", traced)
    assert (ran.code, ran.err) == (0, "")
    shown = dict(line.split("  ", 1) for line in ran.out.splitlines())
    shown = {name: text.strip() for name, text in shown.items()}
    assert shown["jobs"] == "20, 20 attempts, 20 started"
    assert shown["OTF2 region group"] == "gss: 20 regions"
    found = json.loads(twolevel("trace", "info", traced, "--json").out)
    tasks = pd.read_parquet(traced / "tasks.parquet")
    assert found["tasks"] == found["tables"]["tasks.parquet"]["rows"] == len(tasks)
    assert found["traces"].keys() == FILES.keys()
    files = [path for path in (traced / "trace").rglob("*") if path.is_file()]
    assert sum(one["bytes"] for one in found["traces"].values()) == sum(path.stat().st_size for path in files)
    alone = json.loads(twolevel("trace", "info", traced / "trace" / "traces.otf2", "--json").out)
    assert alone == {"archive": str(traced / "trace" / "traces.otf2"), **found["otf2"]}
    folder = json.loads(twolevel("trace", "info", traced / "trace", "--json").out)
    assert folder == alone
    counted = 2 * check_nesting(traced / "trace" / "traces.otf2")
    with reading(traced / "trace" / "traces.otf2") as trace:
        counted += sum(type(event).__name__ == "Metric" for _, event in trace.events)
    assert alone["events"] == counted


def test_a_trace_that_is_not_named_and_none(here: Path) -> None:
    for words, there in (
        (("--trace", "--out", "a"), ["traces.otf2"]),
        (("--out", "b", "--trace"), ["traces.otf2"]),
        (("--trace", "csv", "--trace", "none", "--out", "c"), []),
        (("--trace", "none", "--out", "d"), []),
        (("--trace=chrome", "--out", "e"), ["trace.json"]),
    ):
        folder = here / words[words.index("--out") + 1]
        succeeds("run", "sample", "--select", "first:3", *words)
        assert [file for file in FILES.values() if (folder / "trace" / file).is_file()] == there
        record = json.loads((folder / "run.json").read_text())["arguments"]
        assert [FILES[name] for name in record["trace"]] == there


@pytest.mark.parametrize("command", ["loop --n 40 --cores 4 --als gss", "graph cholesky:tiles=3 --cores 4 --als heft"])
def test_loops_and_graphs_have_every_format(here: Path, command: str) -> None:
    succeeds(*command.split(), "--trace", ",".join(FILES), "--out", "r")
    assert all((here / "r" / "trace" / file).is_file() for file in FILES.values())
    tasks = pd.read_parquet("r/tasks.parquet")
    found = rows(here / "r" / "trace" / FILES["csv"])
    shown = sorted(tasks[["task", "core", "start_ns", "end_ns"]].itertuples(index=False, name=None))
    assert sorted(tuple(int(row[name]) for name in ("task", "core", "start_ns", "end_ns")) for row in found) == shown
    assert json.loads((here / "r" / "run.json").read_text())["arguments"]["trace"] == list(FILES)
    for words, there in (("--trace", ["otf2"]), ("--trace none", False), ("", False)):
        succeeds(*command.split(), *words.split(), "--out", "s", "--force")
        assert json.loads((here / "s" / "run.json").read_text())["arguments"]["trace"] == there
        assert (here / "s" / "trace" / "traces.otf2").is_file() == bool(there)
    ran = twolevel(*command.split(), "--trace", "prefetto", "--out", "x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("twolevel: --trace: unknown trace writer 'prefetto'; known: perfetto, ")
    assert not (here / "x").exists()
    succeeds("trace", "convert", "r", "--trace", ",".join(FILES), "--out", "x")
    for name in set(FILES) - {"otf2"}:  # has random bytes
        assert (here / "x" / FILES[name]).read_bytes() == (here / "r" / "trace" / FILES[name]).read_bytes()
    Path("r/tasks.parquet").unlink()
    ran = twolevel("trace", "convert", "r", "--out", "y")
    assert (ran.code, ran.err) == (2, "twolevel: r has no jobs.parquet: it is not a result of twolevel run\n")
