"""Replays through the installed slurmctld: its decisions are legal and the same each time; no process is left."""

import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from replay_soak import known_sockets, sockets_of, started_by
from slurm_here import machine, needs_slurm, replayed
from tables import table_rows, table_text

from bls.machine.partitions import Partition, Switch
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads import read_workload
from bls.workloads.selection import select as selected
from bls.workloads.workload import Workload
from bridge import simulate
from bridge.replay import controller
from bridge.replay.course import Course
from bridge.replay.run import Replay
from bridge.replay.site import of_site
from bridge.runs.stored import run_title
from traces.base.errors import InputError, PeerError
from traces.ledger import STATES

pytestmark = [pytest.mark.whole, needs_slurm]

S = 10**9
#: At the latest when Slurm reads all of its queue again (s).
CYCLE_S = 61


def _job(number: int, submit_s: float, run_s: float, cores: int, estimate_s: float, **more: Any) -> dict[str, Any]:
    return {"job_id": number, "submit_s": submit_s, "run_s": run_s, "cores": cores, "estimate_s": estimate_s, **more}


def _replayed(jobs: Any, platform: Platform, folder: Path, **options: Any) -> tuple[Replay, pd.DataFrame]:
    """A replay, and its jobs by number and attempt, with times in seconds."""
    done = replayed(jobs, platform, folder, **options)
    frame = done.result.jobs.sort_values(["job_id", "attempt"]).set_index("job_id")
    return done, frame.assign(start=frame.start_ns / S, end=frame.end_ns / S, eligible=frame.eligible_ns / S)


def _drawn(n: int, hosts: int, seed: int) -> list[tuple[int, int, int, int, int]]:
    """Jobs that keep the hosts busy: (number, submit s, run s, cores, estimate s)."""
    rng = np.random.default_rng(seed)
    jobs, at = [], 0
    for number in range(1, n + 1):
        at += int(rng.exponential(120))
        run = int(rng.integers(30, 1500))
        jobs.append((number, at, run, int(rng.integers(1, hosts + 1)), int(run * rng.uniform(1.1, 3)) + 60))
    return jobs


def test_the_same_input_gives_the_same_schedule_on_any_load(tmp_path: Path) -> None:
    jobs = _drawn(12, 8, 2)
    quiet = replayed(jobs, machine(8, 1), tmp_path / "a").result.jobs
    assert {"head", "backfill"} == set(quiet.why)
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})  # all on one processor, with another program that is never idle
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        loaded = replayed(jobs, machine(8, 1), tmp_path / "b").result.jobs
    finally:
        os.sched_setaffinity(0, processors)
        busy.kill()
        busy.wait()
    pd.testing.assert_frame_equal(quiet, loaded)
    assert (tmp_path / "a/slurmctld.log").read_bytes() == (tmp_path / "b/slurmctld.log").read_bytes()


def test_cores_of_hosts_limits_and_withdrawn_jobs(tmp_path: Path) -> None:
    # On 2 hosts of 4 cores: a job across both, one that exceeds its limit, one that fits, and two that are withdrawn,
    # the second of them too late.
    jobs = [_job(1, 0, 300, 5, 600), _job(2, 10, 900, 2, 120), _job(3, 20, 120, 1, 120)]
    jobs += [_job(4, 30, 300, 8, 600, cancel_s=50), _job(5, 40, 60, 8, 600, cancel_s=4000)]
    done, frame = _replayed(jobs, machine(2, 4), tmp_path / "r")
    assert list(frame.state) == ["completed", "killed", "completed", "cancelled", "completed"]
    assert list(frame.allocation[:3]) == ["0-4", "5-6", "7"]
    lasted = frame.end - frame.start
    assert (lasted[1], lasted[3], frame.start_ns[4]) == (300, 120, -1)
    assert 120 < lasted[2] <= 120 + CYCLE_S
    assert 0 <= frame.start[5] - frame.end[1] <= 3
    assert done.result.metrics["state_killed"] == 1


