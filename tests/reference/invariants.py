"""What must be so of every schedule, whoever made it; checked on attempts, instant by instant."""

from __future__ import annotations

from collections.abc import Sequence

from reference.machine import Attempt, Job, Machine, Rules


def check(jobs: Sequence[Job], machine: Machine, rules: Rules, attempts: Sequence[Attempt]) -> None:
    by_number = {job.number: job for job in jobs}
    last: dict[int, Attempt] = {}
    for one in attempts:
        before = last.get(one.number)
        assert one.attempt == (0 if before is None else before.attempt + 1)
        if before is not None:
            assert before.state == "requeued"
            assert one.eligible == before.end or one.state == "cancelled"
        last[one.number] = one
        _check_one(by_number[one.number], machine, rules, one)
    assert sorted(last) == sorted(by_number), "every job leaves"
    assert all(one.state != "requeued" for one in last.values())
    for one in attempts:
        job = by_number[one.number]
        if job.after is not None and one.eligible >= 0:
            parent = last[jobs[job.after].number]
            left = parent.end if parent.start >= 0 else jobs[job.after].cancel
            assert left is not None
            assert one.eligible >= left + job.think
    ran = [one for one in attempts if one.start < one.end]
    for instant in sorted({one.start for one in ran}):
        running = [one for one in ran if one.start <= instant < one.end]
        held = [core for one in running for core in one.cores]
        assert len(held) == len(set(held)), f"a core is used twice at {instant}"
        _check_amounts(by_number, machine, rules, running)
        _check_limits(by_number, machine, running)


def _check_one(job: Job, machine: Machine, rules: Rules, one: Attempt) -> None:
    if one.start < 0:
        assert (one.start, one.end, one.cores, one.why, one.state) == (-1, -1, (), "never", "cancelled")
        return
    assert job.submit <= one.eligible <= one.start <= one.end
    n_cores = sum(host.cores for host in machine.hosts)
    assert all(0 <= core < n_cores for core in one.cores)
    assert tuple(sorted(set(one.cores))) == one.cores
    assert len(one.cores) == job.cores or (rules.allocator == "whole-host" and len(one.cores) > job.cores)
    partition = machine.partitions[job.partition]
    for number, host in enumerate(machine.hosts):
        on_host = set(one.cores) & set(machine.cores_of(number))
        if on_host:
            assert partition.hosts is None or number in partition.hosts
            assert rules.allocator == "whole-host" or len(on_host) % job.unit_cores == 0
            assert not any(down < one.end and one.start < up for down, up in host.outages)
    length = one.end - one.start
    if one.state == "completed":
        assert length == job.run
    else:
        assert job.run < 0 or length < job.run
    assert not rules.kill or length <= job.estimate
    assert one.state != "killed" or (rules.kill and length == job.estimate)
    assert job.cancel is None or one.end <= max(job.cancel, one.start)
    for number, window in enumerate(machine.windows):
        if not window.cores & set(one.cores) or one.start == one.end:
            continue
        if window.maintenance:
            assert one.end <= window.begin or window.end <= one.start
        elif number == job.window and rules.cost == 0:
            assert window.begin <= one.start
            assert one.start + job.estimate <= window.end
        elif rules.cost == 0 and one.why != "preset" and rules.predictor is None and job.planned is None:
            assert one.start + job.estimate <= window.begin or window.end <= one.start
    if job.window is not None and one.why != "preset":
        assert set(one.cores) <= machine.windows[job.window].cores


def _check_amounts(jobs: dict[int, Job], machine: Machine, rules: Rules, running: Sequence[Attempt]) -> None:
    for name, total in machine.licences:
        assert sum(dict(jobs[one.number].licences).get(name, 0) for one in running) <= total
    if rules.allocator == "whole-host":
        return  # what is on a host belongs to the one job there
    for number, host in enumerate(machine.hosts):
        for name, total in host.amounts:
            used = 0
            for one in running:
                job = jobs[one.number]
                cores = set(one.cores) & set(machine.cores_of(number))
                used += len(cores) // job.unit_cores * dict(job.needs).get(name, 0)
            assert used <= total


def _check_limits(jobs: dict[int, Job], machine: Machine, running: Sequence[Attempt]) -> None:
    # Jobs that were there from the start may be more than a limit allows.
    for number, partition in enumerate(machine.partitions):
        members = [jobs[one.number] for one in running if jobs[one.number].partition == number]
        if any(job.preset for job in members):
            continue
        assert partition.max_jobs is None or len(members) <= partition.max_jobs
        assert partition.max_cores is None or sum(job.cores for job in members) <= partition.max_cores
        for user in {job.user for job in members}:
            own = [job for job in members if job.user == user]
            assert partition.max_user_jobs is None or len(own) <= partition.max_user_jobs
            assert partition.max_user_cores is None or sum(job.cores for job in own) <= partition.max_user_cores
