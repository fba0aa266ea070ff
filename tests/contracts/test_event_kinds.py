"""Kinds of events of running jobs: each is in the folder of its feature, and a new one needs this and a line in the list."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest
from pages import ROOT

import bridge
from bls import HostGroup, Platform, Workload
from bls.engine.features.records import EVENTS
from bridge.runs.record import write_run
from bridge.runs.stored_trace import ledger_of_results
from bridge.runs.story import story_of_results
from traces.checks.faults import InvariantError
from traces.checks.ledger import check_ledger
from traces.compiled import Array
from traces.exporters import exporter
from traces.ledger import Ledger
from traces.records.declared import column
from traces.records.events import INT64, RUNNING_JOB, Happening, JobEvents


class Yawns(JobEvents):
    """One row each time a running job yawns."""

    name = "yawns"
    shown = "a running job yawns"
    attributes = (RUNNING_JOB, ("width", "how wide, in mm", INT64))
    missing = "no yawns: no job was tired"
    instant: ClassVar[str] = "yawned_ns"
    order: ClassVar[tuple[str, ...]] = ("yawned_ns",)

    yawned_ns: Array = column("instant", "ns")
    width: Array = column("how wide", "mm")

    @classmethod
    def of_state(cls, state: Any) -> Self | None:
        """Every job that has started yawned as it did."""
        jobs = np.flatnonzero(state.jobs.start_ns[: state.n_rows] >= 0)
        return cls(jobs, state.jobs.start_ns[jobs], np.full(len(jobs), 45))

    def faults(self, ledger: Ledger) -> Iterator[tuple[Array, Callable[[int], str]]]:
        yield from super().faults(ledger)
        yield self.width < 0, lambda k: f"it yawns {self.width[k]} mm wide"

    def sentences(self, job: int, numbers: Array, others: Collection[JobEvents]) -> Iterator[Happening]:
        for k in np.flatnonzero(self.job == job).tolist():
            yield Happening(int(self.yawned_ns[k]), f"yawned, {self.width[k]} mm wide")


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.name)
def test_a_kind_is_in_the_folder_of_its_feature(kind: type[JobEvents]) -> None:
    package, folder, module = kind.__module__.rsplit(".", 2)
    assert (package, module) == ("bls.engine.features", "records")
    assert folder != "commands"
    assert [path for path in (ROOT / "traces").rglob("*.py") if kind.__name__ in path.read_text("utf-8")] == []


def test_a_kind_in_the_list_is_in_tables_stories_and_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = (*EVENTS, Yawns)
    for module in ("bls.running_jobs", "bridge.runs.story", "bridge.runs.stored_trace", "bridge.compare.record"):
        monkeypatch.setattr(f"{module}.EVENTS", every)
    jobs = Workload.from_jobs([(7, 0, 20, 2, 40), (9, 1, 5, 3, 10)])
    result = bridge.simulate(jobs, Platform((HostGroup(1, 4, 1.0),)), als="recorded")
    yawns = result.ledger.of(Yawns)
    assert yawns is not None
    assert yawns.yawned_ns.tolist() == result.ledger.jobs.start_ns.tolist() == [0, 20 * 10**9]
    check_ledger(result.ledger)
    with pytest.raises(InvariantError, match="job 9: it yawns -1 mm wide"):
        check_ledger(result.ledger.with_events(yawns.take(np.arange(2), width=np.array([45, -1]))))
    write_run(result, tmp_path, {}, tasks=False, trace=False)
    assert (tmp_path / "yawns.parquet").is_file()
    for said in (result.story(9), story_of_results(tmp_path, "9")):
        assert "  0:00:20  yawned, 45 mm wide" in said.splitlines()
    again = ledger_of_results(tmp_path)
    for name, kept in (("perfetto", b"yawns"), ("chrome", b'"yawns"'), ("paje", b'"yawn"'), ("text", b" yawn job=9 ")):
        written = [exporter(name)(one, tmp_path / f"{name}{k}") for k, one in enumerate((result.traced, again))]
        texts = [path.read_bytes() for path in written]
        assert [kept in text for text in texts] == [True, True], name
