"""A real browser, Debian's Chromium, which may reach nothing; and results of each kind with their pages, made once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from results_made import Made, make_results


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of a file; each opens pages of its own. While it is there no other event loop can run."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run, a study, a comparison and a replay, and the page of each."""
    folder: Path = tmp_path_factory.mktemp("results")
    return make_results(folder)
