"""Whether planning by constraint programming pays: the rows and tables of ``docs/reference/constraint-programming.md``.

    python -m tools.dispatch_study run LOG --select busiest:3d --samples 5   a log's days, cores alike: docs/dispatch-study.csv
    python -m tools.dispatch_study run LOG --machine eurora --estimates exact last-two profile     on a stand-in for the paper's
    python -m tools.dispatch_study tables                                    what the rows say
    python -m tools.dispatch_study page                                      puts it into the page

A simulation is deterministic and a small change may have large effects: every figure is a mean of samples in which each job is
submitted up to a minute later than in the log (``tools.estimates_outcomes.shaken``), with the 95 % interval of its change.
Each sample of each dispatcher is a row, written when it is known; what the file has is not simulated again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import chain, starmap
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import bridge
from bls import HostGroup, Platform, Workload, read_workload
from bls.constraints.options import Surroundings
from bls.cp import MODELS
from bls.metrics.jobs import slowdown
from bls.policies.contract import AnyPolicy
from bls.scheduler_options import Rules
from bls.workloads.reshape import cut
from tools.dispatch_lists import RANKED
from tools.dispatch_page import parts
from tools.dispatch_tables import Key, Row, tables
from tools.dispatch_workloads import StandIn, eurora, forhlr, write_requests
from tools.estimates_outcomes import load, shaken
from tools.estimates_study import name_of
from tools.paper_pages import filled
from traces.base.errors import InputError, TwolevelError, one_of
from traces.base.time import NS_PER_S, parse_duration_ns

SAMPLES, SELECT = 5, "busiest:7d"
DOCS = Path(__file__).resolve().parent.parent / "docs"
FILE, PAGE = DOCS / "dispatch-study.csv", DOCS / "reference/constraint-programming.md"

#: Cores alike on one host; or the stand-ins of ``tools.dispatch_workloads``.
MACHINES = ("pool", "eurora", "forhlr")


#: What a decision costs where it is what it took.
MEASURED: Final = "measured"


@dataclass(frozen=True)
class Dispatcher:
    """A policy, and how it backfills where it does not decide everything itself."""

    bls: str | AnyPolicy
    backfill: str = "none"


DISPATCHERS: Final[dict[str, Dispatcher]] = {
    "fcfs+easy": Dispatcher("fcfs", "easy"),
    "fcfs+conservative": Dispatcher("fcfs", "conservative"),
    "slowdown+easy": Dispatcher("expr:w/max(t,1)", "easy"),
    "sjf+easy": Dispatcher("sjf", "easy"),
    "saf+easy": Dispatcher("saf", "easy"),
    "list-ranking": Dispatcher(RANKED),
    "list": Dispatcher("hcp19:which=all,search=list"),
    "list-boxes": Dispatcher("pcp20:which=all,search=list"),
    **{f"{model}-{which}": Dispatcher(f"{model}:which={which}") for which in ("all", "fits") for model in MODELS},
    "list-warm": Dispatcher("hcp19:which=all,search=list,warm=true"),
    "hcp19-warm": Dispatcher("hcp19:which=all,warm=true"),
    "lns": Dispatcher("hcp19:which=all,search=lns"),
    "lns-1000": Dispatcher("hcp19:which=all,search=lns,lists=1000"),
    "pcp20-guided": Dispatcher("pcp20:which=all,search=guided"),
}  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """Jobs, a machine, and what is known of the jobs; ``cores`` if it has others than the log's header names."""

    path: Path
    machine: str
    factor: float
    select: str
    estimates: str
    charged: str
    sample: int
    cores: int | None = None

    def key(self, dispatcher: str) -> Key:
        """What a row is known by."""
        log, load_ = name_of(self.path), f"{self.factor:g}"
        machine = self.machine if self.cores is None else f"{self.machine} of {self.cores}"
        return Key(machine, log, load_, self.select, self.estimates, self.charged, self.sample, dispatcher)


@lru_cache(maxsize=1)
def jobs_of(setting: Setting) -> StandIn:
    """The jobs of a setting, on their machine; where cores are alike they ask for nothing but cores.

    One setting's are kept: its dispatchers come one after another.
    """
    if setting.machine == "pool":
        jobs, n_cores = load(setting.path, setting.factor, setting.cores)
        made = shaken(cut(jobs, setting.select), setting.sample)
        return StandIn("pool", Platform((HostGroup(1, n_cores, float(n_cores)),)), made, {})
    log = read_workload(setting.path)
    if setting.machine == "forhlr":
        return forhlr(log, setting.sample, setting.select, setting.factor)
    count = setting.select.removeprefix("first:")
    if setting.select == count or not (count.isascii() and count.isdigit()):
        raise InputError(f"--select: {setting.select}: jobs of eurora are drawn; allowed: first:N")
    return eurora(log, int(count), setting.sample, setting.factor)


def simulated(
    made: StandIn, policy: str | AnyPolicy, backfill: str, estimates: str, charged: str = "0"
) -> tuple[bridge.Result, float]:
    """A simulation with recorded run times, in which decisions cost what is ``charged``; and what share of the clock's time the
    process had a core."""
    cost_ns = None if charged in ("0", MEASURED) else parse_duration_ns(charged, "--charge-decisions")
    with TemporaryDirectory() as folder:
        asked = Path(folder) / "requests.csv"
        if made.per_unit:
            write_requests(made, asked)
        wall, cpu = time.perf_counter(), time.process_time()
        result = bridge.simulate(
            made.workload,
            made.platform,
            bls=policy,
            als="recorded",
            backfill=backfill,
            estimates=estimates,
            rules=Rules(keep_decisions=True, charge_decisions=charged != "0", decision_cost_ns=cost_ns),
            surroundings=Surroundings(requests=asked if made.per_unit else None),
            keep_tasks=False,
        )
        return result, min(1.0, (time.process_time() - cpu) / (time.perf_counter() - wall))


