"""Random workloads through the real Slurm and through the batch policy ``slurm``: every start that is not the same is shown.

    python -m tools.slurm_soak --cases 200

A workload is of one of several kinds, on hosts of one core or of several, under ``sched/builtin`` or ``sched/backfill``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import Rules
from bls.workloads.workload import Workload
from bridge import simulate
from bridge.replay.configuration import of_machine
from bridge.replay.installed import installed_slurm
from bridge.replay.run import ReplayOptions, replay
from bridge.scenarios.scenario import Scenario

__all__ = ["KINDS", "Case", "differing", "drawn"]

#: Jobs of all kinds on hosts of one core, and of several; more at once than a pass looks at; limits beyond the window in which
#: Slurm plans; hours without a job; hosts of many cores.
KINDS = ("hosts", "cores", "bursts", "long", "idle", "wide")

#: The end of a job that is told beside others is up to so many ns later in a replay.
_TOLD_NS = 100_000


@dataclass(frozen=True)
class Case:
    """Jobs (number, submit s, run s, cores, estimate s) on equal hosts."""

    jobs: tuple[tuple[int, int, int, int, int], ...]
    hosts: int
    cores: int
    scheduler: str = "backfill"

    @property
    def platform(self) -> Platform:
        """The machine."""
        return Platform((HostGroup(self.hosts, self.cores, 46.875 * self.cores),))


def drawn(kind: str, seed: int) -> Case:
    """A workload of a kind, and a machine for it."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    hosts, cores = int(rng.integers(2, 17)), 1
    if kind == "cores":
        hosts, cores = int(rng.integers(2, 7)), int(rng.choice([2, 3, 4, 8]))
    elif kind == "wide":
        hosts, cores = int(rng.integers(3, 20)), int(rng.choice([16, 64]))
    machine, at, jobs = hosts * cores, 0, []
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
        width = int(rng.integers(1, max(2, int(machine * widest) + 1)))
        if kind == "bursts" and rng.random() < 0.8:
            width = 1
        estimate = max(1, int(run * rng.uniform(0.2, 1)))
        if rng.random() > over:
            estimate = int(run * rng.uniform(1, 3)) + int(rng.integers(0, 60))
        if kind == "long":
            estimate *= int(rng.choice([1, 20]))
        jobs.append((number, at, run, width, estimate))
    return Case(tuple(jobs), hosts, cores, str(rng.choice(["builtin", "backfill"])))


def differing(case: Case, folder: Path) -> pd.DataFrame:
    """The jobs that do not start at the same instant in both, or do not end likewise; slurmctld's files are in the folder."""
    workload = Workload.from_jobs(case.jobs)
    found = of_machine({"SchedulerType": f"sched/{case.scheduler}"}, case.platform)
    folder.mkdir(parents=True)
    scenario = Scenario.of(workload, case.platform, ReplayOptions(als="recorded"))
    slurm = replay(scenario, found, installed_slurm(), folder, watch=_unwatched).result.jobs
    ours = simulate(
        workload,
        platform=case.platform,
        bls=f"slurm:scheduler={case.scheduler}",
        als="recorded",
        rules=Rules(kill_at_walltime=True),
    ).jobs
    columns = ["job_id", "start_ns", "end_ns", "state", "cores"]
    both = slurm[columns].merge(ours[columns], on="job_id", suffixes=("", "_ours"))
    assert len(both) == len(case.jobs)
    same = (both.start_ns == both.start_ns_ours) & (both.state == both.state_ours)
    return both[~(same & ((both.end_ns - both.end_ns_ours).abs() < _TOLD_NS))].sort_values("start_ns")


def _unwatched(ended: int, now_ns: int) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw cases; 1 if any differs."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--cases", type=int, default=100)
    reader.add_argument("--first", type=int, default=0, help="the seed of the first")
    chosen = reader.parse_args(arguments)
    wrong = 0
    for seed in range(chosen.first, chosen.first + chosen.cases):
        kind = KINDS[seed % len(KINDS)]
        with tempfile.TemporaryDirectory() as scratch:
            case = drawn(kind, seed)
            rows = differing(case, Path(scratch) / "replay")
        if len(rows):
            wrong += 1
            print(f"{kind} {seed}, sched/{case.scheduler}: {len(rows)} of {len(case.jobs)} jobs differ", flush=True)
            print(rows.head(3).to_string(index=False), flush=True)
    print(f"{chosen.cases} workloads, {wrong} of them with differences")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
