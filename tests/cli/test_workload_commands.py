"""``twolevel workload``: what each command writes, what it says, and what becomes of a file that is there already."""

import csv
import gzip
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest
from command_line import everything_in, succeeds, twolevel
from tables import table_rows

from bls import Workload, sample_path
from bls.workloads import read_workload
from bls.workloads.archive import find_log
from bls.workloads.merge import merge
from bls.workloads.reshape import cut, filter_jobs, scale
from bls.workloads.writers.swf import write_swf
from bridge.runs.directory import check_file, fresh_file
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.exporters.batsim_jobs import COLUMNS

HOUR = 3600 * NS_PER_S


def text_of(workload: Workload) -> bytes:
    file = io.BytesIO()
    write_swf(workload, file)
    return file.getvalue()


@pytest.fixture(scope="module")
def sample() -> Workload:
    return read_workload(sample_path())


def test_what_is_written_is_what_python_makes(here: Path, sample: Workload) -> None:
    window = cut(sample, "window:6h+4h")
    for words, expected in [
        (("cut", "sample", "--select", "window:6h+4h"), window),
        (("cut", "sample"), cut(sample, "all")),
        (("scale", "sample", "--load", 1.2, "--speed", 2, "--cores", 0.5), scale(sample, load=1.2, speed=2, cores=0.5)),
        (
            ("filter", "sample", "--users", "1-3,7", "--cores", "8-", "--run", "10m-2h", "--status", "completed"),
            filter_jobs(sample, users=[1, 2, 3, 7], cores=(8, None), run=(HOUR // 6, 2 * HOUR), status=[1]),
        ),
        (
            ("merge", "sample", sample_path(), "--align", "start", "--numbers", "apart"),
            merge([sample, sample], align="start", numbers="apart"),
        ),
    ]:
        ran = twolevel("workload", *words, "-o", "made/x.swf", "--force")
        assert (ran.code, ran.out) == (0, "made/x.swf\n"), ran.err
        read = f"{expected.n_lines} lines read"
        assert ran.err == f"workload: {len(expected)} jobs written of {read}\n"
        assert (here / "made" / "x.swf").read_bytes() == text_of(expected), words
        assert everything_in(here).keys() == {"made", "made/x.swf"}
    assert len(read_workload(here / "made" / "x.swf")) == 640


def test_a_workload_is_converted_to_a_table_and_back(here: Path, sample: Workload) -> None:
    (here / "log.gwf").write_text(
        "1\t100\t5\t60\t4\t-1\t-1\t8\t120\t-1\t1\tann\tg1\tapp\tq\tp\ts\ts\tU" + "\t-1" * 10 + "\n"
    )
    for name in ("t.parquet", "t.csv", "t.csv.gz"):
        ran = twolevel("workload", "convert", "log.gwf", "-o", name)
        assert (ran.code, ran.out, ran.err) == (0, f"{name}\n", "workload: 1 jobs written of 1 lines read\n")
        assert read_workload(name).labels["user"] == {1: "ann"}
        ran = twolevel("workload", "convert", name, "-o", "back.swf", "--force")
        lost = "user, group, queue, partition, orig_site, run_site"
        assert f"not written, as SWF has no field for it: names of {lost}; their numbers are\n" in ran.err
        assert "not written, as SWF has no field for it: names of jobs, project" in ran.err
    twolevel("workload", "convert", "sample", "-o", "sample.parquet")
    twolevel("workload", "convert", "sample.parquet", "-o", "sample.swf")
    assert (here / "sample.swf").read_bytes() == text_of(sample)
    ran = twolevel("workload", "convert", "sample", "-o", "sample.xlsx")
    endings = ".swf or .swf.gz or .csv or .csv.gz or .parquet"
    assert ran.err == f"twolevel: -o: 'sample.xlsx'; allowed: a name that ends in {endings}\n"


def test_names_of_columns_that_swf_lacks_are_not_said_to_have_numbers(here: Path) -> None:
    (here / "t.csv").write_text("at,who,a,b,c,d\n1,ann,2,3,4,x\n")
    extras = "a = 'a'\nb = 'b'\nc = 'c'\nd = { column = 'd', kind = 'label' }\n"
    columns = "submit = 'at'\nrun = 'at'\ncores = 1\nuser = 'who'\n"
    (here / "m.toml").write_text(f"file = 't.csv'\n[columns]\n{columns}[extras]\n{extras}")
    ran = twolevel("workload", "convert", "m.toml", "-o", "t.swf")
    assert "not written, as SWF has no field for it: names of user; their numbers are\n" in ran.err
    assert ran.err.endswith("not written, as SWF has no field for it: d\n")


def test_a_first_map_is_printed_and_used(here: Path) -> None:
    rows = "".join(f"{k},2024-01-01 00:{k:02}:00,{k + 1},{k % 4 + 1}\n" for k in range(60))
    (here / "jobs.csv").write_text("nr,submitted,runtime_min,cpus\n" + rows)
    ran = twolevel("workload", "columns", "jobs.csv")
    assert ran.code == 0
    (here / "my.toml").write_text(ran.out)
    assert "#   nr: " in ran.out
    ran = succeeds("workload", "info", "my.toml")
    assert "60" in ran.out
    # The same with the map as the format, and a run whose jobs are read as they are submitted.
    (here / "plain.toml").write_text(ran_map := (here / "my.toml").read_text().replace('file = "jobs.csv"\n', ""))
    assert "file" not in ran_map.split("[columns]")[1]
    assert "60" in succeeds("workload", "info", "jobs.csv", "--format", "table:plain.toml").out
    whole = succeeds("run", "my.toml", "--als", "recorded", "--trace", "none", "--out", "whole")
    streamed = succeeds("run", "my.toml", "--als", "recorded", "--trace", "none", "--stream", "--out", "streamed")
    assert whole.out.splitlines()[:5] == streamed.out.splitlines()[:5]
    left, right = (pd.read_parquet(here / name / "jobs.parquet") for name in ("whole", "streamed"))
    assert left["start_ns"].tolist() == right.sort_values("job_id")["start_ns"].tolist()
    ran = twolevel("run", "jobs.csv", "--out", "none")
    assert ran.code == 2
    assert "no map of columns recognises this table with nr, submitted, runtime_min, cpus; known maps: " in ran.err


def test_jobs_that_never_started_and_rejected_lines(here: Path) -> None:
    lines = ("1 0 5 60 1 -1 -1 1 60 -1 1", "2 0 5 -1 1 -1 -1 1 60 -1 5", "3 0 5 half", "4 9 0 60 4 -1 -1 4 60 -1 1")
    (here / "log.swf").write_text("".join(f"{line}{' -1' * 7}\n" for line in lines))
    ran = twolevel("workload", "cut", "log.swf", "-o", "a.swf")
    said = "workload: 2 jobs written of 4 lines read; rejected: malformed 1 (line 3: field 4, 'half'), no run time 1\n"
    assert ran.err == said
    ran = twolevel("workload", "cut", "log.swf", "-o", "b.swf", "--cancelled")
    assert ran.err == "workload: 3 jobs written of 4 lines read; rejected: malformed 1 (line 3: field 4, 'half')\n"
    assert read_workload("b.swf", cancelled=True).run_unknown.tolist() == [False, True, False]


@pytest.mark.parametrize(("select", "left_out"), table_rows(__file__, "a_cut_says_which_jobs_are_left_out"))
def test_a_cut_says_which_jobs_are_left_out(here: Path, select: str, left_out: str | None) -> None:
    jobs = ((0, 0, 60), (1, 59, 60), (2, 118, 9), (50, 100, 1), (51, 100, 1), (52, 100, 1), (70, 100, 1))
    lines = (f"{n} {at} {wait} {run} 1 -1 -1 1 60 -1 1{' -1' * 7}\n" for n, (at, wait, run) in enumerate(jobs, 1))
    (here / "log.swf").write_text("".join(lines))
    ran = twolevel("workload", "cut", "log.swf", "--select", select, "-o", "a.swf")
    words = f"window: written without the {left_out} jobs of the log"
    assert ran.err.splitlines()[1:] == ([words] if left_out else [])


def test_what_swf_cannot_say_is_said(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_qos = Workload.from_jobs([{"job_id": 1, "submit_s": 0, "run_s": 1, "cores": 1, "qos": 3}])
    monkeypatch.setattr("bridge.cli.workload_files.read_workload", lambda *_, **__: with_qos)
    ran = twolevel("workload", "cut", "sample", "-o", "x.swf")
    assert ran.err.splitlines()[1:] == ["not written, as SWF has no field for it: QOS"]


# ---- files


def test_a_file_is_replaced_only_on_request(here: Path) -> None:
    words = ("workload", "scale", "sample", "--load", 2, "-o", "x.swf.gz")
    succeeds(*words)
    before = (here / "x.swf.gz").read_bytes()
    assert len(gzip.decompress(before)) > len(before)
    ran = twolevel(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "twolevel: -o: x.swf.gz exists; choose another name, or replace it with --force\n"
    succeeds(*words, "--force")
    assert (here / "x.swf.gz").read_bytes() == before
    assert everything_in(here).keys() == {"x.swf.gz"}


def test_a_name_that_somebody_takes_meanwhile_is_not_taken_from_them(here: Path) -> None:
    target = here / "x.swf"

    def both() -> None:
        with fresh_file(target, force=False) as partial:
            partial.write_text("ours")
            target.write_text("theirs")

    with pytest.raises(InputError, match="exists; choose another name"):
        both()
    assert target.read_text() == "theirs"
    assert everything_in(here).keys() == {"x.swf"}


@pytest.mark.parametrize(("name", "said"), table_rows(__file__, "a_file_that_cannot_be_made_is_one_line"))
def test_a_file_that_cannot_be_made_is_one_line(here: Path, name: str, said: str) -> None:
    (here / "folder").mkdir()
    (here / "file").touch()
    with pytest.raises(InputError, match=said):
        check_file(Path(name), force=True)


# ---- a finished run


def test_a_run_as_batsims_file(here: Path, result: Path) -> None:
    before = everything_in(result)
    ran = twolevel("workload", "export", result, "--trace", "batsim", "-o", "jobs.csv")
    assert (ran.code, ran.out, ran.err) == (0, "jobs.csv\n", "20 rows of jobs.parquet exported\n")
    rows = list(csv.DictReader(io.StringIO((here / "jobs.csv").read_text())))
    assert [tuple(row) for row in rows] == [COLUMNS] * 20
    jobs = pd.read_parquet(result / "jobs.parquet")
    assert [int(row["job_id"]) for row in rows] == jobs["job_id"].tolist()
    assert [row["allocated_resources"] for row in rows] == jobs["allocation"].tolist()
    assert {row["profile"] for row in rows} == {"application"}
    assert everything_in(result) == before
    assert everything_in(here).keys() == {"jobs.csv"}


def test_a_run_as_a_log_again(here: Path, result: Path, sample: Workload) -> None:
    ran = twolevel("workload", "export", result, "-o", "run.swf.gz", "--workload", "sample")
    assert (ran.code, ran.out) == (0, "run.swf.gz\n"), ran.err
    made = read_workload(here / "run.swf.gz")
    jobs = pd.read_parquet(result / "jobs.parquet")
    assert made.job_id.tolist() == jobs["job_id"].tolist()
    assert made.submit_ns.tolist() == jobs["submit_ns"].tolist()
    assert made.run_ns.tolist() == (jobs["end_ns"] - jobs["start_ns"]).tolist()
    assert made.wait_ns.tolist() == (jobs["start_ns"] - jobs["submit_ns"]).tolist()
    assert made.user.tolist() == sample.user[:20].tolist()
    # It can be simulated: every job takes as long as it did.
    succeeds("run", "run.swf.gz", "--als", "recorded", "--trace", "none", "--out", "again")
    again = pd.read_parquet(here / "again" / "jobs.parquet")
    assert (again["end_ns"] - again["start_ns"]).tolist() == made.run_ns.tolist()


def test_what_is_no_run_is_one_line(here: Path, result: Path) -> None:
    (here / "other.swf").write_text("77777 0 1 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n")
    (here / "bad").mkdir()
    (here / "bad" / "run.json").write_text((result / "run.json").read_text())
    for words, said in [
        ((result, "--workload", "other.swf"), "of the run is not in other.swf"),
        ((result, "--trace", "batsim", "--workload", "sample"), "--workload: the form batsim has no place"),
        (("bad",), "jobs.parquet: no such file"),
    ]:
        name = "x.csv" if "batsim" in words else "x.swf"
        ran = twolevel("workload", "export", *words, "-o", name)
        assert (ran.code, ran.out) == (2, "")
        assert said in ran.err
    assert everything_in(here).keys() == {"other.swf", "bad", "bad/run.json"}


# ---- info, generate, fetch: what they call is tested elsewhere


@pytest.mark.usefixtures("rendered")
def test_info_draws(here: Path) -> None:
    ran = twolevel("workload", "info", "sample", "--plot", "log.png", "--json")
    assert (ran.code, ran.err) == (0, "figure: log.png\n")
    assert json.loads(ran.out)["jobs"] == 320
    assert (here / "log.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("header", "cores"), [("; MaxProcs: 1000\n", 1000), ("", 600), ("; MaxProcs: 8\n", 600)])
def test_info_without_a_platform_is_of_the_log_s_own_machine(here: Path, header: str, cores: int) -> None:
    jobs = "".join(f"{k} {k * 100} 0 100 {width} -1 -1 {width} 100{' -1' * 9}\n" for k, width in ((0, 600), (1, 400)))
    (here / "log.swf").write_text(header + jobs)
    shown = json.loads(twolevel("workload", "info", "log.swf", "--json").out)
    assert (shown["jobs"], shown["platform_cores"], shown["load"]) == (2, cores, pytest.approx(1000 / cores))
    assert ("the log's" in shown["platform"]) == (cores == 1000)
    (here / "small.toml").write_text("[[hosts]]\ncount = 1\ncores = 500\nspeed_gflops = 1\n")
    shown = json.loads(twolevel("workload", "info", "log.swf", "--platform", "small.toml", "--json").out)
    assert (shown["jobs"], shown["platform_cores"]) == (1, 500)


def test_jobs_like_those_of_a_log(here: Path) -> None:
    words = ("workload", "generate", "--like", "sample", "-n", 300, "--seed", 5, "-o", "made.swf")
    ran = succeeds(*words, "--plot", "made.svg", "--limit", "cores=1-8", "--gpus", "0.5:2:900")
    assert ran.out.splitlines()[0].split()[:6] == ["distance", "to", "the", "source", "KS", "between"]
    assert all(line.split()[-1] == "-" for line in ran.out.splitlines()[1:])  # too short to be halved
    assert "made with seed 5: made.swf" in ran.err
    made = read_workload("made.swf")
    assert len(made) == 300
    assert list(made.extras) == ["unit_cores", "gpu"]
    assert (here / "made.svg").is_file()
    first = (here / "made.swf").read_bytes()
    succeeds(*words, "--limit", "cores=1-8", "--gpus", "0.5:2:900", "--force")
    assert (here / "made.swf").read_bytes() == first


def test_jobs_of_a_model(here: Path) -> None:
    ran = twolevel("workload", "generate", "--like", "lublin", "-n", 200, "-o", "made.swf.gz")
    assert (ran.code, ran.out) == (0, ""), "there is no source to be far from"
    assert len(read_workload("made.swf.gz")) == 200


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if not self.path.endswith(find_log("lcg").path):
            self.send_error(404)
            return
        data = gzip.compress(sample_path().read_bytes())
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def archive() -> Iterator[str]:
    """The address of an archive that has one log."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/logs"
        server.shutdown()
        thread.join()


def test_a_log_is_fetched(here: Path, archive: str) -> None:
    ran = twolevel("workload", "fetch", "lcg", "--base-url", archive)
    assert (ran.code, ran.out) == (0, f"{find_log('lcg').file}\n"), ran.err
    assert "Cite:" in ran.err
    assert len(read_workload(here / find_log("lcg").file)) == 320
    ran = twolevel("workload", "fetch", "curie", "--base-url", archive, "-o", "x.swf.gz")
    assert (ran.code, ran.out) == (1, "")
    assert "404" in ran.err
    assert everything_in(here).keys() == {find_log("lcg").file}


def test_the_logs_that_can_be_fetched(here: Path) -> None:
    ran = twolevel("workload", "fetch")
    assert (ran.code, ran.err) == (0, "")
    names = [line.split()[0] for line in ran.out.splitlines()[1:]]
    assert {"curie", "kth", "nasa"} <= set(names)
    assert [log["name"] for log in json.loads(twolevel("workload", "fetch", "--json").out)] == names


def test_generated_jobs_ask_for_gpus(here: Path) -> None:
    words = ("workload", "generate", "--like", "sample", "-n", 120, "--gpus", "0.5:2:900")
    succeeds(*words, "--requests", "asked.csv", "-o", "made.swf")
    lines = (here / "asked.csv").read_text().splitlines()
    assert lines[0] == "job_id,unit_cores,gpu"
    asked = {int(a): (int(unit), int(gpu)) for a, unit, gpu in (line.split(",") for line in lines[1:])}
    made = read_workload("made.swf")
    assert {name: column.tolist() for name, column in made.extras.items()} == {
        "unit_cores": [asked[job][0] for job in made.job_id.tolist()],
        "gpu": [asked[job][1] for job in made.job_id.tolist()],
    }
    assert {gpu for _, gpu in asked.values()} == {0, 1, 2}
    ran = twolevel(*words[:-2], "--requests", "x.csv", "-o", "x.swf")
    assert (ran.code, ran.err) == (
        2,
        "twolevel: --requests: needs --gpus; without them jobs request nothing but cores\n",
    )