def test_the_application_level_decides_when_jobs_end(tmp_path: Path) -> None:
    jobs = [(number, submit, run, 4, run * 3) for number, submit, run, _, _ in _drawn(8, 2, 4)]
    jobs[5] = (*jobs[5][:4], 60)  # it is killed
    done, frame = _replayed(jobs, machine(2, 4), tmp_path / "r", als="ss", variation=0.25, tasks_per_core=8)
    assert frame.state.value_counts().to_dict() == {"completed": 7, "killed": 1}
    assert frame.state[6] == STATES[1]
    assert (frame.end_ns == done.result.tasks.groupby("job_id").end_ns.max()).all()  # even of the killed job
    assert (frame.end - frame.start != [run for _, _, run, _, _ in jobs]).all()


def test_nodes_that_clean_up_are_free_later(tmp_path: Path) -> None:
    # Three jobs use both hosts; the queue is empty before the last one.
    jobs = [(1, 0, 300, 2, 600), (2, 10, 300, 2, 600), (3, 20, 300, 2, 600), (4, 5000, 60, 1, 120)]
    keys = {"SchedulerType": "sched/builtin"}
    _, at_once = _replayed(jobs, machine(2, 1), tmp_path / "a", keys=keys)
    # The second time is longer than Slurm must be idle before the date jumps.
    for cleanup_s, settle_s, later in ((7, 0, [0, 7, 14, 0]), (400, 70, [0, 400, 800, 0])):
        times = {"cleanup_ns": cleanup_s * S, "settle_ns": settle_s * S}
        done, frame = _replayed(jobs, machine(2, 1), tmp_path / f"{settle_s}", keys=keys, **times)
        assert list(frame.start - at_once.start) == later
        assert (frame.end - frame.start == at_once.end - at_once.start).all()
        assert (done.cost["jumps"] > 0) == (settle_s > 0)


def test_a_clock_that_runs(tmp_path: Path) -> None:
    began = time.monotonic()
    jobs = [(1, 0, 300, 1, 600), (2, 30, 300, 1, 600), (3, 60, 300, 2, 600)]
    done, frame = _replayed(jobs, machine(2, 1), tmp_path / "r", rate=2000.0)
    assert time.monotonic() - began >= done.cost["simulated_s"] / 2000
    assert (frame.start_ns >= frame.submit_ns).all()
    assert frame.start[3] >= frame.end[[1, 2]].max()


def test_jobs_start_from_their_begin_on(tmp_path: Path) -> None:
    jobs = [
        _job(1, 0, 100, 1, 120, begin_s=50),
        _job(2, 10, 60, 1, 120, preceding=1, think_s=20, begin_s=30),
        _job(3, 10, 60, 1, 120, preceding=1, think_s=20, begin_s=400),
        _job(4, 20, 10, 1, 60, begin_s=10),
        _job(5, 20, 10, 1, 60, begin_s=300, cancel_s=100),
    ]
    constraints = ConstraintOptions(dependencies=True)
    done, frame = _replayed(jobs, machine(4, 1), tmp_path / "r", constraints=constraints, settle_ns=70 * S)
    assert frame.eligible[[1, 2, 3, 4]].tolist() == [50, frame.end[1] + 20, 400, 20]
    assert frame.state[5] == "cancelled"
    late = (frame.start - frame.eligible)[[1, 2, 3, 4]]
    assert late.between(0, CYCLE_S).all()
    assert done.result.metrics["max_wait_ns"] == max(late[[1, 3, 4]].max(), frame.start[2] - 30) * S


