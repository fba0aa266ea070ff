"""The contract of trace writers: these tests run over the registry, so its entry there tests a new writer."""

from pathlib import Path

import pytest
from scenarios import PLATFORMS, Case, crowd

import bridge
from traces.exporters import EXPORTERS, exporter
from traces.ledger import Ledger

RUNS = {
    "tasks": lambda: crowd(9, 12, technique="gss", variation=0.25).simulated(),
    "no tasks kept": lambda: crowd(9, 12, technique="gss", variation=0.25).simulated(keep_tasks=False),
    "recorded": lambda: crowd(9, 12, technique="recorded").simulated(),
    "one job on one core": lambda: Case(crowd(2, 1, groups=PLATFORMS[0]).jobs, PLATFORMS[0]).simulated(),
}


def copies(ledger: Ledger) -> list[bytes]:
    records = [ledger.jobs] + ([ledger.tasks] if ledger.tasks is not None else [])
    return [column.tobytes() for record in records for column in vars(record).values()]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", EXPORTERS)
def test_it_writes_into_its_folder_and_nowhere_else(
    name: str, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    result: bridge.Result = RUNS[run]()
    before = copies(result.ledger)
    target = tmp_path / "deep" / "trace"
    path = exporter(name)(result.ledger, target)
    assert path.is_file()
    assert path.is_relative_to(target)
    assert {entry.name for entry in tmp_path.iterdir()} == {"here", "deep"}
    assert list((tmp_path / "deep").iterdir()) == [target]
    assert list(here.iterdir()) == []
    assert capfd.readouterr() == ("", ""), "a writer prints nothing"
    assert copies(result.ledger) == before, "a writer only looks"


@pytest.mark.parametrize("name", EXPORTERS)
def test_it_writes_the_same_files_for_the_same_ledger(name: str, tmp_path: Path) -> None:
    ledger = RUNS["tasks"]().ledger
    sizes = []
    for again in ("first", "second"):
        path = exporter(name)(ledger, tmp_path / again)
        files = {file.relative_to(tmp_path / again): file.stat().st_size for file in path.parent.rglob("*")}
        sizes.append((path.relative_to(tmp_path / again), files))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", EXPORTERS)
def test_it_declares_its_output(name: str) -> None:
    assert exporter(name) is EXPORTERS[name]
    assert name == name.lower()
