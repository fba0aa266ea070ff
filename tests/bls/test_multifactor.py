"""Multifactor priority and fair-share: factors, settings, the documented numbers, and everything against slow versions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_cases import BatchCase
from batch_drives import attempts, finish, said_cases, simulator_of
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.cluster import Cluster, NeverFinishes

from bls.engine.status import BatchStatus
from bls.policies import KnownJobs, Scoring, scoring
from bls.policies.multifactor.fair_share import CLASSIC, FAIR_TREE
from bls.policies.multifactor.priority import prepare, score_policy
from bls.policies.multifactor.settings import Billing, Multifactor, PartitionPart, Qos
from bls.policies.multifactor.tree import ROOT, Account, AccountTree, User
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS, NS_PER_S

DAY_S = 86400


def known(
    *,
    cores: list[int],
    submit_s: list[float] | None = None,
    estimate_s: list[float] | None = None,
    n_cores: int = 64,
    n_gpus: int = 0,
    **columns: list[int],
) -> KnownJobs:
    n = len(cores)

    def column(values: list[Any], unit: int = 1) -> Any:
        return np.array([round(value * unit) for value in values], np.int64)

    return KnownJobs(
        job_id=np.arange(1, n + 1),
        submit_ns=column(submit_s or [0] * n, NS_PER_S),
        estimate_ns=column(estimate_s or [60] * n, NS_PER_S),
        deadline_ns=np.zeros(n, np.int64),
        cores=column(cores),
        n_cores=n_cores,
        n_gpus=n_gpus,
        **{name: column(values) for name, values in columns.items()},
    )


class Run:
    """A run of a policy: its kernels, called as an engine would."""

    def __init__(self, settings: Multifactor, jobs: KnownJobs) -> None:
        self.jobs = jobs
        self.made: Scoring = scoring(score_policy(settings), jobs)

    def priorities(self, now_ns: int, waiting: list[int] | None = None) -> list[float]:
        jobs, made = self.jobs, self.made
        rows = np.arange(len(jobs.cores)) if waiting is None else np.array(waiting, np.int64)
        key = np.full(len(rows) + 1, math.nan)
        submit, estimate, cores = (column.copy() for column in (jobs.submit_ns, jobs.estimate_ns, jobs.cores))
        # Handed to the kernel itself: the value in ``made`` can be called by kernels only.
        score = made.policy.score
        assert score(now_ns, rows, len(rows), submit, submit, estimate, cores, made.numbers, made.memory, key) == 0
        assert math.isnan(key[-1])
        return [-value for value in key[:-1].tolist()]

    def account(self, now_ns: int, row: int, change: int) -> None:
        made = self.made
        if made.policy.held_gpus >= 0:
            made.numbers[made.policy.held_gpus, row] = self.jobs.gpus[row] if change > 0 else 0
        assert made.policy.account(now_ns, row, int(self.jobs.cores[row]), change, made.numbers, made.memory) == 0


def priorities(settings: Multifactor, now_s: float = 0, **columns: Any) -> list[float]:
    return Run(settings, known(**columns)).priorities(round(now_s * NS_PER_S))


def test_age_grows_from_the_eligible_instant_to_max_age() -> None:
    settings, submits = Multifactor(age=1000), [0, 3.5 * DAY_S, 7 * DAY_S]
    assert priorities(settings, 7 * DAY_S, cores=[1] * 3, submit_s=submits) == [1000.0, 500.0, 0.0]
    assert priorities(settings, 70 * DAY_S, cores=[1]) == [1000.0]
    # Eligible at 1 s, submitted at 0.
    made = Run(Multifactor(age=8, max_age_ns=8 * NS_PER_S), known(cores=[1])).made
    one, key, submit = np.array([NS_PER_S]), np.empty(1), np.array([0])
    made.policy.score(5 * NS_PER_S, submit, 1, one, submit, one, one, made.numbers, made.memory, key)
    assert key.tolist() == [-4.0]


def test_late_instants_and_long_estimates() -> None:
    jobs = KnownJobs(*(np.array(values) for values in ([1], [MAX_NS - 1], [MAX_NS], [0], [1])), n_cores=1)
    run = Run(Multifactor(age=1, size=1, fairshare=1, small_relative_to_time=True, max_age_ns=MAX_NS), jobs)
    minutes = -(-MAX_NS // (60 * NS_PER_S))
    assert run.priorities(MAX_NS) == [pytest.approx(1 + 1 / minutes, rel=1e-12)]


FILE = Path(__file__).with_name("tables").joinpath("multifactor_settings.toml").read_text("utf-8")

READ = Multifactor(
    age=1000.0,
    fairshare=2000.5,
    max_age_ns=14 * DAY_S * NS_PER_S,
    half_life_ns=0,
    calc_period_ns=60 * NS_PER_S,
    reset_ns=3600 * NS_PER_S,
    algorithm="classic",
    dampening=2.0,
    favor_small=True,
    cores_per_node=4,
    tree=AccountTree(
        (Account("physics", shares=40, priority=3), Account("rest")), (User(17, "physics", 2, nice=-5),), "rest"
    ),
    partitions=(PartitionPart(1, 10, 32, 8),),
    qos_levels=(Qos(2, 20),),
    gpu=3.0,
    billing=Billing(0.5, 16),
    source="p.toml",
)


def read(text: str) -> Multifactor:
    return Multifactor.from_toml(text, "p.toml")


def test_a_file_has_everything() -> None:
    assert read(FILE) == READ


def test_a_name_counts_more_than_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(FILE)
    made = Multifactor.from_text("age=5, config=p.toml,algorithm=fair-tree")
    assert (made.age, made.algorithm, made.fairshare, made.tree) == (5.0, "fair-tree", 2000.5, READ.tree)
    found = Multifactor.from_text("age=1000,fairshare=2000,size=500.5,max_age=36h,favor_small=yes,reset=none")
    assert found == Multifactor(age=1000, fairshare=2000, size=500.5, max_age_ns=129600 * NS_PER_S, favor_small=True)
    assert Multifactor.from_text("") == Multifactor()


def test_a_tree_of_too_many_levels() -> None:
    accounts = [Account(str(level), str(level - 1) if level else ROOT) for level in range(65)]
    assert AccountTree(tuple(accounts[:64])).accounts[-1].name == "63"
    with pytest.raises(InputError, match=r"accounts\[64\].parent: '64' is on level 65; allowed: 1 to 64 levels"):
        AccountTree(tuple(accounts))


def test_a_user_without_an_account() -> None:
    text, jobs = "[[users]]\nnumber = 3", known(cores=[1, 1, 1, 1], user=[3, 8, -1, 8])
    with pytest.raises(InputError, match=r"^p.toml: users: 2 users of the workload are not in the tree, as user -1; "):
        prepare(read(text), jobs)
    assert prepare(read('others = "root"\n' + text), jobs)[0][0].tolist() == [1, 3, 2, 3]
    with pytest.raises(InputError, match=r"^multifactor: size, cpu, node: "):
        prepare(Multifactor(size=1), known(cores=[1], n_cores=0))


def test_held_gpus_need_a_row_of_numbers() -> None:
    jobs = known(cores=[1], gpus=[500], n_gpus=2)
    assert scoring(score_policy(Multifactor(billing=Billing(gpus=1))), jobs).numbers.shape == (4, 1)
    for row in (-2, 2):
        with pytest.raises(PluginError, match=f"multifactor: held_gpus: {row}; allowed: -1 to 1, rows of numbers"):
            scoring(replace(score_policy(Multifactor()), held_gpus=row), jobs)


TREE = AccountTree(
    (Account("a", shares=3, priority=2), Account("b"), Account("c", "a", 2), Account("empty", "b", 5)),
    (
        User(1, "a", 2),
        User(2, "c", priority=5),
        User(3, "c", 3, nice=4),
        User(4, "b"),
        User(5, site=9),
        User(6, "b", 0),
    ),
)

SECONDS = st.integers(0, 400)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[KnownJobs, list[tuple[int, int, int]]]:
    """Jobs, and rows (row, start_s, end_s) of some of them that run."""
    n = draw(st.integers(1, 10))

    ranges = {"cores": (1, 40), "submit_s": (0, 400), "estimate_s": (1, 500), "user": (1, 6)}
    ranges |= {"partition": (-1, 2), "qos": (-1, 2), "gpus": (0, 5000)}
    columns = {name: draw(st.lists(st.integers(*ends), min_size=n, max_size=n)) for name, ends in ranges.items()}
    jobs = known(n_cores=40, n_gpus=4, **columns)  # type: ignore[arg-type]
    runs = []
    for row in range(n):
        if draw(st.booleans()):
            start = int(jobs.submit_ns[row]) // NS_PER_S + draw(SECONDS)
            runs.append((row, start, start + draw(st.integers(1, 400))))
    return jobs, runs


def slow_priority(settings: Multifactor, jobs: KnownJobs, row: int, now_ns: int, fair_share: dict[int, float]) -> float:
    cores, user = int(jobs.cores[row]), int(jobs.user[row])
    owner = next(entry for entry in settings.tree.users if entry.number == user)
    accounts = {account.name: account for account in settings.tree.accounts}
    priority, name = owner.priority, owner.account
    while priority is None:
        priority = 0 if name == ROOT else accounts[name].priority
        name = ROOT if name == ROOT else accounts[name].parent
    given_priorities = [entry.priority or 0 for entry in (*settings.tree.users, *settings.tree.accounts)]
    nodes, n_nodes = math.ceil(cores / settings.cores_per_node), math.ceil(jobs.n_cores / settings.cores_per_node)
    minutes = max(1, math.ceil(int(jobs.estimate_ns[row]) / (60 * NS_PER_S)))
    size = (nodes / n_nodes + cores / jobs.n_cores) / 2
    if settings.small_relative_to_time:
        size = max(nodes * jobs.n_cores / n_nodes, cores) / minutes / jobs.n_cores
    size = 1 - size if settings.favor_small else size
    partition = {entry.number: entry for entry in settings.partitions}.get(int(jobs.partition[row]))
    room = partition.cores if partition and partition.cores else jobs.n_cores
    qos = {entry.number: entry.priority for entry in settings.qos_levels}.get(int(jobs.qos[row]), 0)
    return (
        owner.site
        - owner.nice
        + settings.age * min(1, (now_ns - int(jobs.submit_ns[row])) / settings.max_age_ns)
        + settings.assoc * priority / max(given_priorities)
        + settings.fairshare * fair_share[user]
        + settings.size * min(1, max(0, size))
        + settings.partition * (partition.priority if partition else 0) / max(p.priority for p in settings.partitions)
        + settings.qos * qos / max(q.priority for q in settings.qos_levels)
        + settings.cpu * min(1, cores / room)
        + settings.node * min(1, nodes / math.ceil(room / settings.cores_per_node))
        + settings.gpu
        * min(1, int(jobs.gpus[row]) / 1000 / (partition.gpus if partition and partition.gpus else jobs.n_gpus))
    )


@settings(max_examples=300)
@given(
    scene=scenes(),
    looks=st.lists(st.integers(400, 2000), min_size=1, max_size=4),
    # Usage without decay is exact, and so are ties; a decay that is not a power of two is for the rule without ranks.
    fair=st.sampled_from([("fair-tree", 0), ("classic", 0), ("classic", 333 * NS_PER_S)]),
    flags=st.tuples(st.booleans(), st.booleans()),
    reset_periods=st.sampled_from([0, 5]),
    billing=st.sampled_from([Billing(cores=1.0), Billing(1, 16), Billing(0.5, 0.125), Billing(gpus=3)]),
)
def test_priorities_as_the_slow_version(
    scene: tuple[KnownJobs, list[tuple[int, int, int]]],
    looks: list[int],
    fair: tuple[str, int],
    flags: tuple[bool, bool],
    reset_periods: int,
    billing: Billing,
) -> None:
    jobs, runs = scene
    algorithm, half_life_ns = fair
    period_ns = 60 * NS_PER_S
    weights = {
        "age": 100,
        "assoc": 70,
        "fairshare": 500,
        "size": 50,
        "partition": 30,
        "qos": 20,
        "cpu": 11,
        "node": 7,
        "gpu": 13,
    }
    chosen = Multifactor(
        **weights,  # type: ignore[arg-type]
        max_age_ns=1000 * NS_PER_S,
        half_life_ns=half_life_ns,
        calc_period_ns=period_ns,
        reset_ns=reset_periods * period_ns,
        algorithm=algorithm,
        dampening=2.0,
        favor_small=flags[0],
        small_relative_to_time=flags[1],
        cores_per_node=8,
        tree=TREE,
        partitions=(PartitionPart(0, 3), PartitionPart(1, 4, 20, 3)),
        qos_levels=(Qos(1, 10), Qos(2, 7)),
        billing=billing,
    )
    run = Run(chosen, jobs)
    billed = [
        Fraction(billing.cores) * int(cores) + Fraction(billing.gpus) * int(milli) / 1000
        for cores, milli in zip(jobs.cores, jobs.gpus, strict=True)
    ]
    used = [(int(jobs.user[row]), billed[row], start * NS_PER_S, end * NS_PER_S) for row, start, end in runs]
    rule = CLASSIC if algorithm == "classic" else FAIR_TREE
    slow = SlowShares(TREE, used, period_ns, half_life_ns, reset_periods, rule, 2.0)
    events = [(end, 0, row) for row, _, end in runs] + [(start, 2, row) for row, start, _ in runs]
    for now, kind, row in sorted(events + [(now, 1, 0) for now in looks]):
        if kind == 1:
            fair_share = slow.factors(now * NS_PER_S)
            wanted = [slow_priority(chosen, jobs, row, now * NS_PER_S, fair_share) for row in range(len(jobs.cores))]
            assert run.priorities(now * NS_PER_S) == pytest.approx(wanted, rel=1e-9)
        else:
            run.account(now * NS_PER_S, row, 1 if kind == 2 else -1)


#: Account, parent, shares; user 6 has used what is left of the machine.
ACCOUNTS = (("B", "A", 30), ("C", "A", 10), ("A", ROOT, 40), ("D", ROOT, 60), ("E", "D", 25), ("F", "D", 35))
MEMBERS = [User(number, account) for number, account in enumerate("BCCEF", 1)]
DOCUMENTED = AccountTree(tuple(Account(*one) for one in ACCOUNTS), (*MEMBERS, User(6, shares=0)))


USED = {1: 20, 2: 25, 4: 25, 6: 30}


def after_use(used: dict[int, int], **how: Any) -> dict[int, float]:
    """The factors of users 1 to 6 after these core-seconds."""
    settings = Multifactor(fairshare=1, calc_period_ns=NS_PER_S, half_life_ns=0, tree=DOCUMENTED, **how)
    run = Run(settings, known(cores=[used.get(user, 1) for user in range(1, 7)], user=[*range(1, 7)]))
    for now_ns, change in ((0, 1), (NS_PER_S, -1)):
        for user in used:
            run.account(now_ns, user - 1, change)
    return dict(enumerate(run.priorities(NS_PER_S), 1))


def test_the_documented_example_of_the_classic_rule() -> None:
    shown = {user: round(value, 6) for user, value in after_use(USED, algorithm="classic").items()}
    assert shown == {1: 0.408479, 2: 0.022097, 3: 0.125, 4: 0.5, 5: 0.749154, 6: 0.0}
    dampened = after_use(USED, algorithm="classic", dampening=3.0)
    assert [dampened[3], dampened[4]] == pytest.approx([0.125 ** (1 / 3), 0.5 ** (1 / 3)], rel=1e-12)


def test_the_documented_example_of_fair_tree() -> None:
    """Root: A .40/.45, D .60/.25, user 6 without shares: D, A, 6. D: F (unused) before E. A: B .75/(20/45), C .25/(25/45)."""
    assert after_use(USED, algorithm="fair-tree") == {5: 6 / 6, 4: 5 / 6, 1: 4 / 6, 3: 3 / 6, 2: 2 / 6, 6: 1 / 6}
    assert after_use({}, algorithm="fair-tree") == {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1 / 6}


@dataclass
class SlowShares:
    """Usage and factors as they are defined: period by period, account by account.

    ``jobs`` are (user, billed amount, start_ns, end_ns), all of them, also those that have not begun.
    """

    tree: AccountTree
    jobs: Sequence[tuple[int, Fraction, int, int]]
    period_ns: int
    half_life_ns: int
    reset_periods: int
    rule: int
    dampening: float

    def usage(self, now_ns: int, user: int) -> float:
        decay, usage = 2 ** -(self.period_ns / self.half_life_ns) if self.half_life_ns else 1.0, Fraction(0)
        for period in range(now_ns // self.period_ns):
            lo, hi = period * self.period_ns, (period + 1) * self.period_ns
            mine = [(n, max(0, min(end, hi) - max(start, lo))) for who, n, start, end in self.jobs if who == user]
            seconds = sum((n * ns / NS_PER_S for n, ns in mine), Fraction(0))
            usage = usage + seconds if decay == 1.0 else float(usage) * decay + float(seconds)  # type: ignore[assignment]
            if self.reset_periods and (period + 1) % self.reset_periods == 0:
                usage = Fraction(0)
        return float(usage)

    def factors(self, now_ns: int) -> dict[int, float]:
        usage = {user.number: self.usage(now_ns, user.number) for user in self.tree.users}
        return self.classic(usage) if self.rule == CLASSIC else self.fair_tree(usage)

    def children(self, account: str) -> list[Account | User]:
        accounts = [child for child in self.tree.accounts if child.parent == account]
        return [*accounts, *(user for user in self.tree.users if user.account == account)]

    def used(self, node: Account | User | str, usage: dict[int, float]) -> float:
        if isinstance(node, User):
            return usage[node.number]
        return sum(self.used(child, usage) for child in self.children(node if isinstance(node, str) else node.name))

    def part(self, node: Account | User) -> float:
        siblings = self.children(node.account if isinstance(node, User) else node.parent)
        shares = sum(sibling.shares for sibling in siblings)
        return node.shares / shares if shares else 0.0

    def classic(self, usage: dict[int, float]) -> dict[int, float]:
        total = self.used(ROOT, usage)
        found = {}

        def descend(account: str, norm: float, effective_above: float) -> None:
            for child in self.children(account):
                actual = self.used(child, usage) / total if total else 0.0
                effective = actual + (0 if account == ROOT else (effective_above - actual) * self.part(child))
                share = norm * self.part(child)
                if isinstance(child, Account):
                    descend(child.name, share, effective)
                else:
                    found[child.number] = 2 ** (-(effective / share) / self.dampening) if share else 0.0

        descend(ROOT, 1.0, 1.0)
        return found

    def fair_tree(self, usage: dict[int, float]) -> dict[int, float]:
        n_users = len(self.tree.users)
        found: dict[int, float] = {}

        def level_fs(node: Account | User) -> float:
            if self.part(node) == 0:
                return 0.0
            used = self.used(node, usage)
            above = self.used(node.account if isinstance(node, User) else node.parent, usage)
            return self.part(node) / (used / above) if used else float("inf")

        def visit(siblings: list[Account | User], tied: int | None) -> None:
            for value in sorted({level_fs(node) for node in siblings}, reverse=True):
                group = [node for node in siblings if level_fs(node) == value]
                before, users = len(found), [node.number for node in group if isinstance(node, User)]
                rank = n_users - before if tied is None else tied
                found.update(dict.fromkeys(users, rank / n_users))
                merged = [child for node in group if isinstance(node, Account) for child in self.children(node.name)]
                visit(merged, rank if users else tied)
                if len(found) > before:
                    tied = None

        visit(self.children(ROOT), None)
        return found


@dataclass(frozen=True)
class Billed:
    """A case's settings: weights of factors, and what is billed, for users who are all below the root."""

    billing: Billing
    algorithm: str
    half_life_ns: int

    def settings(self) -> Multifactor:
        chosen = {"algorithm": self.algorithm, "half_life_ns": self.half_life_ns, "calc_period_ns": NS_PER_S}
        return Multifactor(fairshare=1000, gpu=100, cpu=10, tree=USERS, billing=self.billing, **chosen)  # type: ignore[arg-type]


