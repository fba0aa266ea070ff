"""The dispatches of a simulation, kept one by one, and what PCP'19 and PCP'20 make of each: Figures 6 and 7 of the paper.

    python -m tools.dispatch_instances keep LOG --out DIR --estimates exact profile     those of a stand-in for Eurora
    python -m tools.dispatch_instances solve DIR                            docs/dispatch-instances.csv
    python -m tools.dispatch_instances figures                              docs/images

As in section 5.3 of the paper, all models meet the same queues and machines: those of a simulation under the list of PCP'19,
with which its own search begins. An instance is a ``.npz`` file: capacities, running jobs and their places, waiting jobs.
"""

from __future__ import annotations

import argparse
import csv
import gc
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import numpy as np

from bls.cp import Instance, Parameters, by_node
from bls.cp.boxes import count_variables
from bls.cp.dispatch import plan
from bls.cp.instance import Queue, Running
from bls.cp.parameters import WHICH
from bls.cp.plan import Plan
from bls.cp.problem import in_large_pieces, problem_of
from bls.cp.ranking import select
from bls.cp.reduction import reduced
from bls.cp.solver import cp_model
from bls.policies.planning.planner import Planner
from bls.policies.planning.run import PlannedRun
from tools.cp_instances import MACHINES, drawn
from tools.dispatch_study import FILE, Setting, jobs_of, read, simulated
from tools.dispatch_tables import Row, groups
from traces.base.errors import InputError, TwolevelError
from traces.figures.drawing.canvas import save
from traces.figures.study.planning import Planned, planning_outcomes_figure, planning_ratios_figure

RATIOS = FILE.with_name("dispatch-instances.csv")
IMAGES = FILE.parent / "images"

#: What is drawn of a stand-in's rows.
_DRAWN = ("slowdown", "slowdown_std", "wait_s", "wait_std_s")

#: Every k-th dispatch is kept that has at least so many jobs to model.
EVERY, LEAST = 1, 1


class Keeping(PlannedRun):
    """A run whose dispatches are kept.

    Parameters
    ----------
    name, parameters
        As of :class:`bls.policies.planning.run.PlannedRun`.
    kept : list of bls.cp.instance.Instance
        What they are added to.
    every, least : int
        Every k-th is, that has so many jobs to model.
    """

    def __init__(self, name: str, parameters: Parameters, kept: list[Instance], every: int, least: int) -> None:
        super().__init__(name, parameters)
        self._kept, self._every, self._least, self._met = kept, every, least, 0

    def plan(self, instance: Instance) -> Plan:
        """As every run, and the instance is kept if it is one that is wanted."""
        found = super().plan(instance)
        if found.modelled >= self._least:
            if self._met % self._every == 0:
                self._kept.append(instance)
            self._met += 1
        return found


@dataclass(frozen=True)
class KeepingPlanner(Planner):
    """A planner whose runs keep every k-th of their dispatches that have so many jobs to model."""

    kept: list[Instance] = field(default_factory=list)
    every: int = EVERY
    least: int = LEAST

    def for_run(self) -> PlannedRun:
        """The policy of one run."""
        return Keeping(self.name, self.parameters, self.kept, self.every, self.least)


def written(instance: Instance, path: Path) -> None:
    """Write an instance."""
    columns = {"resources": np.array(instance.resources), "capacity": instance.capacity}
    for part, table in (("running", instance.running), ("queue", instance.queue)):
        said = {entry.name: getattr(table, entry.name) for entry in fields(table)}
        columns |= {f"{part}_{name}": column for name, column in said.items() if column is not None}
    np.savez(path, **columns)


def read_instance(path: Path) -> Instance:
    """Read what :func:`written` wrote."""
    with np.load(path) as columns:
        running = Running(*(columns[f"running_{entry.name}"] for entry in fields(Running)))
        queue = Queue(*(columns.get(f"queue_{entry.name}") for entry in fields(Queue)))
        return Instance(tuple(map(str, columns["resources"])), columns["capacity"], running, queue)


@dataclass(frozen=True)
class Compared:
    """What PCP'19 and PCP'20 make of an instance.

    Attributes
    ----------
    instance : str
    modelled, units : int
        Jobs, and their units.
    variables19, variables20 : int
        Of the models.
    ms19, ms20 : float
        CPU ms: choosing jobs, the list, making the model, solving it.
    z19, z20 : float
        Z of the plans, as floats.
    status19, status20 : str
    """

    instance: str
    modelled: int
    units: int
    variables19: int
    variables20: int
    ms19: float
    ms20: float
    z19: float
    z20: float
    status19: str
    status20: str


def _timed(instance: Instance, model: str, which: str) -> tuple[Plan, float]:
    gc.collect()
    began = time.process_time_ns()
    problem = problem_of(instance, select(instance, Parameters.queue, which))
    found = plan(problem, model, Parameters(which=which), row=instance.queue.row)
    return found, (time.process_time_ns() - began) / 1e6


def compared(path: Path, which: str) -> Compared:
    """What both make of a file's instance; variables are those that a model has, whether or not it had to be made."""
    instance = read_instance(path)
    problem = in_large_pieces(problem_of(instance, select(instance, Parameters.queue, which)))
    (first, first_ms), (second, second_ms) = (_timed(instance, model, which) for model in ("pcp19", "pcp20"))
    assert first.value is not None
    assert second.value is not None
    return Compared(
        path.stem,
        len(problem),
        int(problem.units.sum()),
        by_node.count_variables(problem),
        count_variables(reduced(problem)[0]),
        first_ms,
        second_ms,
        float(first.value),
        float(second.value),
        first.status,
        second.status,
    )