def test_jobs_wait_for_others_and_think(tmp_path: Path) -> None:
    jobs = [
        _job(1, 0, 300, 2, 600),
        _job(2, 10, 60, 1, 120, preceding=1, think_s=100),
        _job(3, 10, 60, 1, 120, preceding=1),
        _job(5, 600, 60, 1, 120, preceding=1, think_s=1000),  # which has ended long before
        _job(6, 30, 100, 1, 60),  # is killed
        _job(7, 31, 10, 1, 60, preceding=6, think_s=5.5),
        _job(8, 40, 10, 4, 60, preceding=9),  # which is submitted later, and withdrawn
        _job(9, 50, 10, 4, 60, cancel_s=60),
        _job(10, 51, 10, 1, 60, preceding=12, cancel_s=70),  # leaves before job 12 is submitted
        _job(11, 52, 10, 1, 60, preceding=10, think_s=5),  # may run then
        _job(12, 400, 10, 1, 60),
    ]
    options = {
        "constraints": ConstraintOptions(dependencies=True),
        "rules": Rules(kill_at_walltime=True),
        "settle_ns": 70 * S,
    }
    _, frame = _replayed(jobs, machine(4, 1), tmp_path / "r", **options)
    assert list(frame.state[[6, 9, 10]]) == ["killed", "cancelled", "cancelled"]
    end = frame.end
    eligible = [end[1] + 100, end[1], end[1] + 1000, end[6] + 5.5, 60, 75]
    assert frame.eligible[[2, 3, 5, 7, 8, 11]].tolist() == eligible
    assert frame.eligible[10] < 0  # it never was
    assert 75 <= frame.start[11] < 400
    assert (frame.start - frame.eligible)[[2, 3, 5, 7]].between(0, CYCLE_S).all()


def test_users_differ_though_this_computer_has_none_of_them(tmp_path: Path) -> None:
    # In one cycle of its backfilling Slurm may start one job of each user, and there is room for one at a time.
    jobs = [_job(1, 0, 3000, 2, 3600), _job(2, 1, 300, 4, 600)]
    jobs += [_job(number, 2, 2000, 1, 2400, user=user) for number, user in ((3, 5), (4, 5), (5, 6))]
    keys = {"SchedulerParameters": "bf_max_job_user=1,bf_interval=600"}
    _, frame = _replayed(jobs, machine(4, 1), tmp_path / "b", keys=keys)
    assert frame.start[5] == frame.start[3] < frame.start[4]


def test_partitions_of_a_platform_have_their_hosts_and_their_order(tmp_path: Path) -> None:
    short = Partition("short", "0-1", swf_queues=(2,), priority=5, max_time_ns=600 * S)
    platform = Platform((HostGroup(4, 2, 93.75),), partitions=(short, Partition("the rest", default=True)))
    jobs = [_job(1, 0, 300, 4, 600, queue=2), _job(2, 0, 300, 4, 6000, queue=1)]
    jobs += [_job(3, 1, 60, 4, 600, queue=1), _job(4, 2, 60, 4, 600, queue=2)]  # its partition comes first
    _, frame = _replayed(jobs, platform, tmp_path / "r")
    assert list(frame.allocation) == ["0-3", "4-7", "4-7", "0-3"]
    assert frame.start[1] == frame.start[2] == 0.5
    conf = (tmp_path / "r/slurm.conf").read_text()
    assert "PartitionName=short Nodes=n[0-1] MaxTime=10 PriorityTier=2" in conf
    assert "PartitionName=p1 Nodes=ALL MaxTime=INFINITE PriorityTier=1 State=UP Default=YES" in conf


@pytest.mark.parametrize(("switches", "wait_s", "starts"), [("1@2m", 120, (122, 200)), ("1", None, (900, 961))])
def test_jobs_wait_for_few_switches_up_to_their_limit(
    tmp_path: Path, switches: str, wait_s: int | None, starts: tuple[int, int]
) -> None:
    tree = (Switch("a", "0-3"), Switch("b", "4-7"), Switch("top", switches=("a", "b")))
    jobs = [
        _job(1, 0, 900, 3, 1000),
        _job(2, 1, 900, 3, 1000),
        _job(3, 2, 300, 2, 600),
    ]  # a host is left on each switch
    options = {"constraints": ConstraintOptions(switches=switches)}
    platform = Platform((HostGroup(8, 1, 46.875),), switches=tree)
    _, frame = _replayed(jobs, platform, tmp_path / "r", allocator="topology", settle_ns=70 * S, **options)
    assert list(frame.allocation) == ["0-2", "4-6", "3 7" if wait_s else "0-1"]
    assert starts[0] <= frame.start[3] <= starts[1]


