"""The pictures of the pages: the list, and functions that draw them.

    python -m tools.pictures [NAME …]           # draw these pictures of docs/images, or all that are drawn here
    python -m tools.pictures --check [NAME …]   # write nothing; exit 1 if a picture would differ

``python -m tools.site.gallery`` makes the gallery from the list, :data:`PICTURES`. Pictures that need a downloaded log, a
browser or minutes are made by a command, which the list names. All others are figures of the product, of small runs, of studies
of the shipped workload, and of ``docs/data``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.image import imread

import bridge
from als import PythonTechnique
from als.application import ApplicationSimulator
from als.chunk_sequence import chunk_sequence
from als.core_speeds import core_speeds
from als.lengths import lengths
from als.lengths.draw import drawn, length_cov
from als.techniques import technique
from als.techniques.python_technique import Ask
from bls import HostGroup, Platform, Rules, Workload, sample_path
from bls.power.options import Power
from bridge.measure.fit import fit_lengths
from bridge.studies.drawing import KEPT_FIGURES, parts_of
from bridge.studies.input.study_file import parse_study
from tools.paper_figures import (
    Affected,
    Planned,
    chunk_owners_figure,
    chunk_sizes_figure,
    planning_outcomes_figure,
    planning_ratios_figure,
    slowdown_share_figure,
)
from tools.sections import DATA
from tools.studies.demand_response_jobs import DAY_S, experiment_1
from traces.base.errors import one_of
from traces.base.time import NS_PER_S
from traces.figures.application.chunk_sizes import chunks_figure
from traces.figures.application.imbalance import imbalance_figure
from traces.figures.application.measured_lengths import MeasuredLengths, measured_lengths_figure
from traces.figures.application.task_lengths import task_lengths_figure
from traces.figures.drawing.canvas import GREY, INK, PALETTE, Figure, drawing, save
from traces.figures.drawing.panels import Box
from traces.figures.drawing.styles import UPSILON
from traces.figures.run.core_heat import heat_figure
from traces.figures.run.decisions import decisions_figure
from traces.figures.run.gantt import core_gantt_figure
from traces.figures.run.job_imbalance import imbalance_jobs_figure
from traces.figures.run.power import power_figure
from traces.figures.run.utilisation import utilisation_figure
from traces.figures.run.wait_times import waits_figure
from traces.figures.study.comparison import comparison_figure
from traces.figures.study.cost import cost_figure
from traces.figures.study.decisions import decision_cost_figure, decision_lines_figure
from traces.figures.study.distributions import distributions_figure
from traces.figures.study.makespans import makespans_figure
from traces.figures.study.ratio import ratio_figure
from traces.figures.study.variation import variation_figure
from traces.lifecycle import LIFE, Ending, Stage
from traces.statistics import paired_comparisons

IMAGES: Final = DATA.parent / "images"
STUDIES: Final = Path(__file__).resolve().parent / "studies"

Figures = dict[str, Figure]


def runs() -> Figures:
    """Figures of three runs of the sample on 4 × 64 cores, with eight tasks per core and a variation of 25 %."""
    found = {}
    for bls, backfill, als in (("fcfs", "none", "static"), ("fcfs", "none", "gss"), ("sjf", "easy", "fac")):
        rules = Rules(backfill=backfill, keep_decisions=True)
        label = f"{bls}+{backfill} × {als}" if backfill != "none" else f"{bls} × {als}"
        tasks = {"variation": 0.25, "tasks_per_core": 8, "seed": 1}
        found[label] = bridge.simulate(sample_path(), bls=bls, als=als, rules=rules, **tasks)
    (first, one), (second, two), (third, three) = found.items()
    machine, title = one.ledger.machine, "sample: {}, Υ = 0.25".format
    hosts = {"first_core": machine.first_core, "host_names": machine.host_names}
    of_map = {**hosts, "cores": [(0, 64)], "columns": 250, "title": title(first)}
    compared = pd.concat([result.jobs.assign(run=label) for label, result in found.items()])
    return {
        "run-utilisation.png": utilisation_figure(one.jobs, cores=int(machine.first_core[-1]), title=title(first)),
        "run-waits.png": waits_figure(compared, title="sample, Υ = 0.25"),
        "run-imbalance.png": imbalance_jobs_figure(compared, title="sample, Υ = 0.25"),
        "run-gantt.png": core_gantt_figure(one.tasks, **hosts, jobs=[(97, 105)], cores=[(0, 32)], title=title(first)),
        "run-heat.png": heat_figure(one.tasks, **of_map),
        "run-held.png": heat_figure(one.jobs, **of_map),
        "run-chunks.png": chunks_figure(two.tasks, title=title(second)),
        "run-lengths.png": task_lengths_figure(three.tasks, title=title(third)),
        "run-decisions.png": decisions_figure(three.decisions, title=title(third)),
    }


def power() -> Figures:
    """Power over time of the demand response paper's experiment 1, with each fallback."""
    found = {}
    for fallback in ("none", "hold", "submit:state=1", "dvfs", "stop:idle", "stop:off"):
        limited = Power(limits=[(0, DAY_S * NS_PER_S, 407_000)], fallback=fallback)
        result = bridge.simulate(experiment_1(0), "demand-response", als="recorded", power=limited)
        name = fallback.partition(":state")[0].replace(":", "-")
        until_ns, title = int(result.jobs["end_ns"].max()), f"100 jobs of 2 to 6 h, {fallback}"
        found[f"demand-response-{name}.png"] = power_figure(result.power_over_time, until_ns=until_ns, title=title)
    return found


