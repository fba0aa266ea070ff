"""Random workloads through the real Slurm and through the batch policy ``slurm``: every start that is not the same is shown.

    python tests/bridge/slurm_soak.py --cases 200

A workload is of one of several kinds, on hosts of one core or of several, under ``sched/builtin`` or ``sched/backfill``, and
with ``--multifactor`` under ``priority/multifactor`` with a weight of sizes.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from slurm_here import machine, replayed

from bls.machine.platform import Platform
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge import simulate

#: Jobs of all kinds on hosts of one core, and of several; more at once than a pass looks at; limits beyond the window in which
#: Slurm plans; hours without a job; hosts of many cores.
KINDS = ("hosts", "cores", "bursts", "long", "idle", "wide")

#: The end of a job that is reported with others is up to this many ns later in a replay.
_TOLD_NS = 100_000


@dataclass(frozen=True)
class Case:
    """Jobs (number, submit s, run s, cores, estimate s) on equal hosts; with a weight by priority/multifactor."""

    jobs: tuple[tuple[int, int, int, int, int], ...]
    hosts: int
    cores: int
    scheduler: str = "backfill"
    weight_job_size: int = 0
    favor_small: bool = False
    small_relative_to_time: bool = False

    @property
    def platform(self) -> Platform:
        return machine(self.hosts, self.cores)

    @property
    def keys(self) -> dict[str, str]:
        """Which scheduler and which priorities, as keys of slurm.conf."""
        found = {"SchedulerType": f"sched/{self.scheduler}", "PriorityType": "priority/basic"}
        if self.weight_job_size:
            found |= {"PriorityType": "priority/multifactor", "PriorityWeightJobSize": str(self.weight_job_size)}
            found["PriorityFavorSmall"] = "YES" if self.favor_small else "NO"
            found |= {"PriorityFlags": "SMALL_RELATIVE_TO_TIME"} if self.small_relative_to_time else {}
        return found

    @property
    def policy(self) -> str:
        found = f"slurm:scheduler={self.scheduler}"
        if self.weight_job_size:
            found += f",priority=multifactor,weight_job_size={self.weight_job_size}"
            found += f",favor_small={self.favor_small},small_relative_to_time={self.small_relative_to_time}"
        return found


def drawn(kind: str, seed: int) -> Case:
    """A workload of a kind, and a machine for it."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    hosts, cores = int(rng.integers(2, 17)), 1
    if kind == "cores":
        hosts, cores = int(rng.integers(2, 7)), int(rng.choice([2, 3, 4, 8]))
    elif kind == "wide":
        hosts, cores = int(rng.integers(3, 20)), int(rng.choice([16, 64]))
    n_cores, at, jobs = hosts * cores, 0, []
    gap, longest = float(rng.choice([0, 5, 30, 120, 600])), int(rng.choice([100, 600, 3000, 20_000]))
    widest, over = float(rng.choice([0.3, 0.6, 1])), float(rng.choice([0, 0.2]))
    for number in range(1, (int(rng.integers(130, 260)) if kind == "bursts" else int(rng.integers(5, 60))) + 1):
        if kind == "bursts":
            at += int(rng.integers(1, 300)) if rng.random() < 0.02 else 0
        else:
            at += int(rng.exponential(gap)) if gap else 0
        if kind == "idle" and rng.random() < 0.2:
            at += int(rng.integers(100, 9000))
        run = int(rng.integers(1, longest)) * (20 if kind == "long" else 1)
        width = int(rng.integers(1, max(2, int(n_cores * widest) + 1)))
        if kind == "bursts" and rng.random() < 0.8:
            width = 1
        estimate = max(1, int(run * rng.uniform(0.2, 1)))
        if rng.random() > over:
            estimate = int(run * rng.uniform(1, 3)) + int(rng.integers(0, 60))
        if kind == "long":
            estimate *= int(rng.choice([1, 20]))
        jobs.append((number, at, run, width, estimate))
    return Case(tuple(jobs), hosts, cores, str(rng.choice(["builtin", "backfill"])))


def by_size(case: Case, seed: int) -> Case:
    """The same workload with priorities by size: weights that tell jobs well apart, and such that many are equal."""
    rng = np.random.default_rng([len(KINDS), seed])
    return replace(
        case,
        weight_job_size=int(rng.choice([3, 10, 100, 1000, 10**6, 4 * 10**9])),
        favor_small=bool(rng.random() < 0.5),
        small_relative_to_time=bool(rng.random() < 0.5),
    )


def differing(case: Case, folder: Path) -> pd.DataFrame:
    """The jobs that do not start at the same instant in both, or end differently; slurmctld's files are in the folder."""
    slurm = replayed(case.jobs, case.platform, folder, keys=case.keys).result.jobs
    rules, workload = Rules(kill_at_walltime=True), Workload.from_jobs(case.jobs)
    ours = simulate(workload, platform=case.platform, bls=case.policy, als="recorded", rules=rules).jobs
    columns = ["job_id", "start_ns", "end_ns", "state", "cores"]
    both = slurm[columns].merge(ours[columns], on="job_id", suffixes=("", "_ours"))
    assert len(both) == len(case.jobs)
    same = (both.start_ns == both.start_ns_ours) & (both.state == both.state_ours)
    return both[~(same & ((both.end_ns - both.end_ns_ours).abs() < _TOLD_NS))].sort_values("start_ns")


def main(arguments: Sequence[str] | None = None) -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--cases", type=int, default=100)
    reader.add_argument("--first", type=int, default=0, help="the seed of the first")
    reader.add_argument("--multifactor", action="store_true", help="priorities by size, not by submit")
    chosen = reader.parse_args(arguments)
    wrong = 0
    for seed in range(chosen.first, chosen.first + chosen.cases):
        kind = KINDS[seed % len(KINDS)]
        with tempfile.TemporaryDirectory() as scratch:
            case = by_size(drawn(kind, seed), seed) if chosen.multifactor else drawn(kind, seed)
            rows = differing(case, Path(scratch) / "replay")
        if len(rows):
            wrong += 1
            print(f"{kind} {seed}, {case.policy}: {len(rows)} of {len(case.jobs)} jobs differ", flush=True)
            print(rows.head(3).to_string(index=False), flush=True)
    print(f"{chosen.cases} workloads, {wrong} of them with differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
