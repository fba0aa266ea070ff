"""The two experiments of the demand-response paper, and a map of when its turn comes.

    python -m tools.demand_response

Prints the tables of ``docs/explanation/demand-response.md`` and draws its pictures. S. Matsui et al., *Architecture of Job
Scheduling Simulator for Demand Response Based Resource Provisioning*, ISGC 2021: 151 nodes of 14 cores that draw 66 W idle
and 240 W at work, 407 kW at the most, jobs that are submitted within 24 h, first come, first served. The paper gives
neither the slower state of its cores nor when its limit holds: here that is 0.75 of the speed at 180 W, and the whole 24 h.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

import bridge
from bls import Platform, Workload
from bls.machine.published import demand_response
from bls.power.options import PowerOptions
from bridge.compare.power_indexes import PowerIndexes, indexes_of
from tools.plain_tool import only
from tools.studies.demand_response_jobs import DAY_S, experiment_1, experiment_2
from traces.base.time import format_ns
from traces.figures.drawing import canvas
from traces.figures.drawing.canvas import Figure, save
from traces.figures.drawing.panels import quiet, title_figure
from traces.figures.run.power import power_figure
from traces.statistics.intervals import mean_interval

__all__ = [
    "FINE_SHARES",
    "IMAGES",
    "LIMIT_W",
    "SEEDS",
    "SHARES",
    "experiment",
    "indexes",
    "jobs",
    "limited",
    "machine",
    "main",
    "mean_text",
    "simulated",
    "state_map",
    "turn",
]

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"

#: What is tried, in the order of the page.
FALLBACKS: Final = ("none", "hold", "submit:state=1", "dvfs", "stop:idle", "stop:off")

LIMIT_W: Final = 407_000
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
SEEDS: Final = 10

_S: Final = 10**9
#: Speeds and W of the slower state that are tried.
_STATES: Final = ((0.9, 216), (0.75, 180), (0.75, 160), (0.5, 120), (0.5, 100))


#: The shares that the map of states has.
FINE_SHARES: Final = tuple(k / 8 for k in range(9))

#: Waits by share, in each seed.
StateWaits = Mapping[float, Sequence[float]]

#: The jobs of the two experiments, by seed.
EXPERIMENTS: Final = {1: experiment_1, 2: experiment_2}


def machine(speed: float = 0.75, watts: float = 180) -> Platform:
    """The paper's machine, which is ``--platform demand-response``; its cores have one slower state."""
    found = demand_response()
    (group,) = found.hosts
    assert group.power is not None
    power = replace(group.power, states=[group.power.states[0], (speed, watts)])
    return replace(found, hosts=(replace(group, power=power),))


def jobs(seed: int, number: int = 2) -> Workload:
    """The jobs of an experiment, all uniformly distributed, whole seconds and nodes."""
    return EXPERIMENTS[number](seed)


def limited(fallback: str, share: float = 1.0) -> PowerOptions:
    """The paper's limit, which holds for the 24 h in which jobs are submitted, and what is done under it."""
    return PowerOptions(
        limits=[(0, DAY_S * _S, LIMIT_W)],
        fallback=fallback,
        **({} if fallback == "none" else {"allowed": f"{share:g}"}),
    )


def simulated(
    log: Workload, fallback: str, share: float = 1.0, platform: Platform | None = None, seed: int = 0
) -> bridge.Result:
    """One run of jobs that last their recorded run times at full speed."""
    return bridge.simulate(log, platform or machine(), als="recorded", power=limited(fallback, share), seed=seed)


def indexes(base: bridge.Result, found: bridge.Result) -> PowerIndexes:
    """The paper's indexes of a run beside the same one without a fallback."""
    rows = np.arange(len(base.jobs))
    records = [one.power.record() for one in (base, found) if one.power is not None]
    return indexes_of(
        (base.jobs, found.jobs), (rows, rows), (records[0], records[1]), (base.power_over_time, found.power_over_time)
    )


