"""Measurements of loops with known parameters: simulated, with noise as of a real machine."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from measurements import SMALL

from als.lengths import lengths
from als.techniques.openmp import from_openmp
from bridge.measure.folder import MeasurementRecord
from bridge.single.loop_run import LoopOptions, drawn_tasks, simulate_loop

SCHEDULES = ("static", "static,20", "dynamic,1", "dynamic,16", "guided")


@dataclass(frozen=True)
class Planted:
    """Known parameters of a loop."""

    overhead_ns: dict[str, int] = field(default_factory=lambda: {"static": 400, "ss": 900, "guided": 600})
    speeds: tuple[float, ...] = (1.0, 0.8)
    spec: str = "gamma:cov=0.4,drift=0.5"  # distribution of lengths
    n: int = 400
    mean_ns: float = 20_000.0
    start_ns: int = 3_000
    barrier_ns: int = 1_500
    change: float = 0.01  # of the logarithm of each core's speed between runs
    trend_per_min: float = 0.02
    noise: float = 0.02  # of each length in each run
    interrupted: float = 0.0  # share of the lengths that an interruption of 4 ms makes longer
    repeats: int = 10
    event_ns: int = 50
    between: bool = False  # whether a chunk is requested after the end of the one before, not within it
    schedules: tuple[str, ...] = SCHEDULES


def planted_lengths(planted: Planted, seed: int) -> Any:
    """The lengths, ns at speed 1."""
    return drawn_tasks(lengths(planted.spec, "planted"), seed, planted.n, planted.mean_ns * 1e-9) * 1e9


def planted_tables(planted: Planted, seed: int) -> dict[str, dict[str, Any]]:
    """The tables of a measurement, a run by each schedule in each repeat, 1 s apart."""
    random, tables = np.random.default_rng(seed), {name: {column: [] for column in SMALL[name]} for name in SMALL}
    tables["regions"] = {"region": [0], "name": ["sweep"], "kind": ["loop"]}
    true, run = planted_lengths(planted, seed), 0
    speeds = np.array(planted.speeds)

    def row(table: str, *values: Any) -> None:
        for column, value in zip(tables[table], values, strict=True):
            tables[table][column].append(value)

    for repeat in range(planted.repeats):
        for schedule in planted.schedules:
            at_ns = run * 10**9
            changed = 1.0 + planted.trend_per_min * run / 60.0
            now = speeds * changed * np.exp(random.normal(0.0, planted.change, len(speeds)))
            one = true * np.exp(random.normal(0.0, planted.noise, planted.n))
            one = one + 4e6 * (random.random(planted.n) < planted.interrupted)
            technique = from_openmp(schedule, "planted")
            cost = planted.overhead_ns[technique.partition(":")[0]]
            found = simulate_loop(one * 1e-9, LoopOptions(technique, tuple(now.tolist()), cost + planted.event_ns))
            begin, shift = 1_000, 1_000 + planted.start_ns
            columns = [
                found.chunks[name].tolist() for name in ("core", "first", "size", "request_ns", "begin_ns", "end_ns")
            ]
            for core, first, size, asked, started, end in zip(*columns, strict=True):
                within = started - planted.event_ns if planted.between else asked
                row("chunks", run, 0, core, first, size, 1, shift + within, shift + end)
            last = shift + found.makespan_ns
            done = np.zeros(len(speeds), np.int64)
            np.maximum.at(done, found.chunks["core"], found.chunks["end_ns"])
            leave = last + int(planted.barrier_ns * np.exp(random.normal(0.0, 0.1)))
            for core, end in enumerate(done.tolist()):
                row("waits", run, 0, core, shift + end, leave)
            kind = {"static": "static", "ss": "dynamic", "guided": "guided"}[technique.partition(":")[0]]
            row("loops", run, 0, 0, kind, planted.n, len(speeds), begin, last)
            quiet = int(10**7 * (1.0 + 0.01 * random.random()))
            row("runs", run, schedule, len(speeds), repeat, at_ns, at_ns + leave, quiet, 0)
            run += 1
    return tables


def planted_record(planted: Planted) -> MeasurementRecord:
    return MeasurementRecord("openmp", ["./planted"], overhead={"event_ns": float(planted.event_ns)})


def some_planted(seed: int) -> Planted:
    """Parameters drawn at random."""
    random = np.random.default_rng([seed, 1])
    spec = ["gamma", "lognormal", "normal", "weibull"][seed % 4]
    return replace(
        Planted(),
        overhead_ns={kind: int(random.integers(200, 3_000)) for kind in ("static", "ss", "guided")},
        speeds=(1.0, float(random.uniform(0.6, 1.4))) if seed % 3 else (1.0, 0.9, 0.7, 1.2),
        spec=f"{spec}:cov={random.uniform(0.1, 0.3):.3f},drift={random.uniform(-1.2, 1.2):.3f}",
        mean_ns=float(random.uniform(5_000, 50_000)),
        change=float(random.uniform(0.004, 0.03)),
        trend_per_min=float(random.uniform(-0.05, 0.05)),
        between=bool(seed % 2),
    )
