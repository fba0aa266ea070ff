"""Costs of tests: at the end of a run, the CPU seconds of each folder next to its budget, and the slowest tests.

A test's cost is the processor time of its process and of the children that it has waited for, with the fixtures that it was
the first to need. Budgets are those of ``budgets.toml``, for the profile ``test`` with warm kernels; no test fails when one is
exceeded. The costs are kept in pytest's cache (``.pytest_cache/v/costs``), and the next run shows them in the column "last".
"""

import os
import tomllib
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

BUDGETS = Path(__file__).resolve().parent / "budgets.toml"

#: How many tests are listed.
SHOWN = 30

_BEGAN = pytest.StashKey[float]()
_COST = "cpu_s"


def _cpu_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    item.stash[_BEGAN] = _cpu_s()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append((_COST, _cpu_s() - item.stash[_BEGAN]))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # a process of pytest-xdist, which has some of the tests
        return
    costs = {
        report.nodeid: float(value)
        for report in (*terminalreporter.getreports(""), *terminalreporter.getreports("error"))
        for name, value in getattr(report, "user_properties", ())
        if name == _COST
    }
    if len(costs) < 2:
        return
    cache = getattr(config, "cache", None)
    spent, tests = _by_folder(costs), Counter(map(_folder, costs))
    last = _by_folder(cache.get("costs", {}) if cache else {})
    budget = tomllib.loads(BUDGETS.read_text("utf-8"))["cpu_s"]
    write = terminalreporter.write_line
    write(f"{'folder':12} {'tests':>6} {'CPU s':>8} {'last':>8} {'budget':>8}")
    for folder, cost in sorted(spent.items(), key=lambda one: -one[1]):
        write(f"{folder:12} {tests[folder]:6,} {cost:8.1f} {last.get(folder, 0.0):8.1f} {budget.get(folder, '–'):>8}")
    write(f"{'all':12} {len(costs):6,} {sum(spent.values()):8.1f} {sum(last.values()):8.1f} {sum(budget.values()):8}")
    for name, cost in sorted(costs.items(), key=lambda one: -one[1])[:SHOWN]:
        write(f"{cost:8.1f} s  {name}")
    if cache:
        cache.set("costs", costs)


def _folder(name: str) -> str:
    return Path(name.removeprefix("tests/")).parts[0]


def _by_folder(costs: dict[str, float]) -> dict[str, float]:
    spent: dict[str, float] = {}
    for name, cost in costs.items():
        spent[_folder(name)] = spent.get(_folder(name), 0.0) + cost
    return spent
