"""The parts of a study's results that stand in one table or figure: one workload, and one value of each further option."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bridge.studies.input.run_options import BATCH_OPTION, column_name
from bridge.studies.study import ALWAYS, Study, short_word

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Subset:
    """A part of a study's results."""

    words: str  # what tells it from the others, as ``W1, allocator best-fit``; empty if there is one only
    name: str  # the same in the name of a file: ``W1-allocator=best-fit``
    frame: pd.DataFrame


def subsets(study: Study, results: pd.DataFrame) -> Iterator[Subset]:
    """The parts, in the order of the results."""
    several = len(study.workloads) > 1
    further = [name for name in study.varied if name not in (*ALWAYS, BATCH_OPTION)]  # which the bars and lines say
    columns = {column_name(name): name for name in further}
    for key, frame in results.groupby(["workload", *columns], sort=False, dropna=False):
        values = dict(zip(columns, key[1:], strict=True))
        frame.attrs["exact"] = study.exact
        # What follows from the workload is not said.
        theirs = results[results["workload"] == key[0]]
        varying = {columns[name]: value for name, value in values.items() if theirs[name].nunique(dropna=False) > 1}
        words = [str(key[0])] * several + [f"{name} {value}" for name, value in varying.items()]
        names = [short_word(str(key[0]))] * several + [
            f"{name}={short_word(str(value))}" for name, value in varying.items()
        ]
        yield Subset(", ".join(words), "-".join(names), frame)