#: The study of costs by number of jobs, and the dispatchers of the AccaSim paper's case study.
_COSTS, _DISPATCHERS = (
    """
[study]
seeds = 10
[workload]
source = "sample"
[grid]
batch.policy = ["fcfs"]
application.technique = ["static"]
application.variation = [0.25]
workload.select = ["first:10", "first:20", "first:40", "first:80", "first:160", "first:320"]
""",
    """
[study]
seeds = 1
keep = ["jobs", "decisions"]
[workload]
source = "sample"
[[grid]]
application.technique = ["recorded"]
batch.policy = ["fcfs", "ljf", "sjf"]
batch.allocator = ["first-fit", "best-fit"]
[[grid]]
application.technique = ["recorded"]
batch.policy = ["fcfs"]
batch.backfill = ["easy"]
batch.allocator = ["first-fit", "best-fit"]
""",
)


def studies() -> Figures:
    """Figures of three studies of the sample."""
    with tempfile.TemporaryDirectory() as scratch:
        texts = {"sample": (STUDIES / "sample.toml").read_text(encoding="utf-8"), "costs": _COSTS, "kept": _DISPATCHERS}
        made = {name: parse_study(text, [STUDIES], name) for name, text in texts.items()}
        for name, study in made.items():
            bridge.run_study(study, Path(scratch) / name)
        results = pd.read_parquet(Path(scratch) / "sample" / "results.parquet")
        costs = pd.read_parquet(Path(scratch) / "costs" / "costs.parquet")
        kept = {name: parts_of(made["kept"], Path(scratch) / "kept", name)[0].frame for name in KEPT_FIGURES}
    quarter = results[results["variation"] == 0.25]
    compared = paired_comparisons(quarter, "als", "static", ["makespan_ns", "mean_wait_ns"])
    decisions = kept["decisions"]
    return {
        "study-makespan.png": makespans_figure(results, variation=0.25),
        "study-variation.png": variation_figure(results),
        "study-ratio.png": ratio_figure(results),
        "study-imbalance.png": imbalance_figure(results),
        "study-comparison.png": comparison_figure(compared),
        "study-cost.png": cost_figure(costs.assign(wall_s=costs["simulation_s"])),
        "study-slowdown-boxes.png": distributions_figure(kept["slowdown-boxes"], of="slowdown"),
        "study-queue-boxes.png": distributions_figure(kept["queue-boxes"], of="queue"),
        "study-decisions.png": decision_lines_figure(decisions[decisions["label"].str.endswith("first-fit")]),
        "study-decision-cost.png": decision_cost_figure(kept["decision-cost"]),
    }


def _compared(name: str, file: str) -> Figures:
    """The comparison of a study in ``tools/studies``, as the command draws it."""
    study = parse_study((STUDIES / f"{name}.toml").read_text(encoding="utf-8"), [STUDIES], name)
    with tempfile.TemporaryDirectory() as folder:
        bridge.run_study(study, Path(folder))
        (part,) = parts_of(study, Path(folder), "comparison")
    return {file: comparison_figure(part.frame, title=part.words)}


def failures() -> Figures:
    """The comparison of ``tools/studies/failures.toml``."""
    return _compared("failures", "failures.png")


def devices() -> Figures:
    """The comparison of ``tools/studies/devices.toml``."""
    return _compared("devices", "gpu-study.png")


#: Distributions of task lengths, with the largest length of the axis in means and the number of bars; then loops, one or two
#: in a panel, with the number of their tasks.
_DENSITIES: Final = {
    "normal:cov=0.25": (3.0, 60),
    "uniform:cov=0.25": (3.0, 90),
    "exponential": (4.0, 60),
    "gamma:cov=0.5": (4.0, 60),
    "lognormal:cov=1": (4.0, 60),
    "bimodal:share=0.1,ratio=10": (6.0, 60),
}
_LOOPS: Final = {
    "increasing decreasing": 40,
    "correlated:cov=0.25,rho=0.95": 400,
    "mandelbrot:width=32,height=32": 1024,
}


