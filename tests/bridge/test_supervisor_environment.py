"""Where a run finds itself: within an event loop, in a strange folder, with few open files, at a module of its own."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from faulty_runs import assert_same, descendants, expected, simulated

import bridge
from bridge.workers.places import room_for
from traces.base.errors import PeerError

pytestmark = pytest.mark.whole

HERE = Path(__file__).parent


def test_an_error_within_a_running_event_loop() -> None:
    async def cell() -> bridge.Result:
        return simulated("pool", als_command=f"{sys.executable} {HERE / 'rogue_peer.py'} exits")

    with pytest.raises(PeerError, match=r"the last one exited with status 3$"):
        asyncio.run(cell())
    assert descendants() == {}


def test_an_interrupt_within_a_running_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.couplings import processes

    class Interrupted(processes.Future):  # type: ignore[type-arg]
        def result(self, timeout: float | None = None) -> object:
            raise KeyboardInterrupt

    monkeypatch.setattr(processes, "Future", Interrupted)

    async def cell() -> bridge.Result:
        return simulated("pool", jobs=60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell())
    assert descendants() == {}


def test_modules_of_the_same_names_in_the_working_directory(tmp_path: Path) -> None:
    for name in ("bridge", "als", "json", "asyncio"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    program = (
        "import sys; sys.path[:] = [folder for folder in sys.path if folder]; import os; os.chdir(sys.argv[1])\n"
        "import bridge; from bls.workloads.workload import Workload\n"
        "result = bridge.simulate(Workload.from_jobs([(1, 0, 60, 4, 60)]), coupling='pool', workers=1)\n"
        "print(result.jobs.end_ns[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False, cwd=HERE.parents[1]
    )
    assert (done.stdout, done.stderr) == ("60000000000\n", "")


def test_few_open_files(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = [256, 300]
    monkeypatch.setattr(resource, "getrlimit", lambda which: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda which, new: limits.__setitem__(0, new[0]))
    assert room_for(100) == 100
    assert limits == [256, 300]
    assert room_for(150) == 150
    assert limits == [278, 300]
    assert room_for(1000) == 172
    assert limits == [300, 300]
    assert "172 application processes at once, not 1000: only 300 files may be open" in caplog.text


def test_workers_beyond_the_jobs_are_not_started() -> None:
    result = simulated("pool", jobs=3, workers=50)
    assert_same(result, expected(3))
    assert result.coupling["processes"] == 3


def test_a_run_leaves_no_open_files() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    simulated("pool", jobs=3)
    before = count()
    simulated("pool", jobs=3)
    simulated("process", jobs=3)
    assert count() == before