USERS = AccountTree(users=tuple(User(number) for number in (-1, 0, 1)))


class Fair(Cluster):
    """The slow batch level, whose queue is ordered by what users have used and what jobs request."""

    def __init__(self, case: BatchCase, billed: Billed) -> None:
        super().__init__(case.jobs, case.machine, case.rules)
        self.billed = billed

    def used(self) -> list[tuple[int, Fraction, int, int]]:
        ran = [(row, one.start, one.end, one.gpus) for row, one in self.attempts if one.start >= 0]
        ran += [(row, one.start, one.end, one.gpus) for row, one in self.running.items()]
        found = []
        for row, start, end, gpus in ran:
            job, billing = self.said[row], self.billed.billing
            milli = len(gpus) * job.gpus.milli if job.gpus else 0
            amount = Fraction(billing.cores) * job.cores + Fraction(billing.gpus) * milli / 1000
            found.append((job.user, amount, start, end))
        return found

    def queue(self) -> list[int]:
        chosen, n_cores = self.billed, sum(host.cores for host in self.machine.hosts)
        rule = CLASSIC if chosen.algorithm == "classic" else FAIR_TREE
        shares = SlowShares(USERS, self.used(), NS_PER_S, chosen.half_life_ns, 0, rule, 1.0)
        factors, n_gpus = shares.factors(self.now), sum(host.gpus for host in self.machine.hosts)

        def place(row: int) -> tuple[int, float, int, int]:
            job = self.said[row]
            asked = self.milli(row) / 1000 / n_gpus if n_gpus else 0.0
            high = 1000 * factors[job.user] + (100 * min(1.0, asked) + 10 * min(1.0, job.cores / n_cores))
            return -self.machine.partitions[job.partition].tier, -high, job.submit, row

        return sorted(self.waiting, key=place)