def test_jobs_ask_for_units_memory_gpus_and_licences(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("job_id,unit_cores,gpu,memory_gb,matlab\n1,2,1,7,\n2,1,,,3\n3,2,1,,\n4,1,,3,1\n")
    platform = Platform((HostGroup(2, 4, 187.5, {"memory_gb": 16, "gpu": 2}),), licences={"matlab": 3})  # type: ignore[arg-type]
    jobs = [_job(1, 0, 300, 8, 600), _job(2, 1, 300, 1, 600), _job(3, 2, 100, 6, 600), _job(4, 3, 100, 1, 300)]
    _, frame = _replayed(jobs, platform, tmp_path / "r", constraints=ConstraintOptions(requests=path))
    # The first has all GPUs. Then one job has all licences, and one has three units of two cores and a GPU: of two hosts of
    # two GPUs, so that there are cores for the last one, but no licence.
    assert frame.allocation[1] == "0-7"
    assert frame.start[[2, 3]].tolist() == pytest.approx([300.5, 300.5], abs=0.1)
    assert frame.start[4] >= frame.end[2]


@pytest.mark.parametrize(("recorded", "order"), [(False, [1, 2, 3, 4]), (True, [1, 3, 4, 2])])
def test_priorities_by_the_order_of_the_recorded_starts(tmp_path: Path, recorded: bool, order: list[int]) -> None:
    waits = ((1, 0), (2, 400), (3, 100), (4, 250))
    jobs = [_job(number, number - (number == 1), 100, 2, 120, wait_s=wait) for number, wait in waits]
    _, frame = _replayed(jobs, machine(2, 1), tmp_path / "r", recorded_priorities=recorded)
    assert frame.start.sort_values().index.tolist() == order


_TEXTS: dict[str, str] = tomllib.loads((Path(__file__).parent / "tables" / "replay.toml").read_text("utf-8"))


def test_a_sites_slurm_conf_and_jobs_that_its_partition_refuses(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_TEXTS["site"])
    found = of_site(str(tmp_path / "slurm.conf"), {"EnforcePartLimits": "ALL"})
    _, frame = _replayed([(1, 0, 60, 6, 300), (2, 5, 60, 3, 300)], found.platform(), tmp_path / "r", found=found)
    assert list(frame.state) == ["completed"] * 2
    assert frame.allocation[1] == "0-5"
    with pytest.raises(InputError, match=r"Slurm does not accept job 1, 1 cores for 20 min: .*time limit"):
        replayed([(1, 0, 60, 1, 1200)], found.platform(), tmp_path / "s", found=found)
    found = of_site(str(tmp_path / "slurm.conf"), {})
    why = r"Slurm does not start 1 job, though nothing has run for 4 h.*job 1: PartitionTimeLimit"
    with pytest.raises(InputError, match=why):
        replayed([(1, 0, 60, 1, 1200)], found.platform(), tmp_path / "t", found=found)
    endless = ConstraintOptions(failures="mtbf:6h,mttr:10m,seed:1")  # which would never end otherwise
    options = {"constraints": endless, "found": found, "settle_ns": 70 * S}
    with pytest.raises(InputError, match=r"Slurm does not start 1 job.*PartitionTimeLimit"):
        replayed([(1, 0, 60, 1, 1200)], found.platform(), tmp_path / "u", **options)


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., tuple[Replay, pd.DataFrame]]:
    """Replays the dump of sacct on the larger site."""
    (tmp_path / "slurm.conf").write_text(_TEXTS["larger_site"])
    (tmp_path / "topology.conf").write_text(
        "SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=b[1-2]\nSwitchName=t Switches=s[0-1]\n"
    )
    (tmp_path / "log.sacct").write_text(_TEXTS["dump"])

    def replay_dump(change: Callable[[Workload], Workload] = lambda jobs: jobs, **options: Any) -> Any:
        found = of_site(str(tmp_path / "slurm.conf"), {})
        jobs = change(read_workload(tmp_path / "log.sacct"))
        return _replayed(jobs, found.platform(), tmp_path / "r", found=found, **options)

    return replay_dump


GONE = "1 job of partition gone, which slurm.conf does not have, go to the default one"
NO_FEATURES = "1 job request features that no node has, which are omitted"
NO_WINDOW = "1 job ran in reservation {}, which matches no window; they are in none"


