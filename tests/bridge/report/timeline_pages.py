"""A page that has a timeline and nothing else, under a policy as strict as a report's; and what tests ask it."""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page
from results_made import opened as opened_file

from tools.build_page import ASSETS
from traces.timeline import TimelineTables

SMALL = SimpleNamespace(cores=8, cores_per_host=4, jobs=40)

#: A log's time 0 is not the first submit, and its instants are beyond what a float knows.
_BASE = 300 * 86_400 * 10**9 + 123_456_789


def page_of(text: str) -> str:
    """Return a page with a timeline only, under the content policy of reports."""
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


def small_tables() -> TimelineTables:
    """Jobs 1 to 40, one after the other on half of the cores or on all, each with a few tasks a core."""
    random = np.random.default_rng(3)
    free = np.full(SMALL.cores, _BASE, np.int64)
    jobs: list[dict[str, Any]] = []
    tasks: list[dict[str, Any]] = []
    for number in range(1, SMALL.jobs + 1):
        lo = [0, 0, 4][number % 3]
        hi = [8, 4, 8][number % 3]
        start = int(free[lo:hi].max())
        at = np.full(hi - lo, start)
        count = int(random.integers(8, 40))
        for task in range(count):
            lane = int(at.argmin())
            begin = int(at[lane]) + (1_000_000 if task % 2 == 0 else 0)
            at[lane] = begin + int(random.gamma(3.0, 40e9)) + 1
            where = {"job_id": number, "task": task, "chunk": task // 2, "core": lo + lane}
            tasks.append(where | {"start_ns": begin, "end_ns": int(at[lane])})
        end = int(at.max())
        free[lo:hi] = end
        submit = start - (0 if number == 1 else int(random.integers(0, 900)) * 10**9)
        submit = min(submit, start - 1) if number == 12 else submit
        job: dict[str, Any] = {"job_id": number, "attempt": 0, "submit_ns": submit, "start_ns": start, "end_ns": end}
        job |= {"cores": hi - lo, "held_cores": hi - lo, "tasks": count, "chunks": -(-count // 2)}
        job |= {"allocation": f"{lo}-{hi - 1}", "imbalance": float(random.random() / 4)}
        job |= {"why": "backfill" if number % 5 == 0 else "head", "state": "killed" if number == 9 else "completed"}
        jobs.append(job | {"name": "<script>" if number == 12 else ""})
    frame = pd.DataFrame(jobs)
    frame["eligible_ns"] = frame["submit_ns"]
    return TimelineTables(
        jobs=frame,
        tasks=pd.DataFrame(tasks).assign(length_gflop=1.0),
        first_core=np.array([0, 4, 8]),
        host_names=["n0", "n1"],
        technique="fac",
        users=["ann" if number % 2 else "bob" for number in range(SMALL.jobs)],
    )


@contextmanager
def opened(browser: Browser, folder: Path, text: str, **options: Any) -> Iterator[Page]:
    """The page in a browser."""
    file = folder / "timeline.html"
    file.write_text(page_of(text))
    with opened_file(browser, file, ".timeline-stage", **options) as page:
        yield page


def settled(page: Page) -> None:
    """Wait until what was asked for has been drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page: Page, cells: bool = False) -> dict[str, Any]:
    """Which columns of time are drawn, and how covered each of the `cells` is, and by which job; the timeline's own numbers."""
    settled(page)
    found: dict[str, Any] = page.evaluate(
        """(cells) => {
          const ask = new CustomEvent("twolevel:seen", { detail: { cells } });
          document.querySelector(".timeline").dispatchEvent(ask);
          return ask.detail;
        }""",
        cells,
    )
    return found


def point(page: Page, row: int, instant_ns: float) -> None:
    """Move the pointer to a row and an instant since time 0."""
    picture = pixels(page)
    box = page.locator(".timeline-picture").bounding_box()
    assert box
    x = (instant_ns - int(picture["base"])) / picture["step"] - picture["column"]
    page.mouse.move(
        box["x"] + picture["gutter"] + x, box["y"] + picture["rowsTop"] + (row + 0.5) * picture["rowHeight"]
    )
