"""``twolevel story``: what happened to one job of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import twolevel

import bridge
from bls import Rules, sample_path
from traces import InputError
from traces.tables import read_jobs, read_rows

OPTIONS = ("run", "sample", "--als", "gss", "--variation", "0.25", "--backfill", "easy", "--no-trace")


def test_the_story_of_jobs(here: Path) -> None:
    assert twolevel(*OPTIONS, "--decisions", "--out", "r").code == 0
    assert twolevel("story", "r", "1").out.splitlines() == [
        "job 1",
        "  0:05:23  submitted: asks for 1 core for 30 min 00 s",
        "  0:05:23  eligible: 256 of 256 cores are free, 0 jobs that came before it wait",
        "  0:05:23  started in its turn: in that pass no job before it in the order had to wait; scheduling pass 0 "
        "starts 1 of 1 waiting job; on core 0",
        "  0:32:15  completed, after 26 min 52 s; 1 task in 1 chunk, imbalance 0",
    ]
    lines = twolevel("story", "r", "100").out.splitlines()
    assert (
        "waited 12 h 08 min: 256 cores asked for, 12 free as it became eligible; 163 jobs that came later" in lines[3]
    )
    assert "23:08:20.368035011  started in its turn, after it had been given a reservation" in lines[4]
    assert "job 227 gives back 100 cores at this instant" in lines[4]
    result = bridge.simulate(
        sample_path(), als="gss", variation=0.25, rules=Rules(backfill="easy", keep_decisions=True), keep_tasks=False
    )
    assert result.story(100) + "\n" == twolevel("story", "r", "100").out


def test_a_job_that_is_not_there_and_results_that_are_none(here: Path) -> None:
    assert twolevel(*OPTIONS, "--select", "first:9", "--out", "r").code == 0
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


NAMES = """JobID|JobName|QOS|NCPUS|Submit|Start|End|ElapsedRaw|State
7|relax|high|8|1700000000|1700000000|1700003600|3600|COMPLETED
8||high|8|1700000000|1700003600|1700007200|3600|COMPLETED
"""

SACCT = """JobID|User|NCPUS|Submit|Start|End|ElapsedRaw|Timelimit|State
900_1|ann|8|1700000000|1700000000|1700003600|3600|02:00:00|COMPLETED
900_2|ann|8|1700000000|1700003600|1700007200|3600|02:00:00|COMPLETED
9002|bob|4|1700000060|1700007200|1700007800|600|00:30:00|COMPLETED
"""

BATSIM = """{"nb_res": 4, "profiles": {"d": {"type": "delay", "delay": 10}}, "jobs": [
 {"id": "a!7", "subtime": 0, "res": 3, "profile": "d"}, {"id": "b!7", "subtime": 1, "res": 2, "profile": "d"}]}"""


def test_jobs_have_the_names_of_slurm(here: Path) -> None:
    Path("log.sacct").write_text(SACCT, encoding="utf-8")
    assert twolevel("run", "log.sacct", "--als", "recorded", "--no-trace", "--out", "r").code == 0
    lines = twolevel("story", "r", "900_2").out.splitlines()
    assert lines[0] == "job 9000000000002 (900_2)"
    assert lines[-1].endswith("completed, after 60 min 00 s")
    assert twolevel("story", "r", "9002").out.startswith("job 9002\n")
    assert "chain of job 9000000000002 in B" in twolevel("compare", "r", "r", "--job", "900_2").out
    for words in ("story r 900_3", "story r 901+0", "compare r r --job 900_3", "trace cut r --jobs 900_3 --out x"):
        ran = twolevel(*words.split())
        assert (ran.code, ran.out) == (2, ""), words
        assert words.split()[-1 if words.startswith(("story", "compare")) else 4] in ran.err
    ran = twolevel("trace", "cut", "r", "--jobs", "900_2", "--cores", "200-255", "--out", "x")
    assert (ran.code, ran.err) == (2, "twolevel: --jobs: no such job held one of these cores: 900_2\n")
    assert twolevel("trace", "cut", "r", "--jobs", "900_[1-2]", "--format", "csv", "--out", "part").code == 0
    held = Path("part/csv/jobs.csv").read_text(encoding="utf-8")
    assert "9000000000001" in held
    assert ",9002," not in held


@pytest.mark.parametrize(
    ("log", "words", "lost"),
    [(NAMES, (), "names of jobs"), (NAMES, ("--workload", "log.sacct"), "QOS, names of jobs"), (SACCT, (), None)],
)
def test_what_a_log_of_slurm_loses_as_swf(here: Path, log: str, words: tuple[str, ...], lost: str | None) -> None:
    Path("log.sacct").write_text(log, encoding="utf-8")
    assert twolevel("run", "log.sacct", "--als", "recorded", "--no-trace", "--out", "r").code == 0
    ran = twolevel("workload", "export", "r", *words, "-o", "x.swf")
    said = [line.partition(": ")[2] for line in ran.err.splitlines() if line.startswith("not written, as SWF")]
    assert (ran.code, said) == (0, [lost] if lost else [])


def test_jobs_have_the_ids_of_their_log(here: Path) -> None:
    Path("w.json").write_text(BATSIM, encoding="utf-8")
    assert twolevel("run", "w.json", "--als", "recorded", "--no-trace", "--out", "r").code == 0
    assert read_jobs(Path("r/jobs.parquet"))["name"].tolist() == ["a!7", "b!7"]
    assert twolevel("story", "r", "b!7").out.startswith("job 2 (b!7)\n")
    assert "chain of job 2 (b!7) in B" in twolevel("compare", "r", "r", "--job", "b!7", "--out", "c").out
    assert read_rows(Path("c/delays.parquet"), ("name",))["name"].tolist() == ["a!7", "b!7"]
    assert twolevel("workload", "export", "r", "--format", "batsim", "-o", "jobs.csv").code == 0
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
    assert twolevel("workload", "merge", "w.json", "--align", "start", "-o", "w.swf").code == 0
    assert twolevel("run", "w.swf", "--als", "recorded", "--no-trace", "--stream", "--out", "r").code == 0
    assert twolevel("story", "r", "b!7").out.startswith("job 2 (b!7)\n")
    assert twolevel("trace", "convert", "r", "--format", "swf", "--out", "again").code == 0
    assert "\n; Job: 2 b!7\n" in Path("again/jobs.swf").read_text(encoding="utf-8")


def test_parts_of_a_stored_run_have_the_ids_of_jobs(here: Path) -> None:
    """Tasks are read back from the OTF2 trace, whose regions have the names, too."""
    Path("w.json").write_text(BATSIM, encoding="utf-8")
    assert twolevel("run", "w.json", "--als", "ss", "--trace", "otf2,chrome,csv,text,paje", "--out", "r").code == 0
    assert twolevel("trace", "convert", "r", "--format", "chrome,csv,text,paje", "--out", "again").code == 0
    for name in ("trace.json", "csv/cores.csv", "csv/jobs.csv", "text/batch.txt", "trace.paje"):
        whole = Path("r/trace", name).read_text(encoding="utf-8")
        assert whole == Path("again", name).read_text(encoding="utf-8"), name
    assert twolevel("trace", "cut", "r", "--jobs", "b!7", "--format", "chrome,csv", "--out", "part").code == 0
    assert '"name":"job 2 b!7"' in Path("part/trace.json").read_text(encoding="utf-8")
    assert {line.split(",")[-1] for line in Path("part/csv/jobs.csv").read_text(encoding="utf-8").splitlines()} == {
        *("name", "b!7")
    }
