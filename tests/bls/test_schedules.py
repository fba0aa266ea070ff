"""Schedules drawn by hand: a TOML file has the jobs, what becomes of each, and the machine's cores over time as text.

::

    [[case]]
    name = "EASY starts a short job before the head of the queue"
    why = "Job 3 ends before job 2 can start."
    machine = "1x4"
    options = { bls = "fcfs", backfill = "easy" }
    jobs = '''
    job submit run cores walltime | start end
    1   0      4   3     4        | 0     4
    2   1      2   4     2        | 4     6
    3   2      2   1     2        | 2     4
    '''
    schedule = '''
    111122
    111122
    111122
    ..3322
    '''

``machine`` is hosts × cores of 1 GFLOP/s each, joined by ``+``, or the text of a platform file, or the name of one in the
file's table ``machines``. Left of the bar is a job as in :meth:`bls.workloads.workload.Workload.from_jobs` (:data:`WORDS`,
else its own names), right of it columns of the table of jobs; times are in seconds, ``-`` is nothing, and ``1+2`` a list. A
row that gives nothing but the job is a later attempt. ``options`` are keywords of :func:`bridge.simulate` and fields of its
``rules``, ``constraints``, ``level`` and ``power``; ``files`` are texts, and an option that is the name of one is its path.
``schedule`` has a line for each core, with a character for each ``step`` seconds (1): the job's last digit or letter, in base
36. A case that is refused has ``error``, the whole line; ``metrics`` are some of the run's. ``tables`` are columns of other
tables of the result, instants in s, power in W.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bridge
from bls.machine.platform import HostGroup, Platform, load_platform
from bls.power.options import Power
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from bridge.scenarios.scenario import Application
from traces.base.errors import InputError
from traces.checks.ledger import check_ledger

#: Words for columns of jobs.
WORDS = {
    "job": "job_id",
    "submit": "submit_s",
    "run": "run_s",
    "walltime": "estimate_s",
    "begin": "begin_s",
    "cancel": "cancel_s",
    "after": "preceding",
    "think": "think_s",
}

_BUNDLES: dict[str, Any] = {
    "rules": Rules,
    "constraints": ConstraintOptions,
    "application": Application,
    "power": Power,
}
_KNOWN = {"name", "why", "machine", "options", "files", "jobs", "schedule", "step", "error", "metrics", "tables"}
_LABELS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NS = 10**9


@dataclass(frozen=True)
class DrawnSchedule:
    """A case of a file."""

    table: Mapping[str, Any]

    def check(self, folder: Path) -> None:
        """Simulate it, and compare."""
        given, expected = self._jobs()
        error = self.table.get("error")
        if error is not None:
            with pytest.raises(InputError) as caught:
                self._run(given, folder)
            assert str(caught.value).replace(f"{folder}/", "") == error
            return
        result = self._run(given, folder)
        check_ledger(result.ledger)
        found = _shown(result.jobs, expected)
        assert found == expected
        for name, value in self.table.get("metrics", {}).items():
            assert result.metrics[name] == pytest.approx(value), name
        for name, text in self.table.get("tables", {}).items():
            header, *rows = (line.split() for line in _lines(text))
            table = pd.DataFrame(attrgetter(name)(result))
            assert [[_word(row, column) for column in header] for _, row in table.iterrows()] == rows, name
        if "schedule" in self.table:
            text = schedule_text(result.jobs, result.scenario.platform.n_cores, self.table.get("step", 1))
            assert text == _lines(self.table["schedule"])

    def _jobs(self) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
        header, *lines = (line.partition("|") for line in _lines(self.table["jobs"]))
        names, columns = header[0].split(), header[2].split()
        given, expected = [], []
        for left, _, right in lines:
            words = dict(zip(names, left.split(), strict=True))
            job = {WORDS.get(name, name): _value(word) for name, word in words.items() if word != "-"}
            if len(job) > 1:
                given.append(job)
            expected.append({"job": words["job"]} | dict(zip(columns, right.split(), strict=True)))
        return given, expected

    def _run(self, jobs: list[dict[str, Any]], folder: Path) -> bridge.Result:
        paths = {}
        for name, text in self.table.get("files", {}).items():
            paths[name] = folder / name
            paths[name].write_text(text, encoding="utf-8")
        options = {
            name: str(paths.get(value, value)) if isinstance(value, str) else value
            for name, value in self.table.get("options", {}).items()
        }
        if "requested" in options:
            options["requested"] = {int(job): cores for job, cores in options["requested"].items()}
        bundled = {}
        for bundle, kind in _BUNDLES.items():
            own = {field.name for field in fields(kind)} & options.keys() - {"backfill", "estimates"}
            if own:
                bundled[bundle] = kind(**{name: options.pop(name) for name in own})
        usual = {"als": "recorded"}
        return bridge.simulate(Workload.from_jobs(jobs), self._platform(folder), **usual | options, **bundled)

    def _platform(self, folder: Path) -> Platform:
        machine = self.table["machine"]
        if "=" in machine:
            (folder / "platform.toml").write_text(machine, encoding="utf-8")
            return load_platform(folder / "platform.toml")
        groups = [[int(number) for number in group.split("x")] for group in machine.split("+")]
        return Platform(tuple(HostGroup(hosts, cores, float(cores)) for hosts, cores in groups))


def drawn_schedules(folder: Path) -> list[Any]:
    """Return the cases of all files of a folder, as parameters of a test."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        file = tomllib.loads(path.read_text("utf-8"))
        for table in file["case"]:
            assert set(table) <= _KNOWN, f"{path}: {set(table) - _KNOWN}"
            table["machine"] = file.get("machines", {}).get(table["machine"], table["machine"])
            found.append(pytest.param(DrawnSchedule(table), id=f"{path.stem}: {table['name']}"))
    return found


