"""Small results of each kind, with names in them that would like to be more than text; and pages opened in a browser."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page
from tables import table_text

import bridge
from bls import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.compare.page import page_of_two
from bridge.replay.report.page import replay_page
from bridge.runs.page import run_page
from bridge.runs.record import write_run
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.page import study_page
from bridge.studies.run_study import run_study

KINDS = ("run", "study", "comparison", "replay")

#: How jobs are called, in turn.
NAMES = (
    "<script>document.title='taken'</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"quoted\" & 'so'",
    "",
    "plain",
)

STUDY = table_text(__file__, "study")

_N = 60


class Made(NamedTuple):
    """Where results are, and the page of each kind: ``KIND.html``."""

    folder: Path

    def page(self, kind: str) -> Path:
        """The file of a page."""
        return self.folder / f"{kind}.html"


def workload() -> Workload:
    """Sixty jobs of all sizes, of which some wait for days."""
    jobs = Workload.from_jobs(
        [
            {"job_id": 100 + k, "submit_s": 40 * k, "run_s": 30 + 977 * k % 7000, "cores": 1 + k % 4}
            | {"estimate_s": 9000, "name": NAMES[k % 5] or None}
            for k in range(_N)
        ]
    )
    return replace(jobs, source=Path("<i>log.swf"))


def _run(folder: Path, bls: str, backfill: str) -> Path:
    result = bridge.simulate(
        workload(), Platform((HostGroup(2, 4, 4.0),)), bls=bls, backfill=backfill, als="gss", keep_tasks=True
    )
    folder.mkdir()
    arguments = {"workload": "<i>log.swf", "tasks_table": True, "trace": False}
    write_run(result, folder, arguments, tasks=True, trace=False)
    return folder


def make_results(folder: Path) -> Made:
    """Make all of them."""
    made = Made(folder)
    first, second = (_run(folder / f"{bls} <u>", bls, "easy") for bls in ("fcfs", "sjf"))
    run_page(first).save(made.page("run"))
    page_of_two(first, second).save(made.page("comparison"))
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    run_study(load_study(folder / "study.toml"), folder / "study", lambda needs: Here())
    study_page(folder / "study").save(made.page("study"))
    _make_replay(first, folder / "replay")
    replay_page(folder / "replay").save(made.page("replay"))
    return made


def _make_replay(run: Path, folder: Path) -> None:
    # As twolevel replay writes it: a run with an account of Slurm and a report.
    shutil.copytree(run, folder)
    record: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    keys = {"SchedulerType": "sched/backfill"}
    record["replay"] = {"release": "22.05.8", "simulated_s": 7200.0, "replay_s": 2.0, "jumps": 3, "keys": keys}
    record["replay"]["replaced"] = ["<SlurmUser>: nobody"]
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (folder / "report").mkdir()
    lines = ["side,repeat,jobs,makespan_ns,mean_slowdown", "Slurm,0,60,7200000000000,1.5", "fcfs+easy,0,60,60,2"]
    (folder / "report" / "measures.csv").write_text("\n".join(lines), encoding="utf-8")


@contextmanager
def opened(browser: Browser, file: Path, ready: str = "html[data-ready]", **context: Any) -> Iterator[Page]:
    """A page in a browser: nothing but the file itself is asked for, and nothing is said on the console."""
    world = browser.new_context(**{"reduced_motion": "reduce", **context})  # scrolls at once
    page = world.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(file.as_uri())
        page.wait_for_selector(ready)
        yield page
        assert said == []
        assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {file.as_uri()}
    finally:
        world.close()
