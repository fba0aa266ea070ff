"""The tables of ``docs/*/techniques-*.md``: known answers, and which technique wins when.

The second is a study: every technique on one loop, by how its tasks vary, what a chunk costs, and what its cores do.

    python -m tools.technique_study              # draws and simulates everything anew (a minute or so), and writes
                                                 # docs/technique-study.csv, and the tables of the pages
    python -m tools.technique_study --tables     # only the tables, from the file

A technique is compared with the others on equal tasks: every seed draws the lengths once, and all run on them. The file has a
row for each setting and a column for each technique: the makespan, the mean over the seeds, as a multiple of that of the
setting's best technique. ``error`` is the largest standard error, over the seeds, of the difference between one of those within
5 % of the best and the best, as a multiple of the best one's makespan.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from als.application import Application
from als.core_speeds import core_speeds
from als.lengths import lengths
from als.lengths.draw import drawn
from als.techniques import TECHNIQUES
from tools.plain_tool import only
from tools.technique_answers import answers
from traces.base.time import NS_PER_S, parse_duration_ns
from traces.compiled import Array

__all__ = [
    "CORES",
    "LENGTHS",
    "OVERHEADS",
    "TECHNIQUE_NAMES",
    "loops",
    "makespan_ns",
    "read",
    "setting",
    "tables",
]

DOCS = Path(__file__).resolve().parent.parent / "docs"
FILE = DOCS / "technique-study.csv"
PAGES = (DOCS / "reference/techniques-answers.md", DOCS / "explanation/techniques-study.md")

#: Cores, tasks that the loop is to have, and seeds. A task has 1 GFLOP in the mean, and a core makes 1 GFLOP/s in the mean.
P, N, SEEDS = 16, 1024, 100

#: How tasks vary: the column of the table, and the ``--lengths``.
LENGTHS = {
    "equal": "equal",
    "normal": "normal:cov=0.25",
    "exponential": "exponential",
    "bimodal": "bimodal:share=0.1,ratio=10",
    "increasing": "increasing",
    "decreasing": "decreasing",
    "Mandelbrot": "mandelbrot:width=32,height=32",
}

#: What a chunk costs: nothing, a hundredth of a mean task, half of one.
OVERHEADS = {"0": 0, "small": parse_duration_ns("10ms", "small"), "large": parse_duration_ns("500ms", "large")}

#: What the cores do: their speeds, and how these change.
CORES: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "equal": ((1.0,) * P, ()),
    "different": ((1.5,) * (P // 2) + (0.5,) * (P // 2), ()),
    "square wave": ((1.0,) * P, ("square:period=20s,low=0.25,duty=0.5,cores=0-3",)),
    "one lost": ((1.0,) * P, ("lost:cores=5,at=20s",)),
}

#: All but ``fac2``, which is another name of ``fac``.
TECHNIQUE_NAMES = tuple(name for name in TECHNIQUES if name != "fac2")

#: What counts as won.
MARGIN = 0.01

#: Speeds change up to this instant, long after every loop has ended.
_LATEST_NS = 2_000 * NS_PER_S

#: Several digits more than any table shows, and what a float's last digit cannot reach.
_DIGITS = 6


#: Whose differences from the best one are looked at closely.
_CLOSE = 1.05


class Setting(NamedTuple):
    """What was found in a setting.

    Attributes
    ----------
    factor : dict of str to float
        Of each technique: mean makespan over that of the best.
    error : float
        See the module.
    """

    factor: dict[str, float]
    error: float


#: By lengths, overhead and cores.
Rows = Mapping[tuple[str, str, str], Setting]


def loops(kind: str, seeds: int = SEEDS) -> list[Array]:
    """The task lengths of each seed, GFLOP."""
    model = lengths(LENGTHS[kind]).with_draw("paper")  # the published study has these loops
    return [drawn(model, seed, 1, N, 1.0, float(N)) for seed in range(1, seeds + 1)]


@cache
def _changes(cores: str) -> list[tuple[int, int, float]]:
    speeds, specs = CORES[cores]
    return core_speeds(specs, P, 0).changes(np.arange(P), np.array(speeds), 0, _LATEST_NS, 10_000).changes


def makespan_ns(name: str, tasks: Array, overhead_ns: int, cores: str, seed: int) -> int:
    """How long a loop takes under a technique."""
    speeds = list(CORES[cores][0])
    application = Application(tasks, speeds, TECHNIQUES[name], overhead_ns=overhead_ns, keep_tasks=False, seed=seed)
    for at_ns, core, speed in _changes(cores):
        if application.advance(at_ns):
            break
        application.set_speed(speed, core)
    application.advance()
    return application.end_ns


def setting(kind: str, overhead: str, cores: str, drawn_loops: Sequence[Array] | None = None) -> Setting:
    """What a setting comes to: every technique on the same loops."""
    tasks = loops(kind) if drawn_loops is None else drawn_loops
    alike = all(np.array_equal(one, tasks[0]) for one in tasks)
    found = {}
    for name in TECHNIQUE_NAMES:
        # Equal loops give equal makespans but to a technique that draws.
        different = tasks if not alike or TECHNIQUES[name].random else tasks[:1]
        each = [makespan_ns(name, one, OVERHEADS[overhead], cores, k) for k, one in enumerate(different, 1)]
        found[name] = np.resize(np.array(each, np.float64), len(tasks))
    best = min(found.values(), key=lambda each: float(each.mean()))
    mean = float(best.mean())
    factor = {name: round(float(each.mean()) / mean, _DIGITS) for name, each in found.items()}
    close = [each - best for name, each in found.items() if factor[name] <= _CLOSE]
    error = max(float(apart.std(ddof=1)) for apart in close) / math.sqrt(len(tasks)) / mean if len(tasks) > 1 else 0.0
    return Setting(factor, round(error, _DIGITS))


def study() -> dict[tuple[str, str, str], Setting]:
    """All settings."""
    found = {}
    for kind in LENGTHS:
        tasks = loops(kind)
        for overhead in OVERHEADS:
            for cores in CORES:
                found[kind, overhead, cores] = setting(kind, overhead, cores, tasks)
    return found


def write(rows: Rows, path: Path = FILE) -> None:
    """Write the file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["lengths", "overhead", "cores", "error", *TECHNIQUE_NAMES])
        for at, (factor, error) in rows.items():
            writer.writerow([*at, *(f"{number:.{_DIGITS}f}" for number in (error, *factor.values()))])


