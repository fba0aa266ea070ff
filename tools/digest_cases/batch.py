"""Cases of the batch level: every policy with every backfilling, every allocator, estimator and constraint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.digest_cases.case import PLUGINS, Case, run

#: The policies, as for ``--bls``.
POLICIES = (
    "fcfs",
    "sjf",
    "ljf",
    "edf",
    "saf",
    "wfp3",
    "unicef",
    "f1",
    "f2",
    "f3",
    "f4",
    "expr:(w/t)**3*n",
    "expr:max(w, 1)/l - n*log2(t + z) + min(s, 1e6) % 7",
    "multifactor:age=1000,size=500,favor_small=yes",
    "multifactor:config=priority.toml",
    "multifactor:config=priority.toml,algorithm=classic,dampening=2,reset=1h,small_relative_to_time=yes",
    f"{PLUGINS}:Widest",
    f"{PLUGINS}:Widest:turn=yes",
    f"{PLUGINS}:LARGEST_SLOWDOWN",
)

#: Kinds of backfilling, as rules.
BACKFILLING = {
    "none": {"backfill": "none"},
    "easy": {"backfill": "easy"},
    "depth 3": {"backfill": "3"},
    "keep": {"backfill": "conservative"},
    "rebuild": {"backfill": "conservative:rebuild"},
}

_ALLOCATORS = (
    *("first-fit", "lowest", "best-fit", "worst-fit", "contiguous", "whole-host", "random", "topology"),
    *("pack-gpus", "spread", "tightest", "fgd"),
)
_ESTIMATORS = (
    "requested",
    "exact",
    "within:30%",
    "last-two",
    "last-two:least=1",
    "profile",
    "data-driven",
    "application",
    f"{PLUGINS}:LAST_THREE",
    f"{PLUGINS}:Half",
)

#: Constraints of jobs: keywords of ``bridge.simulate``, with ``rules`` and ``constraints`` as mappings.
_CONSTRAINTS: dict[str, dict[str, Any]] = {
    "memory": {"platform": "mixed.toml", "constraints": {"memory": "swf"}},
    "requests": {"platform": "mixed.toml", "constraints": {"requests": "requests.csv"}},
    "requests and memory": {"platform": "mixed.toml", "constraints": {"requests": "requests.csv", "memory": "swf"}},
    "partitions": {"platform": "parts.toml"},
    "dependencies": {"platform": "plain.toml", "constraints": {"dependencies": True}},
    "windows": {"platform": "plain.toml", "constraints": {"windows": "windows.toml"}},
    "failures": {"platform": "plain.toml", "constraints": {"failures": "failures.csv"}},
    "drained": {"platform": "plain.toml", "constraints": {"failures": "drained.csv"}},
    "lost by failures": {
        "platform": "plain.toml",
        "constraints": {"failures": "mtbf:6h,mttr:20m,seed:3"},
        "rules": {"on_failure": "lose"},
    },
    "often failing": {"platform": "plain.toml", "constraints": {"failures": "mtbf:3h,mttr:10m"}},
    "killed": {"platform": "plain.toml", "rules": {"kill_at_walltime": True}},
    "cost": {"platform": "plain.toml", "rules": {"decision_cost_ns": 7 * 10**9}},
    "switches": {"platform": "switches.toml", "constraints": {"switches": "1@10m"}, "allocator": "topology"},
    "switch requests": {
        "platform": "switches.toml",
        "constraints": {"requests": "switches.csv"},
        "allocator": "topology",
    },
}


def _merged(*parts: dict[str, Any]) -> dict[str, Any]:
    # Rules and constraints are merged; of everything else the last value counts.
    merged: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            before = merged.get(key)
            merged[key] = {**before, **value} if isinstance(before, dict) and isinstance(value, dict) else value
    return merged


def _orders() -> Iterator[Case]:
    for policy in POLICIES:
        for name, rules in BACKFILLING.items():
            yield run(f"{policy} × {name}", workload="busy", platform="plain.toml", bls=policy, rules=rules)
    for name, rules in BACKFILLING.items():
        yield run(f"sample × {name}", workload="sample", bls="sjf", rules={**rules, "keep_decisions": True})
        yield run(f"crowded × {name}", workload="crowded", platform="plain.toml", rules=rules)
    for name in ("Greedy", "Sleeper"):
        yield run(f"decides: {name}", workload="busy", platform="plain.toml", bls=f"{PLUGINS}:{name}")
        yield run(
            f"decides: {name} × failures × dependencies",
            workload="busy",
            platform="plain.toml",
            bls=f"{PLUGINS}:{name}",
            constraints={"failures": "failures.csv", "dependencies": True},
        )
    for order in ("least-power", "most-power", "least-energy", "expr:power_w % 7 - sqrt(energy_j)"):
        for name in ("easy", "keep"):
            rules = BACKFILLING[name]
            yield run(f"{order} × {name}", workload="busy", platform="powered.toml", bls=order, rules=rules)
    yield run("reject", workload="busy", bls="reject", constraints={"dependencies": True})
    for name in ("hcp19", "cp-classes", "pcp19", "pcp20"):  # plans depend on the version of the solver
        yield run(name, workload="busy", bls=f"{name}:search=list,which=all")
    by_size = "slurm:priority=multifactor,weight_job_size=1000,favor_small=true,small_relative_to_time=true"
    for name in ("slurm", "slurm:scheduler=builtin", "slurm:bf_interval=0,tick=0,minute=1", by_size):
        yield run(name, workload="busy", bls=name, rules={"kill_at_walltime": True})
    yield run("cp-classes × lns", workload="busy", bls="cp-classes:search=lns,which=all")
    yield run("backfill as a number", workload="busy", platform="plain.toml", backfill=12, bls="saf")


def _places() -> Iterator[Case]:
    for allocator in _ALLOCATORS:
        for name in ("none", "easy", "keep"):
            yield run(
                f"allocator {allocator} × {name}",
                workload="busy",
                platform="switches.toml" if allocator == "topology" else "plain.toml",
                allocator=allocator,
                rules=BACKFILLING[name],
                seed=5,
            )
        if allocator == "contiguous":
            continue  # hosts offer different numbers of units: some job never fits
        yield run(
            f"allocator {allocator} × requests",
            workload="busy",
            platform="mixed.toml",
            allocator=allocator,
            constraints={"requests": "requests.csv"},
            rules=BACKFILLING["easy"],
        )
    for name in ("none", "easy"):
        given = {10 + 3 * k: f"{4 * (k % 9)}-{4 * (k % 9) + 3} 60-{60 + k % 3}" for k in range(14)}
        yield run(
            f"allocator given × {name}", workload="given", allocator="given", requested=given, rules=BACKFILLING[name]
        )


def _estimates() -> Iterator[Case]:
    for estimator in _ESTIMATORS:
        for name, policy, killed in (("easy", "fcfs", True), ("keep", "sjf", False), ("2", "wfp3", False)):
            rules = {**BACKFILLING.get(name, {"backfill": name}), "kill_at_walltime": killed}
            title = f"estimates {estimator} × {policy} × {name}".replace(f"{PLUGINS}:", "plugins.py:")
            jobs = "named" if estimator == "data-driven" else "busy"
            how = {"platform": "plain.toml", "bls": policy, "estimates": estimator, "rules": rules, "seed": 9}
            yield run(title, workload=jobs, **how)


def _constraints() -> Iterator[Case]:
    for what, given in _CONSTRAINTS.items():
        for name in ("none", "easy", "keep", "rebuild"):
            merged = _merged({"workload": "busy", "seed": 2}, given, {"rules": BACKFILLING[name]})
            fair = what in ("killed", "partitions") and name == "none"
            yield run(f"{what} × {name}", **merged, fair_start=fair)
    for name in ("none", "easy", "keep"):
        rules = BACKFILLING[name]
        yield run(f"withdrawn × {name}", workload="withdrawn", platform="plain.toml", rules=rules)
        yield run(f"cancelled × {name}", file="withdrawn.swf", platform="plain.toml", cancelled=True, rules=rules)
        yield run(
            f"preset × {name}",
            workload="narrow",
            platform="plain.toml",
            preset=True,
            select="window:40m+1h",
            rules=rules,
        )
        yield run(
            f"observed × {name}",
            workload="busy",
            platform="plain.toml",
            observers=[f"{PLUGINS}:EveryHour", f"{PLUGINS}:Always"],
            rules={**rules, "keep_decisions": True},
        )
        yield run(
            f"preset × mixed × {name}",
            workload="narrow",
            platform="mixed-parts.toml",
            preset=True,
            select="window:40m+1h",
            rules=rules,
        )
        costly = {"decision_cost_ns": 60 * 10**9}
        yield run(
            f"cost × withdrawn × failures × {name}",
            workload="withdrawn",
            platform="plain.toml",
            rules={**rules, **costly},
            constraints={"failures": "mtbf:1h,mttr:5m"},
        )
    yield run("clamped", workload="busy", platform="small.toml", oversize="clamp", rules=BACKFILLING["easy"])
    yield run("rejected", workload="busy", platform="small.toml", rules=BACKFILLING["keep"])
    yield run("busiest", workload="sample", select="busiest:6h", bls="edf", slack=0.5)
    yield run("first", workload="sample", select="first:100", fair_start=True)
    yield run("swf again", workload="few", platform="plain.toml", exports=["swf", "batsim", "otf2"])


def batch_cases() -> Iterator[Case]:
    """All cases of this module."""
    yield from _orders()
    yield from _places()
    yield from _estimates()
    yield from _constraints()
