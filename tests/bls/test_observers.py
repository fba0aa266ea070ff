"""Observers see the same as the ledger; they change nothing, and cost nothing when absent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bridge
from bls import ConstraintOptions, Observer, Platform, Rules, View
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload
from bridge.runs.record import write_run
from traces.base.errors import PluginError

pytestmark = pytest.mark.whole

S = 10**9
MACHINE = Platform((HostGroup(2, 4, 40.0), HostGroup(1, 6, 60.0)))
FAILURES = "host,down_s,up_s\n0,55,80\n2,100,140\n1,200,201\n"


@dataclass
class Look:
    every_ns: int | None = None
    name: str = "look"
    waiting: list[list[int]] = field(default_factory=list)
    running: list[list[int]] = field(default_factory=list)

    def look(self, view: View) -> Mapping[str, float | int | str]:
        self.waiting.append([job.job_id for job in view.waiting])
        self.running.append(sorted(job.job_id for job in view.running))
        for job in view.running:
            assert sum(hi - lo for lo, hi in view.allocation(job)) >= job.cores
        free = view.free_cores
        return {"waits": view.n_waiting, "runs": view.n_running, "free": free, "share": free / view.n_cores}


def jobs(n: int = 40) -> Workload:
    rows = [(100 + k, 11 * k, 20 + 13 * k % 60, 1 + 5 * k % 12, (10 if k % 5 == 0 else 90)) for k in range(n)]
    return Workload.from_jobs(rows)


def simulated(folder: Path, *observers: Observer, **options: Any) -> bridge.Result:
    given: dict[str, Any] = {"als": "ss", "variation": 0.25, "tasks_per_core": 2, "seed": 5}
    given["rules"] = Rules("easy", kill_at_walltime=True)
    failures = folder / "failures.csv"
    failures.write_text(FAILURES)
    constraints = ConstraintOptions(failures=str(failures))
    return bridge.simulate(jobs(), MACHINE, constraints=constraints, observers=observers, **given | options)


def as_the_ledger_has_it(result: bridge.Result, instants: list[int], seen: Look) -> None:
    # After all events of an instant: jobs that were submitted and not started, and that started and not ended.
    records = result.ledger.jobs
    down = result.notes.downtime
    for k, now in enumerate(instants):
        waits = (records.eligible_ns <= now) & ((records.start_ns > now) | (records.start_ns < 0))
        runs = (records.start_ns >= 0) & (records.start_ns <= now) & (now < records.end_ns)
        assert sorted(seen.waiting[k]) == sorted(records.job_id[waits].tolist()), now
        assert seen.running[k] == sorted(records.job_id[runs].tolist()), now
        off = down.cores[(down.down_ns <= now) & (now < down.up_ns)].sum()
        row = result.observations.iloc[k]
        assert row.free == MACHINE.n_cores - records.held_cores[runs].sum() - off, now
        assert (row.waits, row.runs, row.share) == (waits.sum(), runs.sum(), row.free / MACHINE.n_cores)


@pytest.mark.parametrize("coupling", ["inline", "process"])
def test_after_every_instant_at_which_something_happened(coupling: str, tmp_path: Path) -> None:
    looked = Look()
    result = simulated(tmp_path, looked, coupling=coupling, workers=2)
    instants = result.observations.now_ns.tolist()
    records, down = result.ledger.jobs, result.notes.downtime
    started = records.start_ns >= 0
    happened = {*records.submit_ns.tolist(), *records.start_ns[started].tolist(), *records.end_ns[started].tolist()}
    last = int(records.end_ns.max())
    happened |= {t for t in (*down.down_ns.tolist(), *down.up_ns.tolist()) if t <= last}
    assert instants == sorted(happened)
    as_the_ledger_has_it(result, instants, looked)


def test_at_every_multiple_of_an_interval(tmp_path: Path) -> None:
    looked = Look(7 * S)
    result = simulated(tmp_path, looked)
    instants = result.observations.now_ns.tolist()
    assert instants == list(range(0, int(result.ledger.jobs.end_ns.max()) + 1, 7 * S))
    as_the_ledger_has_it(result, instants, looked)


@pytest.mark.parametrize(("als", "coupling"), [("recorded", "inline"), ("ss", "process")])
def test_nothing_is_changed(als: str, coupling: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"als": als, "coupling": coupling, "workers": 2}
    if als == "recorded":
        options |= {"variation": 0.0, "tasks_per_core": 1}
    without = simulated(tmp_path, **options)
    with_them = simulated(tmp_path, Look(), Look(3 * S), **options)
    assert with_them.jobs.equals(without.jobs)
    assert len(without.observations) == 0 < len(with_them.observations)
    if als != "recorded":
        assert with_them.tasks.equals(without.tasks)
    assert dict(with_them.metrics) == dict(without.metrics)


def test_while_deciding_takes_time(tmp_path: Path) -> None:
    # The cores of a job that was chosen are held from the decision on, though it starts only when that has been made.
    looked = Look(S)
    result = bridge.simulate(
        Workload.from_jobs([(1, 0, 10, 4, 10)]), MACHINE, als="recorded", decision_cost_ns=3 * S, observers=[looked]
    )
    assert result.ledger.jobs.start_ns.tolist() == [3 * S]
    assert result.observations.free.tolist() == [10] * 13 + [14]


def written(tmp_path: Path, look: Any) -> pd.DataFrame:
    write_run(simulated(tmp_path, failing(look, 10 * S)), tmp_path, {}, tasks=False, trace=False)
    return pd.read_parquet(tmp_path / "observations.parquet")


def test_types_of_the_table(tmp_path: Path) -> None:
    def look(view: View) -> Any:
        noted = {
            "count": np.int32(view.n_running),
            "share": np.float32(0.5),
            "word": "is",
            "flag": view.now_ns > 15 * S,
        }
        return None if view.now_ns == 20 * S else noted

    frame = written(tmp_path, look)
    assert {name: str(kind) for name, kind in frame.dtypes.items() if name not in ("observer", "word")} == {
        "now_ns": "int64", "count": "int64", "share": "float64", "flag": "int64",
    }  # fmt: skip
    assert frame.columns.tolist() == ["observer", "now_ns", "count", "share", "word", "flag"]
    assert (set(frame.observer), set(frame.word)) == ({"mine"}, {"is"})
    assert 20 * S not in frame.now_ns.tolist()
    assert frame.now_ns.tolist()[1:3] == [10 * S, 30 * S]


def test_nothing_noted_is_an_empty_table(tmp_path: Path) -> None:
    frame = written(tmp_path, lambda view: None)
    assert (frame.columns.tolist(), len(frame)) == (["observer", "now_ns"], 0)


def failing(what: Any, every_ns: Any = None) -> Observer:
    class Mine:
        name = "mine"

        def __init__(self) -> None:
            self.every_ns = every_ns

        def look(self, view: View) -> Any:
            return what(view)

    return Mine()


def wakes(view: View) -> Any:
    view.wake_at(10**15)


def sets(view: View) -> Any:
    view.free_cores = 100  # type: ignore[misc]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda view: 1 / 0, "at 0 ns: look() failed: ZeroDivisionError: division by zero"),
        (lambda view: [1], "at 0 ns: look() gave [1]; allowed: a mapping of names to values, or None"),
        (lambda view: {"a": None}, "at 0 ns: look() gave a = None; allowed: int64, float, str"),
        (lambda view: {"a": 2**63}, "at 0 ns: look() gave a = 9223372036854775808; allowed: int64, float, str"),
        (lambda view: {"now_ns": 1}, "at 0 ns: look() gave a value now_ns; there is such a column already"),
        (lambda view: {"a": 1 if view.now_ns else "x"}, "at 10000000000 ns: look() gave a = 1, and before a word"),
        (wakes, "at 0 ns: wake_at() is for a batch policy while it decides"),
        (sets, "at 0 ns: look() failed: AttributeError: property 'free_cores' of 'View' object has no setter"),
    ],
)
def test_mistakes_name_the_observer(what: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError) as caught:
        simulated(tmp_path, failing(what))
    # The line that raised it.
    place = rf" \(.*{Path(__file__).name}:\d+: .*\)" if " failed: " in message else ""
    assert re.fullmatch(re.escape(f"observer mine, {message}") + place, str(caught.value))


@pytest.mark.parametrize("every_ns", [0, -1, 1.5, True, "1s", 2**63])
def test_an_interval_that_cannot_be(every_ns: Any, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"^observer mine: every_ns: .*allowed: 1 to 4611686018427387904, or None"):
        simulated(tmp_path, failing(lambda view: None, every_ns))
