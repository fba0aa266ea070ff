"""Replays through the installed slurmctld: what it decides is legal, the same each time, and nothing is left behind."""

from __future__ import annotations

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
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import twolevel
from replay_soak import known_sockets, sockets_of, started_by
from slurm_here import machine, needs_slurm, replayed

from bls.workloads.workload import Workload
from bridge.replay import controller
from bridge.replay.course import Course
from bridge.replay.site import of_site
from bridge.runs.gantt import run_title
from traces.base.errors import InputError, PeerError
from traces.ledger import STATES

pytestmark = [pytest.mark.whole, needs_slurm]

S = 10**9


def _drawn(n: int, hosts: int, seed: int) -> list[tuple[int, int, int, int, int]]:
    """Jobs that keep so many hosts busy: (number, submit s, run s, cores, estimate s)."""
    rng = np.random.default_rng(seed)
    jobs, at = [], 0
    for number in range(1, n + 1):
        at += int(rng.exponential(120))
        run = int(rng.integers(30, 1500))
        jobs.append((number, at, run, int(rng.integers(1, hosts + 1)), int(run * rng.uniform(1.1, 3)) + 60))
    return jobs


def test_backfilling_fills_and_the_same_input_gives_the_same_schedule_on_any_load(tmp_path: Path) -> None:
    jobs = _drawn(25, 8, 2)
    quiet = replayed(jobs, machine(8, 1), tmp_path / "a").result.jobs
    assert {"head", "backfill"} == set(quiet.why)
    # All on one processor, with another program that is never idle.
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        loaded = replayed(jobs, machine(8, 1), tmp_path / "b").result.jobs
    finally:
        os.sched_setaffinity(0, processors)
        busy.kill()
        busy.wait()
    pd.testing.assert_frame_equal(quiet, loaded)
    assert (tmp_path / "a/slurmctld.log").read_bytes() == (tmp_path / "b/slurmctld.log").read_bytes()


def test_slurm_gives_cores_of_hosts_and_ends_jobs_at_their_limit(tmp_path: Path) -> None:
    # Of 2 hosts of 4 cores: one job has cores of both; one lasts for longer than it has asked for; one is not too late.
    jobs = [(1, 0, 300, 5, 600), (2, 10, 900, 2, 120), (3, 20, 120, 1, 120)]
    result = replayed(jobs, machine(2, 4), tmp_path / "r").result
    frame = result.jobs
    assert list(frame.state) == ["completed", "killed", "completed"]
    assert list(frame.allocation) == ["0-4", "5-6", "7"]
    lasted = (frame.end_ns - frame.start_ns) / S
    assert lasted[0] == 300
    assert 120 < lasted[1] <= 181  # Slurm looks for such jobs now and then
    assert lasted[2] == 120
    assert result.metrics["state_killed"] == 1


def test_who_withdraws_a_waiting_job(tmp_path: Path) -> None:
    workload = Workload.from_jobs(
        [
            {"job_id": 1, "submit_s": 0, "run_s": 300, "cores": 2, "estimate_s": 600},
            {"job_id": 2, "submit_s": 10, "run_s": 300, "cores": 2, "estimate_s": 600, "cancel_s": 50},
            {"job_id": 3, "submit_s": 20, "run_s": 60, "cores": 2, "estimate_s": 600, "cancel_s": 4000},
        ]
    )
    frame = replayed(workload, machine(2, 1), tmp_path / "r").result.jobs
    assert list(frame.state) == ["completed", "cancelled", "completed"]
    assert frame.start_ns[1] == -1
    assert 300 <= (frame.start_ns[2] - frame.start_ns[0]) / S <= 302


