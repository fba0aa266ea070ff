"""The timeline in a real browser, by pointer, keys and touch; and the times that its script writes, outside one."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect
from timeline_pages import SMALL, opened, pixels, point, settled, small_tables

from tools.build_page import SOURCE
from traces.holdings import HeldGpus
from traces.timeline import TimelineTables, timeline_text

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def text() -> str:
    return timeline_text(small_tables())


def exact(ns: int) -> str:
    """A duration as the page writes it."""
    parts = [(ns // 3_600_000_000_000, "h"), (ns // 60_000_000_000 % 60, "min")]
    words = [f"{value} {unit}" for value, unit in parts if value]
    return " ".join([*words, f"{seconds(ns % 60_000_000_000)} s"] if ns % 60_000_000_000 else words)


def seconds(ns: int, width: int = 0) -> str:
    return f"{ns // 10**9:0{width}d}.{ns % 10**9:09d}".rstrip("0").rstrip(".")


def clock(ns: int) -> str:
    days, rest = divmod(ns, 86_400 * 10**9)
    text = f"{rest // (3600 * 10**9):02d}:{rest // (60 * 10**9) % 60:02d}:{seconds(rest % (60 * 10**9), 2)}"
    return f"{days} d {text}" if days else text


def test_the_picture_by_pointer_wheel_and_keys(chromium: Browser, tmp_path: Path, text: str) -> None:
    tables = small_tables()
    tasks = tables.tasks
    assert tasks is not None
    with opened(chromium, tmp_path, text) as page:
        assert_covered(pixels(page, cells=True), tables)
        assert_pointed(page, tables)
        # The wheel zooms about the pointer.
        before = pixels(page)
        x = before["width"] * 0.6
        box = page.locator(".timeline-picture").bounding_box()
        assert box
        page.mouse.move(box["x"] + before["gutter"] + x, box["y"] + box["height"] - 20)
        page.mouse.wheel(0, -400)
        after = pixels(page)
        assert after["step"] == pytest.approx(before["step"] / np.e, rel=1e-3)
        there = [(picture["column"] + x) * picture["step"] for picture in (before, after)]
        assert abs(there[1] - there[0]) <= before["step"]
        # Panning computes only new columns, with the same result as all of them.
        stage = page.locator(".timeline-stage")
        stage.focus()
        for key in ["+", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"]:
            page.keyboard.press(key)
            settled(page)
        moved = pixels(page, cells=True)
        for rows in ("hosts", "cores"):  # and back: all columns are computed again
            page.get_by_label("rows", exact=True).select_option(rows)
        again = pixels(page, cells=True)
        assert moved["column"] == again["column"]
        np.testing.assert_allclose(moved["cover"], again["cover"], atol=1e-4)


def assert_pointed(page: Page, tables: TimelineTables) -> None:
    """The tip under the pointer has the task of the tables."""
    jobs, seen = tables.jobs.set_index("job_id"), 0
    assert tables.tasks is not None
    for task in tables.tasks.sample(15, random_state=2).to_dict("records"):
        start, end = task["start_ns"], task["end_ns"]
        point(page, task["core"], (start + end) / 2)
        said = page.locator(".timeline-tip").inner_text()
        assert f"job {task['job_id']}" in said
        if "one of several" in said:  # they are shorter than a column of pixels
            continue
        seen += 1
        why = {"head": "as the head of the queue", "backfill": "by backfilling"}[jobs.loc[task["job_id"]]["why"]]
        host = f"core {task['core']}, n{task['core'] // SMALL.cores_per_host}"
        words = (f"{task['task']}, of chunk {task['chunk']}", clock(start), exact(end - start), why, "fac", host)
        assert all(word in said for word in words), said
    assert seen > 5


def assert_covered(picture: dict[str, Any], tables: TimelineTables) -> None:
    """Each cell is as dark as its tasks, and has the colour of the job that has more than half of it."""
    tasks = tables.tasks
    assert tasks is not None
    cover, window = slow_cover(picture, tasks)
    assert np.abs(np.array(picture["cover"], np.float64).reshape(cover.shape) - cover).max() < 1e-5
    assert 0.2 < cover.mean() < 1.0
    job = np.array(picture["job"]).reshape(cover.shape)
    row = {number: at for at, number in enumerate(tables.jobs["job_id"].tolist())}
    for line, column in np.argwhere(cover > 0.01)[::20]:
        a, b = window(column), window(column + 1)
        here = tasks[(tasks["core"] == line) & (tasks["start_ns"] < b) & (tasks["end_ns"] > a)]
        time = (np.minimum(here["end_ns"], b) - np.maximum(here["start_ns"], a)).groupby(here["job_id"]).sum()
        if time.max() > 0.5001 * time.sum():
            assert job[line, column] == row[int(time.idxmax())]


def slow_cover(picture: dict[str, Any], tasks: pd.DataFrame) -> tuple[np.ndarray, Callable[[int], float]]:
    """Which part of the time of each column each core computes: task by task, column by column."""
    base = int(picture["base"])

    def window(column: int) -> float:
        return base + (picture["column"] + column) * picture["step"]

    cover = np.zeros((picture["lines"], picture["width"]))
    for task in tasks.to_dict("records"):
        first = int((task["start_ns"] - window(0)) // picture["step"])
        last = int((task["end_ns"] - window(0)) // picture["step"])
        for column in range(max(0, first), min(picture["width"] - 1, last) + 1):
            part = min(task["end_ns"], window(column + 1)) - max(task["start_ns"], window(column))
            cover[task["core"], column] += max(0.0, part) / picture["step"]
    return cover, window


def test_search_keys_and_the_table_of_jobs(chromium: Browser, tmp_path: Path, text: str) -> None:
    tables = small_tables()
    assert tables.tasks is not None
    of_core = tables.tasks[tables.tasks["core"] == 1].sort_values("start_ns")
    with opened(chromium, tmp_path, text) as page:
        stage, said = page.locator(".timeline-stage"), page.locator(".timeline-said")
        assert stage.get_attribute("role") == "application"
        assert "40 jobs on 8 cores" in (stage.get_attribute("aria-label") or "")
        # Keys go from bar to bar, and each is described.
        point(page, 1, float(of_core["start_ns"].min()) + 1e6)
        stage.focus()
        heard = []
        for key in "nnnpn":
            page.keyboard.press(key)
            found = re.search(r"task (\d+), of chunk", said.inner_text())
            assert found, said.inner_text()
            heard.append(int(found[1]))
        assert heard == of_core["task"].iloc[[1, 2, 3, 2, 3]].tolist()
        page.keyboard.press("ArrowDown")
        expect(said).to_contain_text("core 2")
        page.keyboard.press("Enter")
        expect(page.locator(".timeline-job")).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        # A search leads to a job, to its cause and back.
        page.evaluate("() => document.addEventListener('twolevel:job', (e) => (document.title = e.detail))")
        page.get_by_role("searchbox").fill("12")
        page.keyboard.press("Enter")
        panel = page.locator(".timeline-job")
        expect(panel.locator("h3")).to_have_text("job 12 “<script>”")
        assert page.title() == "12"
        assert page.locator("script").count() == 2  # its name is text
        before = panel.locator("dt", has_text="waited for").locator("+ dd")
        expect(before.get_by_role("button").first).to_have_text("job 11")
        stage.focus()
        page.keyboard.press("c")
        expect(panel.locator("h3")).to_have_text("job 11")
        expect(panel.locator("dt", has_text="released cores for").locator("+ dd")).to_contain_text("job 12")
        page.keyboard.press("b")
        expect(panel.locator("h3")).to_have_text(re.compile("job 12 "))
        page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        page.get_by_role("searchbox").fill("no such name")
        page.keyboard.press("Enter")
        expect(page.locator(".timeline-found")).to_have_text("no such job")
        page.evaluate("() => document.dispatchEvent(new CustomEvent('twolevel:show-job', { detail: 7 }))")
        expect(panel.locator("h3")).to_have_text("job 7")
    with opened(chromium, tmp_path, text) as page:
        page.get_by_text("Visible jobs as a table").click()
        rows = page.locator(".timeline-table tbody tr")
        expect(rows).to_have_count(SMALL.jobs)
        first = tables.jobs.iloc[0]
        cells = [f"job {first['job_id']}", clock(first["start_ns"]), exact(first["end_ns"] - first["start_ns"])]
        assert rows.first.locator("td").all_inner_texts()[:3] == cells


def test_fingers_pan_and_pinch_on_a_phone(chromium: Browser, tmp_path: Path, text: str) -> None:
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    with opened(chromium, tmp_path, text, **phone) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        touch = page.context.new_cdp_session(page)
        box = page.locator(".timeline-picture").bounding_box()
        assert box
        y = box["y"] + box["height"] - 40

        def fingers(kind: str, *xs: float) -> None:
            points = [{"x": x, "y": y, "id": number} for number, x in enumerate(xs)]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        first = pixels(page)
        fingers("touchStart", 180, 240)
        for apart in (10, 20, 30, 40):
            fingers("touchMove", 180 - apart, 240 + apart)
        fingers("touchEnd")
        settled(page)
        pinched = pixels(page)
        assert pinched["step"] < first["step"] / 2
        fingers("touchStart", 300)
        for x in (280, 260, 240, 220):
            fingers("touchMove", x)
        fingers("touchEnd")
        settled(page)
        assert pixels(page)["column"] > pinched["column"] + 100


def test_dark_light_and_paper(chromium: Browser, tmp_path: Path, text: str) -> None:
    corner = """() => {
      const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      context.drawImage(document.querySelector(".timeline-picture"), 0, 0);
      return [...context.getImageData(2, 2, 1, 1).data].slice(0, 3);
    }"""
    with opened(chromium, tmp_path, text, color_scheme="dark") as page:
        assert max(page.evaluate(corner)) < 60
        page.evaluate("document.documentElement.dataset.theme = 'light'")
        settled(page)
        assert page.evaluate(corner) == [255, 255, 255]
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        settled(page)
        assert max(page.evaluate(corner)) < 60
        page.emulate_media(media="print")
        settled(page)
        assert page.evaluate(corner) == [255, 255, 255]
        expect(page.locator(".timeline-controls")).to_be_hidden()


def test_without_tasks_it_shows_what_jobs_held(chromium: Browser, tmp_path: Path) -> None:
    made = small_tables()
    jobs = made.jobs
    held = []
    for job in jobs.to_dict("records"):
        held += [{"core": core, **job} for core in cores_of(job["allocation"])]
    with opened(chromium, tmp_path, timeline_text(replace(made, tasks=None))) as page:
        picture = pixels(page, cells=True)
        cover, _ = slow_cover(picture, pd.DataFrame(held))
        assert np.abs(np.array(picture["cover"]).reshape(cover.shape) - cover).max() < 1e-5
        job = jobs.iloc[20]
        point(page, int(held[-1]["core"]), (held[-1]["start_ns"] + held[-1]["end_ns"]) / 2)
        assert f"job {held[-1]['job_id']}" in page.locator(".timeline-tip").inner_text()
        page.get_by_label("rows", exact=True).select_option("hosts")
        host = pixels(page, cells=True)
        whole = np.array(host["cover"]).reshape(2, -1)
        assert np.abs(whole - cover.reshape(2, 4, -1).mean(axis=1)).max() < 1e-5
        page.get_by_label("rows", exact=True).select_option("lanes")
        lanes = pixels(page, cells=True)
        ran = (job["end_ns"] - job["start_ns"]) / lanes["step"]
        assert (np.array(lanes["job"]) == 20).sum() == pytest.approx(ran, abs=2)


def test_rows_that_have_no_room_are_joined(chromium: Browser, tmp_path: Path) -> None:
    made = small_tables()
    assert made.tasks is not None
    # Each of the eight cores is one of 1,024: every 128th, and what it computes is a share of a line's.
    wide = made.jobs.assign(
        allocation=[" ".join(str(128 * core) for core in cores_of(text)) for text in made.jobs["allocation"]]
    )
    tasks = made.tasks.assign(core=128 * made.tasks["core"])
    many = replace(
        made, jobs=wide, tasks=tasks, first_core=np.arange(0, 1025, 32), host_names=[f"h{k}" for k in range(32)]
    )
    with opened(chromium, tmp_path, timeline_text(many)) as page:
        picture = pixels(page, cells=True)
        join = 1024 // picture["lines"]
        assert join in (2, 4, 8)
        shown = np.array(picture["cover"]).reshape(picture["lines"], -1)
        cover, _ = slow_cover({**picture, "lines": 8}, made.tasks)
        assert np.abs(shown[:: 128 // join] - cover / join).max() < 1e-5
        assert shown.sum() == pytest.approx(cover.sum() / join, rel=1e-4)
        page.mouse.move(600, 500)
        page.keyboard.down("Alt")
        for _ in range(6):
            page.mouse.wheel(0, -300)
        page.keyboard.up("Alt")
        assert pixels(page)["rowHeight"] > 10


def with_gpus(made: TimelineTables) -> TimelineTables:
    """Two GPUs of host n0 and one of n1; jobs of both halves of the cores share the first, and a third of the jobs leaves the
    second before its end."""
    held = []
    for row, job in enumerate(made.jobs.to_dict("records")):
        for gpu, milli in ([(0, 1000), (2, 500)], [(0, 250), (1, 1000)], [(0, 500)])[job["job_id"] % 3]:
            held.append((row, job["job_id"], gpu, milli, job["start_ns"], job["end_ns"] - 3 * 10**9 * (gpu == 1)))
    return replace(made, gpus=HeldGpus(*np.array(held).T, np.array([0, 2, 3]), ("a100", "")))


def test_gpus_and_the_jobs_that_share_them(chromium: Browser, tmp_path: Path) -> None:
    made = with_gpus(small_tables())
    assert made.gpus is not None
    rows = pd.DataFrame(made.gpus._asdict() | {"first": 0, "kinds": ""}).to_dict("records")
    # The rows: a further one of a GPU for a job that begins while another holds the first.
    busy: list[list[int]] = [[], [], []]
    for one in sorted(rows, key=lambda one: (one["gpu"], one["start_ns"], one["end_ns"])):
        until = busy[one["gpu"]]
        one["lane"] = next((k for k, end in enumerate(until) if end <= one["start_ns"]), len(until))
        until[one["lane"] : one["lane"] + 1] = [one["end_ns"]]
    assert [len(until) for until in busy] == [2, 1, 1]
    held = pd.DataFrame(rows)
    held = held.assign(core=np.array([0, 2, 3])[held["gpu"]] + held["lane"])
    with opened(chromium, tmp_path, timeline_text(made)) as page:
        assert "8 cores and 3 GPUs" in (page.locator(".timeline-stage").get_attribute("aria-label") or "")
        choice = page.get_by_label("rows", exact=True)
        choice.select_option("gpus")
        picture = pixels(page, cells=True)
        cover, _ = slow_cover(picture, held)
        assert picture["lines"] == 4
        assert np.abs(np.array(picture["cover"]).reshape(cover.shape) - cover).max() < 1e-5
        tip = page.locator(".timeline-tip")
        for one in held[held["job_id"].isin([20, 21, 22])].to_dict("records"):
            point(page, one["core"], (one["start_ns"] + one["end_ns"]) / 2)
            said = "1 GPU" if one["milli"] == 1000 else f"{one['milli']} milli of a GPU"
            said += " (a100)" * (one["gpu"] < 2)
            name = ("gpu 0, n0", "gpu 0 (2), n0", "gpu 1, n0", "gpu 0, n1")[one["core"]]
            assert [tip.inner_text().count(word) for word in (f"job {one['job_id']}\n", said, name)] == [1, 1, 1]
        # A chosen job may have been waited for by one without GPUs, and have none itself.
        for job, gpus in ((20, "0.5 GPU (a100)"), (21, "1.5 GPUs (a100)")):
            page.evaluate(f"() => document.dispatchEvent(new CustomEvent('twolevel:show-job', {{ detail: {job} }}))")
            expect(page.locator(".timeline-job dt", has_text="GPUs").locator("+ dd")).to_have_text(gpus)
        page.get_by_role("button", name="show everything (0)").click()
        choice.select_option("gpu-hosts")
        settled(page)
        hosts = pixels(page, cells=True)
        part = sum(
            slow_cover(hosts | {"lines": 2}, pd.DataFrame([one | {"core": one["gpu"] // 2}]))[0]
            * (one["milli"] / (2000 if one["gpu"] < 2 else 1000))
            for one in rows
        )
        assert np.abs(np.array(hosts["cover"]).reshape(2, -1) - part).max() < 1e-5
    without = small_tables()
    alone = HeldGpus(*(one[made.gpus.job_id == 21] for one in made.gpus[:6]), *made.gpus[6:])
    with opened(chromium, tmp_path, timeline_text(replace(without, gpus=alone))) as page:
        page.get_by_label("rows", exact=True).select_option("gpus")
        for job in (20, 21, 22):  # jobs before and after it have no GPUs
            page.evaluate(f"() => document.dispatchEvent(new CustomEvent('twolevel:show-job', {{ detail: {job} }}))")
            expect(page.locator(".timeline-job h3")).to_have_text(f"job {job}")
    with opened(chromium, tmp_path, timeline_text(without)) as page:
        assert page.get_by_label("rows", exact=True).locator("option").all_inner_texts() == ["cores", "hosts", "jobs"]


def cores_of(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last) + 1))


def test_dates_and_power_where_they_are_known(chromium: Browser, tmp_path: Path) -> None:
    made = small_tables()
    start = int(made.jobs["start_ns"].min())
    power = pd.DataFrame(
        {"instant_ns": [start, start + 10**12], "power_mw": [10**6, 3 * 10**6], "limit_mw": [-1, 4 * 10**6]}
    )
    begin = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
    with opened(chromium, tmp_path, timeline_text(replace(made, power=power, start_s=begin.timestamp()))) as page:
        point(page, 1, start + 2e9)
        job = made.jobs.iloc[0]
        shown = begin + timedelta(seconds=int(job["start_ns"]) // 10**9)
        assert shown.strftime("%Y-%m-%d") in page.locator(".timeline-tip").inner_text()
        height = page.locator(".timeline-picture").bounding_box()
    with opened(chromium, tmp_path, timeline_text(made)) as page:
        without = page.locator(".timeline-picture").bounding_box()
        assert height
        assert without
        assert height["height"] > without["height"] + 30  # a strip more


_UNITS = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def asked(expression: str) -> Any:
    module = (SOURCE / "src" / "timeline" / "units.ts").as_uri()
    script = f"import * as units from {json.dumps(module)}; console.log(JSON.stringify({expression}))"
    node = Path(sys.prefix) / "bin" / "node"
    command = [node, "--experimental-strip-types", "--no-warnings", "--input-type=module", "--eval", script]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def read(text: str) -> int:
    """ns of a duration as the page writes it."""
    total = 0
    for number, unit in re.findall(r"([\d.]+) (\S+)", text):
        whole, _, part = number.partition(".")
        size = _UNITS[unit]
        total += int(whole) * size + (int(part.ljust(9, "0")) * size // 10**9 if part else 0)
    return total


def test_durations_are_exact() -> None:
    numbers = [0, 1, 999, 10**9, 60 * 10**9, 86_400 * 10**9, 2**62 + 1]
    numbers += [random.Random(1).randrange(10 ** (1 + k % 18)) for k in range(60)]
    said = asked(f"[{','.join(f'{number}n' for number in numbers)}].map(units.exactly)")
    assert [read(text) for text in said] == numbers


def test_instants_are_exact_and_have_dates() -> None:
    assert asked("[units.instant(93784000000500n, null), units.instant(-1500000000n, null)]") == [
        "1 d 02:03:04.0000005",
        "−00:00:01.5",
    ]
    start = datetime(2004, 2, 28, 23, 0, tzinfo=UTC).timestamp()
    assert asked(f"units.instant(7200000000000n, {start})") == "2004-02-29 01:00:00 (02:00:00)"


def test_ticks_are_round_apart_and_all_different() -> None:
    first, steps = 123_456_789_012_345, [0.2, 3.0, 40.0, 700.0, 2e4, 3e6, 5e8, 2e9, 7e10, 4e11, 9e12, 3e14, 2e16]
    each = asked(
        f"[{','.join(f'units.ticksOf({first}, {first + 36 * step}, 987654321n, null, {step})' for step in steps)}]"
    )
    for step, found in zip(steps, each, strict=True):
        places = [tick["at"] for tick in found["ticks"]]
        labels = [tick["label"] for tick in found["ticks"]]
        assert places
        assert len(set(labels)) == len(labels), (step, labels)
        distances = [b - a for a, b in pairwise(places)]
        assert distances
        assert max(distances) - min(distances) <= 4e-16 * places[-1] + 1e-9  # what a float of that size distinguishes
        assert min(distances) >= 0.999 * step
        assert bool(found["anchor"]) == labels[0].startswith("+")
