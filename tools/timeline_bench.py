"""How large a timeline may be: tables of millions of tasks are packed, and the page is opened and moved in a real browser.

``python -m tools.timeline_bench`` makes tables of 1,000,000 tasks (``--tasks``), as a loop scheduler would leave them, and
says how long it takes to pack them, how large the page is, how long it takes to open, and how many pictures a second there
are while it is moved and zoomed; of each also the processor time, which does not depend on what else runs. It asserts what
the page says of a job, and with ``--check`` that it keeps within what is promised of 1,000,000.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tools.build_page import ASSETS
from traces.timeline import TimelineTables, timeline_text

#: What is promised of a million tasks on two processors: s, bytes, s, pictures a second.
WRITTEN_S, PAGE_BYTES, OPEN_S, FRAMES = 5.0, 30e6, 3.0, 30.0

_NS = 10**9


def tables(n_tasks: int, n_cores: int, seed: int = 1) -> TimelineTables:
    """Jobs that run one after the other, each on a part of the cores, with chunks of four tasks that follow each other."""
    random = np.random.default_rng(seed)
    per_job = 2_000
    n_jobs = max(1, n_tasks // per_job)
    width = np.full(n_jobs, min(64, n_cores))
    slots = n_cores // int(width[0])
    slot = np.arange(n_jobs) % slots
    count = np.full(n_jobs, n_tasks // n_jobs)
    count[-1] += n_tasks - int(count.sum())
    job = np.repeat(np.arange(n_jobs), count)
    number = np.arange(n_tasks) - np.repeat(np.cumsum(count) - count, count)
    chunk = number // 4
    lane = chunk % width[job]
    core = slot[job] * width[job] + lane
    length = random.gamma(4.0, 5.0, n_tasks)
    run = (length * _NS).astype(np.int64) + 1
    # Tasks of a core one after the other: by core, then by job, then by number.
    order = np.lexsort((number, job, core))
    overhead = np.where(number[order] % 4 == 0, 1_000_000, 0)
    ends = np.cumsum(run[order] + overhead)
    first = np.flatnonzero(np.diff(core[order], prepend=-1))
    before = np.repeat(np.concatenate([[0], ends[first[1:] - 1]]), np.diff(np.append(first, n_tasks)))
    end = np.empty(n_tasks, np.int64)
    end[order] = ends - before
    start = end - run
    begins = np.full(n_jobs, np.iinfo(np.int64).max)
    np.minimum.at(begins, job, start)
    stops = np.zeros(n_jobs, np.int64)
    np.maximum.at(stops, job, end)
    jobs = pd.DataFrame(
        {
            "job_id": np.arange(1, n_jobs + 1),
            "attempt": np.zeros(n_jobs, np.int64),
            "submit_ns": np.sort(np.maximum(0, begins - random.integers(0, 3600, n_jobs) * _NS)),
            "start_ns": begins,
            "end_ns": stops,
            "cores": width,
            "held_cores": width,
            "tasks": count,
            "chunks": -(-count // 4),
            "allocation": [f"{lo}-{lo + width[0] - 1}" for lo in (slot * width[0]).tolist()],
            "imbalance": random.random(n_jobs) / 2,
            "why": "head",
            "state": "completed",
        }
    )
    jobs["submit_ns"] = np.minimum(jobs["submit_ns"], jobs["start_ns"])
    jobs["eligible_ns"] = jobs["submit_ns"]
    tasks = pd.DataFrame(
        {
            "job_id": jobs["job_id"].to_numpy()[job],
            "task": number,
            "chunk": chunk.astype(np.int32),
            "core": core.astype(np.int32),
            "start_ns": start,
            "end_ns": end,
            "length_gflop": length,
        }
    )
    first_core = np.arange(0, n_cores + 1, 64)
    return TimelineTables(
        jobs=jobs,
        tasks=tasks,
        first_core=first_core,
        host_names=[f"n{host}" for host in range(len(first_core) - 1)],
        technique="fac",
    )


def page_of(text: str) -> str:
    """A page with nothing but the timeline, under the policy that reports have."""
    script, style = ((ASSETS / name).read_text() for name in ("page.js", "page.css"))
    allowed = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (script, style)]
    policy = (
        f"default-src 'none'; script-src 'sha256-{allowed[0]}'; style-src 'sha256-{allowed[1]}'; img-src data: blob:"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>timeline</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style></head><body>'
        '<div class="timeline" data-timeline="one"></div>'
        f'<script type="application/x-twolevel-columns" id="one">{text}</script><script>{script}</script></body></html>'
    )


#: Moves the timeline at every picture, and gives the times between pictures, ms.
_MOVED = """async ([kind, pictures]) => {
  const stage = document.querySelector(".timeline-stage");
  const { left, top, width, height } = stage.getBoundingClientRect();
  const at = { clientX: left + width / 2, clientY: top + height - 100, pointerId: 1, bubbles: true, cancelable: true };
  const next = () => new Promise((done) => requestAnimationFrame(done));
  if (kind === "pan") { stage.setPointerCapture = () => {}; stage.dispatchEvent(new PointerEvent("pointerdown", at)); }
  const times = [await next()];
  for (let picture = 0; picture < pictures; picture++) {
    const back = Math.floor(picture / 30) % 2 ? -1 : 1;
    if (kind === "pan") {
      at.clientX += 9 * back;
      stage.dispatchEvent(new PointerEvent("pointermove", at));
    } else stage.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: -40 * back }));
    times.push(await next());
  }
  if (kind === "pan") stage.dispatchEvent(new PointerEvent("pointerup", at));
  return times.slice(1).map((time, at) => time - times[at]);
}"""


def _processor_s(root: int) -> float:
    """Processor time of a process and all that it has started, s: what other programs do to the clock does not count."""
    parent: dict[int, int] = {}
    used: dict[int, float] = {}
    tick = os.sysconf("SC_CLK_TCK")
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        pid = int(stat.parent.name)
        parent[pid] = int(fields[1])
        used[pid] = (int(fields[11]) + int(fields[12])) / tick
    total = 0.0
    for pid in used:
        above = pid
        while above > 1 and above != root:
            above = parent.get(above, 0)
        total += used[pid] if above == root else 0.0
    return total


def measured(made: TimelineTables, pictures: int) -> dict[str, Any]:
    """Pack, open and move it; what was measured, by name."""
    from playwright.sync_api import sync_playwright

    began, used = time.perf_counter(), time.process_time()
    text = timeline_text(made)
    found: dict[str, Any] = {"tasks": 0 if made.tasks is None else len(made.tasks)}
    found["packed_s"], found["packed_cpu_s"] = time.perf_counter() - began, time.process_time() - used
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "timeline.html"
        file.write_text(page_of(text))
        found["page_bytes"] = file.stat().st_size
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        began, used = time.perf_counter(), _processor_s(os.getpid())
        page.goto(file.as_uri(), timeout=120_000)
        page.wait_for_selector(".timeline-stage")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        found["open_s"], found["open_cpu_s"] = time.perf_counter() - began, _processor_s(os.getpid()) - used
        _check(page, made)
        for zoomed in ("all", "near"):
            if zoomed == "near":
                page.evaluate(_MOVED, ["zoom", 30])
            for kind in ("pan", "zoom"):
                if zoomed == "near" and kind == "zoom":
                    continue
                used = _processor_s(os.getpid())
                times = page.evaluate(_MOVED, [kind, pictures])
                found[f"{kind}_{zoomed}_fps"] = 1000 / statistics.fmean(times)
                found[f"{kind}_{zoomed}_worst_ms"] = max(times)
                found[f"{kind}_{zoomed}_cpu_ms"] = 1000 * (_processor_s(os.getpid()) - used) / len(times)
        assert not errors, errors
        browser.close()
    return found


def _check(page: Any, made: TimelineTables) -> None:
    # What is shown is what there is: a job of the middle, as the page and as the table have it.
    row = len(made.jobs) // 2
    number = int(made.jobs["job_id"].iloc[row])
    page.get_by_role("searchbox").fill(str(number))
    page.keyboard.press("Enter")
    words = page.locator(".timeline-job").inner_text()
    assert f"job {number}" in words
    assert f"{made.jobs['tasks'].iloc[row]} in {made.jobs['chunks'].iloc[row]} chunks" in words, words
    page.wait_for_timeout(400)  # it flies there
    page.get_by_role("button", name="show everything").click()
    page.wait_for_timeout(100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1_000_000, help="how many (default: 1000000)")
    parser.add_argument("--cores", type=int, default=1024, help="of the machine, a multiple of 64 (default: 1024)")
    parser.add_argument("--pictures", type=int, default=120, help="how many while it is moved (default: 120)")
    parser.add_argument("--check", action="store_true", help="fail where less than what is promised is reached")
    arguments = parser.parse_args()
    found = measured(tables(arguments.tasks, arguments.cores), arguments.pictures)
    for name, value in found.items():
        print(f"{name:22} {value:,.0f}" if value >= 1000 else f"{name:22} {value:.3g}")
    if arguments.check:
        assert found["packed_s"] <= WRITTEN_S
        assert found["page_bytes"] <= PAGE_BYTES
        assert found["open_s"] <= OPEN_S
        assert min(found["pan_all_fps"], found["pan_near_fps"]) >= FRAMES


if __name__ == "__main__":
    main()