def task_lengths() -> Figures:
    """Densities and loops of task lengths in units of the mean, of seed 1 and job 1."""

    def found(spec: str, n: int) -> Any:
        model = lengths(spec).with_draw("paper")
        return drawn(model, 1, 1, n, 1.0, float(model.tasks(n)))

    def finish(axes: Any, title: str, label: str, right: float, top: float, values: Any) -> None:
        axes.set_title(title, loc="left", color=INK)
        axes.set_xlabel(label)
        axes.set_xlim(0, right)
        axes.set_ylim(0, top)
        cov = f"c.o.v. {length_cov(values, 0, len(values)):.2f}"
        axes.text(0.97, 0.92, cov, transform=axes.transAxes, ha="right", va="top")
        axes.spines[["top", "right"]].set_visible(False)

    with drawing(9.0, 6.4) as figure:
        panels = figure.subplots(3, 3).ravel()
        for axes, (spec, (most, bars)) in zip(panels, _DENSITIES.items(), strict=False):
            values = found(spec, 200_000)
            counts, edges = np.histogram(values, bins=bars, range=(0.0, most))
            heights = counts / len(values) * bars / most
            axes.stairs(heights, edges, fill=True, color=PALETTE[0], alpha=0.35)
            axes.stairs(heights, edges, color=PALETTE[0], linewidth=1.2)
            axes.axvline(1.0, color=GREY, linewidth=0.8, linestyle="--")
            finish(axes, spec, "length / mean", most, 1.12 * heights.max(), values)
        for axes, (names, n) in zip(panels[6:], _LOOPS.items(), strict=True):
            specs = names.split()
            for spec, line, colour in zip(specs, ("-", ":"), PALETTE, strict=False):
                values = found(spec, n)
                look = {"color": colour, "linewidth": 1.3 if n < 100 else 0.8, "linestyle": line, "label": spec}
                axes.stairs(values, np.arange(len(values) + 1), baseline=None, **look)
            axes.axhline(1.0, color=GREY, linewidth=0.8, linestyle="--")
            finish(axes, " · ".join(specs), "task", len(values), 1.3 * float(values.max()), values)
        panels[6].legend(loc="upper center", bbox_to_anchor=(0.46, 1.03), frameon=False)
        for place in range(0, 9, 3):
            panels[place].set_ylabel("density" if place < 6 else "length / mean")
    return {"lengths.png": figure}


#: The speeds of a machine of three cores, and the cores that are drawn; the file is the one that the page shows.
_SPEEDS: Final = (
    (("square:period=60s,low=0.5",), (0,)),
    (("square:period=80s,low=0.25,duty=0.75,offset=20s,cores=1",), (0, 1)),
    (("noise:period=10s,sigma=0.1",), (0, 1, 2)),
    (("trace:FILE.csv,periodic=80s",), (0, 1)),
    (("late:cores=1,at=50s", "lost:cores=2,at=170s"), (0, 1, 2)),
    (("square:period=60s,low=0.5", "noise:period=10s,sigma=0.1", "lost:cores=1,at=90s,until=150s"), (0, 1)),
)
_SPEED_FILE: Final = "time_s,core,factor\n0,0,1\n30,0,0.6\n45,0,0.9\n0,1,0.4\n20,1,1.1\n50,1,0.8\n"


def speeds() -> Figures:
    """The speeds of a machine of three cores over 240 s, for each kind of core speeds."""
    # Cores differ in colour, dash and width, to be distinct in grey and where lines overlap.
    looks = ((PALETTE[0], "solid", 2.2), (PALETTE[1], (0, (5, 1.5)), 1.5), (PALETTE[6], (0, (1.2, 1.2)), 1.4))
    size = (7.6, 1.25 * len(_SPEEDS) + 0.7)
    with tempfile.TemporaryDirectory() as folder, drawing(*size) as figure:
        file = Path(folder) / "speeds.csv"
        file.write_text(_SPEED_FILE, encoding="utf-8")
        rows = figure.subplots(len(_SPEEDS), 1, sharex=True, sharey=True)
        for axes, (specs, cores) in zip(rows, _SPEEDS, strict=True):
            found = core_speeds([spec.replace("FILE.csv", str(file)) for spec in specs], 3, 1)
            for core in cores:
                changes = found.changes(np.array([core]), np.ones(1), 0, 240 * NS_PER_S - 1, 10**6).changes
                at = [0, *(at / NS_PER_S for at, _, _ in changes), 240]
                factors = [float(found.factors(np.array([core]), 0)[0]), *(factor for _, _, factor in changes)]
                colour, dashes, width = looks[core]
                look = {"color": colour, "linestyle": dashes, "linewidth": width, "label": f"core {core}"}
                axes.step(at, [*factors, factors[-1]], where="post", **look)
            axes.grid()
            axes.set_title("  ×  ".join(specs), loc="left", family="DejaVu Sans Mono", fontsize=7.5)
            axes.set_ylabel("factor")
        rows[0].set_ylim(-0.08, 1.45)
        rows[0].set_yticks((0, 0.5, 1))
        rows[-1].set_xlim(0, 240)
        rows[-1].set_xticks(range(0, 241, 20))
        rows[-1].set_xlabel("simulated time [s]")
        # The third panel has all cores: its legend is for all panels.
        look = {"loc": "outside upper right", "ncols": 3, "frameon": False, "handlelength": 3.2}
        figure.legend(*rows[2].get_legend_handles_labels(), **look)
        figure.supxlabel("factor 0: the core is absent", fontsize=7.5, color=GREY)
    return {"core-speeds.png": figure}


