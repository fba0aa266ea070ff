"""What it is worth that levels talk: the tables of ``docs/explanation/coordination.md``, ``docs/reference/malleable.md``.

    twolevel study tools/studies/releases.toml --data LOGS --out DIR --workers 2
    python -m tools.coordination_page DIR --page docs/explanation/coordination.md

Likewise of ``tools/studies/hints.toml``, and of ``tools/studies/malleable.toml`` and ``tools/studies/evolving.toml`` for the
other page. A page's generated parts are written into the page, the pictures into ``images`` beside its folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tools.paper_pages import filled
from traces.base.errors import InputError, TwolevelError
from traces.figures.drawing.canvas import save
from traces.figures.study.comparison import comparison_figure
from traces.metric_units import interval_text

__all__ = ["EVOLVING", "PARTS", "PICTURES", "main", "table"]

#: By the option that a study compares, and the value that it compares with: the page's parts, and the metric that each is of.
PARTS = {
    ("coordination", "none"): {"makespans": "makespan_ns", "waits": "mean_wait_ns"},
    ("coordination", "release"): {"makespans with hints": "makespan_ns", "waits with hints": "mean_wait_ns"},
    ("resize", "none"): {"makespans": "makespan_ns", "waits": "mean_wait_ns", "slowdowns": "mean_bounded_slowdown"},
}

#: Instead of those of a study of ``resize``, where in some cells jobs evolve; of these there are no pictures.
EVOLVING = {
    "evolving makespans": "makespan_ns",
    "evolving waits": "mean_wait_ns",
    "evolving slowdowns": "mean_bounded_slowdown",
    "evolving utilisations": "utilisation",
}

#: As in :data:`PARTS`: the workloads of which there is a picture, and what it is called.
PICTURES = {
    ("coordination", "none"): {"W2": "coordination-W2", "CEA-Curie": "coordination-CEA-Curie"},
    ("coordination", "release"): {"W2": "coordination-hints-W2"},
    ("resize", "none"): {"W1": "malleable-W1", "W2": "malleable-W2"},
}

#: Likewise: what is written above a picture.
TITLES = {"coordination": "levels that talk", "resize": "malleable jobs"}


def table(comparisons: pd.DataFrame, metric: str) -> list[str]:
    """Lines of a table: ratios of a metric to the same without what a study is about, a column for each way of it.

    Parameters
    ----------
    comparisons : pandas.DataFrame
        Of a study's ``comparisons.parquet``, of one of the options of :data:`PARTS`.
    metric : str
        Its column ``metric``.

    Raises
    ------
    InputError
        If it compares something else, or a combination of options has no value or two of them.
    """
    rows = comparisons[comparisons["metric"].eq(metric)]
    known = {option for option, _ in PARTS}
    if len(rows) == 0 or len(set(comparisons["option"])) != 1 or comparisons["option"].iloc[0] not in known:
        raise InputError(f"not a comparison of one of {', '.join(sorted(known))} and {metric}")
    cases = ["workload", "backfill", "als"]
    ways = list(dict.fromkeys(rows["value"]))
    lines = [
        "| workload | backfilling | technique | " + " | ".join(f"`{way}`" for way in ways) + " |",
        "|---" * (len(cases) + len(ways)) + "|",
    ]
    for case, found in rows.groupby(cases, sort=False):
        if found["value"].tolist() != ways:
            raise InputError(f"{', '.join(case)}: has {found['value'].tolist()}; allowed: each of {ways} once")
        ratios = found[["ratio", "ratio_low", "ratio_high"]].itertuples(index=False, name=None)
        lines.append("| " + " | ".join([*case, *(interval_text(*ratio) for ratio in ratios)]) + " |")
    return lines


def write(folder: Path, page: Path) -> None:
    """Make everything and put it where it belongs."""
    comparisons = pd.read_parquet(folder / "comparisons.parquet")
    option, base = (str(comparisons[name].iloc[0]) for name in ("option", "base"))
    if (option, base) not in PARTS:
        allowed = ", ".join(" ".join(pair) for pair in PARTS)
        raise InputError(f"a comparison of {option} with {base}; allowed: {allowed}")
    parts_of, pictures = PARTS[option, base], PICTURES[option, base]
    if "evolve" in set(comparisons["value"]):
        parts_of, pictures = EVOLVING, {}
    parts = {part: table(comparisons, metric) for part, metric in parts_of.items()}
    page.write_text(filled(page.read_text("utf-8"), parts), encoding="utf-8")
    (page.parent.parent / "images").mkdir(exist_ok=True)
    for workload, name in pictures.items():
        save(
            comparison_figure(comparisons, workload=workload, title=f"{TITLES[option]}, {workload}"),
            page.parent.parent / "images" / f"{name}.png",
        )


def main(words: Sequence[str] | None = None) -> int:
    """Make the page's parts; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.coordination_page", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the study")
    parser.add_argument(
        "--page", required=True, type=Path, metavar="PAGE", help="page whose generated parts are replaced"
    )
    said = parser.parse_args(words)
    try:
        write(said.folder, said.page)
    except (TwolevelError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
