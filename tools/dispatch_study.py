"""Whether planning by constraint programming pays: the tables of ``docs/constraint-programming.md``.

    python -m tools.dispatch_study pays LOG...       the busiest days of logs, cores alike, against lists and backfilling
    python -m tools.dispatch_study paper LOG LOG     Tables 1 and 2 of the paper on stand-ins for its machines

A simulation is deterministic and a small change may have large effects: every figure is a mean of samples in which each job is
submitted up to a minute later than in the log (``tools.estimates_outcomes.shaken``), with the 95 % interval of its change.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory

import bridge
from bls import HostGroup, Platform, Workload, read_workload
from bls.constraints.options import Surroundings
from bls.metrics.jobs import slowdown
from bls.scheduler_options import Rules
from bls.workloads.reshape import cut
from tools.dispatch_workloads import StandIn, eurora, forhlr, write_requests
from tools.estimates_outcomes import load, shaken
from tools.estimates_study import changes, name_of
from traces.base.errors import TwolevelError
from traces.base.time import NS_PER_S

SAMPLES, SELECT = 5, "busiest:7d"


@dataclass(frozen=True)
class Dispatcher:
    """A line of a table: a policy, and how it backfills where it does not decide everything itself."""

    name: str
    bls: str
    backfill: str = "none"


#: The first is what the others are compared with.
PAYS = (
    Dispatcher("fcfs, EASY", "fcfs", "easy"),
    Dispatcher("fcfs, conservative", "fcfs", "conservative"),
    Dispatcher("sjf, EASY", "sjf", "easy"),
    Dispatcher("saf, EASY", "saf", "easy"),
    Dispatcher("the lists alone", "hcp19:which=all,search=list"),
    Dispatcher("CP, `all`", "hcp19:which=all"),
    Dispatcher("CP, `fits`", "hcp19:which=fits"),
)

PAPER = tuple(Dispatcher(name, name) for name in ("hcp19", "pcp19", "pcp20"))


@dataclass(frozen=True)
class Outcome:
    """What a dispatcher did with a sample.

    Attributes
    ----------
    slowdown, slowdown_std : float
        Mean and standard deviation of (wait + run) / run.
    wait_s, wait_std : float
        Likewise of the waits.
    pass_ms, deciding_ms : float
        What a pass took on the mean: of all passes, and of those that planned anything.
    total_s : float
        What deciding took in all.
    passes : int
    by_list : float
        What share of the passes that planned anything the list decided: the model was too large, or nothing was found.
    """

    slowdown: float
    slowdown_std: float
    wait_s: float
    wait_std: float
    pass_ms: float
    deciding_ms: float
    total_s: float
    passes: int
    by_list: float


def outcome(
    jobs: Workload,
    platform: Platform,
    dispatcher: Dispatcher,
    estimates: str,
    requests: Path | None = None,
    charged: bool = False,
) -> Outcome:
    """Simulate some jobs with recorded run times."""
    result = bridge.simulate(
        jobs,
        platform,
        bls=dispatcher.bls,
        als="recorded",
        backfill=dispatcher.backfill,
        estimates=estimates,
        rules=Rules(keep_decisions=True, charge_decisions=charged),
        surroundings=Surroundings(requests=requests),
        keep_tasks=False,
    )
    rows, passes = result.ledger.jobs, result.decisions
    wait_s = (rows.start_ns - rows.submit_ns) / NS_PER_S
    slow = slowdown(rows.submit_ns, rows.start_ns, rows.end_ns)
    ms = passes["decision_ns"].to_numpy() / 1e6
    planned = passes["modelled"].to_numpy() > 0 if "modelled" in passes else passes["waiting"].to_numpy() > 0
    by_list = (passes["source"][planned] == "fallback").mean() if "source" in passes else 0.0
    return Outcome(
        slowdown=float(slow.mean()),
        slowdown_std=float(slow.std()),
        wait_s=float(wait_s.mean()),
        wait_std=float(wait_s.std()),
        pass_ms=float(ms.mean()),
        deciding_ms=float(ms[planned].mean()) if planned.any() else 0.0,
        total_s=float(ms.sum()) / 1e3,
        passes=len(ms),
        by_list=float(by_list),
    )


def of_log(path: Path, factor: float, select: str, estimates: str, charged: bool, sample: int) -> list[Outcome]:
    """A log's busiest days, shaken, under each of :data:`PAYS`."""
    jobs, n_cores = load(path, factor)
    machine = Platform((HostGroup(1, n_cores, float(n_cores)),))
    made = shaken(cut(jobs, select), sample)
    return [outcome(made, machine, dispatcher, estimates, charged=charged) for dispatcher in PAYS]