def test_a_dump_of_sacct_through_a_sites_slurm_conf(
    tmp_path: Path, site: Callable[..., tuple[Replay, pd.DataFrame]]
) -> None:
    done, frame = site()
    assert frame.allocation[[11, 12, 15]].tolist() == ["8-11", "0-7", "12-15"]  # job 11: the first of partition night
    assert frame.allocation[14] in ("0-3", "4-7")  # it waits for a fast node, and leaves the other to the next
    assert frame.start[14] >= frame.end[[12, 13]].min()
    assert (tmp_path / "r/topology.conf").read_text().startswith("SwitchName=s0 Nodes=a[1-2]\n")
    assert done.notes == (GONE, NO_WINDOW.format("course"), NO_WINDOW.format("other"), NO_FEATURES)


def test_jobs_that_run_already_are_on_the_nodes_where_they_have_run(
    site: Callable[..., tuple[Replay, pd.DataFrame]],
) -> None:
    _, frame = site(lambda jobs: selected(jobs, "window:1h+1h", preset=True), settle_ns=70 * S)
    assert frame.allocation[[11, 12, 15]].tolist() == ["12-15", "0-7", "8-11"]  # job 11 on b2, though b1 is free, too
    columns = frame.loc[[11, 12], ["why", "start", "end"]]
    assert columns.to_numpy().tolist() == [["preset", 0, 3600], ["preset", 0, 3660]]
    assert frame.start[15] < 102


def test_a_job_that_has_run_in_a_reservation_of_the_log_is_in_the_window_of_that_name(
    tmp_path: Path, site: Callable[..., tuple[Replay, pd.DataFrame]]
) -> None:
    windows = tmp_path / "windows.toml"
    windows.write_text('[[reservation]]\nname = "course"\nbegin = "1h"\nend = "9h"\nhosts = "3"\njobs = "15"\n')
    done, frame = site(constraints=ConstraintOptions(windows=windows), settle_ns=70 * S)
    assert frame.allocation[11] == frame.allocation[15] == "12-15"
    assert 3600 <= frame.start[11] <= 3600 + CYCLE_S
    assert done.notes == (GONE, NO_WINDOW.format("other"), NO_FEATURES)


def test_the_command_takes_what_run_takes_and_reports_what_it_has_left_out(
    tmp_path: Path, site: Callable[..., object]
) -> None:
    (tmp_path / "slurm.conf").write_text(_TEXTS["larger_site"].replace("a[1-2],b[1-2]", "ALL"))
    (tmp_path / "topology.conf").unlink()
    (tmp_path / "tree.toml").write_text('[[switches]]\nname = "one"\nhosts = "0-3"\n')
    words = ("--slurm-conf", tmp_path / "slurm.conf", "--topology", tmp_path / "tree.toml", "--switches", "1@5m")
    words += ("--priorities", "recorded", "--select", "window:1h+1h", "--preset")
    ran = succeeds("replay", tmp_path / "log.sacct", "--out", tmp_path / "r", *words)
    assert NO_FEATURES in ran.err
    assert (tmp_path / "r/slurm/topology.conf").read_text() == "SwitchName=one Nodes=a[1-2],b[1-2]\n"
    assert "max_switch_wait=300" in (tmp_path / "r/slurm/slurm.conf").read_text()


@pytest.mark.parametrize("als", ["recorded", "gss"])
def test_jobs_that_run_already_need_no_time_and_are_ended_at_their_limit(tmp_path: Path, als: str) -> None:
    jobs = [_job(1, 0, 400, 2, 500, preset=1), _job(2, 0, 100, 1, 100, preset=1)]
    jobs += [_job(3, 0, 1000, 1, 60, preset=1), _job(4, 20, 60, 2, 300)]
    _, frame = _replayed(jobs, machine(4, 1), tmp_path / "r", als=als)
    assert list(frame.state) == ["completed", "completed", "killed", "completed"]
    assert [*frame.start[:3], *frame.end[:2]] == [0, 0, 0, 400, 100]
    assert 60 <= frame.end[3] <= 60 + 120
    assert frame.start[4] == pytest.approx(frame.end[3], abs=2)