def schedule_text(jobs: pd.DataFrame, n_cores: int, step_s: float) -> list[str]:
    """Return the machine's cores over time: a line for each core, a character for each step."""
    rows = [[] for _ in range(n_cores)]  # type: list[list[str]]
    for job, start, end, cores in zip(
        jobs["job_id"], jobs["start_ns"], jobs["end_ns"], jobs["allocation"], strict=True
    ):
        if start < 0:
            continue
        first, stop = (ns / (step_s * _NS) for ns in (start, end))
        assert (first % 1, stop % 1) == (0, 0), f"job {job}: {first} to {stop} are no whole steps"
        for interval in cores.split():
            low, _, high = interval.partition("-")
            for core in range(int(low), int(high or low) + 1):
                row = rows[core]
                row.extend("." * (int(stop) - len(row)))
                row[int(first) : int(stop)] = _LABELS[job % 36] * (int(stop) - int(first))
    width = max(len(row) for row in rows)
    return ["".join(row).ljust(width, ".") for row in rows]


def _shown(jobs: pd.DataFrame, expected: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows of a table of jobs in the form of expectations: seconds, and - for an instant that never came."""
    return [
        {name: _word(row, name) for name in expected[0]}
        for _, row in jobs.sort_values(["job_id", "attempt"]).iterrows()
    ]


def _word(row: pd.Series[Any], name: str) -> str:
    if name == "job":
        return str(row["job_id"])
    if f"{name}_mw" in row:
        return "-" if row[f"{name}_mw"] < 0 else f"{row[f'{name}_mw'] / 1000:g}"
    if f"{name}_ns" not in row:
        value = row[name]
        return f"{value:.9g}" if isinstance(value, float) else str(value).replace(" ", ",")
    ns = row[f"{name}_ns"]
    return "-" if ns < 0 else f"{ns / _NS:.9f}".rstrip("0").rstrip(".")


def _value(word: str) -> Any:
    if "+" in word:
        return [_value(part) for part in word.split("+")]
    try:
        return int(word) if word.removeprefix("-").isdigit() else float(word)
    except ValueError:
        return word


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("case", drawn_schedules(Path(__file__).with_name("schedules")))
def test_a_schedule_drawn_by_hand(case: DrawnSchedule, tmp_path: Path) -> None:
    case.check(tmp_path)