def experiment(
    shares: Sequence[float] = SHARES, seeds: int = SEEDS, platform: Platform | None = None, fallback: str = "dvfs"
) -> dict[float, list[PowerIndexes]]:
    """Experiment 2: for each share of allowed jobs, the indexes of each seed."""
    found: dict[float, list[PowerIndexes]] = {share: [] for share in shares}
    for seed in range(seeds):
        log = jobs(seed)
        base = simulated(log, "none", platform=platform, seed=seed)
        for share in shares:
            found[share].append(indexes(base, simulated(log, fallback, share, platform, seed)))
    return found


def mean_text(values: Sequence[float | None], digits: int = 0) -> str:
    """A mean over seeds with its 95 % interval; a dash where no seed has a value."""
    known = np.array([value for value in values if value is not None])
    if not len(known):
        return "–"
    found = mean_interval(known)
    if not found.has_interval:
        return _number(found.mean, digits)
    return f"{_number(found.mean, digits)} [{_number(found.low, digits)}, {_number(found.high, digits)}]"


def _number(value: float, digits: int) -> str:
    # With a minus that is one, and none before 0.
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def _seconds(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else value / _S for value in values]


def share_table(found: Mapping[float, Sequence[PowerIndexes]]) -> list[str]:
    """A row a share: by how much jobs wait and run longer, s, and what was saved."""
    rows = [
        "| allowed | wait longer, s | of them allowed | disallowed | run longer, s | power less, kW | energy saved, MJ |",
        "|---|---|---|---|---|---|---|",
    ]
    for share, each in found.items():
        waits = [
            mean_text(_seconds([one.wait[group].mean_ns for one in each])) for group in ("all", "allowed", "disallowed")
        ]
        runs = mean_text(_seconds([one.run["all"].mean_ns for one in each]))
        less = mean_text([None if one.power_reduction_w is None else one.power_reduction_w / 1000 for one in each], 1)
        saved = mean_text([one.energy_saved_j / 1e6 for one in each], 1)
        rows.append(f"| {share:.0%} | {' | '.join(waits)} | {runs} | {less} | {saved} |")
    return rows


def state_map(shares: Sequence[float] = FINE_SHARES, seeds: int = SEEDS) -> dict[tuple[float, int], StateWaits]:
    """By slower state: by how much all jobs wait longer on average, s, in each seed, by the share of allowed ones."""
    return {
        (speed, watts): {
            share: [(one.wait["all"].mean_ns or 0.0) / _S for one in each]
            for share, each in experiment(shares, seeds, machine(speed, watts)).items()
        }
        for speed, watts in _STATES
    }


def turn(speed: float, watts: float) -> float:
    """The share of allowed jobs from which on power is enough for all nodes, so that these are short: above 1, it never is.

    With a share of the cores slowed, all cores at work draw just the limit; jobs that are slowed hold theirs for longer, so
    that fewer jobs make that share of the cores.
    """
    (group,) = machine(speed, watts).hosts
    assert group.power is not None
    (_, full), (_, slow) = group.power.states
    of_cores = (full - LIMIT_W / (group.count * group.cores)) / (full - slow)
    return of_cores if of_cores > 1 else of_cores * speed / (1 - of_cores + of_cores * speed)


def state_table(found: Mapping[tuple[float, int], StateWaits]) -> list[str]:
    """A row a slower state: the share from which on nodes are short, and the waits at each of :data:`SHARES`."""
    rows = [
        "| slower state | nodes short from | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |",
        "|---" * (2 + len(SHARES)) + "|",
    ]
    for (speed, watts), waits in found.items():
        cells = {share: mean_text(waits[share]) for share in SHARES}
        least = min(SHARES, key=lambda share: float(np.mean(waits[share])))
        cells[least] = f"**{cells[least]}**"
        from_share = turn(speed, watts)
        short = f"{from_share:.0%}" if from_share <= 1 else "never"
        rows.append(f"| {speed:g}, {watts} W | {short} | {' | '.join(cells.values())} |")
    return rows


def fallback_table(number: int = 1) -> Iterator[str]:
    """Experiment 1: a row a fallback."""
    yield "| fallback | peak while limited, kW | peak at any time, kW | above the limit | mean wait | energy, GJ |"
    yield "|---|---|---|---|---|---|"
    for fallback in FALLBACKS:
        result = simulated(jobs(0, number), fallback)
        found = result.metrics
        above = format_ns(found["above_limit_ns"]) if found["above_limit_ns"] else "never"
        wait = format_ns(round(found["mean_wait_ns"]))
        peaks = " | ".join(f"{found[name] / 1000:.1f}" for name in ("peak_limited_w", "peak_power_w"))
        yield f"| `{fallback}` | {peaks} | {above} | {wait} | {found['energy_j'] / 1e9:.2f} |"