def test_a_job_that_runs_already_and_does_not_fit(tmp_path: Path) -> None:
    jobs = [_job(1, 0, 60, 2, 60, preset=1), _job(2, 0, 60, 1, 60, preset=1, queue=1)]
    partitions = (Partition("p", "0-1", default=True), Partition("q", "1", swf_queues=(1,)))
    with pytest.raises(InputError, match="Slurm does not start job 2, which was already running, on 1 cores: "):
        replayed(jobs, Platform((HostGroup(3, 1, 46.875),), partitions=partitions), tmp_path / "many")


def test_reservations_and_maintenance(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_text(
        '[[reservation]]\nname = "course"\nbegin = "10m"\nend = "30m"\nhosts = "0-1"\njobs = "2 5 6"\n'
        '[[maintenance]]\nname = "cooling"\nbegin = "5m"\nend = "20m"\nhosts = "3"\n'
    )
    jobs = [_job(1, 0, 200, 4, 240), _job(2, 5, 300, 2, 400), _job(3, 210, 900, 2, 1000)]
    jobs += [_job(4, 220, 60, 4, 300), _job(5, 230, 1100, 2, 1100), _job(6, 240, 1100, 2, 1100)]
    done, frame = _replayed(
        jobs, machine(4, 1), tmp_path / "r", constraints=ConstraintOptions(windows=path), settle_ns=70 * S
    )
    assert list(frame.allocation[[2, 5]]) == ["0-1", "0-1"]
    assert 600 <= frame.start[2] <= 600 + CYCLE_S
    assert frame.start[5] >= frame.end[2]
    assert list(frame.state[[5, 6]]) == ["killed", "cancelled"]
    assert 1800 <= frame.end[5] <= 1800 + CYCLE_S
    assert frame.start[6] < 0
    assert frame.start[3] >= 1200  # two hosts are reserved, and one is down
    assert frame.start[4] >= 1800
    down = done.result.notes.downtime
    assert list(zip(down.host, down.down_ns // S, down.up_ns // S, strict=True)) == [(3, 300, 1200)]


def test_a_reservation_of_some_cores_of_a_host(tmp_path: Path) -> None:
    path, text = (
        tmp_path / "windows.toml",
        '[[reservation]]\nname = "c"\nbegin = "0s"\nend = "30m"\ncores = "0-{}"\njobs = "2"\n',
    )
    path.write_text(text.format(1))
    jobs = [_job(1, 0, 200, 4, 240), _job(2, 5, 300, 2, 400), _job(3, 6, 20, 2, 30)]
    _, frame = _replayed(jobs, machine(1, 4), tmp_path / "r", constraints=ConstraintOptions(windows=path))
    assert frame.start[1] >= 1800
    assert frame.start[[2, 3]].max() < 40
    path.write_text(text.format(5))
    with pytest.raises(InputError, match="windows: reservation 'c': has parts of 2 hosts; for Slurm, allowed"):
        replayed(jobs, machine(2, 4), tmp_path / "s", constraints=ConstraintOptions(windows=path))


def test_nodes_are_drained_as_in_our_engine(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(
        "host,down_s,up_s,state\n0,100,600,drain\n1,0,50,drain\n"
        "1,800,2000,drain\n1,900,1000,down\n0,3000,3600,down\n0,3100,3300,drain\n"
    )
    jobs = [
        _job(1, 0, 300, 1, 400, preset=1),  # goes on, though its node is drained
        _job(2, 10, 150, 1, 200),  # on the other node, not before 50
        _job(3, 150, 100, 1, 200),  # when that is free again, at 200
        _job(4, 350, 60, 2, 300),  # on both, when the first is back
        _job(5, 850, 60, 2, 300),  # when the second is back, which was down meanwhile
        _job(6, 3150, 60, 2, 300),  # when the first is up, as its draining has ended before
    ]
    constraints = ConstraintOptions(failures=str(path))
    _, frame = _replayed(jobs, machine(2, 1), tmp_path / "r", constraints=constraints, settle_ns=70 * S)
    options: dict[str, Any] = {"platform": machine(2, 1), "bls": "fcfs", "als": "recorded", "constraints": constraints}
    ours = simulate(Workload.from_jobs(jobs), **options).jobs
    assert (ours.start_ns / S).tolist() == [0, 50, 200, 600, 2000, 3600]
    assert frame.start.to_numpy() == pytest.approx((ours.start_ns / S).to_numpy(), abs=4)  # Slurm starts jobs every 3 s
    assert (frame.end - frame.start).tolist() == [300, 150, 100, 60, 60, 60]
    assert frame.allocation.tolist() == ours.allocation.tolist()


@pytest.mark.parametrize(
    ("how", "states", "als"), [("requeue", ["requeued", "completed"], "gss"), ("lose", ["failed"], "recorded")]
)
def test_nodes_go_down_and_jobs_on_them_are_cut(tmp_path: Path, how: str, states: list[str], als: str) -> None:
    path = tmp_path / "failures.csv"
    path.write_text("host,down_s,up_s\n0,100,700\n2,0,50\n3,5000,\n")
    jobs = [_job(1, 0, 400, 2, 600), _job(2, 5, 300, 1, 400), _job(3, 210, 100, 3, 1000), _job(4, 220, 60, 4, 300)]
    options = {"constraints": ConstraintOptions(failures=str(path)), "rules": Rules(on_failure=how), "als": als}
    done, frame = _replayed(jobs, machine(4, 1), tmp_path / "r", settle_ns=70 * S, **options)
    first = frame.loc[[1]]
    assert list(first.state) == states
    assert first.end.iloc[0] == 100
    assert frame.allocation[[2, 3]].tolist() == ["3", "1-3"]  # host 2 is down from the begin on
    assert frame.start[4] >= 700
    if how == "requeue":
        again = first.iloc[1]
        assert again.allocation == "1-2"
        assert 220 <= again.start <= 300  # Slurm lets the credential of the first attempt expire
        assert again.end - again.start == 400
    down = done.result.notes.downtime
    assert sorted(zip(down.host.tolist(), (down.down_ns // S).tolist(), strict=True)) == [(0, 100), (2, 0)]


def _await_end_of_all(pid: int) -> None:
    """Wait until the kernel has ended every process whose parent has ended."""
    until = time.monotonic() + 20.0
    while left := started_by(pid):
        assert time.monotonic() < until, left
        time.sleep(0.01)


#: Jobs that last for years of real time once the first is submitted.
_LONG = [(1, 0, 100_000, 1, 200_000), (2, 100_000, 1, 1, 100)]

_KILLED = (
    "slurmctld was killed by SIGKILL from outside, as the system does when memory runs out, not because of the workload"
)
_LAST = r".*; end of its log: \[20\d\d-"


def _end_requests(replay: controller.Controller) -> None:
    requests = replay._requests
    assert requests is not None
    requests.kill()
    requests.wait()


def _limit_files(replay: controller.Controller) -> None:
    # A file that may not grow any more acts as a full disk; slurmctld's log is longer already.
    resource.prlimit(replay._slurmctld.pid, resource.RLIMIT_FSIZE, (1000, 1000))


def _sends(number: signal.Signals) -> Callable[[controller.Controller], None]:
    return lambda replay: os.kill(replay._slurmctld.pid, number)


@pytest.mark.parametrize(
    ("step", "spoil", "after", "error", "said"),
    [
        (Course._submit, _sends(signal.SIGKILL), False, PeerError, _KILLED + _LAST),
        (Course._submit, _sends(signal.SIGSEGV), True, PeerError, "slurmctld was killed by SIGSEGV" + _LAST),
        (
            Course._submit,
            _sends(signal.SIGSTOP),
            False,
            PeerError,
            "slurmctld hangs: it has done nothing for 1 s" + _LAST,
        ),
        (Course._submit, _end_requests, False, PeerError, "the program that uses libslurm has ended"),
        (Course._submit, _limit_files, True, InputError, r"cannot write its log or its state into .*r: File too large"),
        # The input is not blamed.
        (controller.Controller.settle, _sends(signal.SIGKILL), False, PeerError, _KILLED),
    ],
)
def test_a_fault_around_a_step_is_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: Any,
    spoil: Any,
    after: bool,
    error: type[Exception],
    said: str,
) -> None:
    def spoilt(self: Any, *arguments: Any) -> None:
        if after:
            step(self, *arguments)
        spoil(self._controller if isinstance(self, Course) else self)
        if not after:
            step(self, *arguments)

    monkeypatch.setattr(controller, "_PATIENCE_S", 1.0)
    monkeypatch.setattr(Course if step is Course._submit else controller.Controller, step.__name__, spoilt)
    with pytest.raises(error, match=said):
        replayed(_LONG, machine(1, 1), tmp_path / "r")
    _await_end_of_all(os.getpid())


def test_an_answer_may_take_any_real_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy computer slurmctld computes for longer than MessageTimeout, after which libslurm would have given up.
    submit, later = Course._submit, []

    def stop_and_submit(course: Course, row: int) -> None:
        slurmctld = course._controller._slurmctld.pid
        os.kill(slurmctld, signal.SIGSTOP)
        later.append(threading.Timer(2.5, os.kill, (slurmctld, signal.SIGCONT)))
        later[-1].start()
        submit(course, row)

    monkeypatch.setattr(Course, "_submit", stop_and_submit)
    try:
        done = replayed([(1, 0, 100, 1, 200)], machine(1, 1), tmp_path / "r", keys={"MessageTimeout": "1"})
    finally:
        for timer in later:
            timer.join()
    assert (len(later), list(done.result.jobs.state)) == (1, ["completed"])


#: The command, which prints a line when it has submitted the first job.
_SAYS = table_text(__file__, "says")


@pytest.mark.parametrize(
    "number",
    [signal.SIGKILL, *(pytest.param(one, marks=pytest.mark.release) for one in (signal.SIGINT, signal.SIGTERM))],
)
def test_whatever_ends_a_replay_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    words = [sys.executable, "-c", _SAYS, "replay", "sample", "--out", "r", "--rate", "20"]
    running = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert running.stdout is not None
    assert running.stdout.readline() == "submitted\n"
    others = started_by(running.pid)
    assert len(others) >= 3  # slurmctld, its runner of scripts, and the program that speaks through libslurm
    assert not sockets_of(others) & known_sockets("tcp", "tcp6", "udp", "udp6")
    ends = [os.pidfd_open(pid) for pid in others]
    running.send_signal(number)
    running.communicate(timeout=60)
    for end in ends:
        assert select.select([end], [], [], 60)[0]
        os.close(end)
    assert not (tmp_path / "r").exists()  # no half a result
    assert bool(list(tmp_path.glob(".r.partial-*"))) == (number == signal.SIGKILL)


def test_the_command_writes_what_a_run_writes_and_two_at_once_do_not_meet(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "twolevel", "replay", "sample", "--select", "first:12", "--out"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([*words, str(tmp_path / name)], cwd=tmp_path, **pipes) for name in ("a", "of b #1")]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "of b #1"]
    files = sorted(str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files == ["jobs.parquet", "run.json", "slurm/slurm.conf", "slurm/slurmctld.log"]
    assert (tmp_path / "a/jobs.parquet").read_bytes() == (tmp_path / "of b #1/jobs.parquet").read_bytes()
    record = json.loads((tmp_path / "a/run.json").read_text())
    assert (record["arguments"]["bls"], record["arguments"]["settle_s"]) == ("slurm", 70)
    assert record["replay"]["jumps"] > 0
    assert record["replay"]["release"].startswith("22.05.")
    assert record["replay"]["keys"]["SchedulerType"] == "sched/backfill"
    assert "Slurm 22.05 × recorded" in said[0][0]
    assert "allocator" not in said[0][0]
    drawn = twolevel("gantt", tmp_path / "a", "-o", tmp_path / "x.png")
    assert drawn.code == 2
    assert "with --als recorded there are no tasks; `twolevel figures --only held`" in drawn.err
    assert run_title(record) == "sample: Slurm 22.05 × recorded"
    succeeds("compare", tmp_path / "a", tmp_path / "of b #1")
    succeeds("story", tmp_path / "a", 5)


@pytest.mark.parametrize(("words", "said"), table_rows(__file__, "what_is_the_users_fault_is_one_line_and_code_2"))
def test_what_is_the_users_fault_is_one_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = twolevel("replay", "sample", "--out", "r", *words)
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert re.search(said, ran.err)
    assert list(tmp_path.iterdir()) == []