def read(path: Path = FILE) -> dict[tuple[str, str, str], Setting]:
    """What :func:`write` has written."""
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["lengths"], row["overhead"], row["cores"]): Setting(
                {name: float(row[name]) for name in TECHNIQUE_NAMES}, float(row["error"])
            )
            for row in csv.DictReader(file)
        }


def percent(factor: float) -> str:
    """By how much a factor is above 1."""
    return f"{100 * (factor - 1):.0f} %" if factor >= 1.0995 else f"{100 * (factor - 1):.1f} %"


def winners(found: Mapping[str, float]) -> list[str]:
    """Who is within the margin of the best, the best first; equal ones in the order of the registry."""
    return sorted((name for name in found if found[name] <= 1 + MARGIN), key=lambda name: found[name])


def worst(found: Mapping[str, float]) -> str:
    """Who takes longest, and by how much longer than the best."""
    name = max(found, key=lambda one: found[one])
    return f"`{name}` {percent(found[name])}"


def _names(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def _line(heads: Sequence[str], factor: Mapping[str, float]) -> str:
    first = winners(factor)
    others = [name for name in factor if name not in first]
    shown = _names(first) if len(others) > 6 else f"all but {_names(others)}"
    return f"| {' | '.join(heads)} | {shown} | {worst(factor)} |"


def equal_cores(rows: Rows) -> list[str]:
    """The winners on equal cores, by tasks and overhead."""
    lines = ["| tasks | overhead | within 1 % of the best, best first | worst |", "|---|---|---|---|"]
    return lines + [_line([k, h], rows[k, h, "equal"].factor) for k in LENGTHS for h in OVERHEADS]


def other_cores(rows: Rows, overhead: str = "small") -> list[str]:
    """The winners on other cores, by cores and tasks."""
    lines = ["| cores | tasks | within 1 % of the best, best first | worst |", "|---|---|---|---|"]
    return lines + [_line([c, k], rows[k, overhead, c].factor) for c in list(CORES)[1:] for k in LENGTHS]


def by_technique(rows: Rows) -> list[str]:
    """In how many settings each technique is within the margin, and how far off it is in the mean and at worst."""
    equal, *others = CORES
    heads = [f"{equal}, {overhead}" for overhead in OVERHEADS] + others
    lines = [f"| technique | {' | '.join(heads)} | all | mean | at worst |", f"|---|{'---|' * (len(heads) + 3)}"]
    won = {name: [at for at, found in rows.items() if found.factor[name] <= 1 + MARGIN] for name in TECHNIQUE_NAMES}
    for name in sorted(TECHNIQUE_NAMES, key=lambda one: -len(won[one])):
        counts = [sum(at[1:] == (overhead, equal) for at in won[name]) for overhead in OVERHEADS]
        counts += [sum(at[2] == cores for at in won[name]) for cores in others]
        last = max(rows, key=lambda at: rows[at].factor[name])
        where = f"{percent(rows[last].factor[name])}: {last[0]}, {last[1]}, {last[2]}"
        mean = percent(float(np.mean([found.factor[name] for found in rows.values()])))
        lines.append(f"| `{name}` | {' | '.join(map(str, counts))} | {len(won[name])} | {mean} | {where} |")
    return lines


def tables(rows: Rows) -> dict[str, list[str]]:
    """The tables of the page, by the names of their places."""
    return {
        "answers": answers(),
        "by technique": by_technique(rows),
        "equal cores": equal_cores(rows),
        "other cores": other_cores(rows),
    }


def fill_page(rows: Rows, page: Path) -> None:
    """Put the tables where the page has a place for them."""
    text = page.read_text(encoding="utf-8")
    for name, lines in tables(rows).items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        if found:
            _, _, after = rest.partition(end)
            text = before + begin + "\n".join(lines) + "\n" + end + after
    page.write_text(text, encoding="utf-8")


def main() -> int:
    """Write the file and the page's tables."""
    if "--tables" not in sys.argv[1:]:
        write(study())
    rows = read()
    for page in PAGES:
        fill_page(rows, page)
    sys.stdout.write("\n".join(map(str, (FILE, *PAGES))) + "\n")
    return 0


if __name__ == "__main__":
    only(__doc__, "--tables")
    sys.exit(main())
