"""Write the small schedules of ``docs/reference/batch-backfilling.md``: as text into the page, and as pictures beside it.

    python -m tools.schedule_pictures            # rewrite the parts of the page, and the pictures
    python -m tools.schedule_pictures --check    # exit 1 if one of them is out of date

What is drawn is what the simulator gives.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import bridge
from bls import HostGroup, Platform, Workload
from bls.scheduler_options import Rules
from tools.plain_tool import only
from traces.base.time import NS_PER_S

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "reference/batch-backfilling.md"

#: The kinds of backfilling that are drawn, by what they are called.
KINDS = {
    "none": Rules(backfill="none"),
    "easy": Rules(backfill="easy"),
    "conservative keep": Rules(backfill="conservative", conservative="keep"),
    "conservative rebuild": Rules(backfill="conservative", conservative="rebuild"),
}

#: A job: (number, submit, cores, estimate, run time), times in seconds.
Job = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Example:
    """A machine of so many cores, and its jobs."""

    n_cores: int
    jobs: tuple[Job, ...]


EXAMPLES = (
    Example(4, ((1, 0, 3, 10, 10), (2, 1, 4, 5, 5), (3, 2, 1, 8, 8), (4, 3, 1, 9, 9))),
    Example(6, ((1, 0, 4, 10, 10), (2, 1, 4, 5, 5), (3, 2, 2, 100, 100), (4, 3, 2, 4, 4))),
    Example(4, ((1, 0, 3, 500, 100), (2, 1, 4, 50, 50), (3, 2, 1, 98, 98), (4, 3, 1, 600, 600))),
    Example(4, ((1, 1, 3, 5, 5), (2, 1, 2, 3, 3), (3, 2, 3, 1, 1), (4, 2, 2, 1, 1), (5, 3, 1, 5, 5))),
    Example(4, ((1, 0, 2, 6, 6), (2, 0, 3, 1, 1), (3, 0, 2, 5, 5), (4, 0, 4, 2, 2), (5, 1, 1, 3, 3))),
    Example(4, ((1, 0, 2, 7, 5), (2, 0, 3, 7, 5), (3, 1, 1, 2, 1), (4, 2, 1, 3, 3), (5, 3, 2, 2, 2))),
)

# A stretch of time in which nothing changes is drawn so many columns wide at most.
_WIDEST = 12

# Pixels: of a column, of a core, and around a schedule.
_COLUMN, _CORE, _LEFT, _ABOVE, _BELOW = 14, 18, 64, 22, 24

_COLOURS = ("#8ecae6", "#ffb703", "#90be6d", "#f28482", "#cdb4db")


@dataclass(frozen=True)
class Bar:
    """A job on some cores from start to end, seconds."""

    job: int
    start: int
    end: int
    cores: tuple[tuple[int, int], ...]


def schedule(example: Example, kind: str) -> list[Bar]:
    """What the simulator makes of an example, first come first served."""
    workload = Workload.from_jobs((job, q, p, n, r) for job, q, n, r, p in example.jobs)
    machine = Platform((HostGroup(1, example.n_cores, 1.0),))
    jobs = bridge.simulate(workload, machine, als="recorded", rules=KINDS[kind], keep_tasks=False).ledger.jobs
    return [
        Bar(
            int(jobs.job_id[row]),
            int(jobs.start_ns[row]) // NS_PER_S,
            int(jobs.end_ns[row]) // NS_PER_S,
            tuple((int(lo), int(hi)) for lo, hi in jobs.allocation(row)),
        )
        for row in range(len(jobs))
    ]


def schedules(example: Example) -> list[tuple[str, list[Bar]]]:
    """Every different schedule of an example, and the kinds of backfilling that give it."""
    found: list[tuple[str, list[Bar]]] = []
    for kind in KINDS:
        bars = schedule(example, kind)
        for k, (names, known) in enumerate(found):
            if known == bars:
                found[k] = (f"{names} = {kind}", known)
                break
        else:
            found.append((kind, bars))
    return found


def _instants(bars: Sequence[Bar]) -> list[int]:
    return sorted({0} | {bar.start for bar in bars} | {bar.end for bar in bars})


def _columns(instants: Sequence[int]) -> dict[int, int]:
    # Where each instant is drawn; long stretches are shortened.
    at, found = 0, {instants[0]: 0}
    for before, after in pairwise(instants):
        at += min(after - before, _WIDEST)
        found[after] = at
    return found


def text(example: Example) -> str:
    """The schedules of an example in characters: one row per core, one column per second, a digit the job."""
    lines: list[str] = []
    for names, bars in schedules(example):
        instants = _instants(bars)
        column = _columns(instants)
        width = column[instants[-1]]
        cut = [k for a, b in pairwise(instants) if b - a > _WIDEST for k in range(column[a] + 5, column[a] + 7)]
        lines += ["" for _ in lines[:1]] + [f"{names}; starts {' '.join(str(bar.start) for bar in bars)}"]
        for core in reversed(range(example.n_cores)):
            cells = ["."] * width
            for bar in bars:
                if any(lo <= core < hi for lo, hi in bar.cores):
                    span = range(column[bar.start], column[bar.end])
                    cells[span.start : span.stop] = str(bar.job) * len(span)
            for k in cut:
                cells[k] = "~"
            lines.append(f"  core {core} |{''.join(cells)}|")
        lines.append(_axis(column))
    return "\n".join(line.rstrip() for line in lines)


def _axis(column: dict[int, int]) -> str:
    # The instants below the drawing, as many as there is room for; the last one always.
    left = len("  core 0 |")
    last = max(column)
    axis = ""
    for instant, at in column.items():
        label = str(instant)
        fits = left + at + len(label) < left + column[last]
        if instant == last or (fits and left + at > len(axis) - (not axis)):
            axis = axis[: left + at - 1].ljust(left + at) + label if axis else " " * (left + at) + label
    return axis


def picture(example: Example) -> str:
    """The schedules of an example as one SVG, one below the other."""
    height, width, parts = 0, 0, []
    for names, bars in schedules(example):
        instants = _instants(bars)
        column = _columns(instants)
        bottom = height + _ABOVE + example.n_cores * _CORE
        parts.append(_label(8, height + 15, names, "start", bold=True))
        for core in range(example.n_cores):
            parts.append(_label(_LEFT - 8, bottom - core * _CORE - 5, f"core {core}", "end"))
        parts += [_rectangle(bar, lo, hi, column, bottom) for bar in bars for lo, hi in bar.cores]
        right = _LEFT + column[instants[-1]] * _COLUMN
        parts.append(f'<path d="M{_LEFT} {bottom - example.n_cores * _CORE}V{bottom}H{right}" class="axis"/>')
        for before, after in pairwise(instants):
            if after - before > _WIDEST:
                x = _LEFT + (column[before] + column[after]) * _COLUMN // 2
                parts.append(f'<path d="M{x - 5} {bottom + 5}l4 -10M{x + 1} {bottom + 5}l4 -10" class="axis"/>')
        parts += [_label(_LEFT + column[t] * _COLUMN, bottom + 15, str(t), "middle") for t in instants]
        height = bottom + _BELOW
        width = max(width, right)
    width += 24
    style = (
        "text{font:12px sans-serif}.name{font-weight:bold}.axis{fill:none;stroke:#000}.bar{stroke:#333;stroke-width:.7}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    return "\n".join(
        [head, f"<style>{style}</style>", '<rect width="100%" height="100%" fill="#fff"/>', *parts, "</svg>", ""]
    )


def _label(x: int, y: int, what: str, anchor: str, *, bold: bool = False) -> str:
    kind = ' class="name"' if bold else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{kind}>{what}</text>'


def _rectangle(bar: Bar, lo: int, hi: int, column: dict[int, int], bottom: int) -> str:
    x, wide = _LEFT + column[bar.start] * _COLUMN, (column[bar.end] - column[bar.start]) * _COLUMN
    y, high = bottom - hi * _CORE, (hi - lo) * _CORE
    colour = _COLOURS[(bar.job - 1) % len(_COLOURS)]
    shape = f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{colour}" class="bar"/>'
    return shape + _label(x + wide // 2, y + high // 2 + 4, str(bar.job), "middle")


def table(example: Example) -> list[str]:
    """The jobs of an example, and their starts under every kind of backfilling."""
    starts: dict[str, list[Any]] = {kind: [bar.start for bar in schedule(example, kind)] for kind in KINDS}
    lines = [
        f"| job | submit | cores | estimate | run | {' | '.join(KINDS)} |",
        "|---|---|---|---|---|" + "---|" * len(KINDS),
    ]
    for k, job in enumerate(example.jobs):
        number, submit, cores, estimate, run = job
        found = " | ".join(str(starts[kind][k]) for kind in KINDS)
        lines.append(f"| {number} | {submit} | {cores} | {estimate} | {run} | {found} |")
    return lines


def part(number: int) -> str:
    """What the page shows of example ``number``, from 1."""
    example = EXAMPLES[number - 1]
    lines = [
        f"{example.n_cores} cores; starts in seconds:",
        "",
        *table(example),
        "",
        f"![The schedules of example {number}: cores over time](../images/{image(number).name})",
        "",
        "```text",
        text(example),
        "```",
    ]
    return "\n".join(lines)


def image(number: int) -> Path:
    """Where the picture of example ``number`` is."""
    return DOCS / "images" / f"schedule-{number}.svg"


def updated(page: str) -> str:
    """``page`` with what lies between the markers made anew.

    Raises
    ------
    ValueError
        If a pair of markers is missing.
    """
    for number in range(1, len(EXAMPLES) + 1):
        begin, end = f"<!-- generated: schedule {number} -->\n", f"\n<!-- end of schedule {number} -->"
        before, found_begin, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not (found_begin and found_end):
            raise ValueError(f"the markers of schedule {number} are missing")
        page = before + begin + part(number) + end + after
    return page


def main(arguments: list[str]) -> int:
    """Rewrite the page and the pictures, or with ``--check`` say whether they are up to date."""
    files = {PAGE: updated(PAGE.read_text(encoding="utf-8"))}
    files |= {image(number): picture(example) for number, example in enumerate(EXAMPLES, 1)}
    if arguments == ["--check"]:
        return int(any(not file.exists() or file.read_text(encoding="utf-8") != text for file, text in files.items()))
    for file, text_of in files.items():
        file.write_text(text_of, encoding="utf-8")
    return 0


if __name__ == "__main__":
    only(__doc__, many=True)
    sys.exit(main(sys.argv[1:]))