def test_the_application_level_decides_when_jobs_end(tmp_path: Path) -> None:
    jobs = [(number, submit, run, 4, run * 3) for number, submit, run, _, _ in _drawn(8, 2, 4)]
    jobs[5] = (*jobs[5][:4], 60)  # it is killed
    done = replayed(jobs, machine(2, 4), tmp_path / "r", als="ss", variation=0.25, tasks_per_core=8)
    frame, tasks = done.result.jobs, done.result.tasks
    assert frame.state.value_counts().to_dict() == {"completed": 7, "killed": 1}
    assert frame.state[5] == STATES[1]
    last = tasks.groupby("job_id").end_ns.max()
    assert (frame.set_index("job_id").end_ns == last).all()  # a job ends with its last task, or is cut with it
    recorded = [run * S for _, _, run, _, _ in jobs]
    assert (frame.end_ns - frame.start_ns != recorded).all()


def test_nodes_that_clean_up_are_free_later(tmp_path: Path) -> None:
    # Jobs of both hosts, and a last one that nobody stands before.
    jobs = [(1, 0, 300, 2, 600), (2, 10, 300, 2, 600), (3, 20, 300, 2, 600), (4, 5000, 60, 1, 120)]
    keys = {"SchedulerType": "sched/builtin"}
    at_once = replayed(jobs, machine(2, 1), tmp_path / "a", keys=keys).result.jobs
    later = replayed(jobs, machine(2, 1), tmp_path / "b", keys=keys, cleanup_ns=7 * S).result.jobs
    assert (later.end_ns - later.start_ns == at_once.end_ns - at_once.start_ns).all()
    assert list((later.start_ns - at_once.start_ns) / S) == [0, 7, 14, 0]
    # Longer than it takes until the date jumps.
    slow = replayed(jobs, machine(2, 1), tmp_path / "c", keys=keys, cleanup_ns=400 * S, settle_ns=70 * S)
    assert slow.cost["jumps"] > 0
    assert list((slow.result.jobs.start_ns - at_once.start_ns) / S) == [0, 400, 800, 0]


def test_a_clock_that_runs_is_another_one(tmp_path: Path) -> None:
    jobs = [(1, 0, 300, 1, 600), (2, 30, 300, 1, 600), (3, 60, 300, 2, 600)]
    began = time.monotonic()
    done = replayed(jobs, machine(2, 1), tmp_path / "r", rate=2000.0)
    took = time.monotonic() - began
    frame = done.result.jobs
    assert took >= done.cost["simulated_s"] / 2000
    assert (frame.start_ns[:2] - frame.submit_ns[:2] < 60 * S).all()
    assert frame.start_ns[2] >= frame.end_ns[:2].max()


_SITE = """\
ClusterName=site
SlurmctldPort=7000
AuthType=auth/munge
Prolog=/nowhere
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=60
NodeName=node[01-03] CPUs=2 NodeAddr=192.0.2.[1-3]
PartitionName=short Nodes=node[01-03] Default=YES MaxTime=10 State=UP
"""


def test_a_sites_slurm_conf_and_a_job_that_its_partition_does_not_take(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_SITE)
    found = of_site(str(tmp_path / "slurm.conf"), {"EnforcePartLimits": "ALL"})
    frame = replayed(
        [(1, 0, 60, 6, 300), (2, 5, 60, 3, 300)], found.platform(), tmp_path / "r", found=found
    ).result.jobs
    assert list(frame.state) == ["completed"] * 2
    assert frame.allocation[0] == "0-5"
    with pytest.raises(InputError, match=r"Slurm does not take job 1, 1 cores for 20 min: .*time limit"):
        replayed([(1, 0, 60, 1, 1200)], found.platform(), tmp_path / "s", found=found)
    found = of_site(str(tmp_path / "slurm.conf"), {})
    with pytest.raises(
        InputError, match=r"Slurm does not start 1 job, though nothing has run for 4 h.*job 1: PartitionTimeLimit"
    ):
        replayed([(1, 0, 60, 1, 1200)], found.platform(), tmp_path / "t", found=found)


def _await_end_of_all(pid: int) -> None:
    """The kernel ends those whose parent is ended a moment later."""
    until = time.monotonic() + 20.0
    while left := started_by(pid):
        assert time.monotonic() < until, left
        time.sleep(0.01)