def of_stand_in(machine: str, path: Path, estimates: str, sample: int) -> list[Outcome]:
    """The jobs of a stand-in under each of :data:`PAPER`."""
    log = read_workload(path)
    made: StandIn = eurora(log, 2000, sample) if machine == "eurora" else forhlr(log, sample, "busiest:1d")
    with TemporaryDirectory() as folder:
        asked = Path(folder) / "requests.csv"
        write_requests(made, asked)
        return [outcome(made.workload, made.platform, dispatcher, estimates, asked) for dispatcher in PAPER]


def pays_table(name: str, samples: Sequence[Sequence[Outcome]]) -> list[str]:
    """What the dispatchers give on a log."""
    lines = [
        f"| {name} | mean slowdown | change | mean wait | ms a pass, all | with something to plan |",
        "|---|---|---|---|---|---|",
    ]
    before = [sample[0].slowdown for sample in samples]
    for k, dispatcher in enumerate(PAYS):
        found = [sample[k] for sample in samples]
        slow = [one.slowdown for one in found]
        lines.append(
            f"| {dispatcher.name} | {fmean(slow):.1f} | {changes(slow, before) if k else ''} "
            f"| {fmean(one.wait_s for one in found) / 60:.0f} min | {median(one.pass_ms for one in found):.3f} "
            f"| {median(one.deciding_ms for one in found):.3f} |"
        )
    return lines


def paper_table(machine: str, found: Sequence[tuple[str, Sequence[Sequence[Outcome]]]]) -> list[str]:
    """The paper's table of a machine: by estimates, and by dispatcher."""
    lines = [
        f"| {machine} | ms a pass, all | with something to plan | deciding in all | by the list | mean slowdown | mean wait |",
        "|---|---|---|---|---|---|---|",
    ]
    for estimates, samples in found:
        for k, dispatcher in enumerate(PAPER):
            of = [sample[k] for sample in samples]
            lines.append(
                f"| {dispatcher.name}, {estimates} | {fmean(one.pass_ms for one in of):.1f} "
                f"| {fmean(one.deciding_ms for one in of):.1f} | {fmean(one.total_s for one in of):.0f} s "
                f"| {fmean(one.by_list for one in of):.1%} "
                f"| {fmean(one.slowdown for one in of):.1f} ± {fmean(one.slowdown_std for one in of):.0f} "
                f"| {fmean(one.wait_s for one in of) / 60:.0f} ± {fmean(one.wait_std for one in of) / 60:.0f} min |"
            )
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """Run a part of the study from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.dispatch_study", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("part", choices=("pays", "paper"))
    parser.add_argument(
        "logs", nargs="+", type=Path, metavar="LOG", help="log in SWF; paper: two, one for each machine"
    )
    parser.add_argument("--samples", type=int, default=SAMPLES, help="shaken samples (default %(default)s)")
    parser.add_argument("--select", default=SELECT, help="pays: which days (default %(default)s)")
    parser.add_argument("--load", type=float, default=1.0, help="pays: how many times as densely jobs come (default 1)")
    parser.add_argument("--estimates", default="exact", help="pays: what is planned with (default %(default)s)")
    parser.add_argument("--charge-decisions", action="store_true", help="pays: jobs wait for as long as deciding took")
    parser.add_argument("--workers", type=int, default=1, help="processes at once (default 1)")
    said = parser.parse_args(words)
    if said.part == "paper" and len(said.logs) != 2:
        parser.error("paper: two logs, one for each machine")
    numbers = range(1, said.samples + 1)
    try:
        with ProcessPoolExecutor(said.workers, mp_context=get_context("spawn")) as pool:
            if said.part == "pays":
                for path in said.logs:
                    tasks = [
                        (path, said.load, said.select, said.estimates, said.charge_decisions, number)
                        for number in numbers
                    ]
                    found = list(pool.map(of_log, *zip(*tasks, strict=True)))
                    sys.stdout.write("\n".join([*pays_table(name_of(path), found), "", ""]))
                    sys.stdout.flush()
                return 0
            for machine, path in zip(("eurora", "forhlr"), said.logs, strict=True):
                kinds = []
                for estimates in ("last-two", "exact"):
                    tasks = [(machine, path, estimates, number) for number in numbers]
                    kinds.append((estimates, list(pool.map(of_stand_in, *zip(*tasks, strict=True)))))
                sys.stdout.write("\n".join([*paper_table(machine, kinds), "", ""]))
                sys.stdout.flush()
    except TwolevelError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
