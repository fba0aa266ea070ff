"""How far policies are from a plan that knows what comes: days of a log, planned at once.

    python -m tools.plan_ahead LOG --select busiest:7d --lists 3000 --out plan.csv

The log's cores are alike, and run times are known. Policies of ``tools.dispatch_study`` decide as jobs come; then
``bls.cp.plan_ahead`` plans all of them, with every policy's starts as an order to begin with, so that its plan is no worse than
any. A line each says the mean slowdown and wait, and the table of the plan is written where ``--out`` says.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bls import HostGroup, Platform, Workload
from bls.cp import Ahead, plan_ahead
from bls.cp.ahead import GOALS_AHEAD
from bls.cp.instance import up_s
from bls.workloads.reshape import cut
from tools.dispatch_study import DISPATCHERS, simulated
from tools.dispatch_workloads import StandIn
from tools.estimates_outcomes import load
from traces.base.errors import TwolevelError, one_of
from traces.base.time import NS_PER_S
from traces.compiled import Array

#: The policies that a plan is held against.
POLICIES: Final = ("fcfs+easy", "slowdown+easy", "sjf+easy", "saf+easy", "list", "lns")


def planned(jobs: Workload, n_cores: int, known_s: Sequence[Array], goal: str, lists: int, seed: int) -> Ahead:
    """The best plan that begins at one of the known schedules, or at the list."""
    ahead = partial(
        plan_ahead,
        np.array([[n_cores]]),
        submit_s=-(jobs.earliest_ns // -NS_PER_S),
        duration_s=up_s(jobs.run_ns),
        units=jobs.cores,
        per_unit=np.ones((len(jobs), 1), np.int64),
        goal=goal,
        pooled=True,
    )
    begun = [ahead(lists=0, known_s=known) for known in known_s or (None,)]
    best = min(begun, key=lambda one: one.value)
    return ahead(lists=lists, seed=seed, known_s=best.start_s)


def write(path: Path, jobs: Workload, plan: Ahead) -> None:
    """The table of a plan: when each job starts and ends, s in the time of the log."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        table = csv.writer(lines, lineterminator="\n")
        table.writerow(("job_id", "submit_s", "start_s", "end_s", "cores"))
        ends = plan.start_s + up_s(jobs.run_ns)
        columns = (jobs.job_id, -(jobs.submit_ns // -NS_PER_S), plan.start_s, ends, jobs.cores)
        table.writerows(zip(*(column.tolist() for column in columns), strict=True))


def _line(name: str, submit_s: Array, start_s: Array, run_s: Array, seconds: float) -> str:
    wait = start_s - submit_s
    return f"{name:20} {(wait / run_s + 1.0).mean():9.2f} {wait.mean() / 60.0:9.2f} {seconds:8.1f}"


def main(words: Sequence[str] | None = None) -> int:
    """Compare, and write the plan; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.plan_ahead", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("log", type=Path, metavar="LOG", help="a log in SWF")
    parser.add_argument("--select", default="busiest:3d", help="which days (default %(default)s)")
    parser.add_argument("--load", type=float, default=1.0, help="how many times as densely jobs come (default 1)")
    parser.add_argument(
        "--goal", choices=GOALS_AHEAD, default="slowdown", help="what is minimised (default %(default)s)"
    )
    parser.add_argument("--lists", type=int, default=3000, help="the effort of the search (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the search (default 0)")
    parser.add_argument(
        "--policies", nargs="*", default=list(POLICIES), metavar="NAME", help="default: all that follow"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the plan's table is written, CSV")
    said = parser.parse_args(words)
    try:
        for name in said.policies:
            if name not in DISPATCHERS:
                raise one_of("dispatcher", name, DISPATCHERS, "--policies")
        log, n_cores = load(said.log, said.load)
        jobs = cut(log, said.select)
        made = StandIn("pool", Platform((HostGroup(1, n_cores, float(n_cores)),)), jobs, {})
        run_s, known = up_s(jobs.run_ns), []
        sys.stdout.write(f"{len(jobs)} jobs, {n_cores} cores, seed {said.seed}\n")
        sys.stdout.write(f"{'':20} {'slowdown':>9} {'wait, min':>9} {'s':>8}\n")
        submit_s = -(jobs.submit_ns // -NS_PER_S)
        for name in said.policies:
            began = time.process_time()
            result, _ = simulated(made, DISPATCHERS[name].bls, DISPATCHERS[name].backfill, "exact")
            known.append(-(result.ledger.jobs.start_ns // -NS_PER_S))
            sys.stdout.write(_line(name, submit_s, known[-1], run_s, time.process_time() - began) + "\n")
        for lists in dict.fromkeys((0, said.lists)):
            began = time.process_time()
            plan = planned(jobs, n_cores, known, said.goal, lists, said.seed)
            took = time.process_time() - began
            sys.stdout.write(_line(f"ahead, {lists} lists", submit_s, plan.start_s, run_s, took) + "\n")
        if said.out is not None:
            write(said.out, jobs, plan)
    except TwolevelError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