def keep(setting: Setting, which: str, every: int, least: int, out: Path) -> int:
    """Simulate a setting under the list of PCP'19 and write its dispatches into a folder; returns how many."""
    policy = KeepingPlanner(name="pcp19", which=which, search="list", every=every, least=least)
    simulated(jobs_of(setting), policy, "none", setting.estimates)
    out.mkdir(parents=True, exist_ok=True)
    for number, instance in enumerate(policy.kept):
        written(instance, out / f"{setting.estimates}-{setting.factor:g}-{which}-{setting.sample}-{number:05}.npz")
    return len(policy.kept)


def solve(paths: Sequence[Path], rows: Path) -> None:
    """Have both plan every instance, whose file's name says which jobs are modelled; a row each."""
    cp_model()  # importing it, and compiling kernels, are no part of a dispatch
    first = drawn(MACHINES["eurora"], 5, 0)
    for model in ("pcp19", "pcp20"):
        _timed(first, model, "all")
    with rows.open("w", encoding="utf-8", newline="") as lines:
        table = csv.DictWriter(lines, [entry.name for entry in fields(Compared)], lineterminator="\n")
        table.writeheader()
        for path in paths:
            found = asdict(compared(path, path.stem.split("-")[-3]))
            table.writerow({name: f"{value:.6g}" if name.startswith("ms") else value for name, value in found.items()})


def figures(rows: Path, ratios: Path, folder: Path) -> None:
    """Draw what the rows of the study, and those of the instances, say."""
    with ratios.open(encoding="utf-8", newline="") as lines:
        table = list(csv.DictReader(lines))

    def column(name: str) -> np.ndarray:
        return np.array([float(row[name]) for row in table])

    solved = [row["status19"] != "too-large" for row in table]
    figure = planning_ratios_figure(
        column("modelled"),
        column("units"),
        column("variables20") / column("variables19"),
        column("ms20") / column("ms19"),
        column("z20") / column("z19"),
        is_made=np.array(solved),
    )
    save(figure, folder / "cp-instances.png")
    for machine in ("eurora", "forhlr"):
        for group in groups(read(rows)):
            if group.title.startswith(machine):
                planned = [
                    Planned(f"{name.removesuffix('-fits')}, {estimates}", *_means(samples.values()))
                    for (name, estimates), samples in sorted(group.rows.items())
                    if name.endswith("-fits")
                ]
                save(planning_outcomes_figure(planned), folder / f"cp-{machine}.png")


def _means(rows: Iterable[Row]) -> tuple[float, float, float, float]:
    return tuple(float(np.mean([getattr(row, name) for row in rows])) for name in _DRAWN)  # type: ignore[return-value]


def main(words: Sequence[str] | None = None) -> int:
    """Do a part of it from the command line; returns the exit code."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tools.dispatch_instances", description=about)
    parts = parser.add_subparsers(dest="part", required=True)
    keeping = parts.add_parser("keep", help="simulate, and write the dispatches")
    keeping.add_argument("log", type=Path, metavar="LOG", help="log in SWF")
    keeping.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the instances")
    keeping.add_argument("--jobs", type=int, default=2000, help="how many are drawn (default %(default)s)")
    keeping.add_argument(
        "--load", type=float, default=0.5, help="what they ask for of all core seconds (default %(default)s)"
    )
    keeping.add_argument("--estimates", nargs="+", default=["exact", "profile"], help="what is planned with")
    keeping.add_argument("--which", choices=WHICH, default="fits", help="which jobs are modelled (default %(default)s)")
    keeping.add_argument("--sample", type=int, default=1, help="which jobs are drawn (default %(default)s)")
    keeping.add_argument("--every", type=int, default=EVERY, help="every k-th dispatch (default %(default)s)")
    keeping.add_argument("--least", type=int, default=LEAST, help="with so many jobs modelled (default %(default)s)")
    solving = parts.add_parser("solve", help="have PCP'19 and PCP'20 plan them")
    solving.add_argument("folder", type=Path, metavar="DIR")
    drawing = parts.add_parser("figures", help="draw them, and the stand-ins' slowdowns and waits")
    drawing.add_argument("--rows", type=Path, default=FILE, metavar="FILE", help="of the study (default %(default)s)")
    drawing.add_argument("--out", type=Path, default=IMAGES, metavar="DIR", help="default %(default)s")
    for part in (solving, drawing):
        part.add_argument("--ratios", type=Path, default=RATIOS, metavar="FILE", help="default %(default)s")
    said = parser.parse_args(words)
    try:
        if said.part == "keep":
            for estimates in said.estimates:
                chosen = f"first:{said.jobs}"
                setting = Setting(said.log, "eurora", said.load, chosen, estimates, "0", said.sample)
                n = keep(setting, said.which, said.every, said.least, said.out)
                sys.stdout.write(f"{n} dispatches with {estimates} estimates\n")
        elif said.part == "solve":
            paths = sorted(said.folder.glob("*.npz"))
            if not paths:
                raise InputError(f"{said.folder}: no instances (.npz) are there")
            solve(paths, said.ratios)
        else:
            figures(said.rows, said.ratios, said.out)
    except TwolevelError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
