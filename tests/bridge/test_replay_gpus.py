"""Jobs with numbered GPUs through the installed slurmctld: the same starts as in our engine, and legal ones anywhere."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.gpus import in_units
from reference.machine import Gpus, Host, Job, Machine, Rules
from reference.room import Hold, earliest
from slurm_here import needs_slurm, replayed
from tables import table_rows

from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions
from bls.scheduler_options import Rules as BatchRules
from bls.workloads import read_workload
from bls.workloads.workload import Workload
from bridge import simulate
from bridge.replay.gpus import gpus_on
from bridge.replay.site import of_site

pytestmark = [pytest.mark.whole, needs_slurm]

S, KS = 10**9, 10**12
LATE_NS = 4 * S  # Slurm starts jobs every 3 s
BUILTIN = {"SchedulerType": "sched/builtin"}


def _constraints(folder: Path, requests: str) -> ConstraintOptions:
    path = folder / "requests.csv"
    path.write_text(requests.lstrip())
    return ConstraintOptions(requests=str(path))


@pytest.mark.parametrize("case", table_rows(__file__, "case"), ids=lambda case: str(case["name"]))
def test_starts_are_those_of_our_engine(case: dict[str, Any], tmp_path: Path) -> None:
    groups = (HostGroup(n, cores, 46.0 * cores, gpus=gpus, gpu=kind) for n, cores, gpus, kind in case["hosts"])
    platform = Platform(tuple(groups))
    cores, run_ks, start_ks, gpus = zip(*case["jobs"], strict=True)
    rows = enumerate(zip(cores, run_ks, strict=True), 1)
    workload = Workload.from_jobs([(k, k, 1000 * ks, n, 1000 * ks + 60) for k, (n, ks) in rows])
    options: dict[str, Any] = {"constraints": _constraints(tmp_path, case["requests"])}
    done = replayed(workload, platform, tmp_path / "r", keys=BUILTIN, **options)
    slurm = done.result.jobs
    assert (slurm.start_ns / KS).round(1).tolist() == list(start_ks)
    assert slurm.gpu_allocation.tolist() == list(gpus)
    assert done.notes == ((case["note"],) if "note" in case else ())
    if "note" not in case:
        ours = simulate(workload, platform=platform, bls="fcfs", als="recorded", **options).jobs
        assert (slurm.start_ns - ours.start_ns).between(0, LATE_NS * len(workload)).all()
        assert slurm.gpus.tolist() == ours.gpus.tolist()


def _drawn(seed: int) -> tuple[Machine, list[Job]]:
    """Hosts with GPUs of two kinds, and jobs that fit on them when they are empty."""
    rng = np.random.default_rng(seed)
    hosts = [Host(int(rng.choice([4, 8])), gpus=int(rng.choice([1, 2, 4])), kind=str(rng.choice(["a", "b"])))]
    hosts += [replace(hosts[0], gpus=int(n), kind="b" if n else "") for n in rng.choice([0, 2, 4], rng.integers(3))]
    machine, jobs, submit = Machine(tuple(hosts)), list[Job](), 0
    while len(jobs) < 10:
        per, n = str(rng.choice(["unit", "host", "job", ""])), int(rng.integers(1, 4))
        # Slurm 22.05 gives tasks of several CPUs fewer of them than they request on some nodes, but not with GPUs per task.
        unit = int(rng.choice([1, 2])) if per == "unit" else 1
        # Either shares or whole GPUs: Slurm gives away GPUs that are still shared.
        milli = int(rng.choice([300, 600])) if seed % 2 else 1000
        units = 1 if milli < 1000 and per == "unit" else int(rng.integers(1, 6))
        kinds = frozenset(kind for kind in sorted({host.kind for host in hosts} - {""}) if rng.random() < 0.4)
        gpus = Gpus(1 if milli < 1000 else n, per, milli, kinds) if per else None
        job = Job(len(jobs) + 1, submit * S, int(rng.integers(1, 6)) * KS, units * unit, 1, unit_cores=unit, gpus=gpus)
        if earliest(in_units(job), 0, [], (), machine, Rules(), counts=False) is not None:
            jobs.append(job)
            submit += int(rng.choice([0, 1, 5, 100, 700]))
    return machine, jobs


def _requests(jobs: list[Job]) -> Iterator[str]:
    yield "job_id,unit_cores,gpus_per_task,gpus_per_host,gpus,gpu_milli,gpu_kind"
    for job in jobs:
        gpus = job.gpus or Gpus(0, "")
        counts = [str(gpus.n) if gpus.per == per else "" for per in ("unit", "host", "job")]
        yield ",".join(map(str, [job.number, job.unit_cores, *counts, gpus.milli, "|".join(sorted(gpus.kinds))]))


@pytest.mark.parametrize("seed", range(8))
def test_each_job_starts_once_it_fits_beside_the_others(seed: int, tmp_path: Path) -> None:
    """By the slow reference, next to the cores and GPUs that Slurm has given to earlier jobs."""
    machine, jobs = _drawn(seed)
    platform = Platform(tuple(HostGroup(1, one.cores, 100.0, gpus=one.gpus, gpu=one.kind) for one in machine.hosts))
    rows = [(job.number, job.submit // S, job.run // S, job.cores, job.run // S + 60) for job in jobs]
    constraints = _constraints(tmp_path, "\n".join(_requests(jobs)) + "\n")
    ledger = replayed(rows, platform, tmp_path / "r", keys=BUILTIN, constraints=constraints).result.ledger
    assert ledger.gpus is not None
    holds: list[Hold] = []
    for row, job in enumerate(map(in_units, jobs)):
        start, end, gpus = int(ledger.jobs.start_ns[row]), int(ledger.jobs.end_ns[row]), job.gpus or Gpus(0, "")
        from_ns = max([job.submit, *(hold.begin for hold in holds)])
        slot = earliest(job, from_ns, holds, (), machine, Rules(), counts=False)
        assert slot is not None
        assert start <= slot.begin + LATE_NS
        own, held = jobs[row].gpus, slice(*ledger.gpus.first[row : row + 2])
        uneven = own is not None and own.per == "job" and own.n > 1  # Slurm may divide these otherwise
        assert uneven or start >= slot.begin
        cores = {core for lo, hi in ledger.jobs.allocation(row) for core in range(lo, hi)}
        given = [
            (gpu, milli)
            for gpu, milli in zip(ledger.gpus.gpu[held].tolist(), ledger.gpus.milli[held].tolist(), strict=True)
        ]
        for host, has in enumerate(machine.hosts):
            there = len([core for core in machine.cores_of(host) if core in cores])
            count = len([gpu for gpu, _ in given if gpu in machine.gpus_of(host)])
            assert not count or not gpus.kinds or has.kind in gpus.kinds
            if not uneven:
                assert count == (there // job.unit_cores * gpus.n if gpus.per == "unit" else gpus.n * (there > 0))
        assert sum(milli for _, milli in given) == gpus.milli * len(given)
        assert not uneven or own is None or len(given) == own.n
        holds.append(Hold(job, start, end, job.cores, frozenset(cores), tuple(gpu for gpu, _ in given)))


@pytest.mark.parametrize("als", ["recorded", "gss"])
def test_jobs_that_run_already_and_later_attempts_have_gpus(als: str, tmp_path: Path) -> None:
    failures = tmp_path / "failures.csv"
    failures.write_text("host,down_s,up_s\n0,100,700\n")
    constraints = replace(_constraints(tmp_path, "job_id,gpus_per_host\n1,1\n2,2\n3,1\n"), failures=str(failures))
    rows = [{"job_id": k, "submit_s": 5 * k, "run_s": 400, "cores": k, "estimate_s": 9000} for k in (1, 2, 3)]
    workload = Workload.from_jobs([rows[0] | {"submit_s": 0, "preset": 1}, *rows[1:]])
    platform = Platform((HostGroup(3, 2, 92.0, gpus=2),))
    rules = BatchRules(on_failure="requeue")
    done = replayed(workload, platform, tmp_path / "r", constraints=constraints, rules=rules, als=als)
    jobs = done.result.jobs.sort_values(["job_id", "attempt"])
    assert jobs.gpu_allocation.tolist() == ["0", "2-3", "1 4", "2 4"]  # host 0 is down
    assert jobs.state.tolist() == ["failed", "completed", "requeued", "completed"]


def test_a_dump_of_sacct_and_a_site_with_gpus(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(
        "GresTypes=gpu,shard\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSchedulerType=sched/builtin\n"
        "NodeName=a CPUs=4 Gres=gpu:k80:1,gpu:a100:1\nNodeName=b CPUs=4 Gres=gpu:2,shard:8\n"
        "PartitionName=p Nodes=ALL Default=YES\n"
    )
    lines = ["JobID|AllocCPUS|NNodes|Submit|Start|Elapsed|Timelimit|ReqTRES"]
    lines += [
        f"{k}|1|1|{100 + k}|{100 + k}|00:10:00|01:00:00|cpu=1,gres/gpu={gpus}" for k, gpus in ((1, 2), (2, 1), (3, 2))
    ]
    (tmp_path / "log.sacct").write_text("\n".join(lines) + "\n")
    found = of_site(str(tmp_path / "slurm.conf"), {})
    jobs = replayed(read_workload(tmp_path / "log.sacct"), found.platform(), tmp_path / "r", found=found).result.jobs
    assert jobs.gpu_allocation.tolist() == ["0-1", "2", "0-1"]
    assert (jobs.start_ns / S).round(-2).tolist() == [0, 0, 600]


def test_texts_of_slurm_about_gpus() -> None:
    assert gpus_on("gpu:a100:2(IDX:0,3),shard:250(IDX:1)") == [(0, 1000), (3, 1000), (1, 250)]
    assert gpus_on("gpu:4(IDX:0-3)") == [(0, 1000), (1, 1000), (2, 1000), (3, 1000)]
    assert gpus_on("-") == gpus_on("bandwidth:lustre:4G(CNT:4G)") == []