#: The panels of the picture of techniques, and the ``--als`` of each: 1000 tasks, 4 cores that request in turn.
IN_TURN: Final = {
    **{name: name for name in ("static", "ss")},
    "fsc, h = σ": "fsc:h=1,sigma=1",
    **{name: name for name in ("mfsc", "gss", "guided", "tss", "tfss", "fac")},
    "wf, core 0 twice as fast": "wf:weights=1.6/.8/.8/.8",
    "fac-mu-sigma, σ = µ": "fac-mu-sigma:mu=1,sigma=1",
    "tap, σ = µ": "tap:mu=1,sigma=1",
    "bold, h = σ = µ": "bold:mu=1,sigma=1,h=1",
    **{name: name for name in ("pls", "fiss", "viss", "rnd", "static-steal:chunk=20", "awf-b:start=tenth", "awf-c")},
}  # fmt: skip


def sizes(name: str) -> list[int]:
    """The chunks of 1000 tasks if four cores request in turn."""
    return chunk_sequence(technique(name), 1000, 4)


def learned(name: str) -> tuple[list[int], list[int]]:
    """Sizes and cores of the chunks of a loop of 1000 tasks on four cores; the first core is twice as fast.

    σ is a quarter of µ, and h a tenth.
    """
    loop = np.random.Generator(np.random.Philox(1)).normal(1.0, 0.25, 1000).clip(0.01)
    application = ApplicationSimulator(loop, [2.0, 1.0, 1.0, 1.0], technique(name), overhead_ns=10**8)
    application.advance()
    state = application.state
    order = np.argsort(state.chunk, kind="stable")  # a chunk's tasks need not follow each other in the loop's order
    chunks = [(chunk, len(list(same))) for chunk, same in groupby(state.chunk[order].tolist())]
    first = dict(zip(state.chunk.tolist()[::-1], state.core.tolist()[::-1], strict=True))
    return [size for _, size in chunks], [first[chunk] for chunk, _ in chunks]


def techniques() -> Figures:
    """The chunks of the techniques, and those of six that know or measure the speeds of cores."""
    learning = {name: learned(name) for name in ("gss", "fac", "wf", "awf-b", "awf-c", "af")}
    return {
        "techniques.png": chunk_sizes_figure({label: sizes(name) for label, name in IN_TURN.items()}),
        "techniques-learning.png": chunk_owners_figure(learning, marked=0),
    }


class SmallChunkFirst:
    """STATIC with the remainder at the end: three tasks give one for the first core and two for the second."""

    def chunk(self, ask: Ask) -> int:
        """Chunks of ⌊N / P⌋ tasks; the last core gets the rest."""
        return ask.remaining if ask.request + 1 == ask.n_cores else ask.n_tasks // ask.n_cores


#: Techniques of the two-level paper's section 4.2, by the names of the page.
_SMALLER: Final = PythonTechnique(SmallChunkFirst)
FOUR_JOBS: Final = {"static": "static", "the smaller chunk first": _SMALLER, "ss": "ss"}


def four_jobs(name: str, coordination: str = "none", coupling: str = "inline") -> bridge.Result:
    """The two-level paper's section 4.2 under FCFS: four jobs of tasks of 5, 5 and 10 s on five cores."""
    jobs = Workload.from_jobs([(number, submit_s, 20, 2, 20) for number, submit_s in enumerate((0, 0, 1, 2))])
    with tempfile.TemporaryDirectory() as folder:
        tasks, applications = Path(folder, "lengths.txt"), Path(folder, "applications.toml")
        tasks.write_text("5\n5\n10\n", encoding="utf-8")
        applications.write_text("[default]\ntasks = 3\n", encoding="utf-8")
        return bridge.simulate(
            jobs,
            Platform((HostGroup(5, 1, 1.0),)),
            als=FOUR_JOBS[name],
            lengths=f"file:{tasks},scale=no",
            applications=applications,
            coordination=coordination,
            allocator="given",
            requested={0: "0-1", 1: "2-3", 2: "2 4", 3: "0 4"},
            coupling=coupling,
        )


