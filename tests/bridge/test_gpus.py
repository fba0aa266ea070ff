"""GPUs of the batch level in runs: policies that name cores, jobs that leave hosts early, and what policies see."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gpu_runs import ASKED, JOBS, MACHINE, S, simulated

import bridge
from bls.constraints.job_constraints import BEYOND_LIMITS, constrain
from bls.machine.host_power import HostPower
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.policies.multifactor.fair_share import _CURRENT, _NODES, _RUNNING, _USAGE, HEAD
from bls.policies.multifactor.priority import score_policy
from bls.policies.multifactor.settings import Billing, Multifactor
from bls.power.options import Power
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError
from traces.checks.ledger import check_ledger
from traces.holdings import gpu_ends


class Names:
    """Places each waiting job, where its number says, or where it may."""

    name = "names"

    def __init__(self, cores: dict[int, list[int]]) -> None:
        self.cores = cores

    def decide(self, view: Any) -> Any:
        trial = view.trial()
        for job in view.waiting:
            cores = self.cores.get(job.job_id)
            if cores is not None:
                yield job, cores
            elif (found := trial.place(job)) is not None:
                yield job, found


def test_a_policy_names_cores_and_the_job_gets_gpus_of_their_hosts(tmp_path: Path) -> None:
    jobs = simulated(JOBS, ASKED, tmp_path, bls=Names({1: [5]})).jobs
    # Job 2 finds both GPUs on host 0 only. One of host 1 is left for job 3, which needs two.
    assert jobs.allocation.tolist() == ["5", "0", "0-1"]
    assert jobs.gpu_allocation.tolist() == ["2", "0-1", "0-1"]
    assert (jobs.start_ns // S).tolist() == [0, 0, 10]


def test_a_policy_is_told_that_gpus_do_not_suffice(tmp_path: Path) -> None:
    with pytest.raises(
        PluginError, match=r"placed job 2 on core 6: the free GPUs of host 1 suffice for 0 of its units there"
    ):
        simulated(JOBS, ASKED, tmp_path, bls=Names({1: [5], 2: [6]}))


def test_gpus_are_held_until_the_last_core_of_their_host_is_released(tmp_path: Path) -> None:
    """Two jobs of two hosts: with unequal tasks one host is done first."""
    jobs = [(1, 0, 100, 8, 200), *((k, 1, 10, 1, 10) for k in range(2, 6))]
    asked = "job_id,gpus_per_host\n1,2\n2,1\n3,1\n4,1\n5,1\n"
    found = {}
    for how in ("none", "release:host", "release"):
        for backfill in ("none", "easy", "conservative"):
            rules = Rules(backfill, coordination=how)
            result = simulated(jobs, asked, tmp_path, als="static", variation=0.9, tasks_per_core=1, rules=rules)
            ends = gpu_ends(result.ledger)[:4]  # of job 1
            assert ends.max() == result.jobs.end_ns[0] if how == "none" else ends.min() < ends.max()
            assert result.jobs.start_ns[1] == ends.min()
            found[how, backfill] = (result.jobs.start_ns.tolist(), result.jobs.gpu_allocation.tolist())
    assert found["release:host", "easy"] == found["release", "easy"]  # whole hosts count for GPUs


def test_widths_and_gpus_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text(ASKED)
    said = ConstraintOptions(requests=str(path), malleable="1")
    with pytest.raises(InputError, match="not with GPUs of job 1, as it is unspecified"):
        bridge.simulate(Workload.from_jobs(JOBS), MACHINE, constraints=said, rules=Rules(resize="expand"), als="static")


class Sees:
    """Starts what fits in the order of arrival, and notes what it sees: an instant, GPUs, and which jobs limits allow."""

    name = "sees"

    def __init__(self, milli: dict[int, int]) -> None:
        self.milli = milli
        self.seen: list[tuple[int, list[int], int, dict[int, bool]]] = []

    def decide(self, view: Any) -> Any:
        by_host = [left for host in view.hosts for left in host.free_gpus]
        assert by_host == view.free_gpus.tolist()
        assert [(host.gpu, list(host.gpus)) for host in view.hosts[1:]] == [
            ("a100", [3, 4, 5]),
            ("", []),
            ("v100", [6, 7]),
        ]
        for job in view.waiting:
            assert job.gpus == self.milli[job.job_id]
            asked = job.request.gpus
            if asked is not None:
                assert job.gpus == asked.count * (job.request.units if asked.per == "unit" else 1) * asked.milli
                assert asked.kinds in (("a100",), ())  # all kinds: any
            assert (asked is None) == (job.gpus == 0)
        allowed = {job.job_id: view.partition_of(job).allows(job) for job in view.waiting}
        self.seen.append((view.now_ns, by_host, view.partitions[0].running_gpus, allowed))
        trial = view.trial()
        first = next(iter(view.waiting), None)
        for job in view.waiting:
            placed = trial.place(job)
            assert placed is None or job is not first or allowed[job.job_id]
            if placed is not None:
                yield job


LIMITS = {"max_gpus": 4, "max_running_gpus": 5.5, "max_gpus_per_user": 3.25}
LIMITED = Platform(
    (HostGroup(2, 4, 4.0, gpus=3, gpu="a100"), HostGroup(1, 6, 6.0), HostGroup(1, 4, 4.0, gpus=2, gpu="v100")),
    partitions=(Partition("all", default=True, **LIMITS),),  # type: ignore[arg-type]
)


def drawn(n: int, seed: int) -> tuple[Workload, str, dict[int, int]]:
    """Jobs of two users, their requests, and the thousandths that each requests (per host: of one host)."""
    rng, lines, milli = random.Random(seed), ["job_id,gpus,gpus_per_host,gpus_per_task,gpu_milli,gpu_kind"], {}
    rows = []
    for number in range(1, n + 1):
        cores, run = rng.randint(1, 6), rng.randint(1, 30)
        rows.append((number, rng.randint(0, 60), run, cores, run + rng.randint(0, 9), rng.randint(0, 1)))
        share, kind, many = rng.choice((1000, 1000, 250, 600)), rng.choice(("", "a100", "a100|v100")), rng.randint(1, 2)
        many = many if share == 1000 else 1
        how = rng.choice(("none", "host", "task", "job"))
        milli[number] = {"none": 0, "host": many, "task": many * cores, "job": cores}[how] * share
        asked = {"none": ",,", "host": f",{many},", "task": f",,{many}", "job": f"{cores},,"}[how]
        lines.append(f"{number},{asked},{share},{kind}")
    columns = ("job_id", "submit_s", "run_s", "cores", "estimate_s", "user")
    jobs = [dict(zip(columns, row, strict=True)) for row in sorted(rows, key=lambda row: row[1])]
    return Workload.from_jobs(jobs), "\n".join(lines), milli


@pytest.mark.parametrize("how", ["none", "release", "release:host"])
def test_what_a_policy_sees_is_what_the_records_say(how: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    for seed in range(4):
        workload, asked, milli = drawn(50, seed)
        path.write_text(asked)
        sees = Sees(milli)
        result = bridge.simulate(
            workload, LIMITED, bls=sees, als="static", variation=0.9, tasks_per_core=1,
            constraints=ConstraintOptions(requests=str(path)), rules=Rules(coordination=how),
        )  # fmt: skip
        check_ledger(result.ledger)
        rejects = constrain(workload, LIMITED, ConstraintOptions(requests=str(path)))[0].rejects
        missing = milli.keys() - set(result.jobs.job_id)
        assert missing == {number for number in milli if milli[number] > 3250}
        assert 0 < rejects[BEYOND_LIMITS] <= sum(rejects.values()) == len(missing)
        gpus, jobs = result.ledger.gpus, result.jobs
        owner = [row for row, first in enumerate(gpus.first[:-1]) for _ in range(first, gpus.first[row + 1])]
        parts = list(zip(owner, gpus.gpu.tolist(), gpus.milli.tolist(), gpu_ends(result.ledger).tolist(), strict=True))
        starts, users, numbers = jobs.start_ns.tolist(), jobs.user.tolist(), jobs.job_id.tolist()
        for now, left, running, allowed in sees.seen:
            held = [(row, gpu, part) for row, gpu, part, end in parts if starts[row] < now < end]
            assert left == [1000 - sum(part for _, one, part in held if one == gpu) for gpu in range(8)]
            assert running == sum(part for _, _, part in held)
            for number, may in allowed.items():
                user = users[numbers.index(number)]
                of_user = sum(part for row, _, part in held if users[row] == user)
                fits = running + milli[number] <= 5500 and of_user + milli[number] <= 3250
                assert may == (fits or milli[number] == 0)


class Keeps:
    """Keeps the view of a run."""

    name, every_ns, view = "keeps", 10**15, None

    def look(self, view: Any) -> None:
        self.view = view


@pytest.mark.parametrize("how", ["none", "release", "release:host"])
@pytest.mark.parametrize("billing", [Billing(cores=1.0, gpus=16.0), Billing(gpus=0.5), Billing(cores=1.0)])
def test_usage_is_billed_for_what_the_records_say(how: str, billing: Billing, tmp_path: Path) -> None:
    path, keeps = tmp_path / "requests.csv", Keeps()
    workload, asked, _ = drawn(40, 11)
    path.write_text(asked)
    order = score_policy(Multifactor(fairshare=1, half_life_ns=0, billing=billing))
    result = bridge.simulate(
        workload, replace(LIMITED, partitions=()), bls=order, als="static", variation=0.9, tasks_per_core=1,
        constraints=ConstraintOptions(requests=str(path)), rules=Rules("easy", coordination=how), observers=[keeps],
    )  # fmt: skip
    ledger, jobs = result.ledger, result.jobs
    core_ns = (jobs.cores * (jobs.end_ns - jobs.start_ns)).tolist()
    released = result.releases if how != "none" else None
    for number, at in [] if released is None else zip(released.job_id, released.released_ns, strict=True):
        row = jobs.job_id.tolist().index(number)
        core_ns[row] -= jobs.end_ns[row] - at
    owner = [row for row, first in enumerate(ledger.gpus.first[:-1]) for _ in range(first, ledger.gpus.first[row + 1])]
    milli_ns = [0] * len(jobs)
    for row, milli, end in zip(owner, ledger.gpus.milli.tolist(), gpu_ends(ledger).tolist(), strict=True):
        milli_ns[row] += milli * (end - int(jobs.start_ns[row]))
    memory = keeps.view._run.state.scores.memory  # type: ignore[attr-defined]
    column = memory[HEAD:][: 11 * int(memory[_NODES])].reshape(11, -1)
    assert not column[_RUNNING].any()
    used = (column[_USAGE] + column[_CURRENT])[-2:]
    per_core, per_milli = billing.whole()
    for user in (0, 1):
        mine = [row for row in range(len(jobs)) if jobs.user[row] == str(user)]
        expected = sum(per_core * core_ns[row] + per_milli * milli_ns[row] for row in mine) / 10**9
        assert used[user] == pytest.approx(expected, rel=1e-12)


class Scales:
    """Starts all jobs; asks for the power of those that wait, and scales the speed of those that run, by instants in s."""

    name, directs = "scales", ("speeds",)

    def __init__(self, factors: dict[int, float]) -> None:
        self.factors, self.seen = factors, list[Any]()

    def decide(self, view: Any) -> Any:
        for job in view.waiting:
            self.seen.append([view.power_of(job), view.power_of(job, [4, 5]), view.power_of(job, [0, 4])])
            yield job
        for instant, factor in self.factors.items():
            if view.now_ns == instant * S:
                for job in view.running:
                    view.scale(job, factor)
            elif view.now_ns < instant * S:
                view.wake_at(instant * S)


def test_a_policy_slows_gpus_with_their_job(tmp_path: Path) -> None:
    """For 0.9 of its speed the job is in the first state, 2 · (10 + 100) W, and for 0.8 in the second, 2 · (8 + 60) W. Parts of
    600 thousandths draw 54 W beyond idle GPUs on host 0, and 30 W on host 1."""
    power = HostPower(5, [(1, 10), (0.5, 8)], gpu_idle_w=10, gpu_states=[(1, 100), (0.8, 60)])
    other = replace(power, gpu_states=[(1, 60)])
    machine = Platform((HostGroup(1, 4, 4.0, gpus=2, power=power), HostGroup(1, 4, 4.0, gpus=2, power=other)))
    asked = "job_id,gpus_per_task,gpu_milli\n1,1,\n2,1,600\n"
    policy = Scales({10: 0.9, 20: 0.8})
    said = {"platform": machine, "bls": policy, "power": Power("held")}
    jobs = [(1, 0, 32, 2, 100)]
    found = simulated(jobs, "job_id,gpus_per_task\n1,1\n", tmp_path, **said)
    assert found.jobs.end_ns.tolist() == [10 * S + 10 * S + round((32 - 10 - 9) / 0.8 * S)]
    assert found.jobs.energy_j.tolist() == [220 * 20 + 136 * 16.25]
    assert "6.61 kJ of it by jobs" in repr(found.power)
    limited = Scales({})
    said |= {"bls": limited, "power": Power(limits=[(0, None, 1000)], fallback="hold")}
    simulated([(2, 0, 32, 2, 100)], asked.replace("1,1,\n", ""), tmp_path, **said)
    assert limited.seen == [[2 * 5 + 1.2 * 50, 2 * 5 + 1.2 * 50, 2 * 5 + 0.6 * 90 + 0.6 * 50]]
