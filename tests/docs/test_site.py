"""The site is built without a warning, no link of it is dead, and a browser can search it, dark and on a phone."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import pytest
import typer
from pages import ROOT
from playwright.sync_api import Browser

import bridge
from bridge.cli.run_commands import command_line
from tools.site.__main__ import write_versions
from tools.site.commands import command_pages
from tools.site.interface import interface_pages
from tools.site.pages import stage

VERSION = "0.1.0"


class Page(HTMLParser):
    """The anchors of a page, what it leads to, and what a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all versions; of which there is one."""
    out = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "tools.site", "--out", str(out)]
    ran = subprocess.run(
        words, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return out


@pytest.fixture(scope="session")
def read(site: Path) -> dict[Path, Page]:
    return {
        file: Page(file.read_text(encoding="utf-8"))
        for file in (site / VERSION).rglob("*.html")
        if "_static" not in file.parts  # a template of the theme
    }


@pytest.mark.release
def test_no_link_is_dead_and_nothing_comes_from_elsewhere(site: Path, read: dict[Path, Page]) -> None:
    dead = []
    for file, page in read.items():
        for target in (*page.links, *page.loaded):
            if re.match(r"(https?:)?//|mailto:|data:", target):
                if target in page.loaded and not target.startswith("data:"):
                    dead.append(f"{file.name} loads {target}")
                continue
            name, _, anchor = unquote(target).partition("#")
            there = (file.parent / name.partition("?")[0]).resolve() if name else file
            lost = anchor and there in read and anchor not in read[there].anchors
            if lost or not there.is_file():
                dead.append(f"{file.name}: {target}")
    assert dead == []
    assert len(read) > 100
    assert sum(len(page.links) for page in read.values()) > 5000


@pytest.mark.release
def test_every_page_is_there(site: Path) -> None:
    sources = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    for source in sources:
        assert (site / VERSION / source.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), source
    for name in ("reference/protocol", "project/readme", "project/contributing", "project/changelog", "search"):
        assert (site / VERSION / f"{name}.html").is_file(), name
    front = (site / "index.html").read_text(encoding="utf-8")
    assert f"url={VERSION}/index.html" in front


@pytest.mark.release
def test_names_and_options_have_anchors(read: dict[Path, Page], site: Path) -> None:
    python = read[site / VERSION / "reference" / "python" / "bridge.html"]
    assert {f"bridge.{name}" for name in bridge.__all__} <= python.anchors
    story = read[site / VERSION / "reference" / "story.html"]
    assert "python/bridge.html#bridge.simulate" in " ".join(story.links)
    run = (site / VERSION / "reference" / "commands" / "run.html").read_text(encoding="utf-8")
    assert "--kill-at-walltime" in run
    assert "Kill jobs that have run for their request." in run


def test_the_newest_version_is_the_first(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "0.2.0", "made"):
        (tmp_path / name / "reference").mkdir(parents=True)
        (tmp_path / name / "reference" / "cli.html").write_text("")
    write_versions(tmp_path)
    said = (tmp_path / "versions.js").read_text(encoding="utf-8")
    assert re.findall(r'"version": "([\d.]+)"', said) == ["0.10.0", "0.9.0", "0.2.0"]
    assert '"pages": ["reference/cli"]' in said
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_command_has_all_of_its_options_on_its_page() -> None:
    pages = command_pages()
    group: Any = typer.main.get_command(command_line(""))
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            assert {f"reference/commands/{name}-{one}.md" for one in command.commands} <= set(pages)
            continue
        page = pages[f"reference/commands/{name}.md"]
        for parameter in command.params:
            if not parameter.hidden and parameter.param_type_name == "option":
                for option in (*parameter.opts, *parameter.secondary_opts):
                    assert f"{option} " in page.replace("`", " ").replace(",", " "), (name, option)


def test_every_public_name_has_an_entry() -> None:
    pages = interface_pages()
    for name in bridge.__all__:
        assert f":: bridge.{name}\n" in pages["reference/python/bridge.rst"]


def test_pages_are_copied_with_links_that_hold(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("no page any more")
    stage(tmp_path, {"reference/made/index.md": "# Made\n\nOf it.\n"})
    assert not (tmp_path / "old.md").exists()
    contributing = (tmp_path / "project" / "contributing.md").read_text(encoding="utf-8")
    assert "](../explanation/architecture.md)" in contributing
    assert "](tests/budgets.toml)" not in contributing
    assert "budgets.toml" in contributing
    protocol = (tmp_path / "reference" / "protocol.md").read_text(encoding="utf-8")
    assert "](lengths.md)" in protocol
    assert "](protocol.md" in (tmp_path / "reference" / "index.md").read_text(encoding="utf-8")
    assert "| [Made](made/index.md) | Of it. |" in (tmp_path / "reference" / "index.md").read_text(encoding="utf-8")
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.md")}
    stage(tmp_path, {"reference/made/index.md": "# Made\n\nOf it.\n"})
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.md")} == before  # nothing is read again


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of what is asked for."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A browser that goes on to the next page needs no more of this one."""


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The address of the site, from which a second version is another copy of the first page."""
    (site / "0.0.9").mkdir()
    (site / "0.0.9" / "index.html").write_text("<title>older</title>")
    write_versions(site)
    with _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.release
@pytest.mark.parametrize(("width", "scheme"), [(1400, "dark"), (390, "light")], ids=["dark", "phone"])
def test_in_a_browser(served: str, chromium: Browser, width: int, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith((served, "data:")) else said.append(request.url))
    page.goto(served)
    page.wait_for_url(f"**/{VERSION}/index.html")
    for name in (
        "index",
        "tutorials/own-policy",
        "reference/commands/run",
        "reference/python/bls",
        "reference/gallery",
    ):
        page.goto(f"{served}/{VERSION}/{name}.html")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.goto(f"{served}/{VERSION}/search.html?q=conservative+backfilling")
    page.wait_for_selector("ul.search li a")
    assert "batch-backfilling.html" in " ".join(
        link.get_attribute("href") or "" for link in page.query_selector_all("ul.search li a")
    )
    page.goto(f"{served}/{VERSION}/search.html?q=sacct")
    page.wait_for_selector("ul.search li a")
    assert "how-to/sacct.html" in (page.locator("ul.search li a").first.get_attribute("href") or "")
    page.wait_for_load_state("networkidle")
    assert said == [], said
    page.close()


@pytest.mark.release
@pytest.mark.parametrize("by", ["http", "file"])
def test_another_version_is_chosen(served: str, site: Path, chromium: Browser, by: str) -> None:
    page = chromium.new_page()
    page.goto((served if by == "http" else site.as_uri()) + f"/{VERSION}/reference/cli.html")
    lists = "[...document.querySelectorAll('.versions select')].map(one => [...one.options].map(of => of.value).join())"
    assert set(page.evaluate(lists)) == {f"{VERSION},0.0.9"}  # in the header, and in the menu of a phone
    page.locator(".versions select").first.select_option("0.0.9")
    page.wait_for_url("**/0.0.9/index.html")  # it has no such page
    assert page.title() == "older"
    page.close()