#: Once Slurm has been asked for a job, with jobs that last for years of real time.
_LONG = [(1, 0, 100_000, 1, 200_000), (2, 100_000, 1, 1, 100)]


_ENDED = {
    signal.SIGKILL: "was killed by SIGKILL from outside, as the system does when memory runs out, not because of the workload",
    signal.SIGSEGV: "was killed by SIGSEGV",
    signal.SIGSTOP: "hangs: it has done nothing for 1 s",
}


@pytest.mark.parametrize(
    ("number", "before"), [(signal.SIGKILL, True), (signal.SIGSEGV, False), (signal.SIGSTOP, True)]
)
def test_a_slurmctld_that_dies_or_hangs_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, before: bool
) -> None:
    submit = Course._submit

    def submit_and_send(level: Course, row: int) -> None:
        if not before:
            submit(level, row)
        os.kill(level._controller._slurmctld.pid, number)
        if before:  # the request finds it dead, or about to end
            submit(level, row)

    monkeypatch.setattr(controller, "_PATIENCE_S", 1.0)
    monkeypatch.setattr(Course, "_submit", submit_and_send)
    with pytest.raises(PeerError, match=rf"slurmctld {_ENDED[number]}.*; its last words: \[20\d\d-"):
        replayed(_LONG, machine(1, 1), tmp_path / "r")
    _await_end_of_all(os.getpid())


def test_a_slurmctld_that_is_killed_as_it_comes_up_is_not_blamed_on_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = controller.Controller.settle

    def kill_and_settle(self: controller.Controller) -> None:
        self._slurmctld.kill()
        settle(self)

    monkeypatch.setattr(controller.Controller, "settle", kill_and_settle)
    with pytest.raises(PeerError, match=f"slurmctld {_ENDED[signal.SIGKILL]}"):
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
        jobs = replayed([(1, 0, 100, 1, 200)], machine(1, 1), tmp_path / "r", keys={"MessageTimeout": "1"}).result.jobs
    finally:
        for timer in later:
            timer.join()
    assert len(later) == 1
    assert list(jobs.state) == ["completed"]


def test_a_program_that_has_ended_is_no_reader_that_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = Course._submit

    def end_and_submit(course: Course, row: int) -> None:
        requests = course._controller._requests
        assert requests is not None
        requests.kill()
        requests.wait()
        submit(course, row)

    monkeypatch.setattr(Course, "_submit", end_and_submit)
    with pytest.raises(PeerError, match="the program that speaks through libslurm has ended"):
        replayed([(1, 0, 100, 1, 200)], machine(1, 1), tmp_path / "r")


def test_a_full_disk_is_one_line_and_half_a_log_explains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = Course._submit

    def submit_and_fill(course: Course, row: int) -> None:
        # A file that may not grow any more is to a program what a full disk is; slurmctld's log is longer already.
        resource.prlimit(course._controller._slurmctld.pid, resource.RLIMIT_FSIZE, (1000, 1000))
        submit(course, row)

    monkeypatch.setattr(Course, "_submit", submit_and_fill)
    with pytest.raises(InputError, match=r"cannot write its log or its state into .*r: File too large"):
        replayed(_LONG, machine(1, 1), tmp_path / "r")
    _await_end_of_all(os.getpid())


