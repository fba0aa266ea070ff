"""Why jobs start otherwise in Slurm than under ``fcfs``, ``easy``, ``conservative``: its cycle is made ours, a step at a time.

    python -m tools.slurm_and_ours sample --machine 4x64
    python -m tools.slurm_and_ours KTH-SP2-1996-2.1-cln.swf.gz --machine 100x1 --select busiest:7d --jobs moved.csv

    python -m tools.slurm_and_ours KTH-SP2-1996-2.1-cln.swf.gz --machine 100x1 --multifactor weight_job_size=1000

A step changes one thing, and keeps what those before it have changed; it is told how many starts it moves, what that does to
the mean wait, and whose start is the first that it moves: all that it moves later may follow from that. ``--replay`` begins
with Slurm itself. ``--jobs FILE`` writes every start in every step, a line a job, and which step has moved it most.
``--multifactor`` has Slurm order jobs by size, and ends with our ``multifactor`` of the same weight.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from bls import Platform, Workload, sample_path
from bls.machine.platform import HostGroup
from bls.policies import policy
from bls.policies.slurm import Slurm
from bls.scheduler_options import Rules
from bridge import simulate
from bridge.scenarios.scenario import load_workload
from tools.slurm_soak import keys_of
from traces.base.time import NS_PER_S
from traces.compiled import Array

__all__ = ["STEPS", "Step", "first_moved", "main", "steps_of", "table"]

#: A start that moves by less is not counted: what is told in microseconds.
_LEAST_NS: Final = 10**6
_MINUTE_NS: Final = 60 * NS_PER_S


@dataclass(frozen=True)
class Step:
    """What is changed: parameters of the policy ``slurm``, or, instead of it, an order and a kind of backfilling."""

    name: str
    parameters: str = ""
    ours: tuple[str, str, str] | None = None


#: Of ``sched/backfill``.
STEPS: Final = (
    Step("Slurm's cycle"),
    Step("messages and passes take no time", "message=0,sched_min_interval=0"),
    Step("submits are looked at at once, not once a second, 3 s apart", "tick=0"),
    Step("jobs are killed at their limit, not every 30 s", "kill_interval=0"),
    Step("limits as requested, not in whole minutes", "minute=1"),
    Step("no depth, and plans for 30 days", "default_queue_depth=1000000,bf_max_job_test=1000000,bf_window=43200"),
    Step("backfilling at each event, not every 30 s", "bf_interval=0"),
    Step("plans to the second, not on a grid of a minute", "bf_resolution=1"),
    Step("`conservative` `rebuild`: plans by free cores, not by nodes", ours=("fcfs", "conservative", "rebuild")),
    Step("`conservative` `keep`: plans are kept", ours=("fcfs", "conservative", "keep")),
    Step("`easy`: one plan", ours=("fcfs", "easy", "keep")),
    Step("`fcfs`: no backfilling", ours=("fcfs", "none", "keep")),
)

#: Of ``sched/builtin``.
BUILTIN: Final = (*STEPS[:6], STEPS[-1])

#: Of ``priority/multifactor``, before its order is ours.
_FINE: Final = Step("priorities to the last digit, not cut to whole numbers", f"weight_job_size={2**32 - 1}")


def steps_of(how: Slurm) -> list[Step]:
    """The steps from it to ours, by its scheduler and its priorities."""
    steps = list(STEPS if how.scheduler == "backfill" else BUILTIN)
    if how.priority == "basic":
        return steps
    order = f"multifactor:size={how.weight_job_size}"
    order += f",favor_small={how.favor_small},small_relative_to_time={how.small_relative_to_time}"
    found = [step if step.ours is None else Step(_renamed(step.name), ours=(order, *step.ours[1:])) for step in steps]
    found.insert(next(place for place, step in enumerate(found) if step.ours), _FINE)
    return found


def _renamed(name: str) -> str:
    return "`multifactor`: no backfilling" if name.startswith("`fcfs`") else f"`multifactor` and {name}"


def starts(workload: Workload, machine: Platform, given: str, steps: Sequence[Step]) -> Iterator[Array]:
    """When each job starts, in each of the steps, ns; the first has these parameters of the policy ``slurm``."""
    parameters = [given]
    for step in steps:
        parameters += [step.parameters] if step.parameters else []
        bls, backfill, conservative = step.ours or (f"slurm:{_last_of(parameters)}", "none", "keep")
        rules = Rules(backfill=backfill, conservative=conservative, kill_at_walltime=True)
        jobs = simulate(workload, platform=machine, bls=bls, als="recorded", rules=rules).jobs
        yield jobs.sort_values("job_id").start_ns.to_numpy()


def _last_of(parameters: Sequence[str]) -> str:
    # Of what is given several times, what was given last.
    last = dict(one.split("=") for text in parameters for one in text.split(","))
    return ",".join(f"{key}={value}" for key, value in last.items())


def replayed(workload: Workload, machine: Platform, how: Slurm) -> Array:
    """When each job starts in Slurm."""
    from bridge.replay.configuration import of_machine
    from bridge.replay.installed import installed_slurm
    from bridge.replay.run import ReplayOptions, replay
    from bridge.scenarios.scenario import Scenario

    found = of_machine(keys_of(how), machine)
    scenario = Scenario.of(workload, machine, ReplayOptions(als="recorded"))
    with tempfile.TemporaryDirectory() as scratch:
        done = replay(scenario, found, installed_slurm(), Path(scratch), watch=lambda ended, now_ns: None)
    starts_ns: Array = done.result.jobs.sort_values("job_id").start_ns.to_numpy()
    return starts_ns


def first_moved(before: Array, after: Array) -> int | None:
    """The place of the job that is moved first: none whose start differs starts earlier in either."""
    moved = np.flatnonzero(np.abs(after - before) > _LEAST_NS)
    if not len(moved):
        return None
    return int(moved[np.argmin(np.minimum(before, after)[moved])])


def table(workload: Workload, names: Sequence[str], columns: Sequence[Array]) -> list[list[str]]:
    """A row a step: what it is, how many starts it moves, and by a minute or more, the mean wait, and whom it moves first."""
    order = np.argsort(workload.job_id, kind="stable")
    submit, number = workload.submit_ns[order], workload.job_id[order]
    rows, before = [], columns[0]
    for name, after in zip(names, columns, strict=True):
        moved = np.abs(after - before)
        first = first_moved(before, after)
        whom = "" if first is None else f"{number[first]}: {_at(before[first])} → {_at(after[first])}"
        counts = [str(int((moved > least).sum())) for least in (_LEAST_NS, _MINUTE_NS - 1)]
        rows.append([name, *counts, f"{(after - submit).mean() / NS_PER_S:,.1f}", whom])
        before = after
    return rows


def _at(ns: int) -> str:
    return f"{ns / NS_PER_S:,.3f} s"


def _written(path: str, workload: Workload, names: Sequence[str], columns: Sequence[Array]) -> None:
    order = np.argsort(workload.job_id, kind="stable")
    moves = np.abs(np.diff(np.stack(columns), axis=0))
    most = np.where(moves.max(axis=0) > _LEAST_NS, moves.argmax(axis=0) + 1, 0)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["job_id", "submit_ns", *names, "moved most by"])
        for place, row in enumerate(order.tolist()):
            starts_ns = [int(column[place]) for column in columns]
            cause = names[int(most[place])] if most[place] else ""
            writer.writerow([int(workload.job_id[row]), int(workload.submit_ns[row]), *starts_ns, cause])


def _machine(text: str) -> Platform:
    hosts, _, cores = text.partition("x")
    return Platform((HostGroup(int(hosts), int(cores), 46.875 * int(cores)),))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("workload", help="a log, or 'sample'")
    reader.add_argument("--select", default="all")
    reader.add_argument("--machine", required=True, metavar="HxC", help="H hosts of C cores")
    reader.add_argument("--scheduler", choices=("backfill", "builtin"), default="backfill")
    reader.add_argument(
        "--multifactor", metavar="WEIGHTS", help="of priority/multifactor: parameters of the policy slurm"
    )
    reader.add_argument("--replay", action="store_true", help="begin with Slurm itself")
    reader.add_argument("--jobs", metavar="FILE", help="write every start, a line a job, as CSV")
    chosen = reader.parse_args(arguments)
    machine = _machine(chosen.machine)
    path = sample_path() if chosen.workload == "sample" else chosen.workload
    workload = load_workload(path, machine, selection=chosen.select, preset=False)
    given = f"scheduler={chosen.scheduler}"
    if chosen.multifactor:
        given += f",priority=multifactor,{chosen.multifactor}"
    how = policy(f"slurm:{given}")
    assert isinstance(how, Slurm)
    steps = steps_of(how)
    names = [step.name for step in steps]
    columns = list(starts(workload, machine, given, steps))
    if chosen.replay:
        names.insert(0, "Slurm")
        columns.insert(0, replayed(workload, machine, how))
    print("| step | starts moved | by a minute or more | mean wait, s | the first one |")
    print("|---|---|---|---|---|")
    for row in table(workload, names, columns):
        print("| " + " | ".join(row) + " |")
    if chosen.jobs:
        _written(chosen.jobs, workload, names, columns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
