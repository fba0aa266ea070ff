"""Output of a calibration: options for a simulation, the record, the table of predictions and its figure."""

import json
import math
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np

from bridge.measure.calibrate.predict import Calibration, ParameterEstimate
from bridge.runs.directory import write_record
from bridge.runs.library_versions import versions
from bridge.standard_error import text_table
from traces.base.written_file import write_text
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import draw_intervals, name_rows
from traces.tables import DataFrame

RECORD: Final = "calibration.json"
QUIET: Final = 0.02  #: largest spread of a quiet computer
_NS: Final = ("overhead", "request", "start", "barrier")  #: parameters in ns
_DRAWN: Final = ("measured", "measured_low", "measured_high", "predicted", "shortest")


def write_calibration(found: Calibration, folder: Path, sources: list[str], seed: int) -> None:
    """Write the record, ``calibrated.toml``, ``table.csv``, ``calibration.png``, and for each loop ``lengths-K.txt``."""
    slowest = float(found.fitted.speeds.min())
    for k, ((name, _), lengths) in enumerate(found.lengths_ns.items()):
        lines = [f"# {name}: ns of each iteration on the slowest core, without overheads"]
        lines += [f"{ns / slowest:.9g}" for ns in lengths.tolist()]
        write_text(folder / f"lengths-{k}.txt", "\n".join(lines) + "\n")
    write_text(folder / "calibrated.toml", _options(found))
    write_text(folder / "table.csv", found.predictions.to_csv(index=False, float_format="%.10g", lineterminator="\n"))
    canvas.save(prediction_figure(found.predictions), folder / "calibration.png")
    record = {
        "format": 1,
        "versions": versions(),
        "measured": sources,
        "seed": seed,
        "threads": found.threads,
        "quiet_spread": found.quiet,
        "parameters": {name: vars(one) for name, one in found.estimates.items()},
        "lengths": {f"{name}[{n}]": fit.name for (name, n), fit in found.fits.items()},
        "predictions": found.predictions.to_dict("records"),
        "remarks": found.remarks,
    }
    write_record(folder / RECORD, record)


def _options(found: Calibration) -> str:
    """The options of ``twolevel loop`` by loop and technique, in TOML."""
    fitted, speeds = found.fitted, ",".join(f"{speed:.6g}" for speed in found.fitted.speeds.tolist())
    lines = ["# Options of twolevel loop.", f'core-speed = "{speeds}"']
    if fitted.change > 0:
        period_s = float(found.predictions["measured_ns"].median()) * 1e-9
        lines.append(f'speeds = "noise:period={period_s:.6f}s,sigma={fitted.change:.4f}"')
    lines += ["", "[overhead]  # ns per chunk, by technique"]
    lines += [f"{kind} = {round(fitted.cost_ns(kind))}" for kind in fitted.overhead_ns]
    for k, (name, n) in enumerate(found.lengths_ns):
        lines += ["", "[[loop]]", f"name = {json.dumps(name, ensure_ascii=False)}", f"iterations = {n}"]
        lines += [f'file = "lengths-{k}.txt"', 'unit = "ns"']
        if (name, n) in found.fits:
            spec = found.fits[name, n].spec(f"lengths-{k}.txt")
            lines.append(f"lengths = {json.dumps(spec)}  # instead of the file: its distribution")
    return "\n".join([*lines, ""])


def parameter_lines(found: Calibration) -> list[tuple[str, str]]:
    """Return each parameter with its value and interval."""
    lines = [(name.replace(".", " ", 1), _words(name, one)) for name, one in found.estimates.items()]
    return lines + [(f"lengths {name}[{n}]", fit.name) for (name, n), fit in found.fits.items()]


def _words(name: str, one: ParameterEstimate) -> str:
    kind = name.partition(".")[0]
    digits, unit = (0, " ns") if kind in _NS else (4, "")
    value, low, high = (number if kind == "drift" else max(0.0, number) for number in vars(one).values())
    return f"{value:.{digits}f}{unit} [{low:.{digits}f}, {high:.{digits}f}]"


def prediction_table(found: Calibration) -> str:
    """Return the predictions as text, a line per loop and schedule."""
    head = ("loop", "schedule", "shortest", "measured", "predicted", "error", "interval", "rank", "predicted rank")
    rows = [
        (
            *(one["loop"], one["schedule"]),
            *(f"{one[name] / 1e6:.3f} ms" for name in ("shortest_ns", "measured_ns", "predicted_ns")),
            *(f"{one['error']:+.1%}", f"[{one['error_low']:+.1%}, {one['error_high']:+.1%}]"),
            *(str(one["measured_rank"]), str(one["predicted_rank"])),
        )
        for one in found.predictions.to_dict("records")
    ]
    return text_table([head, *rows], left=2)


def verdicts(found: Calibration) -> list[str]:
    """Return lines on the best schedule of each loop, and on how quiet the computer was."""
    lines = []
    every = found.predictions.to_dict("records")
    for loop in dict.fromkeys(row["loop"] for row in every):
        rows = [row for row in every if row["loop"] == loop]
        best, guess = (min(rows, key=itemgetter(name)) for name in ("measured_ns", "predicted_ns"))
        words = ""
        if best["schedule"] != guess["schedule"]:
            overlap = guess["measured_low_ns"] <= best["measured_high_ns"]
            words = ": no significant difference" if overlap else ": it is slower"
        lines.append(f"{loop}: the fastest schedule is {best['schedule']}, predicted {guess['schedule']}{words}")
    if math.isnan(found.quiet):
        return [*lines, "how quiet the computer was is not known"]
    noisy = "" if found.quiet <= QUIET else f": it was not quiet ({QUIET:.0%}), so makespans include interruptions"
    return [*lines, f"a loop of known work varied by {found.quiet:.1%} between runs{noisy}"]


def prediction_figure(predictions: DataFrame, *, title: str = "") -> canvas.Figure:
    """Draw the measured and the predicted makespans, a row per loop and schedule. ``predictions``: columns ``PREDICTIONS``."""
    several = predictions["loop"].nunique() > 1
    names = (predictions["loop"] + " " if several else "") + predictions["schedule"]
    at = np.arange(len(names), dtype=np.float64)
    ms = {name: predictions[f"{name}_ns"].to_numpy() / 1e6 for name in _DRAWN}
    with canvas.drawing(6.4, 0.28 * len(names) + 1.2, title) as figure:
        axes = figure.add_subplot()
        look: dict[str, Any] = {"linestyle": "none", "markersize": 4, "zorder": 4}
        axes.plot(ms["shortest"], at, "|", color=canvas.GREY, label="shortest", **look)
        axes.plot(ms["measured"], at, "o", color=canvas.INK, label="measured: median, 95 % interval", **look)
        draw_intervals(axes, at, [ms[name] for name in _DRAWN[:3]], lying=True)
        axes.plot(ms["predicted"], at, "D", color=canvas.PALETTE[1], label="predicted from the others", **look)
        name_rows(axes, names.tolist())
        axes.set_xlim(left=0)
        axes.set_xlabel("makespan [ms]")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure
