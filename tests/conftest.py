"""How the tests are run: their layers, how much hypothesis looks for, and where the real logs and other tools' answers are.

``TWOLEVEL_SHARED`` names a folder with ``traces/`` (logs of the Parallel Workloads Archive) and ``oracles/`` (what other
tools computed); without it, a folder ``shared`` next to the checkout is used. Where there is none, the
tests in ``tests/real`` do not exist.

Any test may run in any process, in any order, in parallel: ``make test`` has as many processes as there are processors.
"""

from __future__ import annotations

import gc
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from real_logs import SHARED
from stories import pytest_assertrepr_compare

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["pytest_assertrepr_compare", "shared"]

pytest_plugins = ["costs"]

HERE = Path(__file__).resolve().parent

collect_ignore = [] if SHARED.is_dir() else ["real"]
if not (SHARED / "cases").is_dir():
    collect_ignore.append("real/test_cases.py")

#: The layers of the tests, by what they guard (``--layer``), and how many times as many examples as a test says hypothesis
#: looks at there. ``check`` has units and contracts; ``test`` has all behaviour, and in real_world the main job on whole logs;
#: ``soak`` searches: it takes other examples in every run, and keeps what fails in ``.hypothesis``; ``release`` has what takes
#: minutes: tests with the mark ``release``.
LAYERS = {"check": 0.04, "test": 0.06, "soak": 20.0, "release": 0.1}

#: The fewest examples that are worth the name of a search.
FEWEST = 3

# The time of an example depends on the machine. A test may state its number of examples; a layer takes a share of them.
settings.register_profile(
    "twolevel",
    derandomize=True,
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("twolevel")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--layer", choices=list(LAYERS), default="test", help="which tests to run, and how long they search"
    )


def _of_layer(said: settings, layer: str) -> settings:
    """The report of a test, adapted to the layer."""
    examples = max(min(FEWEST, said.max_examples), round(said.max_examples * LAYERS[layer]))
    if layer != "soak":
        return settings(said, max_examples=examples)
    return settings(said, max_examples=examples, derandomize=False, database=settings.default.database)


def _draws(item: pytest.Item) -> TypeGuard[pytest.Function]:
    # Hypothesis gives these tests a mark, but only after they have been chosen.
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)


def _take_examples(items: list[pytest.Item], layer: str) -> None:
    taken: set[object] = set()
    for item in filter(_draws, items):
        # Hypothesis takes settings but once, from the decorator; a state machine has them in its class.
        machine = item.cls is not None and isinstance(getattr(item.cls, "settings", None), settings)
        owner, name = (item.cls, "settings") if machine else (item.function, "_hypothesis_internal_use_settings")
        if owner in taken:  # one function with several parameters
            continue
        taken.add(owner)
        setattr(owner, name, _of_layer(getattr(owner, name), layer))


#: Folders whose tests start the command, read real logs or run the pages' examples, and the line of modules whose tests start
#: processes, draw figures or test thousands of cases. ``make check`` leaves them out, and does not import them.
WHOLE_FOLDERS = ("cli", "docs", "real", "real_world")
WHOLE = re.compile(r"^pytestmark = .*pytest\.mark\.whole", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("layer") != "check":
        return None
    if collection_path.suffix == ".py":
        return WHOLE.search(collection_path.read_text(encoding="utf-8")) is not None or None
    return (collection_path.parent == HERE and collection_path.name in WHOLE_FOLDERS) or None


def _is_in(item: pytest.Item, layer: str) -> bool:
    if layer == "soak":
        return _draws(item) or item.get_closest_marker("hypothesis") is not None
    return (item.get_closest_marker("release") is not None) == (layer == "release")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    layer = config.getoption("layer")
    items[:] = [item for item in items if _is_in(item, layer)]
    _take_examples(items, layer)


def pytest_collection_finish() -> None:
    # Hundreds of thousands of objects are there by now, and stay: no collection has to look through them again.
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Findings of tests besides their verdict: their properties ``found``."""
    for report in terminalreporter.getreports(""):
        for name, value in getattr(report, "user_properties", ()):
            if name == "found" and report.when == "call":
                terminalreporter.write_line(str(value))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real logs and of other tools' answers."""
    return SHARED


@pytest.fixture(scope="session")
def chromium_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where Debian's Chromium, which may reach nothing, takes orders: one process for all tests of a worker."""
    from faulty_runs import SERVING

    command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--remote-debugging-port=0"]
    folder = tmp_path_factory.mktemp("chromium")
    with subprocess.Popen([*command, f"--user-data-dir={folder}"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        SERVING.add(process.pid)
        said = ""
        while (found := re.search(r"^DevTools listening on (ws://\S+)", said)) is None:
            said = process.stderr.readline()
            assert said, "Chromium has ended"
        drain = threading.Thread(target=process.stderr.read)
        drain.start()
        yield found[1]
        process.terminate()
        drain.join()
        SERVING.discard(process.pid)


@pytest.fixture(scope="module")
def chromium(chromium_address: str) -> Iterator[Browser]:
    """That browser, for the tests of a file; each opens pages of its own. While it is there no other event loop can run."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.connect_over_cdp(chromium_address)


@pytest.fixture
def unrendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that are called in this process make their figures, and write a file for each that has no picture in it.

    To render them takes longer than all else that most commands do.
    """
    from traces.figures.drawing.canvas import Figure, figure_format

    def save_all(figure: Figure, paths: Sequence[Path], width_in: float | None = None) -> list[Path]:
        for path in paths:
            figure_format(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"a figure of {len(figure.axes)} axes")
        return list(paths)

    monkeypatch.setattr("traces.figures.drawing.canvas.save_all", save_all)


#: Number of calls of an engine between two checks of its state; it is also checked at its end.
_CALLS_BETWEEN_CHECKS = 3


@pytest.fixture(autouse=True)
def _engines_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engines that a test runs in this process, and the inline coupling's ends, are checked between their calls."""
    from als.application import ApplicationSimulator
    from bls.simulator import BatchSimulator

    monkeypatch.setattr(BatchSimulator, "checks", _CALLS_BETWEEN_CHECKS)
    monkeypatch.setattr(ApplicationSimulator, "checks", _CALLS_BETWEEN_CHECKS)
