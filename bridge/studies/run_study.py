"""Running a study: run unfinished cells, keep finished ones, and make the tables from both; and repeating it, to compare every
number."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bridge.options.declared import DATA, OUT
from bridge.runs.directory import CELL, check_target, ours_in, read_record, remove_files
from bridge.scenarios.scenario import RECORDED
from bridge.scratch import scratch_folder
from bridge.studies.executors.executor import Executor, WorkSummary
from bridge.studies.executors.local import local_executor
from bridge.studies.input.run_options import BATCH_OPTION, SLURM
from bridge.studies.journal import JOURNAL, Entry, Journal, is_journal
from bridge.studies.preparing import Preparation, find_inputs, needed_elsewhere, settled
from bridge.studies.results import write_tables
from bridge.studies.study import KEEP, Study
from bridge.studies.study_record import RECORD, StudyRecord, read_study_record, write_study_record
from bridge.studies.unit import NoRoomError, check_metrics, remove_remains
from traces.base.columns import html_table
from traces.base.errors import InputError, one_of, shown_path
from traces.base.written_file import NO_ROOM

if TYPE_CHECKING:
    import pandas as pd

    from bridge.report.page import Page
    from bridge.studies.drawing import StudyPlots

_ROW_BYTES = 4000  #: disk space of a cell and seed, bytes: its line in the journal, and its row
_SHOWN = 5  #: number of failures shown; the table has all
_DIFFERENCES = 10  #: number of differences of a repetition shown


class StudyWatch(Protocol):
    """Receives the progress of a study."""

    def begin(self, total: int, kept: int) -> None:
        """Note the number of cells × seeds, and how many of them are finished already."""

    def __call__(self, done: int, failed: int, waited_s: float = 0.0) -> None:
        """Note the numbers of newly finished and newly failed ones; ``waited_s`` is the longest time that a worker waited for
        its kernels to be compiled, which has no bearing on the remaining cells."""


@dataclass(frozen=True)
class Report:
    """The outcome of a study. A notebook displays it."""

    total: int  # number of cells × seeds
    kept: int  # number that was finished before
    failed: int
    errors: tuple[str, ...]  # of the first failed ones, with their names
    others: int = 0  # number finished in this folder that no longer belong to this study; they stay in the journal
    study: Study | None = field(default=None, repr=False, compare=False)
    folder: Path | None = field(default=None, compare=False)  # of its tables

    @property
    def results(self) -> pd.DataFrame:
        """One row per cell and seed, with every metric, or the error."""
        from bridge.studies.drawing import read_results

        return read_results(self._ran()[1])

    @property
    def plot(self) -> StudyPlots:
        """Figures of the study: ``report.plot.makespan()``."""
        from bridge.studies.drawing import StudyPlots, parts_of

        return StudyPlots(partial(parts_of, *self._ran()))

    def report(self) -> Page:
        """The report page (docs/reference/report.md): ``save(path)`` writes it, and a notebook shows it."""
        from bridge.studies.page import study_page

        return study_page(self._ran()[1])

    def _ran(self) -> tuple[Study, Path]:
        if self.study is None or self.folder is None:
            raise InputError("this Report was not made by run_study, so it has no results")
        return self.study, self.folder

    def _repr_html_(self) -> str:
        counts = {"cells with seeds": self.total, "finished before": self.kept, "failed": self.failed}
        rows = [(name, str(count)) for name, count in counts.items()] + [("", error) for error in self.errors]
        if self.others:
            rows.append(("no longer of this study", f"{self.others}"))
        return html_table([*rows, ("results", str(self.folder or "–"))])


def run_study(
    study: Study,
    folder: str | Path,
    executor: Callable[[WorkSummary], Executor] | None = None,
    *,
    force: bool = False,
    watch: StudyWatch | None = None,
    prepared: Callable[[Preparation], None] = lambda preparation: None,
) -> Report:
    """Run the unfinished part of a study, and write its tables.

    Parameters
    ----------
    study : Study
    folder : str or Path
        The folder of its results. A cell and seed that is finished there is not run again; one that failed is.
    executor : callable, optional
        Returns the executor for the given work; default one process per processor of this machine.
    force : bool
        Whether to begin again; files in the folder that are not the study's stay.
    watch : StudyWatch, optional
        Receives the progress.
    prepared : callable
        Called with the data that were read, before anything is simulated.

    Returns
    -------
    Report
        With ``results``, ``plot`` and ``report``.

    Raises
    ------
    InputError
        If the folder is another study's, or a cell cannot be run.
    NoRoomError
        If the disk is full. Finished cells are kept.
    """
    folder, executor, study = Path(folder).absolute(), executor or local_executor(), settled(study)
    # Paths in a study are relative to its folder, also in the processes that are started.
    with contextlib.chdir(study.folders[0]):
        inputs = find_inputs(study)
        preparation = Preparation(study, inputs, folder)
        _check_metrics(study)
        if force or not _is_study(folder):
            _check_target(folder)
            preparation.check(range(len(study.cells)))  # before anything is written
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"{OUT}: {folder} cannot be made: {error.strerror}") from None
        with Journal(folder, again=force) as journal:
            if force:
                # Other files are the user's; the journal is open, and the record, which lists our files, goes last.
                remove_files(folder, [*sorted(ours_in(folder) - {JOURNAL, RECORD}), RECORD])
            preparation.inputs = inputs = inputs.begun(journal.keys)
            others = _check_same(preparation, journal)
            places = _pending(preparation, journal)
            total = len(study)
            report = Report(total, total - len(places), 0, (), others, study, folder)
            if not (folder / RECORD).is_file():
                write_study_record(study, inputs, folder)  # marks the folder as ours
            if places:
                preparation.check(list(dict.fromkeys(place // len(study.seeds) for place in places)))
                prepared(preparation)
                _check_room(folder, len(places) * _ROW_BYTES)
                if watch is not None:
                    watch.begin(total, report.kept)
                shared = folder if study.keep or study.of_slurm else None
                needs = WorkSummary(len(places), needed_elsewhere(study, inputs), shared)
                errors = _do(preparation, journal, places, executor(needs), watch)
                report = replace(report, failed=len(errors), errors=tuple(errors[:_SHOWN]))
            try:
                # Until the new tables are complete, the old ones and their comparisons stay.
                write_tables(study, inputs.keys, journal, folder)
            except OSError as error:
                if error.errno in NO_ROOM:
                    raise _no_room(folder, error.strerror or "") from None
                raise
            write_study_record(study, inputs, folder)
    return report


def _check_metrics(study: Study) -> None:
    if study.metrics is not None:
        check_metrics(study.metrics, "[study] metrics", study.results)
    for number, one in enumerate(study.comparisons, 1):
        where = f"[[compare]] {number}: metrics"
        check_metrics(one.metrics, where, study.results)
        for name in one.metrics:
            if study.metrics is not None and name not in study.metrics:
                raise one_of("metric", name, study.metrics, where)


def _is_study(folder: Path) -> bool:
    try:
        return (folder / JOURNAL).is_file() or (folder / RECORD).is_file()
    except OSError as error:
        raise InputError(f"{OUT}: {shown_path(folder)} cannot be made: {error.strerror}") from None


def _check_target(folder: Path) -> None:
    # A study begins only in a new folder, or again in its own, known by its record; or by its journal, if it was killed before
    # it had one.
    recorded = (folder / RECORD).is_file()
    ours = ours_in(folder) if recorded else (folder / JOURNAL).is_file() and is_journal(folder)
    if ours or (folder.is_dir() and not any(folder.iterdir())):
        return
    if folder.exists() or folder.is_symlink():
        raise InputError(f"{OUT}: {folder} exists and is not a result of twolevel study; choose another folder")
    check_target(folder, False)


def _check_same(preparation: Preparation, journal: Journal) -> int:
    # A study may have grown or shrunk, but must not be mixed with another one. Returns the number of others that are finished.
    inputs, folder = preparation.inputs, preparation.folder
    keys, seeds = set(inputs.keys), set(preparation.study.seeds)
    if not journal.keys or not keys.isdisjoint(journal.keys):
        return sum(not (key in keys and seed in seeds) for key, seed in journal.finished)
    why = "its cells differ"
    if (folder / RECORD).is_file():
        record = read_study_record(folder)
        sums = {name: one[1] for name, one in inputs.files.items()}
        if changed := [name for name, known in record.files.items() if sums.get(name, known) != known]:
            why = f"since then {', '.join(changed)} has changed"
        why = f"it contains the study {record.name}, and {why}"
    raise InputError(f"{folder}: none of its finished cells belongs to this study: {why}; choose another {OUT}")


def _pending(preparation: Preparation, journal: Journal) -> list[int]:
    study = preparation.study
    places = []
    for place, ((cell, key), seed) in enumerate(product(enumerate(preparation.inputs.keys), study.seeds)):
        done = journal.has(key, seed, study.metrics)
        if not (done and _kept(study, preparation.folder_of(cell, seed), cell, {"key": key, "seed": seed})):
            places.append(place)
    return places


def _kept(study: Study, folder: Path | None, cell: int, mark: dict[str, object]) -> bool:
    # Whether the kept results of a cell and seed exist and belong to it.
    if folder is None:
        return True
    try:
        if read_record(folder, CELL, "study") != mark:
            return False
    except InputError:
        return False
    lacks = {"tasks": ("als", RECORDED), "decisions": (BATCH_OPTION, SLURM)}  # cells without such a table
    options = {word: study.cells[cell].value(option) == value for word, (option, value) in lacks.items()}
    files = ["run.json", *(KEEP[word] for word in study.keep if not options.get(word))]
    return all((folder / name).is_file() for name in files)


def _check_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        need = f"the rest of the study needs about {needed / 2**30:.2f} GiB and {free / 2**30:.2f} are free"
        raise NoRoomError(f"{folder}: {need}; finished cells are kept")


def _no_room(folder: Path, why: str) -> NoRoomError:
    return NoRoomError(f"{folder}: {why}; finished cells are kept; repeat the command to continue once there is room")


def _do(
    preparation: Preparation, journal: Journal, places: Sequence[int], executor: Executor, watch: StudyWatch | None
) -> list[str]:
    study, folder, keys = preparation.study, preparation.folder, preparation.inputs.keys
    n = len(study.seeds)
    errors: list[str] = []
    waited_s: dict[str, float] = {}
    if study.of_slurm:
        remove_remains(folder)
    outcomes = executor.outcomes(preparation.units(places), preparation.prepared)
    try:
        for done, outcome in enumerate(outcomes, 1):
            error = study.spelled(outcome.error)
            cell, seed = outcome.place // n, study.seeds[outcome.place % n]
            if outcome.no_room:
                raise _no_room(folder, error)
            every = study.metrics is None and not error
            took = round(outcome.wall_s, 6), round(outcome.simulation_s, 6)
            journal.add(Entry(keys[cell], seed, outcome.metrics, every, error, outcome.jobs, *took, outcome.worker))
            if error:
                errors.append(f"cell {cell} ({study.names[cell]}), seed {seed}: {error}")
            if done == 1 and study.keep:
                kept = preparation.folder_of(cell, seed)
                files = [] if kept is None else [path for path in kept.rglob("*") if path.is_file()]
                _check_room(folder, (len(places) - 1) * (_ROW_BYTES + sum(os.stat(path).st_size for path in files)))
            if watch is not None:
                waited_s[outcome.worker] = waited_s.get(outcome.worker, 0.0) + outcome.compiled_s
                watch(done, len(errors), max(waited_s.values()))
    finally:
        if (close := getattr(outcomes, "close", None)) is not None:
            close()
        if study.keep or study.of_slurm:
            remove_remains(folder)
    return errors


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
        more = len(self.differences) - _DIFFERENCES
        further = [f"and {more:,} more"] if more > 0 else []
        return "\n".join([f"different: {size}", *self.differences[:_DIFFERENCES], *further])


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
    from bridge.studies.drawing import read_results

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
            folders = ", ".join(map(shown_path, study.folders))
            raise InputError(f"{name}: is not in {folders}; name its folder with {DATA}")
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
