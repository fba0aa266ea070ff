"""Pages of each kind in a real browser: what they show, how they are used, and what they may not do."""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect
from results_made import KINDS, NAMES, Made, opened

import bridge
from bridge.compare.comparison import compare_jobs
from bridge.compare.page import comparison_page
from bridge.compare.record import read_run, write_comparison

pytestmark = pytest.mark.whole

#: What is shown as an example in the filter of a table.
FILTERS = {
    "run": {"jobs-data": "cores>=64 wait>1h state=killed"},
    "comparison": {"delays-data": "cores>=64 start_delta>1h"},
    "study": {"results-data": "seed=3 makespan>1h"},
}


def rows(page: Page, table: str) -> list[list[str]]:
    """The cells of all rows that a table has drawn."""
    found: list[list[str]] = page.eval_on_selector_all(
        f"[data-table={table}] tbody tr:not(.space)",
        "rows => rows.map(row => [...row.cells].map(cell => cell.title || cell.textContent))",
    )
    return found


def counted(page: Page, table: str) -> str:
    return page.locator(f"[data-table={table}] .said").inner_text()


def column(page: Page, table: str, name: str) -> list[str]:
    heads = page.eval_on_selector_all(f"[data-table={table}] th button", "all => all.map(one => one.dataset.column)")
    return [row[heads.index(name)] for row in rows(page, table)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_shows_its_result_and_the_words_of_a_log_are_text(chromium: Browser, made: Made, kind: str) -> None:
    text = made.page(kind).read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    assert "unsafe" not in policy[1]
    assert re.search(r"<[^>]+ on\w+=", text.split("<script>")[0]) is None
    with opened(chromium, made.page(kind)) as page:
        assert page.locator("header p").first.inner_text() == f"twolevel · {kind.capitalize()}"
        assert page.locator(".lead").first.inner_text()
        assert page.locator(".main .value").count() >= 4
        assert page.locator("#again pre").first.inner_text().startswith("twolevel ")
        links = page.eval_on_selector_all("nav a", "all => all.map(one => one.getAttribute('href'))")
        assert links == page.eval_on_selector_all("main > section", "all => all.map(one => `#${one.id}`)")
        assert page.locator(".diagram canvas").bounding_box()["height"] > 100  # type: ignore[index]
        assert "taken" not in page.title()
        assert page.locator("main u, h1 i, .lead i, #again i, td i, main b, img[src=x]").count() == 0
        for table, example in FILTERS.get(kind, {}).items():
            box = page.locator(f"#{table}-filter")
            assert box.get_attribute("placeholder") == f"a word, or {example}"
            box.fill(example)
            assert box.get_attribute("aria-invalid") == "false"
            box.fill("")
        SHOWS[kind](page, made)
        page.set_viewport_size({"width": 390, "height": 844})  # a telephone never scrolls sideways
        expect(page.locator("html")).to_have_js_property("scrollWidth", 390)  # once the canvas has followed


def shows_run(page: Page, made: Made) -> None:
    """A row leads to its job in the timeline and back; the diagram chooses rows."""
    assert set(column(page, "jobs-data", "name")) == {name or "–" for name in NAMES}
    selected = page.locator("[data-table=jobs-data] tr[aria-selected=true] td").first
    page.locator("[data-table=jobs-data] tbody button.link").nth(3).click()
    assert selected.inner_text() == "103"
    expect(page.locator(".timeline-job")).to_contain_text("103")
    page.locator("#jobs-data-filter").fill("cores=1")
    page.evaluate("document.dispatchEvent(new CustomEvent('twolevel:job', {detail: 157}))")
    assert selected.inner_text() == "157"
    assert counted(page, "jobs-data") == "60 rows"
    page.wait_for_selector(".diagram[data-drawn]")
    page.locator(".explorer").scroll_into_view_if_needed()
    box = page.locator(".diagram canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 90, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 250, steps=4)
    page.mouse.up()
    page.wait_for_selector(".chip:not([hidden])")
    found = re.fullmatch(r"(\d+) of 60 rows", counted(page, "jobs-data"))
    assert found is not None
    assert 0 < int(found[1]) < 60
    page.locator(".chip").click()
    assert counted(page, "jobs-data") == "60 rows"
    for option in ("cores", "count", "why"):  # points, a histogram, groups
        page.get_by_label("y axis").select_option(option)
        assert page.locator(".diagram canvas").is_visible()


def shows_replay(page: Page, made: Made) -> None:
    record = json.loads((made.folder / "replay" / "run.json").read_text(encoding="utf-8"))
    assert set(column(page, "jobs-data", "name")) == {name or "–" for name in NAMES}
    assert page.locator("h1").inner_text().startswith("<i>log.swf: Slurm 22.05")
    assert "Slurm fcfs+easy" in " ".join(page.locator("#beside thead").inner_text().split())
    assert record["replay"]["replaced"][0] in page.locator("#slurm").inner_text()
    assert page.locator("#again pre").first.inner_text().startswith("twolevel replay ")


def shows_study(page: Page, made: Made) -> None:
    """Combinations, comparisons and runs."""
    assert page.locator("h1").inner_text() == "<b>bold</b> & study"
    assert "2 combinations × 5 seeds: 10 runs; all finished." in page.locator(".lead").first.inner_text()
    assert [counted(page, name) for name in ("cells-data", "results-data")] == ["2 rows", "10 rows"]
    assert page.locator("[data-table=compared-data] [data-column=ratio]").count() == 1
    mean = pd.read_parquet(made.folder / "study" / "results.parquet").groupby("cell")["makespan_ns"].mean()
    assert [float(text.removesuffix(" ns")) for text in column(page, "cells-data", "makespan_ns")] == mean.tolist()


def shows_comparison(page: Page, made: Made) -> None:
    """The timelines of both runs, with causes."""
    first, second = (read_run(made.folder / f"{bls} <u>") for bls in ("fcfs", "sjf"))
    delays = compare_jobs(first.jobs, second.jobs).delays
    late = delays[(delays["cause_b"] == "release") & (delays["cause_job_b"] >= 0)].iloc[0]
    assert page.locator("h2").all_inner_texts()[:2] == ["Timeline of A", "Timeline of B"]
    assert f"(n = {len(delays)} jobs)" in page.locator("#figures figcaption").first.inner_text()
    causes = column(page, "delays-data", "cause_job_b")
    assert causes == [str(job) if job >= 0 else "–" for job in delays["cause_job_b"].tolist()][: len(causes)]
    page.locator("#delays-data-filter").fill(str(late["job_id"]))
    page.locator("[data-table=delays-data] tbody button.link").first.click()
    for side in ("a", "b"):
        panel = page.locator(f"#timeline-{side} .timeline-job")
        expect(panel.locator("h3")).to_contain_text(str(late["job_id"]))
    expect(panel).to_contain_text("it waited for")
    expect(panel.get_by_role("button", name=f"show job {late['cause_job_b']}").last).to_be_visible()
    # Both timelines zoom together, and the table is saved with exact values.
    page.locator(".timeline-stage").first.press("+")
    seen = """() => [...document.querySelectorAll(".timeline")].map((one) => {
      const ask = new CustomEvent("twolevel:seen", { detail: {} });
      one.dispatchEvent(ask);
      return [ask.detail.step, ask.detail.column];
    })"""
    assert len(set(map(tuple, page.evaluate(seen)))) == 1
    with page.expect_download() as saved:
        page.locator("[data-table=delays-data]").get_by_role("button", name="CSV").click()
    rows = pd.read_csv(saved.value.path())
    assert rows["job_id"].tolist() == [late["job_id"]]
    assert rows["start_delta_ns"].tolist() == [late["start_delta_ns"]]


SHOWS = {"run": shows_run, "study": shows_study, "comparison": shows_comparison, "replay": shows_replay}


def test_a_table_sorts_filters_shows_all_columns_and_prints_all_rows(chromium: Browser, made: Made) -> None:
    jobs = pd.read_parquet(made.folder / "fcfs <u>" / "jobs.parquet")
    wait, run = jobs["start_ns"] - jobs["submit_ns"], jobs["end_ns"] - jobs["start_ns"]
    with opened(chromium, made.page("run"), viewport={"width": 1280, "height": 4000}) as page:
        assert counted(page, "jobs-data") == "60 rows"
        head = page.locator("[data-table=jobs-data] [data-column=wait_ns]")
        for order, rising in (("ascending", True), ("descending", False)):
            head.click()
            assert head.locator("..").get_attribute("aria-sort") == order
            shown = [int(text.removesuffix(" ns")) for text in column(page, "jobs-data", "wait_ns")]
            assert shown == sorted(wait, reverse=not rising)[: len(shown)]
        box = page.locator("#jobs-data-filter")
        for text, found in (
            ("wait>1h", (wait > 3600 * 10**9).sum()),
            ("wait<=90min cores>=3", ((wait <= 5400 * 10**9) & (jobs["cores"] >= 3)).sum()),
            ("why!=backfill state=completed", (jobs["why"] != "backfill").sum()),
            ("name~script", jobs["name"].str.contains("script").sum()),
            ('"bounded slowdown">1.5', ((wait + run) > 1.5 * run).sum()),
            ("142", 1),
            ("quoted", (jobs["name"] == NAMES[2]).sum()),
        ):
            box.fill(text)
            assert 0 < found < 60
            assert counted(page, "jobs-data") == f"{found} of 60 rows", text
        box.fill("nonsense>1")
        assert counted(page, "jobs-data").endswith("there is no column “nonsense”")
        assert box.get_attribute("aria-invalid") == "true"
        box.fill("")
        page.locator("[data-table=jobs-data] summary").click()
        page.get_by_label("efficiency", exact=True).check()
        assert page.locator("[data-table=jobs-data] [data-column=efficiency]").count() == 1
        page.keyboard.press("Escape")
        assert not page.get_by_label("efficiency", exact=True).is_visible()
        every = "all => all.forEach(one => one.checked || one.click())"
        page.eval_on_selector_all("[data-table=jobs-data] .list input", every)
        page.locator("[data-table=jobs-data] [data-column=job_id]").click()
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        expect(page.locator("[data-table=jobs-data] tbody tr:not(.space)")).to_have_count(60)
        assert not page.locator("nav").is_visible()
        assert not page.locator("#jobs-data-filter").is_visible()
        for name in jobs.columns:
            for text, value in zip(column(page, "jobs-data", name), jobs[name], strict=True):
                assert told(text, value, name), (name, text, value)
        page.emulate_media(media="screen")
        page.evaluate("dispatchEvent(new Event('afterprint'))")


def told(text: str, value: object, name: str) -> bool:
    """Whether a cell shows exactly this value."""
    if value is None or value == "" or value != value or (name in ("start_ns", "end_ns") and value == -1):
        return text == "–"
    if name.endswith("_ns"):
        return float(text.removesuffix(" ns")) == value
    if isinstance(value, float):
        return float(text) == value
    return text.replace(",", "") == str(value)


def test_definitions_keyboard_theme_and_policy(chromium: Browser, made: Made) -> None:
    with opened(chromium, made.page("run"), color_scheme="light") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
        reached, active = set(), "document.activeElement"
        for _ in range(400):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(f"{active}.id || {active}.className || {active}.tagName"))
            if page.evaluate(f"{active} === document.body"):
                break
        assert {"theme", "jobs-data-filter", "rows", "defined has-definition", "SELECT", "SUMMARY"} <= reached
        page.locator("[data-table=jobs-data] .rows").focus()
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        unnamed = page.eval_on_selector_all(
            "button, input, select, summary, [role=region]",
            "all => all.filter(one => !(one.textContent.trim() || one.labels?.length || one.ariaLabel)).length",
        )
        assert unnamed == 0

        metric = page.locator(".main .defined").nth(1)
        definition = metric.locator(".definition")
        assert not definition.is_visible()
        metric.hover()
        assert definition.is_visible()
        assert definition.inner_text() == "s − q; q: submit of the job, s: start"
        page.keyboard.press("Escape")
        assert not definition.is_visible()
        page.mouse.move(0, 0)
        metric.focus()
        assert definition.is_visible()
        assert metric.get_attribute("aria-describedby") == definition.get_attribute("id")

        button, colours = page.locator(".theme"), []
        for word in ("auto", "light", "dark"):
            assert button.inner_text() == f"Theme: {word}"
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            button.click()
        assert colours[0] == colours[1] != colours[2]
    # The policy: an injected script does not run, and nothing can be fetched. The browser complains of both.
    page = chromium.new_page()
    page.goto(made.page("run").as_uri())
    ran = page.evaluate(
        "() => { const made = document.createElement('script'); made.textContent = 'window.ran = 1';"
        "document.body.append(made); return window.ran ?? 0 }"
    )
    assert ran == 0
    assert page.evaluate("fetch('data:text/plain,x').then(() => 'sent', () => 'refused')") == "refused"
    page.close()


def test_runs_that_are_no_longer_what_was_compared_are_not_shown(made: Made, tmp_path: Path) -> None:
    runs = [tmp_path / name for name in ("a", "b")]
    for run, bls in zip(runs, ("fcfs", "sjf"), strict=True):
        shutil.copytree(made.folder / f"{bls} <u>", run)
    first, second = map(read_run, runs)
    (tmp_path / "cmp").mkdir()
    write_comparison(compare_jobs(first.jobs, second.jobs), first, second, tmp_path / "cmp", row=None, top=3)

    def timelines() -> int:
        return comparison_page(tmp_path / "cmp").html().count('<div class="timeline"')

    assert timelines() == 2
    jobs = pd.read_parquet(runs[1] / "jobs.parquet")
    jobs.loc[59, ["start_ns", "end_ns"]] += 1
    jobs.to_parquet(runs[1] / "jobs.parquet")
    assert timelines() == 0
    shutil.rmtree(runs[1])
    assert timelines() == 0


def test_the_title_of_a_comparison_omits_options_about_written_tables(made: Made, tmp_path: Path) -> None:
    runs = [made.folder / f"{bls} <u>" for bls in ("fcfs", "sjf")]
    first, second = map(read_run, runs)
    second.record["arguments"] |= {"keep_decisions": True, "tasks_table": True, "trace": ["csv"]}
    write_comparison(compare_jobs(first.jobs, second.jobs), first, second, tmp_path, row=None, top=3)
    assert comparison_page(tmp_path).title == "batch policy fcfs → sjf"


def test_distributions_are_shown_where_there_are_any(made: Made) -> None:
    assert "<h3>Over jobs</h3>" in made.page("run").read_text()
    page = bridge.simulate("sample", select="first:5", als="recorded").report()
    assert "<h3>Over jobs</h3>" not in page.html()
