"""What is given to the installed Slurm beside cores and times: it decides by it, and the tables say what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import twolevel
from slurm_here import machine, needs_slurm, replayed

from bls.constraints.options import Surroundings
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.machine.switches import Switch
from bls.scheduler_options import Rules
from bls.workloads import read_workload
from bls.workloads.selection import select
from bls.workloads.workload import Workload
from bridge import simulate
from bridge.replay.run import Replay
from bridge.replay.site import of_site
from traces.base.errors import InputError

pytestmark = [pytest.mark.whole, needs_slurm]

S = 10**9


def _job(number: int, submit_s: float, run_s: float, cores: int, estimate_s: float, **more: Any) -> dict[str, Any]:
    return {"job_id": number, "submit_s": submit_s, "run_s": run_s, "cores": cores, "estimate_s": estimate_s, **more}


def _frame(done: Replay) -> pd.DataFrame:
    """By (job, attempt), with seconds."""
    frame = done.result.jobs.set_index(["job_id", "attempt"]).sort_index()
    return frame.assign(start=frame.start_ns / S, end=frame.end_ns / S, eligible=frame.eligible_ns / S)


# ---- jobs ----


def test_jobs_start_from_their_begin_on(tmp_path: Path) -> None:
    jobs = [
        _job(1, 0, 100, 1, 120, begin_s=50),
        _job(2, 10, 60, 1, 120, preceding=1, think_s=20, begin_s=30),
        _job(3, 10, 60, 1, 120, preceding=1, think_s=20, begin_s=400),
        _job(4, 20, 10, 1, 60, begin_s=10),
        _job(5, 20, 10, 1, 60, begin_s=300, cancel_s=100),
    ]
    around = Surroundings(dependencies=True)
    done = replayed(Workload.from_jobs(jobs), machine(4, 1), tmp_path / "r", around=around, settle_ns=70 * S)
    frame = _frame(done)
    eligible, start = frame.eligible.droplevel(1), frame.start.droplevel(1)
    assert eligible[[1, 2, 3, 4]].tolist() == [50, frame.end[1, 0] + 20, 400, 20]
    assert frame.state[5, 0] == "cancelled"
    late = (start - eligible)[[1, 2, 3, 4]]
    assert ((late >= 0) & (late <= 61)).all()  # at the latest when Slurm looks at all of the queue
    assert done.result.metrics["max_wait_ns"] == max((start - eligible)[[1, 3, 4]].max(), start[2] - 30) * S


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
        _job(10, 51, 10, 1, 60, preceding=12, cancel_s=70),  # leaves before that one comes
        _job(11, 52, 10, 1, 60, preceding=10, think_s=5),  # and lets this one go
        _job(12, 400, 10, 1, 60),
    ]
    done = replayed(
        Workload.from_jobs(jobs),
        machine(4, 1),
        tmp_path / "r",
        around=Surroundings(dependencies=True),
        rules=Rules(kill_at_walltime=True),
        settle_ns=70 * S,
    )
    frame = _frame(done)
    end, eligible, start = frame.end, frame.eligible, frame.start
    assert frame.state[6, 0] == "killed"
    assert frame.state[9, 0] == "cancelled"
    assert eligible[2, 0] == end[1, 0] + 100
    assert eligible[3, 0] == end[1, 0]
    assert eligible[5, 0] == end[1, 0] + 1000
    assert eligible[7, 0] == end[6, 0] + 5.5
    assert eligible[8, 0] == 60
    assert frame.state[10, 0] == "cancelled"
    assert eligible[10, 0] < 0  # it never was
    assert eligible[11, 0] == 75
    assert 75 <= start[11, 0] < 400
    late = start - eligible
    assert (late[[2, 3, 5, 7]] >= 0).all()
    assert (late[[2, 3, 5, 7]] <= 61).all()  # at the latest when Slurm looks at all of the queue


def test_users_are_told_apart_though_this_computer_has_none_of_them(tmp_path: Path) -> None:
    # In one cycle of its backfilling Slurm may start one job of each user, and there is room for one at a time.
    jobs = [_job(1, 0, 3000, 2, 3600), _job(2, 1, 300, 4, 600)]
    jobs += [_job(number, 2, 2000, 1, 2400, user=user) for number, user in ((3, 5), (4, 5), (5, 6))]
    keys = {"SchedulerParameters": "bf_max_job_user=1,bf_interval=600"}
    frame = replayed(Workload.from_jobs(jobs), machine(4, 1), tmp_path / "b", keys=keys).result.jobs.set_index("job_id")
    assert frame.start_ns[5] == frame.start_ns[3] < frame.start_ns[4]


def test_partitions_of_a_platform_have_their_hosts_and_their_order(tmp_path: Path) -> None:
    partitions = (
        Partition("short", "0-1", swf_queues=(2,), priority=5, max_time_ns=600 * S),
        Partition("the rest", default=True),
    )
    jobs = [
        _job(1, 0, 300, 4, 600, queue=2),
        _job(2, 0, 300, 4, 6000, queue=1),
        _job(3, 1, 60, 4, 600, queue=1),
        _job(4, 2, 60, 4, 600, queue=2),  # before the third: its partition is
    ]
    platform = Platform((HostGroup(4, 2, 93.75),), partitions=partitions)
    frame = _frame(replayed(Workload.from_jobs(jobs), platform, tmp_path / "r"))
    assert list(frame.allocation) == ["0-3", "4-7", "4-7", "0-3"]
    assert frame.start[1, 0] == frame.start[2, 0] == 0.5
    conf = (tmp_path / "r/slurm.conf").read_text()
    assert "PartitionName=short Nodes=n[0-1] MaxTime=10 PriorityTier=2" in conf
    assert "PartitionName=p1 Nodes=ALL MaxTime=INFINITE PriorityTier=1 State=UP Default=YES" in conf


_TREE = (Switch("a", "0-3"), Switch("b", "4-7"), Switch("top", switches=("a", "b")))


@pytest.mark.parametrize(("switches", "wait_ns", "starts"), [("1@2m", 120 * S, (122, 200)), ("1", None, (900, 961))])
def test_jobs_wait_for_few_switches_for_as_long_as_they_say(
    tmp_path: Path, switches: str, wait_ns: int | None, starts: tuple[int, int]
) -> None:
    platform = Platform((HostGroup(8, 1, 46.875),), switches=_TREE)
    jobs = [
        _job(1, 0, 900, 3, 1000),
        _job(2, 1, 900, 3, 1000),
        _job(3, 2, 300, 2, 600),
    ]  # a host is left on each switch
    done = replayed(
        Workload.from_jobs(jobs),
        platform,
        tmp_path / "r",
        around=Surroundings(switches=switches),
        allocator="topology",
        rules=Rules(switch_wait_ns=wait_ns),
        settle_ns=70 * S,
    )
    frame = _frame(done)
    assert list(frame.allocation[[1, 2]]) == ["0-2", "4-6"]
    assert starts[0] <= frame.start[3, 0] <= starts[1]
    assert frame.allocation[3, 0] == ("0-1" if wait_ns is None else "3 7")


def test_jobs_ask_for_units_memory_gpus_and_licences(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("job_id,unit_cores,gpu,memory_gb,matlab\n1,2,1,7,\n2,1,,,3\n3,2,1,,\n4,1,,3,1\n")
    platform = Platform((HostGroup(2, 4, 187.5, {"memory_gb": 16, "gpu": 2}),), licences={"matlab": 3})  # type: ignore[arg-type]
    jobs = [_job(1, 0, 300, 8, 600), _job(2, 1, 300, 1, 600), _job(3, 2, 100, 6, 600), _job(4, 3, 100, 1, 300)]
    frame = _frame(replayed(Workload.from_jobs(jobs), platform, tmp_path / "r", around=Surroundings(requests=path)))
    # The first has all GPUs. Then there is one job with all licences, and one with three units of two cores and a GPU: of two
    # hosts of two GPUs, so that there are cores for the last one, but no licence.
    assert frame.allocation[1, 0] == "0-7"
    assert frame.start[2, 0] == pytest.approx(300.5, abs=0.1)
    assert frame.start[3, 0] == pytest.approx(300.5, abs=0.1)
    assert frame.start[4, 0] >= frame.end[2, 0]


def test_recorded_priorities_and_the_order_of_recorded_starts(tmp_path: Path) -> None:
    # The third has started first.
    jobs = [_job(1, 0, 100, 2, 120, wait_s=0)]
    jobs += [_job(number, number, 100, 2, 120, wait_s=wait) for number, wait in ((2, 400), (3, 100), (4, 250))]
    for recorded, order in ((False, [1, 2, 3, 4]), (True, [1, 3, 4, 2])):
        done = replayed(Workload.from_jobs(jobs), machine(2, 1), tmp_path / str(recorded), recorded_priorities=recorded)
        frame = done.result.jobs
        assert frame.job_id[np.argsort(frame.start_ns)].tolist() == order


_SITE = """\
SelectType=select/linear
TopologyPlugin=topology/tree
NodeName=a[1-2] CPUs=4 Feature=fast,new
NodeName=b[1-2] CPUs=4 Gres=gpu:k80:2
GresTypes=gpu
PartitionName=day Nodes=a[1-2],b[1-2] Default=YES State=UP
PartitionName=night Nodes=b[1-2] State=UP
"""

_DUMP = """\
JobID|User|Account|Partition|AllocCPUS|ReqNodes|Submit|Start|Elapsed|Timelimit|State|NodeList|Constraints|Reservation|Priority
11|ann|physics|night|4|1|1700000000|1700000000|02:00:00|03:00:00|COMPLETED|b2|||7
12|bob|biology|day|8|2|1700000000|1700000060|02:00:00|03:00:00|COMPLETED|a[1-2]|||9
13|bob|biology|gone|4|1|1700000100|1700000200|00:10:00|00:20:00|COMPLETED|old7|new&fast||8
14|ann|physics|day|4|1|1700003700|1700003900|00:10:00|00:20:00|COMPLETED|a1|fast||5
15|ann|physics|night|1|1|1700003700|1700003900|00:10:00|00:20:00|COMPLETED|b1|big||6
"""


def test_a_dump_of_sacct_through_a_sites_slurm_conf(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_SITE)
    (tmp_path / "topology.conf").write_text(
        "SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=b[1-2]\nSwitchName=t Switches=s[0-1]\n"
    )
    (tmp_path / "log.sacct").write_text(_DUMP)
    found = of_site(str(tmp_path / "slurm.conf"), {})
    whole = read_workload(tmp_path / "log.sacct")
    done = replayed(whole, found.platform(), tmp_path / "r", found=found)
    frame = _frame(done)
    assert frame.allocation[11, 0] == "8-11"  # the first of the partition of the night
    assert frame.allocation[12, 0] == "0-7"
    assert frame.allocation[14, 0] in ("0-3", "4-7")  # it waits for a fast one, and leaves the other to the next
    assert frame.start[14, 0] >= frame.end[[12, 13]].min()
    assert frame.allocation[15, 0] == "12-15"
    assert (tmp_path / "r/topology.conf").read_text().startswith("SwitchName=s0 Nodes=a[1-2]\n")
    assert done.notes == (
        "1 job of partition gone, which slurm.conf does not have, go to the default one",
        "1 job ask for features that no node has, which is left out",
    )


def test_jobs_that_run_already_are_on_the_nodes_where_they_have_run(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_SITE)
    (tmp_path / "log.sacct").write_text(_DUMP)
    found = of_site(str(tmp_path / "slurm.conf"), {})
    jobs = select(read_workload(tmp_path / "log.sacct"), "window:1h+1h", preset=True)
    frame = _frame(replayed(jobs, found.platform(), tmp_path / "r", found=found, settle_ns=70 * S))
    assert frame.allocation[11, 0] == "12-15"  # b2, though b1 is free, too
    assert frame.allocation[12, 0] == "0-7"
    assert list(frame.why[[11, 12]]) == ["preset", "preset"]
    assert list(frame.start[[11, 12]]) == [0, 0]
    assert list(frame.end[[11, 12]]) == [3600, 3660]
    assert frame.allocation[15, 0] == "8-11"
    assert frame.start[15, 0] < 102


def test_jobs_that_run_already_need_no_time_and_are_ended_at_their_limit(tmp_path: Path) -> None:
    jobs = [
        _job(1, 0, 400, 2, 500, preset=1),
        _job(2, 0, 100, 1, 100, preset=1),
        _job(3, 0, 1000, 1, 60, preset=1),
        _job(4, 20, 60, 2, 300),
    ]
    for als in ("recorded", "gss"):
        done = replayed(Workload.from_jobs(jobs), machine(4, 1), tmp_path / als, als=als)
        frame = _frame(done)
        assert list(frame.state) == ["completed", "completed", "killed", "completed"]
        assert list(frame.start[[1, 2, 3]]) == [0, 0, 0]
        assert list(frame.end[[1, 2]]) == [400, 100]
        assert 60 <= frame.end[3, 0] <= 60 + 120
        assert frame.start[4, 0] == pytest.approx(frame.end[3, 0], abs=2)
    too_many = [_job(1, 0, 60, 2, 60, preset=1), _job(2, 0, 60, 1, 60, preset=1, queue=1)]
    partitions = (Partition("p", "0-1", default=True), Partition("q", "1", swf_queues=(1,)))
    platform = Platform((HostGroup(3, 1, 46.875),), partitions=partitions)
    with pytest.raises(InputError, match="Slurm does not start job 2, which runs already by the log, on 1 cores: "):
        replayed(Workload.from_jobs(too_many), platform, tmp_path / "many")


# ---- reservations, and states of nodes ----


def test_reservations_and_maintenance(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_text(
        '[[reservation]]\nname = "course"\nbegin = "10m"\nend = "30m"\nhosts = "0-1"\njobs = "2 5 6"\n'
        '[[maintenance]]\nname = "cooling"\nbegin = "5m"\nend = "20m"\nhosts = "3"\n'
    )
    jobs = [
        _job(1, 0, 200, 4, 240),
        _job(2, 5, 300, 2, 400),
        _job(3, 210, 900, 2, 1000),
        _job(4, 220, 60, 4, 300),
        _job(5, 230, 1100, 2, 1100),
        _job(6, 240, 1100, 2, 1100),
    ]
    done = replayed(
        Workload.from_jobs(jobs), machine(4, 1), tmp_path / "r", around=Surroundings(windows=path), settle_ns=70 * S
    )
    frame = _frame(done)
    assert list(frame.allocation[[2, 5]]) == ["0-1", "0-1"]
    assert 600 <= frame.start[2, 0] <= 661
    assert frame.start[5, 0] >= frame.end[2, 0]
    assert (frame.state[5, 0], frame.state[6, 0]) == ("killed", "cancelled")
    assert 1800 <= frame.end[5, 0] <= 1861
    assert frame.start[6, 0] < 0
    assert frame.start[3, 0] >= 1200  # two are reserved, and one is not there
    assert frame.start[4, 0] >= 1800
    down = done.result.notes.downtime
    assert list(zip(down.host, down.down_ns // S, down.up_ns // S, strict=True)) == [(3, 300, 1200)]


def test_a_job_that_has_run_in_a_reservation_of_the_log_is_in_the_window_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_SITE)
    dump = _DUMP.replace("b2|||7", "b2||course|7").replace("a[1-2]|||9", "a[1-2]||other|9")
    (tmp_path / "log.sacct").write_text(dump)
    (tmp_path / "windows.toml").write_text(
        '[[reservation]]\nname = "course"\nbegin = "1h"\nend = "9h"\nhosts = "3"\njobs = "15"\n'
    )
    found = of_site(str(tmp_path / "slurm.conf"), {})
    done = replayed(
        read_workload(tmp_path / "log.sacct"),
        found.platform(),
        tmp_path / "r",
        found=found,
        around=Surroundings(windows=tmp_path / "windows.toml"),
        settle_ns=70 * S,
    )
    frame = _frame(done)
    assert frame.allocation[11, 0] == frame.allocation[15, 0] == "12-15"
    assert 3600 <= frame.start[11, 0] <= 3661
    assert "1 job ran in reservation other, which no window is called; they are in none" in done.notes


def test_a_reservation_of_some_cores_of_a_host(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_text('[[reservation]]\nname = "c"\nbegin = "0s"\nend = "30m"\ncores = "0-1"\njobs = "2"\n')
    jobs = [_job(1, 0, 200, 4, 240), _job(2, 5, 300, 2, 400), _job(3, 6, 20, 2, 30)]
    frame = _frame(replayed(Workload.from_jobs(jobs), machine(1, 4), tmp_path / "r", around=Surroundings(windows=path)))
    assert frame.start[1, 0] >= 1800
    assert frame.start[2, 0] < 40
    assert frame.start[3, 0] < 40
    path.write_text('[[reservation]]\nname = "c"\nbegin = "0s"\nend = "30m"\ncores = "0-5"\njobs = "2"\n')
    with pytest.raises(InputError, match="--windows: reservation 'c': has parts of 2 hosts; for Slurm, allowed"):
        replayed(Workload.from_jobs(jobs), machine(2, 4), tmp_path / "s", around=Surroundings(windows=path))


def test_nodes_are_drained_as_in_our_engine(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(
        "host,down_s,up_s,state\n0,100,600,drain\n1,0,50,drain\n"
        "1,800,2000,drain\n1,900,1000,down\n0,3000,3600,down\n0,3100,3300,drain\n"
    )
    jobs = [
        _job(1, 0, 300, 1, 400, preset=1),  # on a node, and goes on there as it is drained
        _job(2, 10, 150, 1, 200),  # on the other one, not before 50
        _job(3, 150, 100, 1, 200),  # when that is free again, at 200
        _job(4, 350, 60, 2, 300),  # of both, when the first is back
        _job(5, 850, 60, 2, 300),  # when the second is back, which was down meanwhile
        _job(6, 3150, 60, 2, 300),  # when the first is up, as its draining has ended before
    ]
    workload, around = Workload.from_jobs(jobs), Surroundings(failures=str(path))
    frame = _frame(replayed(workload, machine(2, 1), tmp_path / "r", around=around, settle_ns=70 * S))
    ours = simulate(workload, platform=machine(2, 1), bls="fcfs", als="recorded", surroundings=around).jobs
    assert (ours.start_ns / S).tolist() == [0, 50, 200, 600, 2000, 3600]
    # Slurm looks 3 s apart at who was submitted.
    assert frame.start.to_numpy() == pytest.approx((ours.start_ns / S).to_numpy(), abs=4)
    assert (frame.end - frame.start).tolist() == [300, 150, 100, 60, 60, 60]
    assert frame.allocation.tolist() == ours.allocation.tolist()


@pytest.mark.parametrize(
    ("how", "states", "als"), [("requeue", ["requeued", "completed"], "gss"), ("lose", ["failed"], "recorded")]
)
def test_nodes_go_down_and_come_back_and_jobs_on_them_are_cut(
    tmp_path: Path, how: str, states: list[str], als: str
) -> None:
    path = tmp_path / "failures.csv"
    path.write_text("host,down_s,up_s\n0,100,700\n2,0,50\n3,5000,\n")
    jobs = [_job(1, 0, 400, 2, 600), _job(2, 5, 300, 1, 400), _job(3, 210, 100, 3, 1000), _job(4, 220, 60, 4, 300)]
    done = replayed(
        Workload.from_jobs(jobs),
        machine(4, 1),
        tmp_path / "r",
        around=Surroundings(failures=str(path)),
        rules=Rules(on_failure=how),
        als=als,
        settle_ns=70 * S,
    )
    frame = _frame(done)
    assert list(frame.state[1]) == states
    assert frame.end[1, 0] == 100
    assert frame.allocation[2, 0] == "3"  # the third one is down from the begin on
    assert frame.allocation[3, 0] == "1-3"
    assert frame.start[4, 0] >= 700
    if how == "requeue":
        assert frame.allocation[1, 1] == "1-2"
        assert 220 <= frame.start[1, 1] <= 300  # Slurm lets the credential of the first attempt expire
        assert frame.end[1, 1] - frame.start[1, 1] == 400
    down = done.result.notes.downtime
    assert sorted(zip(down.host.tolist(), (down.down_ns // S).tolist(), strict=True)) == [(0, 100), (2, 0)]


def test_failures_for_ever_do_not_keep_a_job_waiting_that_never_starts(tmp_path: Path) -> None:
    path, around = tmp_path / "slurm.conf", Surroundings(failures="mtbf:6h,mttr:10m,seed:1")
    path.write_text("NodeName=n[0-1] CPUs=1\nPartitionName=p Nodes=ALL Default=YES MaxTime=5 State=UP\n")
    jobs = Workload.from_jobs([_job(1, 0, 60, 1, 600)])
    found = of_site(str(path), {})
    with pytest.raises(InputError, match=r"Slurm does not start 1 job.*PartitionTimeLimit"):
        replayed(jobs, machine(2, 1), tmp_path / "r", around=around, found=found, settle_ns=70 * S)


# ---- the command ----


def test_the_command_takes_what_run_takes_and_says_what_it_has_left_out(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_SITE.replace("a[1-2],b[1-2]", "ALL"))
    (tmp_path / "log.sacct").write_text(_DUMP)
    (tmp_path / "tree.toml").write_text('[[switches]]\nname = "one"\nhosts = "0-3"\n')
    words = ("--slurm-conf", tmp_path / "slurm.conf", "--topology", tmp_path / "tree.toml", "--switches", "1@5m")
    words += ("--priorities", "recorded", "--select", "window:1h+1h", "--preset")
    ran = twolevel("replay", tmp_path / "log.sacct", "--out", tmp_path / "r", *words)
    assert ran.code == 0, ran.err
    assert "1 job ask for features that no node has, which is left out" in ran.err
    assert (tmp_path / "r/slurm/topology.conf").read_text() == "SwitchName=one Nodes=a[1-2],b[1-2]\n"
    assert "max_switch_wait=300" in (tmp_path / "r/slurm/slurm.conf").read_text()
    for words, said in (
        (("--set", "PriorityWeightFairshare=10"), "PriorityWeightFairshare=10: needs slurmdbd, which is not here"),
        (("--switches", "1"), "--switches: the platform names no switches"),
    ):
        ran = twolevel("replay", "sample", "--out", tmp_path / "s", *words)
        assert (ran.code, len(ran.err.splitlines())) == (2, 1)
        assert said in ran.err
