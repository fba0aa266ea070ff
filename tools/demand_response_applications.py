"""Experiment 2 of the demand response paper with loops and task graphs in its jobs, which the paper cannot have: the tables and
the picture of ``docs/explanation/demand-response.md``.

    python -m tools.demand_response_applications

Jobs have 32 tasks a core, whose lengths have a c.o.v. of 0.25; a graph is a stencil of as many steps, whose tasks are given
out one by one. A job's indexes are those beside the same one, computed in the same way, without a fallback. On a second
machine every other node is slowed to 0.9 of its speed, and the ones between to 0.5: the cores of a job are not alike then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bridge.compare.power_indexes import PowerIndexes
from bridge.scenarios.application_level import ApplicationLevel
from bridge.scenarios.application_map import parse_application_map
from tools.demand_response import IMAGES, SEEDS, indexes, jobs, limited, machine, mean_text
from tools.plain_tool import only
from tools.studies.demand_response_jobs import CORES
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure, save
from traces.figures.drawing.panels import quiet, title_figure
from traces.figures.drawing.styles import style
from traces.statistics.intervals import mean_interval

__all__ = [
    "KINDS",
    "MACHINES",
    "SHARES",
    "Found",
    "computed",
    "difference_table",
    "experiment",
    "index_table",
    "main",
    "without_table",
]

SHARES: Final = (0.0, 0.5, 0.75, 1.0)
TASKS_PER_CORE: Final = 32
VARIATION: Final = 0.25
#: What jobs compute: loops by technique, and a graph.
KINDS: Final = ("recorded", "static", "gss", "fac", "af", "stencil")

_S: Final = 1e9


def _every_other() -> Platform:
    kinds = [HostPower(66, [(1, 240), (speed, 240 * speed)]) for speed in (0.9, 0.5)]
    hosts = tuple(HostGroup(1, CORES, 1.0 * CORES, power=kinds[place % 2]) for place in range(151))
    return Platform(hosts, name="every other node")


MACHINES: Final[dict[str, Callable[[], Platform]]] = {"all nodes alike": machine, "every other node": _every_other}


class Found(NamedTuple):
    """What came of a kind of jobs: of each seed how long they wait and run without a fallback, ns, and the indexes by share."""

    wait_ns: list[float]
    run_ns: list[float]
    by_share: dict[float, list[PowerIndexes]]

    def values(self, share: float, of: Callable[[PowerIndexes], float | None]) -> list[float]:
        """An index of each seed."""
        return [float(of(one) or 0.0) for one in self.by_share[share]]


def computed(log: Workload, kind: str, fallback: str, share: float, platform: Platform, seed: int) -> bridge.Result:
    """One run of jobs of a kind, under the paper's limit."""
    said: dict[str, object] = {"power": limited(fallback, share), "seed": seed}
    if kind == "recorded":
        return bridge.simulate(log, platform, als=kind, **said)
    said |= {"tasks_per_core": TASKS_PER_CORE, "variation": VARIATION, "keep_tasks": False}
    if kind == "stencil":
        graphs = parse_application_map('[default]\ngraph = "stencil:ccr=0"\n', kind)
        return bridge.simulate(log, platform, als="ss", level=ApplicationLevel(applications=graphs), **said)
    # The published results are of the two-level paper's draw.
    return bridge.simulate(log, platform, als=kind, level=ApplicationLevel(lengths="normal:draw=paper"), **said)


def experiment(
    platform: Platform, kinds: Sequence[str] = KINDS, shares: Sequence[float] = SHARES, seeds: int = SEEDS
) -> dict[str, Found]:
    """Each kind of jobs, with the fallback ``dvfs``."""
    found = {kind: Found([], [], {share: [] for share in shares}) for kind in kinds}
    for seed in range(seeds):
        log = jobs(seed)
        for kind, one in found.items():
            base = computed(log, kind, "none", 1.0, platform, seed)
            one.wait_ns.append(base.metrics["mean_wait_ns"])
            one.run_ns.append(base.metrics["mean_run_ns"])
            for share in shares:
                slowed = computed(log, kind, "dvfs", share, platform, seed)
                one.by_share[share].append(indexes(base, slowed))
    return found


def _wait_s(one: PowerIndexes) -> float:
    return (one.wait["all"].mean_ns or 0.0) / _S