def four_jobs_drawn() -> Figures:
    """Their tasks, by assignment and coordination."""
    found, names = {}, [f"R{core}" for core in range(5)]
    cases = (
        "static static none",
        "small-first the smaller chunk first none",
        "ss-release ss release",
        "ss-hint ss hint",
    )
    for file, *words, way in map(str.split, cases):
        result = four_jobs(name := " ".join(words), way)
        title = f"J0 to J3, FCFS × {name}" + f", {way}" * (way != "none")
        found[f"paper-four-jobs-{file}.png"] = core_gantt_figure(
            result.tasks, first_core=result.ledger.machine.first_core, host_names=names, title=title
        )
    return found


def evaluation() -> Figures:
    """The two-level paper's Figures 3 to 8 of the makespans in ``docs/data``."""
    found = {}
    one = pd.read_csv(DATA / "two-level-paper-results.csv", keep_default_na=False)
    eight = pd.read_csv(DATA / "two-level-paper-8-tasks-results.csv", keep_default_na=False)
    for workload in ("W1", "W2"):
        of = one[one["workload"] == workload]
        found |= {
            f"paper-makespan-{workload}.png": makespans_figure(of, variation=0.0, title=workload),
            f"paper-variation-{workload}.png": variation_figure(of, title=workload),
            f"paper-ratio-{workload}.png": ratio_figure(of, title=workload),
        }
    found["paper-8-tasks-W1.png"] = ratio_figure(eight[eight["workload"] == "W1"], title="W1, 8 tasks per core")
    return found


def draws() -> Figures:
    """The increase of the makespan in ``docs/data/two-level-paper-draws.csv``: imbalance, and stacked on it the extra task."""
    rows = pd.read_csv(DATA / "two-level-paper-draws.csv")
    with drawing(8.0, 5.6) as figure:
        panels = rows.groupby(["tasks_per_core", "workload"], sort=False)
        order = sorted(panels.groups)
        for axes, (per_core, workload) in zip(figure.subplots(2, 2).flat, order, strict=True):
            of = panels.get_group((per_core, workload)).set_index(["measure", "als"])[["mean", "mean_low", "mean_high"]]
            whole, part = (100 * (of.loc[draw] - 1) for draw in ("paper", "work"))
            places = np.arange(len(part))
            axes.bar(places, part["mean"], 0.6, color="#4477aa", label="imbalance")
            extra = whole["mean"] - part["mean"]
            axes.bar(places, extra, 0.6, part["mean"], color="#ee7733", hatch="//", label="extra task")
            for shift, one in ((-0.12, part), (0.12, whole)):
                reach = np.abs(one[["mean_low", "mean_high"]].to_numpy().T - one["mean"].to_numpy())
                look = {"color": "black", "capsize": 3, "linewidth": 1, "linestyle": "none"}
                axes.errorbar(places + shift, one["mean"], reach, **look)
            axes.set_xticks(places, list(part.index))
            axes.set_title(f"{workload}, {per_core} task{'s' * (per_core > 1)} per core")
            axes.set_ylabel("increase of makespan [%]")
            axes.set_ylim(bottom=0)
        figure.axes[0].legend()
        figure.suptitle(f"fcfs, {UPSILON} = 0.25: makespan of the paper's draw over that without variation")
    return {"paper-draws.png": figure}


def planners() -> Figures:
    """Figures of ``docs/data/dispatch-study.csv`` and ``dispatch-instances.csv``."""
    rows = pd.read_csv(DATA / "dispatch-study.csv", dtype={"charged": str})
    of = pd.read_csv(DATA / "dispatch-instances.csv")
    columns = ["slowdown", "slowdown_std", "wait_s", "wait_std_s"]
    found = {
        "cp-instances.png": planning_ratios_figure(
            *(of[name].to_numpy(float) for name in ("modelled", "units")),
            *((of[f"{name}20"] / of[f"{name}19"]).to_numpy() for name in ("variables", "ms", "z")),
            is_made=(of["status19"] != "too-large").to_numpy(),
        )
    }
    for machine in ("eurora", "forhlr"):
        fits = rows["dispatcher"].str.endswith("-fits") & (rows["charged"] == "0")
        means = rows[fits & (rows["machine"] == machine)].groupby(["dispatcher", "estimates"])[columns].mean()
        planned = [Planned(f"{name.removesuffix('-fits')}, {of}", *mean) for (name, of), mean in means.T.items()]
        found[f"cp-{machine}.png"] = planning_outcomes_figure(planned)
    return found