def row_of(jobs: Workload, result: bridge.Result, share: float) -> Row:
    """What a dispatcher did with a sample."""
    ledger, passes = result.ledger.jobs, result.decisions
    wait_s = (ledger.start_ns - ledger.submit_ns) / NS_PER_S
    slow = slowdown(ledger.submit_ns, ledger.start_ns, ledger.end_ns)
    ms = passes["decision_ns"].to_numpy() / 1e6 * share
    by_solver = "modelled" in passes
    planned = passes["modelled"].to_numpy() > 0 if by_solver else passes["waiting"].to_numpy() > 0
    totals = result.notes.decisions.get("policy", {})
    return Row(
        jobs=len(jobs),
        slowdown=float(slow.mean()),
        slowdown_std=float(slow.std()),
        wait_s=float(wait_s.mean()),
        wait_std_s=float(wait_s.std()),
        pass_ms=float(ms.mean()),
        deciding_ms=float(ms[planned].mean()) if planned.any() else 0.0,
        total_s=float(ms.sum()) / 1e3,
        passes=len(ms),
        planned=int(planned.sum()),
        modelled=float(passes["modelled"][planned].mean()) if by_solver and planned.any() else 0.0,
        solved=int((passes["solves"] > 0).sum()) if by_solver else 0,
        bettered=int((passes["z"] < passes["list_z"]).sum()) if by_solver else 0,
        by_list=int((passes["source"] == "fallback").sum()) if by_solver else 0,
        stopped=int(totals.get("stopped_passes", 0)),
    )


def found(setting: Setting, dispatcher: str) -> tuple[Key, Row]:
    """Simulate a sample under a dispatcher."""
    made, chosen = jobs_of(setting), DISPATCHERS[dispatcher]
    result, share = simulated(made, chosen.bls, chosen.backfill, setting.estimates, setting.charged)
    return setting.key(dispatcher), row_of(made.workload, result, share)


def read(path: Path) -> dict[Key, Row]:
    """The rows of a file; none where there is none."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {Key.of(line): Row.of(line) for line in csv.DictReader(lines)}


def run(settings: Iterable[Setting], dispatchers: Sequence[str], path: Path, workers: int) -> None:
    """Simulate what a file of rows has not, and add it."""
    known = read(path)
    tasks = [(one, name) for one in settings for name in dispatchers if one.key(name) not in known]
    heads = [entry.name for entry in chain(fields(Key), fields(Row))]
    with path.open("a", encoding="utf-8", newline="") as lines:
        rows = csv.DictWriter(lines, heads, lineterminator="\n")
        if not known:
            rows.writeheader()
        for key, row in _all(tasks, workers):
            rows.writerow(key.line() | row.line())
            lines.flush()


def _all(tasks: Sequence[tuple[Setting, str]], workers: int) -> Iterator[tuple[Key, Row]]:
    if workers == 1:
        yield from starmap(found, tasks)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(found, *zip(*tasks, strict=True)) if tasks else ()


def main(words: Sequence[str] | None = None) -> int:
    """Run a part of the study from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.dispatch_study", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("part", choices=("run", "tables", "page"))
    parser.add_argument("log", nargs="?", type=Path, metavar="LOG", help="run: a log in SWF")
    parser.add_argument("--rows", type=Path, default=FILE, metavar="FILE", help="the rows (default %(default)s)")
    parser.add_argument(
        "--page", type=Path, default=PAGE, metavar="PAGE", help="whose tables are made (default %(default)s)"
    )
    parser.add_argument("--machine", choices=MACHINES, default="pool", help="default %(default)s")
    parser.add_argument(
        "--cores", type=int, metavar="N", help="pool: of the machine (default: those that the log's header names)"
    )
    parser.add_argument("--samples", type=int, default=SAMPLES, help="the last shaken sample (default %(default)s)")
    parser.add_argument("--first", type=int, default=1, help="the first one; 0 is the log itself (default %(default)s)")
    parser.add_argument("--select", default=SELECT, help="which days; eurora: first:N (default %(default)s)")
    parser.add_argument("--load", type=float, default=1.0, help="how many times as densely jobs come; eurora: the load")
    parser.add_argument("--estimates", nargs="+", default=["exact"], help="what is planned with (default exact)")
    parser.add_argument(
        "--charge-decisions",
        default="0",
        metavar="TIME",
        help="jobs wait so long for each, or as long as it took: measured",
    )
    parser.add_argument("--dispatchers", nargs="+", default=list(DISPATCHERS), metavar="NAME", help="default: all")
    parser.add_argument("--workers", type=int, default=1, help="processes at once (default 1)")
    said = parser.parse_args(words)
    try:
        if said.part == "tables":
            sys.stdout.write(tables(read(said.rows)))
            return 0
        if said.part == "page":
            text = said.page.read_text(encoding="utf-8")
            said.page.write_text(filled(text, parts(read(said.rows))), encoding="utf-8")
            return 0
        if said.log is None:
            parser.error("run: the LOG is missing")
        for name in said.dispatchers:
            if name not in DISPATCHERS:
                raise one_of("dispatcher", name, DISPATCHERS, "--dispatchers")
        if said.cores is not None and (said.machine != "pool" or said.cores < 1):
            raise InputError(f"--cores: {said.cores} of {said.machine}; allowed: 1 or more, of pool")
        settings = [
            Setting(
                said.log, said.machine, said.load, said.select, estimates, said.charge_decisions, sample, said.cores
            )
            for sample in range(said.first, said.samples + 1)
            for estimates in said.estimates
        ]
        run(settings, said.dispatchers, said.rows, said.workers)
    except TwolevelError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