def _run_s(one: PowerIndexes) -> float:
    return (one.run["all"].mean_ns or 0.0) / _S


def _saved_mj(one: PowerIndexes) -> float:
    return one.energy_saved_j / 1e6


#: What tables show, and of what.
_INDEXES: Final[dict[str, Callable[[PowerIndexes], float]]] = {
    "wait longer, s": _wait_s,
    "run longer, s": _run_s,
    "energy saved, MJ": _saved_mj,
}


def without_table(found: Mapping[str, Found]) -> Iterator[str]:
    """A row a kind: how long jobs wait and run without a fallback, s."""
    yield "| without a fallback | wait, s | run, s |"
    yield "|---|---|---|"
    for kind, one in found.items():
        cells = [mean_text([value / _S for value in values]) for values in (one.wait_ns, one.run_ns)]
        yield f"| `{kind}` | {' | '.join(cells)} |"


def index_table(found: Mapping[str, Found], words: str) -> Iterator[str]:
    """A row a kind, a column a share: one of the indexes."""
    shares = list(next(iter(found.values())).by_share)
    yield f"| {words} | " + " | ".join(f"{share:.0%}" for share in shares) + " |"
    yield "|---" * (1 + len(shares)) + "|"
    for kind, one in found.items():
        cells = [mean_text(one.values(share, _INDEXES[words])) for share in shares]
        yield f"| `{kind}` | {' | '.join(cells)} |"


def difference_table(found: Mapping[str, Found], base: str) -> Iterator[str]:
    """By how much the indexes of each kind are above those of another, in pairs by seed, s."""
    shares = [share for share in found[base].by_share if share > 0]
    yield (
        "| jobs | " + " | ".join(f"{name} longer at {share:.0%}" for name in ("wait", "run") for share in shares) + " |"
    )
    yield "|---" * (1 + 2 * len(shares)) + "|"
    for kind, one in found.items():
        if kind == base:
            continue
        cells = []
        for of in (_wait_s, _run_s):
            for share in shares:
                pairs = zip(one.values(share, of), found[base].values(share, of), strict=True)
                cells.append(mean_text([mine - theirs for mine, theirs in pairs]))
        yield f"| `{kind}` | {' | '.join(cells)} |"


def _figure(found: Mapping[str, Mapping[str, Found]]) -> Figure:
    # By how much jobs wait longer, by share, a panel a machine and a line a kind.
    with canvas.styled():
        figure = canvas.new_figure(8.4, 3.6)
        for place, (axes, (name, kinds)) in enumerate(
            zip(figure.subplots(1, len(found), sharey=True), found.items(), strict=True)
        ):
            quiet(axes, "y")
            for k, (kind, one) in enumerate(kinds.items()):
                look = style(k)
                points = [mean_interval(np.array(one.values(share, _wait_s))) for share in one.by_share]
                mean = np.array([point.mean for point in points])
                ends = np.abs(np.array([(point.low, point.high) for point in points]).T - mean)
                at = np.array([100 * share for share in one.by_share]) + 0.7 * (k - (len(kinds) - 1) / 2)
                axes.errorbar(
                    at, mean, ends, color=look.colour, marker=look.marker, markersize=4, capsize=2, label=kind
                )
            axes.set_xlabel(f"jobs that may be slowed [%]\n{name}")
            if place == 0:
                axes.set_ylabel("wait longer than without a limit [s]")
                axes.legend(frameon=False, fontsize=7)
        axes.set_ylim(0, None)  # of both
        title_figure(figure, "dvfs at 407 kW, ten seeds, 95 % intervals", 80)
    return figure


def main() -> int:
    """Print the tables, draw the picture."""
    found = {name: experiment(make()) for name, make in MACHINES.items()}
    for name, each in found.items():
        print("\n".join([f"{name}:", "", *without_table(each), ""]))
        for words in _INDEXES:
            print("\n".join([*index_table(each, words), ""]))
        for base in ("static", "fac"):
            print("\n".join([f"{name}, beside {base}:", "", *difference_table(each, base), ""]), flush=True)
    save(_figure(found), IMAGES / "demand-response-techniques.png")
    return 0


if __name__ == "__main__":
    only(__doc__)
    sys.exit(main())