def estimates() -> Figures:
    """The figure of ``docs/data/estimates-slowdown.csv``."""
    rows = pd.read_csv(DATA / "estimates-slowdown.csv")
    logs = []
    for log, of in rows.groupby("log", sort=False):
        counts = of[[f"high_{sample}" for sample in range(1, 11)]].to_numpy()
        boxes = [Box(*box) for box in of[["p5", "p25", "p50", "p75", "p95", "mean"]].to_numpy().tolist()]
        title = f"{log}: {of['log_jobs'].iloc[0]:,} jobs on {of['cores'].iloc[0]:,} cores"
        logs.append(Affected(title, list(of["estimates"]), int(of["jobs"].iloc[0]), counts, boxes))
    return {"estimates-slowdown.png": slowdown_share_figure(logs, threshold=5.0)}


def demand_response() -> Figures:
    """Waits of ``docs/data/demand-response.csv``, by fallback, slower state and application; for fallbacks, also run times."""
    rows = pd.read_csv(DATA / "demand-response.csv", keep_default_na=False)
    increases = {"wait": "increase of the mean wait [s]", "run": "increase of the mean run time [s]"}
    # Panels: table, metric, second line of the label.
    panels_of = {
        "study": [("fallbacks", "wait", ""), ("fallbacks", "run", "")],
        "states": [("states", "wait", "")],
        "techniques": [(table, "wait", f"\n{table}") for table in ("all nodes alike", "every other node")],
    }
    found = {}
    for name, panels in panels_of.items():
        one_scale = len({metric for _, metric, _ in panels}) == 1
        with drawing(3.2 + 2.6 * len(panels), 3.6) as figure:
            places = figure.subplots(1, len(panels), sharey=one_scale, squeeze=False)[0]
            for axes, (table, metric, line) in zip(places, panels, strict=True):
                axes.grid(axis="y")
                cases = rows[(rows["table"] == table) & (rows["metric"] == metric)].groupby("case", sort=False)
                for colour, (case, of) in zip(PALETTE, cases, strict=False):
                    ends = np.abs(of[["mean_low", "mean_high"]].to_numpy().T - of["mean"].to_numpy())
                    look = {"color": colour, "marker": "o", "markersize": 3, "capsize": 2, "label": case}
                    axes.errorbar(of["share"], of["mean"], ends, **look)
                axes.set_xlabel(f"jobs that may be slowed [%]{line}")
                if axes is places[0] or not one_scale:
                    axes.set_ylabel(increases[metric])
            for axes in places:
                axes.set_ylim(0, None)
            places[0 if one_scale else -1].legend(frameon=False)
            of_all = "dvfs" if name != "study" else "fallbacks"
            figure.suptitle(f"{of_all} at 407 kW, 10 seeds, 95 % intervals", x=0.02, ha="left")
        found[f"demand-response-{name}.png"] = figure
    return found


def published(file: str) -> pd.DataFrame:
    """Comparisons of ten seeds in ``docs/data``, of the makespan and the mean wait."""
    rows = pd.read_csv(DATA / file, keep_default_na=False)
    rows = rows[rows["metric"].isin(["makespan_ns", "mean_wait_ns"])]
    return rows.assign(difference_low=0.0, seeds=10, confidence=0.95)  # only ratios are drawn


#: Techniques in figures of ``docs/data``: one that balances badly, and one that balances well. The pages' tables have all.
_EXTREMES: Final = ("static", "fac")


def malleable() -> Figures:
    """Comparisons of ``docs/data/malleable.csv``: one figure per kind of backfilling, without rules that resemble others."""
    rows = published("malleable.csv")
    rows = rows[rows["als"].isin(_EXTREMES) & rows["value"].isin(["mold", "shrink", "equal"])]
    rows = rows.assign(als=rows["workload"] + ", " + rows["als"], workload="both")  # as rows of one figure
    easy = rows["backfill"] == "easy"
    return {
        "malleable-easy.png": comparison_figure(rows[easy], title="malleable jobs under EASY"),
        "malleable-no-backfilling.png": comparison_figure(rows[~easy], title="malleable jobs without backfilling"),
    }


def coordination() -> Figures:
    """Comparisons of ``docs/data/releases.csv`` and ``hints.csv``, each of one workload."""
    releases, hints = published("releases.csv"), published("hints.csv")
    releases = releases[releases["als"].isin(_EXTREMES)]
    found = {
        f"coordination-{name}.png": comparison_figure(releases[releases["workload"] == name], title=f"releases, {name}")
        for name in ("W2", "CEA-Curie")
    }
    of_hints = comparison_figure(hints[hints["workload"] == "W2"], title="hints, W2")
    return {**found, "coordination-hints-W2.png": of_hints}


def measured_lengths() -> Figures:
    """Three loops of drawn lengths, as if they had been measured."""
    loops, at = [], np.linspace(1e-3, 12.0, 2000)
    for job, spec in enumerate(("gamma:cov=0.7,drift=1.2", "normal:cov=0.1", "lognormal:cov=2")):
        found = drawn(lengths(spec), 1, job, 3000, 5e4, 1.5e8)
        fit = fit_lengths(found)[0]
        loops.append(MeasuredLengths(f"app.c:{10 * job + 7}", found, fit.words, at, fit.density(at)))
    return {"measured-lengths.png": measured_lengths_figure(loops)}


