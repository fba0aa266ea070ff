"""Measure OpenMP programs on this computer under several schedules, and predict each schedule from the others.

python -m tools.native                        # measure all, write docs/data/native.csv and docs/images/native.png
python -m tools.native --keep DIR             # also keep the measurements
python -m tools.native --measured DIR         # write from kept measurements
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from bridge.measure import read_measurement
from bridge.standard_error import lined_up
from tools.native.measuring import LOOPS, TASKS, measure
from tools.native.predicting import Prediction, predictions
from traces.base.errors import TwolevelError
from traces.figures.drawing.canvas import INK, PALETTE, Figure, drawing, save
from traces.figures.drawing.panels import draw_intervals, legend_above, name_rows, title_panel
from traces.metric_units import interval_text
from traces.records.measurements import RECORD

DOCS = Path(__file__).resolve().parents[2] / "docs"
PROGRAMS = (*LOOPS, TASKS)


def rows(found: Sequence[Prediction], about: str, event_ns: float) -> pd.DataFrame:
    """The table of ``docs/data``: a row for each number of a schedule, and for those over all schedules.

    - ``about``: the machine and the date; ``event_ns``: the time that the measurement of an event takes.
    """
    values: list[tuple[str, str, str, float, float, float]] = []
    none = (float("nan"), float("nan"))
    for one in found:
        numbers = {
            "measured": one.measured,
            "predicted": (one.predicted, *none),
            "error": (100 * one.error, *none),
            "measured spread": (100 * one.measured_spread, *none),
            "predicted spread": (100 * one.predicted_spread, *none),
            "runs": (one.runs, *none),
            "quiet runs": (one.quiet, *none),
        }
        values += [(one.program, one.schedule, what, *number) for what, number in numbers.items()]
    for name in [*dict.fromkeys(one.program for one in found), "all"]:
        of = [one for one in found if name in (one.program, "all")]
        right, pairs = order(of)
        values.append((name, "", "median error", 100 * float(np.median([abs(one.error) for one in of])), *none))
        values += [(name, "", "pairs", pairs, *none), (name, "", "pairs in order", right, *none)]
    values.append(("machine", about, "event", event_ns, *none))
    return pd.DataFrame(values, columns=["program", "schedule", "what", "number", "number_low", "number_high"])


def order(found: Sequence[Prediction]) -> tuple[int, int]:
    """The number of pairs of schedules of a program that are predicted in their order, and of pairs whose intervals of the
    measured medians do not overlap."""
    apart = [
        (one, other)
        for one, other in combinations(sorted(found, key=lambda one: one.measured[0]), 2)
        if one.program == other.program and one.measured[2] < other.measured[1]
    ]
    return sum(one.predicted < other.predicted for one, other in apart), len(apart)


def figure(found: Sequence[Prediction]) -> Figure:
    """The measured medians with their intervals, and the predictions, a panel for each program."""
    names = list(dict.fromkeys(one.program for one in found))
    with drawing(9.5, 1.0 + 2.1 * -(-len(names) // 3)) as made:
        panels = made.subplots(-(-len(names) // 3), 3, squeeze=False).ravel()
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        for axes, name in zip(panels, names, strict=False):
            of = [one for one in found if one.program == name]
            at, measured = np.arange(len(of)), np.array([one.measured for one in of]).T
            dots = axes.plot(measured[0], at, "o", color=INK, markersize=4, label="measured: median, 95 % interval")
            draw_intervals(axes, at, [*measured], lying=True)
            predicted = [one.predicted for one in of]
            dots += axes.plot(predicted, at, "D", color=PALETTE[1], markersize=5, fillstyle="none", label="predicted")
            name_rows(axes, [one.schedule for one in of])
            title_panel(axes, name, 40)
            axes.set_xlim(left=0)
            axes.set_xlabel("time of the loop, or of the tasks [ms]")
        legend_above(made, dots, 2)
    return made


def summary(found: Sequence[Prediction]) -> str:
    """A line for each schedule: measured median and interval, ms; prediction, error."""
    right, pairs = order(found)
    lines = [
        (
            f"{one.program} {one.schedule}",
            f"{interval_text(*one.measured)} | {one.predicted:.4g} | {one.error:+.1%} | {one.quiet} of {one.runs} quiet",
        )
        for one in found
    ]
    error = np.median([abs(one.error) for one in found])
    return lined_up([*lines, ("median error", f"{error:.1%}"), ("pairs in order", f"{right} of {pairs}")])


def main(words: Sequence[str] | None = None) -> int:
    """Measure, predict and write; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.native", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; default: all")
    parser.add_argument("--repeats", type=int, default=30, help="runs of each schedule (default: 30)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="new folder for the measurements")
    parser.add_argument("--measured", type=Path, metavar="DIR", help="folder of measurements; nothing is measured")
    parser.add_argument("--docs", type=Path, default=DOCS, metavar="DIR", help="folder with data and images")
    given = parser.parse_args(words)
    programs = given.programs or PROGRAMS
    if wrong := [name for name in programs if name not in PROGRAMS]:
        parser.error(f"unknown program {wrong[0]}; known: {', '.join(PROGRAMS)}")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = given.measured or given.keep or Path(scratch) / "native"
            if given.measured is None:
                measure(programs, given.repeats, folder)
            measured = {name: read_measurement(folder / name) for name in programs}
            date = datetime.fromtimestamp((folder / programs[0] / RECORD).stat().st_mtime, UTC)
        found = [one for name, of in measured.items() for one in predictions(name, of)]
    except (TwolevelError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    record = measured[programs[0]].record
    machine = f"{record.machine.get('cpu', 'unknown processor')}, {record.machine.get('cores')} processors"
    table = rows(found, f"{date:%Y-%m-%d}, {machine}", float(record.overhead["event_ns"]))
    table.to_csv(given.docs / "data" / "native.csv", index=False, float_format="%.6g", lineterminator="\n")
    save(figure(found), given.docs / "images" / "native.png")
    sys.stdout.write(f"{summary(found)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