def _start(tmp_path: Path, name: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "twolevel", "replay", "sample", "--out", str(tmp_path / name), *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


#: The command, which says when it has submitted the first job.
_SAYS = """
import sys
from bridge.cli import main
from bridge.replay.course import Course

submit = Course._submit

def submit_and_say(level, row):
    submit(level, row)
    print("submitted", flush=True)

Course._submit = submit_and_say
main()
"""


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
    assert len(others) >= 3  # slurmctld, what it runs scripts with, and the program that speaks through libslurm
    assert not sockets_of(others) & known_sockets("tcp", "tcp6", "udp", "udp6")
    ends = [os.pidfd_open(pid) for pid in others]
    running.send_signal(number)
    running.communicate(timeout=60)
    for end in ends:
        assert select.select([end], [], [], 60)[0]
        os.close(end)
    assert not (tmp_path / "r").exists()  # no half a result
    assert bool(list(tmp_path.glob(".r.partial-*"))) == (number == signal.SIGKILL)


def test_the_command_writes_what_a_run_writes_and_several_at_once_do_not_meet(tmp_path: Path) -> None:
    words = ("--select", "first:12")
    both = [_start(tmp_path, name, *words) for name in ("a", "of b #1")]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "of b #1"]
    files = sorted(str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files == ["jobs.parquet", "run.json", "slurm/slurm.conf", "slurm/slurmctld.log"]
    assert (tmp_path / "a/jobs.parquet").read_bytes() == (tmp_path / "of b #1/jobs.parquet").read_bytes()
    record = json.loads((tmp_path / "a/run.json").read_text())
    assert record["arguments"]["bls"] == "slurm"
    assert record["arguments"]["settle_s"] == 70
    assert record["replay"]["jumps"] > 0
    assert record["replay"]["release"].startswith("22.05.")
    assert record["replay"]["keys"]["SchedulerType"] == "sched/backfill"
    assert "Slurm 22.05 × recorded" in said[0][0]
    assert "allocator" not in said[0][0]
    drawn = twolevel("gantt", tmp_path / "a", "-o", tmp_path / "x.png")
    assert drawn.code == 2
    assert "with --als recorded there are no tasks; `twolevel figures --only held`" in drawn.err
    assert run_title(record) == "sample: Slurm 22.05 × recorded"
    compared = twolevel("compare", tmp_path / "a", tmp_path / "of b #1")
    assert compared.code == 0
    assert twolevel("story", tmp_path / "a", 5).code == 0


def test_priorities_of_sizes_are_computed_once_so_that_the_date_may_jump(tmp_path: Path) -> None:
    words = ("--set", "PriorityType=priority/multifactor", "--set", "PriorityWeightJobSize=1000")
    words += ("--select", "first:20")
    for out, more in (("jumps", ()), ("all", ("--settle", "0"))):
        assert twolevel("replay", "sample", "--out", tmp_path / out, *words, *more).code == 0
    jumps = [json.loads((tmp_path / out / "run.json").read_text())["replay"]["jumps"] for out in ("jumps", "all")]
    assert jumps[0] > jumps[1] == 0
    starts = [pd.read_parquet(tmp_path / out / "jobs.parquet").start_ns for out in ("jumps", "all")]
    assert starts[0].equals(starts[1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "SelectTypeParameters=CR_Nonsense"), "does not come up with this slurm.conf: .*fatal"),
        (
            ("--set", "SchedulerParameters=bf_interval=abc"),
            "--set: slurmctld says: Invalid SchedulerParameters bf_interval",
        ),
        (
            ("--set", "SchedulerParameters=default_queue_depth=-2", "--select", "first:3"),
            "says: ignoring SchedulerParameters: default_queue_depth",
        ),
        (("--priorities", "recorded"), "--priorities recorded: the log says neither"),
        (("--set", "Colour=red"), "--set: Colour: is no key of slurm.conf 22.05"),
        (("--settle", "70s", "--rate", "10"), "--settle: not with --rate"),
        (("--cleanup", "2d"), "--cleanup: 172800.0 is out of range; allowed: 0 to 86400 s$"),
        (("--tasks",), "--tasks: with --als recorded there are no tasks"),
        (("--slurm-conf", "nowhere.conf"), "--slurm-conf: nowhere.conf: No such file"),
        (("--select", "first:0"), "--select"),
    ],
)
def test_what_is_the_users_fault_is_one_line_and_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = twolevel("replay", "sample", "--out", "r", *words)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert re.search(said, ran.err)
    assert list(tmp_path.iterdir()) == []