def measured_variation() -> Figures:
    """Techniques compared with ``static`` in ``docs/data/measured-variation.csv``, where lengths vary."""
    rows = published("measured-variation.csv")
    rows = rows[(rows["option"] == "als") & (rows["lengths"] != "normal 0")]
    rows = rows.assign(als=rows["bls"] + ", " + rows["lengths"], bls="", workload="W2", backfill="none")
    rows = rows.drop(columns=["lengths", "mean_base_s", "mean_value_s"])
    return {"measured-variation.png": comparison_figure(rows, title="normal and measured variation")}


#: Positions of the states of a job, chosen such that no two arrows meet.
_PLACES: Final = {
    Stage.COMING: (0, 1),
    Stage.WAITING: (1, 1),
    Stage.RUNNING: (2, 1),
    Ending.REJECTED: (0.45, 2),
    Ending.REQUEUED: (1.5, 2),
    Ending.CANCELLED: (1, 0),
    Ending.COMPLETED: (3.1, 1.7),
    Ending.KILLED: (3.1, 1),
    Ending.FAILED: (3.1, 0.3),
}


def life() -> Figures:
    """The states of a job and the events between them."""
    with drawing(8.4, 3.6) as figure:
        axes = figure.subplots()
        box = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": INK}
        boxes = {
            state: axes.text(*place, state.name.lower(), va="center", ha="center", bbox=box)
            for state, place in _PLACES.items()
        }
        for (before, after), several in groupby(LIFE, key=lambda step: (step.before, step.after)):
            words = "\n".join(getattr(step.event, "name", str(step.event)).lower() for step in several)
            begin, end = (np.array(_PLACES[one]) for one in (before, after))
            ends = {f"patch{side}": boxes[one].get_bbox_patch() for side, one in (("A", before), ("B", after))}
            arrow = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 0, "shrinkB": 2, **ends}
            axes.annotate("", end, begin, arrowprops=arrow)
            axes.text(
                *(begin + end) / 2, words, va="center", ha="center", fontsize=7, bbox={"fc": "white", "lw": 0, "pad": 1}
            )
        axes.set(xlim=(-0.3, 3.5), ylim=(-0.2, 2.2))
        axes.axis("off")
    return {"job-life.png": figure}


@dataclass(frozen=True)
class Section:
    """A group of pictures.

    Attributes
    ----------
    heading, about : str
        Its heading in the gallery, and the text below the heading.
    pictures : dict of str to str
        File in ``docs/images`` → the command that makes such a picture from the user's own results; empty if there is none.
    draw : callable, optional
        Makes the figures, by file.
    by : str
        The command that has made these files, if no function of this module draws them.
    """

    heading: str
    about: str
    pictures: dict[str, str]
    draw: Callable[[], Figures] | None = None
    by: str = "these commands"

    @property
    def made_by(self) -> str:
        """The command that has made these files."""
        return "python -m tools.pictures" if self.draw else self.by


def _alike(start: str, *names: str, command: str = "", end: str = ".png") -> dict[str, str]:
    return {f"{start}{name}{end}": command for name in names}


def _drawn(start: str, *names: str) -> dict[str, str]:
    return {f"{start}{name}.png": f"twolevel figures DIR --only {name}" for name in names}


_LOOP = "twolevel loop --n 400 --lengths gamma:cov=0.5 --mean 50 --cores 8 --als fac --overhead 300000000 --out loop"
_GRAPH = "twolevel graph cholesky:tiles=8,ccr=0.1 --hosts 4 --cores 16 --als heft --network lv08 --out graph"

