"""The timeline in a real browser: what it shows is what the tables say, by pointer, keys and touch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, expect
from timeline_pages import SMALL, opened, pixels, point, settled, small_tables

from traces.timeline import timeline_text

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def text() -> str:
    return timeline_text(small_tables())


def exact(ns: int) -> str:
    """A duration as the page writes it."""
    parts = [(ns // 3_600_000_000_000, "h"), (ns // 60_000_000_000 % 60, "min")]
    words = [f"{value} {unit}" for value, unit in parts if value]
    rest = ns % 60_000_000_000
    fraction = f"{rest % 10**9:09d}".rstrip("0")
    if rest:
        words.append(f"{rest // 10**9}{'.' + fraction if fraction else ''} s")
    return " ".join(words)


def clock(ns: int) -> str:
    days, rest = divmod(ns, 86_400 * 10**9)
    seconds, part = divmod(rest, 10**9)
    fraction = f"{part:09d}".rstrip("0")
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{'.' + fraction if fraction else ''}"
    return f"{days} d {text}" if days else text


def test_what_is_under_the_pointer_is_what_the_tables_say(chromium: Browser, tmp_path: Path, text: str) -> None:
    tables = small_tables()
    tasks, jobs = tables.tasks, tables.jobs.set_index("job_id")
    assert tasks is not None
    with opened(chromium, tmp_path, text) as page:
        seen = 0
        for task in tasks.sample(15, random_state=2).to_dict("records"):
            start, end = task["start_ns"], task["end_ns"]
            point(page, task["core"], (start + end) / 2)
            said = page.locator(".timeline-tip").inner_text()
            job = jobs.loc[task["job_id"]]
            assert f"job {task['job_id']}" in said
            if "one of several" in said:  # they are shorter than a column of pixels
                continue
            seen += 1
            assert f"{task['task']}, of chunk {task['chunk']}" in said
            assert clock(start) in said
            assert exact(end - start) in said
            assert {"head": "in its turn", "backfill": "by backfilling"}[job["why"]] in said
            assert "fac" in said
            assert f"core {task['core']}, n{task['core'] // SMALL.cores_per_host}" in said
        assert seen > 5


def test_the_picture_is_covered_as_the_tasks_are(chromium: Browser, tmp_path: Path, text: str) -> None:
    tables = small_tables()
    tasks = tables.tasks
    assert tasks is not None
    with opened(chromium, tmp_path, text) as page:
        picture = pixels(page, cells=True)
        cover, window = slow_cover(picture, tasks)
        shown = np.array(picture["cover"], np.float64).reshape(cover.shape)
        assert np.abs(shown - cover).max() < 1e-5
        assert 0.2 < cover.mean() < 1.0
        # Whoever has more than half of what is covered gives it its colour.
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


def test_panning_computes_only_what_is_new_and_gives_the_same(chromium: Browser, tmp_path: Path, text: str) -> None:
    with opened(chromium, tmp_path, text) as page:
        stage = page.locator(".timeline-stage")
        stage.focus()
        for key in ["+", "+", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight"]:
            page.keyboard.press(key)
            settled(page)
        moved = pixels(page, cells=True)
        stage.focus()
        page.get_by_label("rows", exact=True).select_option("hosts")  # and back: all is computed anew
        page.get_by_label("rows", exact=True).select_option("cores")
        settled(page)
        anew = pixels(page, cells=True)
        assert moved["column"] == anew["column"]
        np.testing.assert_allclose(moved["cover"], anew["cover"], atol=1e-4)


def test_search_jumps_to_causes_and_back(chromium: Browser, tmp_path: Path, text: str) -> None:
    with opened(chromium, tmp_path, text) as page:
        page.evaluate("() => document.addEventListener('twolevel:job', (e) => (document.title = e.detail))")
        page.get_by_role("searchbox").fill("12")
        page.keyboard.press("Enter")
        panel = page.locator(".timeline-job")
        expect(panel.locator("h3")).to_have_text("job 12 “<script>”")
        assert page.title() == "12"
        assert page.locator("script").count() == 2  # its name is text
        before = panel.locator("dt", has_text="waited for").locator("+ dd")
        expect(before.get_by_role("button").first).to_have_text("job 11")
        page.locator(".timeline-stage").focus()
        page.keyboard.press("c")
        expect(panel.locator("h3")).to_have_text("job 11")
        made_way = panel.locator("dt", has_text="made way for").locator("+ dd")
        expect(made_way).to_contain_text("job 12")
        page.keyboard.press("b")
        expect(panel.locator("h3")).to_have_text(re.compile("job 12 "))
        page.keyboard.press("Escape")
        expect(panel).to_be_hidden()
        page.get_by_role("searchbox").fill("no such name")
        page.keyboard.press("Enter")
        expect(page.locator(".timeline-found")).to_have_text("no such job")
        # Others send it to a job.
        page.evaluate("() => document.dispatchEvent(new CustomEvent('twolevel:show-job', { detail: 7 }))")
        expect(panel.locator("h3")).to_have_text("job 7")


def test_keys_go_from_bar_to_bar_and_say_what_each_is(chromium: Browser, tmp_path: Path, text: str) -> None:
    tasks = small_tables().tasks
    assert tasks is not None
    of_core = tasks[tasks["core"] == 1].sort_values("start_ns")["task"].tolist()
    with opened(chromium, tmp_path, text) as page:
        stage = page.locator(".timeline-stage")
        assert stage.get_attribute("role") == "application"
        assert "40 jobs on 8 cores" in (stage.get_attribute("aria-label") or "")
        point(page, 1, float(tasks[tasks["core"] == 1]["start_ns"].min()) + 1e6)
        stage.focus()
        said = page.locator(".timeline-said")
        heard = []
        for key in "nnnpn":
            page.keyboard.press(key)
            found = re.search(r"task (\d+), of chunk", said.inner_text())
            assert found, said.inner_text()
            heard.append(int(found[1]))
        assert heard == [of_core[at] for at in (1, 2, 3, 2, 3)]
        page.keyboard.press("ArrowDown")
        expect(said).to_contain_text("core 2")
        page.keyboard.press("Enter")
        expect(page.locator(".timeline-job")).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()


def test_wheel_zooms_about_the_pointer(chromium: Browser, tmp_path: Path, text: str) -> None:
    with opened(chromium, tmp_path, text) as page:
        before = pixels(page)
        x = before["width"] * 0.6
        box = page.locator(".timeline-picture").bounding_box()
        assert box
        page.mouse.move(box["x"] + before["gutter"] + x, box["y"] + box["height"] - 20)
        page.mouse.wheel(0, -400)
        settled(page)
        after = pixels(page)
        assert after["step"] == pytest.approx(before["step"] / np.e, rel=1e-3)
        for picture in (before, after):
            picture["there"] = (picture["column"] + x) * picture["step"]
        assert abs(after["there"] - before["there"]) <= before["step"]


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


def test_without_sight_there_is_a_table(chromium: Browser, tmp_path: Path, text: str) -> None:
    jobs = small_tables().jobs
    with opened(chromium, tmp_path, text) as page:
        page.get_by_text("What is seen, as a table").click()
        rows = page.locator(".timeline-table tbody tr")
        expect(rows).to_have_count(len(jobs))
        first = jobs.iloc[0]
        cells = rows.first.locator("td").all_inner_texts()
        assert cells[:3] == [
            f"job {first['job_id']}",
            clock(first["start_ns"]),
            exact(first["end_ns"] - first["start_ns"]),
        ]


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