def share_figure(found: Mapping[float, Sequence[PowerIndexes]]) -> Figure:
    """The paper's Fig. 7: by how much jobs wait and run longer, by the share of allowed ones, with 95 % intervals."""
    with canvas.styled():
        figure = canvas.new_figure(6.4, 3.4)
        axes = figure.subplots()
        quiet(axes, "y")
        for words, colour, of in (
            ("wait", canvas.PALETTE[0], lambda one: one.wait["all"].mean_ns),
            ("run", canvas.PALETTE[1], lambda one: one.run["all"].mean_ns),
        ):
            points = [mean_interval(np.array([of(one) for one in each]) / _S) for each in found.values()]
            mean = np.array([one.mean for one in points])
            ends = np.abs(np.array([(one.low, one.high) for one in points]).T - mean)
            axes.errorbar(
                [100 * share for share in found], mean, ends, color=colour, marker="o", capsize=3, label=words
            )
        axes.set_xlabel("jobs that may be slowed [%]")
        axes.set_ylabel("longer than without a limit [s]")
        axes.set_ylim(0, None)
        axes.legend(frameon=False)
        seeds = max(len(each) for each in found.values())
        title_figure(figure, f"dvfs at {LIMIT_W / 1000:g} kW, {seeds} seed{'s' * (seeds != 1)}", 80)
    return figure


def state_figure(found: Mapping[tuple[float, int], StateWaits]) -> Figure:
    """A line a slower state over the share of allowed jobs, with 95 % intervals, and where nodes become short on it."""
    with canvas.styled():
        figure = canvas.new_figure(7.2, 4.2)
        axes = figure.subplots()
        quiet(axes, "y")
        for colour, ((speed, watts), waits) in zip(canvas.PALETTE, found.items(), strict=False):
            points = [mean_interval(np.array(each)) for each in waits.values()]
            mean = np.array([one.mean for one in points])
            ends = np.abs(np.array([(one.low, one.high) for one in points]).T - mean)
            share = np.array(list(waits))
            axes.errorbar(
                100 * share,
                mean,
                ends,
                color=colour,
                marker="o",
                markersize=3,
                capsize=2,
                label=f"{speed:g}, {watts} W",
            )
            at = turn(speed, watts)
            if at <= 1:
                axes.plot(
                    [100 * at], np.interp([at], share, mean), color=colour, marker="D", markersize=8, linestyle="none"
                )
        axes.set_xlabel("jobs that may be slowed [%]")
        axes.set_ylabel("wait longer than without a limit [s]")
        axes.set_ylim(0, None)
        axes.legend(frameon=False, title="slower state")
        seeds = max(len(each) for waits in found.values() for each in waits.values())
        title_figure(
            figure, f"dvfs at {LIMIT_W / 1000:g} kW, {seeds} seed{'s' * (seeds != 1)}; diamond: nodes become short", 80
        )
    return figure


def main() -> int:
    """Print the tables, draw the pictures."""
    found, states = experiment(), state_map()
    print("\n".join([*fallback_table(), "", *share_table(found), "", *state_table(states)]))
    save(share_figure(found), IMAGES / "demand-response-shares.png")
    save(state_figure(states), IMAGES / "demand-response-states.png")
    draw_fallbacks()
    return 0


def draw_fallbacks() -> None:
    """Power over time of experiment 1, of each fallback."""
    for fallback in FALLBACKS:
        result = simulated(jobs(0, 1), fallback)
        until_ns = int(result.jobs["end_ns"].max())
        name = fallback.partition(":state")[0].replace(":", "-")
        save(
            power_figure(result.power_over_time, until_ns=until_ns, title=f"100 jobs of 2 to 6 h, {fallback}"),
            IMAGES / f"demand-response-{name}.png",
        )


if __name__ == "__main__":
    only(__doc__)
    sys.exit(main())