# fmt: off
PICTURES: Final = (
    Section("A run",
            "Their tables are written by `twolevel run … --tasks --decisions --out DIR`. In Python: `result.plot.gantt()` …",
            _drawn("run-", *["utilisation", "waits", "imbalance", "held", "heat", "gantt", "chunks", "lengths", "decisions"]),
            runs),
    Section("A report page, in a browser", "", {"report.png": "twolevel report DIR -o page.html"}),
    Section("Some jobs of a run", "", {"gantt.png": "twolevel gantt DIR --jobs 97-104 -o gantt.png"}, by="make demo"),
    Section("The power of a machine", "They need a run with `--power` or `--limits`.",
            _alike("demand-response-", "none", "submit", "hold", "dvfs", "stop-idle", "stop-off",
                   command="twolevel power DIR -o power.png"), power),
    Section("A study", "`twolevel grid` and `twolevel study` draw them into `DIR/figures`.",
            _drawn("study-", "makespan", "variation", "ratio", "imbalance", "cost", "comparison", "slowdown-boxes",
                   "queue-boxes", "decisions", "decision-cost"), studies),
    Section("Two runs", "", {"compare-chain.png": "twolevel compare DIR_A DIR_B --job 64 --out compared"},
            by="the example on its page"),
    Section("The real Slurm", "", {"slurm-delays.png": "twolevel compare DIR_A DIR_B --out compared"}),
    Section("One loop, one graph", "", {"loop.png": _LOOP, "graph-schedule.png": _GRAPH}),
    Section("Task lengths", "", {"lengths.png": ""}, task_lengths),
    Section("Measured lengths", "",
            {"measured-lengths.png": "twolevel measure --out measured ./app"}, measured_lengths),
    Section("Measured variation", "", {"measured-variation.png": ""}, measured_variation),
    Section("Techniques", "", _alike("techniques", "", "-learning"), techniques),
    Section("Speeds of cores", "", {"core-speeds.png": ""}, speeds),
    Section("The two-level paper's evaluation", "",
            _alike("paper-", *(f"{kind}-{log}" for kind in ("makespan", "variation", "ratio") for log in ("W1", "W2")),
                   "8-tasks-W1"), evaluation),
    Section("The two-level paper's five jobs", "",
            {"paper-gantt.png": "twolevel gantt DIR --jobs 684374-684412 --cores 128-151 -o gantt.png"}),
    Section("The cost of simulations",
            "With the results of `two-level-paper-cost-inline.toml` in the same figure.",
            {"paper-cost.png": "twolevel figures DIR --only cost"},
            by="twolevel study tools/studies/two-level-paper-cost.toml"),
    Section("The two-level paper's extra tasks", "", {"paper-draws.png": ""}, draws),
    Section("The two-level paper's four jobs", "",
            _alike("paper-four-jobs-", "static", "small-first", "ss-release", "ss-hint"), four_jobs_drawn),
    Section("AccaSim's case study",
            "They have AccaSim's names, plain slowdowns, and the shortest times of five runs.",
            _alike("accasim-", "slowdown-boxes", "queue-boxes", "decision-cost", "decisions"),
            by="twolevel study tools/studies/accasim.toml"),
    Section("Generated workloads", "",
            _alike("accasim-", "like-50k", "like-500k", "calendar-500k",
                   command="twolevel workload generate --like LOG -n 50000 --method accasim --plot like.png -o made.swf")),
    Section("Levels that exchange information", "", _alike("coordination-", "W2", "CEA-Curie", "hints-W2"), coordination),
    Section("Malleable jobs", "", _alike("malleable-", "easy", "no-backfilling"), malleable),
    Section("Failures of hosts", "",
            {"failures.png": "twolevel study tools/studies/failures.toml --out failures"}, failures),
    Section("Loops shared by cores and GPUs", "",
            {"gpu-study.png": "twolevel study tools/studies/devices.toml --out devices"}, devices),
    Section("Predicted and measured loops", "", {"native.png": ""}, by="python -m tools.native"),
    Section("The life of a job", "", {"job-life.png": ""}, life),
    Section("The bridge's protocol", "", _alike("protocol-", "connection", "job", end=".svg"), by="hand"),
    Section("Better estimates", "", {"estimates-slowdown.png": ""}, estimates),
    Section("Demand response", "", _alike("demand-response-", "study", "states", "techniques"), demand_response),
    Section("Constraint programming", "", _alike("cp-", "eurora", "forhlr", "instances"), planners),
)
# fmt: on

#: Pictures of wall times, which differ from run to run.
_OF_TIMES: Final = {"run-decisions.png", "study-cost.png", "study-decisions.png", "study-decision-cost.png"}


def stale(section: Section, folder: Path) -> list[str]:
    """The pictures of a section that differ from newly drawn ones; versions of matplotlib may round pixels differently."""
    assert section.draw is not None
    found = []
    for name, figure in section.draw().items():
        save(figure, folder / name)
        if name not in _OF_TIMES:
            shown, made = imread(IMAGES / name), imread(folder / name)
            if shown.shape != made.shape or (np.abs(shown - made).max(axis=2) > 0.25).mean() >= 0.001:
                found.append(name)
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Draw or check the pictures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a file of docs/images")
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args(words)
    known = [name for section in PICTURES if section.draw for name in section.pictures]
    for name in given.names:
        if name not in known:
            sys.stderr.write(f"{one_of('picture', name, known, 'NAME')}\n")
            return 2
    wrong = 0
    for section in PICTURES:
        names = [name for name in section.pictures if name in (given.names or known)]
        if not (section.draw and names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if given.check:
                for name in set(stale(section, Path(folder))) & set(names):
                    sys.stdout.write(f"{name}: stale\n")
                    wrong = 1
                continue
        for name, figure in section.draw().items():
            if name in names:
                sys.stdout.write(f"{save(figure, IMAGES / name)}\n")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
