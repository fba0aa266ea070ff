"""Cases of the benchmark that write traces, and that open the timeline of a report in a browser."""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bls import HostGroup, Platform, Workload
from bridge import ReadyScenario, Scenario, run
from tools.bench.commands import command, given
from tools.bench.rows import Found, Missing, scratch, timed
from traces.exporters import exporter
from traces.ledger import Ledger
from traces.timeline import folder_tables, timeline_text

#: For each format: the beginning of a slice or an event of a task in its files, the slices per job on lanes in addition to
#: those of tasks, and the events per task. For OTF2 only the number of tasks is known here.
_FORMATS = {
    "otf2": (None, 0, 2),
    "perfetto": (rb"\x50\x01\x68\x02\x5a[\s\S]{3}\x01", 2, 1),
    "paje": (rb"(?m)^10 ", 0, 2),
    "chrome": (rb'(?m)^\{"ph":"X"', 2, 1),
    "csv": (rb"(?m)^\d", 0, 1),
}


@cache
def _ledger(tasks: int) -> Ledger:
    jobs = Workload.from_jobs([(k + 1, k, 60, 256, 60) for k in range(400)])
    options = Scenario.flat(als="ss", variation=0.25, tasks_per_core=max(1, tasks // (256 * 400)), seed=1)
    return run(ReadyScenario.of(jobs, Platform(), options)).ledger


def trace(name: str, tasks: int = 1_000_000) -> Found:
    """Million events per second of a trace with attributes on 256 cores."""
    begin, spans, events = _FORMATS[name]
    ledger = _ledger(tasks)
    assert ledger.tasks is not None
    n = len(ledger.tasks)
    with TemporaryDirectory() as folder:
        took, path = timed(lambda: exporter(name)(ledger, Path(folder) / "trace"))
        if begin:
            assert len(re.findall(begin, path.read_bytes())) == n + spans * len(ledger.jobs), name
        size = sum(file.stat().st_size for file in (Path(folder) / "trace").rglob("*") if file.is_file())
    assert size > 10 * n
    return Found((1e-6 * events * n / took,), f"{size / n:.0f} bytes per task")


#: Moves the timeline at every picture, and returns the pictures per second.
_MOVED = """(pictures) => new Promise((done) => {
  const stage = document.querySelector(".timeline-stage"), times = [];
  const moved = (now) => {
    if (times.push(now) > pictures) return done((1000 * pictures) / (now - times[0]));
    const init = { clientX: 640, clientY: 450, deltaX: times.length % 60 < 30 ? 9 : -9, bubbles: true, cancelable: true };
    stage.dispatchEvent(new WheelEvent("wheel", init));
    requestAnimationFrame(moved);
  };
  requestAnimationFrame(moved);
})"""


@cache
def timeline(tasks_per_core: int = 83) -> dict[str, Found]:
    """Seconds to pack a timeline and to open its report, MB of the timeline, pictures per second while it is moved."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise Missing("playwright is not installed") from None
    if (chromium := shutil.which("chromium")) is None:
        raise Missing("there is no chromium")
    folder, machine = scratch() / "run", Platform(hosts=(HostGroup(count=16, cores=64, speed_gflops=3000.0),))
    words = (
        "--als",
        "fac",
        "--variation",
        "0.25",
        "--tasks-per-core",
        str(tasks_per_core),
        "--tasks",
        "--trace",
        "none",
    )
    command("run", "sample", "--platform", given(machine), *words, "--out", str(folder))
    command("report", str(folder), "-o", str(folder / "report.html"))
    made = folder_tables(folder, json.loads((folder / "run.json").read_text()))
    assert made.tasks is not None
    packed_s, text = timed(lambda: timeline_text(made))
    job = made.jobs.iloc[len(made.jobs) // 2]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)

        def shown() -> None:
            page.goto((folder / "report.html").as_uri())
            page.wait_for_selector(".timeline-stage")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

        opened_s, _ = timed(shown)
        fps = page.evaluate(_MOVED, 120)
        page.locator(".timeline").get_by_role("searchbox").fill(str(job["job_id"]))
        page.keyboard.press("Enter")
        words_shown = page.locator(".timeline-job").inner_text()
        assert f"{job['tasks']} in {job['chunks']} chunks" in words_shown, words_shown
        browser.close()
    return {
        "packed": Found((packed_s,), f"{len(made.tasks):,} tasks"),
        "size": Found((len(text) / 1e6,)),
        "opened": Found((opened_s,), "the whole report page"),
        "moved": Found((fps,)),
    }
