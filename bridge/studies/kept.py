"""The tables that figures are drawn from which a study keeps of each cell and seed: reduced to a few numbers of each cell.

One table is read at a time, and only the columns that are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.studies.input.run_options import BATCH_OPTION, column_name
from bridge.studies.results import COSTS
from bridge.studies.study import ALWAYS, KEEP, Study, short_word
from traces.base.time import NS_PER_S
from traces.compiled import Array
from traces.figures.drawing.frames import sums_by_class
from traces.figures.drawing.styles import UPSILON
from traces.tables import BEGIN, read_columns, read_rows, rows_frame

if TYPE_CHECKING:
    import pandas as pd

#: The figures of kept tables, and the word of ``[study] keep`` that each needs.
KEPT_FIGURES = {
    "slowdown-boxes": "jobs",
    "queue-boxes": "decisions",
    "decisions": "decisions",
    "decision-cost": "decisions",
}

_OF_JOBS = ("submit_ns", "start_ns", "end_ns", "state", "why")


def kept_frames(study: Study, folder: Path, name: str, results: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The workloads of a finished study, each with the table that a figure of :data:`KEPT_FIGURES` is drawn from. Every
    table has one or more rows per combination, whose ``label`` says what varies; ``batch`` is its batch policy."""
    from traces.statistics.comparisons import finished

    word = KEPT_FIGURES[name]
    if word not in study.keep:
        return
    costs = read_rows(folder / COSTS, ("cell", "seed", "simulation_s")).set_index(["cell", "seed"])["simulation_s"]
    for workload, rows in results[finished(results)].groupby("workload", sort=False):
        found: list[dict[str, Any]] = []
        for cell in rows["cell"].unique().tolist():
            of_cell = rows[rows["cell"] == cell]
            seeds = [int(seed) for seed in of_cell["seed"]]
            paths = [folder / "cells" / study.names[cell] / f"seed-{seed}" / KEEP[word] for seed in seeds]
            there = [(path, costs.get((cell, seed))) for path, seed in zip(paths, seeds, strict=True) if path.is_file()]
            named = _named(study, of_cell.iloc[0], rows)
            found += [{**named, **row} for row in _rows(name, there)]
        if found:
            yield str(workload), rows_frame(found)


def _named(study: Study, row: pd.Series[Any], rows: pd.DataFrame) -> dict[str, str]:
    # What a combination is called: what varies among those of its workload.
    from traces.figures.study.combinations import batch_label

    def varies(column: str) -> bool:
        return column in rows and bool(rows[column].nunique(dropna=False) > 1)

    batch = batch_label(short_word(str(row["bls"])), str(row["backfill"]))
    words = [batch] if varies("bls") or varies("backfill") or not varies("als") else []
    words += [short_word(str(row["als"]))] if varies("als") else []
    words += [f"{UPSILON} = {row['variation']:g}"] if varies("variation") else []
    further = [one for one in study.varied if one not in (*ALWAYS, BATCH_OPTION) and varies(column_name(one))]
    words += [short_word(str(row[column_name(one)])) for one in further]
    return {"label": " × ".join(words), "batch": batch}


def _rows(name: str, tables: list[tuple[Path, Any]]) -> list[dict[str, float]]:
    if name == "slowdown-boxes":
        return _boxes(_slowdowns(path) for path, _ in tables)
    waits = ("waiting", "decision_ns")
    if name == "queue-boxes":
        return _boxes(read_columns(path, waits[:1])["waiting"].to_numpy() for path, _ in tables)
    if name == "decisions":
        sums = sum((_sums(read_columns(path, waits)) for path, _ in tables), np.zeros_like(sums_by_class(*_NOTHING)))
        passes, waiting, decision_ns = sums[:, sums[0] > 0]
        columns = {"passes": passes, "waiting": waiting / passes, "decision_ns": decision_ns / passes}
        return [dict(zip(columns, map(float, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    passes, decision_ns, simulation_ns = 0, 0.0, 0.0
    for path, took_s in tables:
        column = read_columns(path, waits[1:])["decision_ns"]
        passes, decision_ns = passes + len(column), decision_ns + float(column.sum())
        simulation_ns += float(took_s) * NS_PER_S
    if not passes:
        return []
    rest_ns = max(simulation_ns - decision_ns, 0.0)
    return [{"passes": passes, "deciding_ns": decision_ns / passes, "rest_ns": rest_ns / passes}]


_NOTHING = np.zeros(0, np.int64), np.zeros(0, np.int64)


def _sums(decisions: pd.DataFrame) -> Array:
    return sums_by_class(decisions["waiting"].to_numpy(), decisions["decision_ns"].to_numpy())


def _slowdowns(path: Path) -> Array:
    from traces.figures.run.wait_times import bounded_slowdowns

    return bounded_slowdowns(read_columns(path, _OF_JOBS, (BEGIN,)))


def _boxes(values: Iterator[Array]) -> list[dict[str, float]]:
    # The mean over the seeds of each number of a box.
    from traces.figures.drawing.panels import Box

    boxes = [Box.of(one) for one in values if len(one)]
    if not boxes:
        return []
    names = list(Box.__dataclass_fields__)
    means = np.mean([[getattr(box, name) for name in names] for box in boxes], axis=0)
    return [{**dict(zip(names, means.tolist(), strict=True)), "seeds": len(boxes)}]