@pytest.mark.parametrize("algorithm", ["fair-tree", "classic"])
def test_runs_with_billed_gpus_as_the_slow_batch_level(algorithm: str) -> None:
    """Whole and in pieces; some runs would be others if only cores were billed."""
    differ = 0
    features = ("units", "kill", "limits", "partitions", "outages", "cancel", "cost")
    for k, case in enumerate(said_cases(3, 160, features, always=("gpus",), max_jobs=16)):
        if any(job.submit % NS_PER_S for job in case.jobs):
            continue  # within one period nobody has used anything
        case = replace(case, rules=replace(case.rules, allocator="first-fit"))  # noqa: PLW2901
        answers = []
        for billing in (Billing(1, 16), Billing(0.25, 8), Billing(cores=1))[k % 2 :]:
            billed = Billed(billing, algorithm, (0, 3 * NS_PER_S)[algorithm == "classic"])
            try:
                answers.append(Fair(case, billed).run())
            except NeverFinishes:
                break
            if len(answers) == 1:
                order = score_policy(billed.settings())
                assert finish(simulator_of(case, policy=order)) == answers[0], (case, billed)
                simulator = simulator_of(case, policy=order)
                simulator.checks = 1
                while simulator.advance(1) != BatchStatus.DONE:
                    pass
                assert attempts(simulator.state) == answers[0], (case, billed)
        differ += len(answers) > 1 and answers[0] != answers[-1]
    assert differ
