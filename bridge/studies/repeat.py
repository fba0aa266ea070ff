"""Running a study again, and comparing every number of its results."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bridge.options.declared import DATA, OUT
from bridge.scratch import scratch_folder
from bridge.studies.drawing import read_results
from bridge.studies.executors.executor import Executor, WorkSummary
from bridge.studies.preparing import find_inputs
from bridge.studies.run_study import StudyWatch, run_study
from bridge.studies.study import Study
from bridge.studies.study_record import StudyRecord, read_study_record
from traces.base.errors import InputError, shown_path

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 10  #: number of differences shown


@dataclass(frozen=True)
class Repetition:
    """The outcome of a repetition."""

    # rows, columns: size of the comparison
    rows: int
    columns: int
    differences: tuple[str, ...]  # one line each; empty if the results are bit-identical

    @property
    def equal(self) -> bool:
        """Whether there is no difference."""
        return not self.differences

    def text(self) -> str:
        """Text for the user."""
        size = f"{self.rows:,} rows, {self.columns} columns"
        if self.equal:
            return f"identical: {size}"
        more = len(self.differences) - _SHOWN
        further = [f"and {more:,} more"] if more > 0 else []
        return "\n".join([f"different: {size}", *self.differences[:_SHOWN], *further])


def repeat_study(
    folder: Path,
    target: Path | None,
    executor: Callable[[Study], Callable[[WorkSummary], Executor]],
    *,
    data: tuple[Path, ...] = (),
    watch: StudyWatch | None = None,
) -> Repetition:
    """Run the study of a folder again, with further folders ``data`` for its files, and compare. ``target`` keeps the
    repetition. Raises InputError if the folder is not a finished study, or a file is missing or has changed."""
    for one in data:
        if not one.is_dir():
            raise InputError(f"{DATA}: {one} is not a folder")
    record = read_study_record(folder)
    before = read_results(folder)
    study = record.study(data)
    _check_inputs(record, study)
    with contextlib.ExitStack() as stack:
        if target is None:
            target = stack.enter_context(scratch_folder()) / "study"
        elif target.exists():
            raise InputError(f"{OUT}: {target} exists; choose another folder")
        run_study(study, target, executor(study), watch=watch)
        after = read_results(target)
    return Repetition(len(before), len(before.columns), tuple(_differences(before, after)))


def _check_inputs(record: StudyRecord, study: Study) -> None:
    with contextlib.chdir(study.folders[0]):
        found = find_inputs(study).files
    for name, known in record.files.items():
        if name not in found:
            raise InputError(
                f"{name}: is not in {', '.join(map(shown_path, study.folders))}; name its folder with {DATA}"
            )
        path, now = found[name]
        if now != known:
            raise InputError(f"{path}: differs from the file that the study was run with (SHA-256 {known})")


def _differences(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[str]:
    for name in before.columns.symmetric_difference(after.columns):
        yield f"column {name}: only {'before' if name in before.columns else 'after'}"
    if len(before) != len(after):
        yield f"rows: {len(before)} before, {len(after)} after"
        return
    for name in before.columns.intersection(after.columns, sort=False):
        one, other = before[name], after[name]
        unequal = (one != other) & ~(one.isna() & other.isna())
        for row in unequal[unequal].index:
            place = f"cell {before['cell'][row]}, seed {before['seed'][row]}"
            yield f"{place}: {name} {one[row]} before, {other[row]} after"
