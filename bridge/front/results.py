"""Results of any kind by their folder: contents, and the report page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bls.workloads import given_workload
from bridge.compare.page import RECORD as COMPARISON
from bridge.compare.page import comparison_page, page_of_two
from bridge.runs.afterwards import StoredRun
from bridge.runs.directory import RECORDS, read_record
from bridge.runs.page import run_page
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import Report
from bridge.studies.study_record import RECORD as STUDY
from traces.base.errors import InputError
from traces.base.given_file import near_files

if TYPE_CHECKING:
    from bls.workloads.workload import Workload
    from bridge.report.page import Page
    from bridge.runs.result import Result
    from bridge.studies.grid import GridRows
    from bridge.studies.study import Study


class ReadRun(StoredRun):
    """A stored run with its report page."""

    def report(self) -> Page:
        """Return its report page: ``save(path)`` writes it, and a notebook shows it."""
        return page_maker(self.folder)()


def read(path: str | Path) -> ReadRun | Report | Study | Workload:
    """Read a result, a study or a workload.

    Parameters
    ----------
    path : str or Path
        The folder of a run or of a study, the TOML file of a study, or a workload in any format; ``"sample"`` is the workload
        that comes with the project.

    Returns
    -------
    ReadRun, Report, Study or Workload
        A run has ``jobs``, ``tasks``, ``metrics``, ``story(job)``, ``report()`` and, as a ``Result``, ``costs(signals)`` and
        other computations; a study's folder ``results``, ``plot`` and ``report()``; a study's file can be given to
        ``twolevel.study``, a workload to ``twolevel.simulate``.

    Raises
    ------
    InputError
        If the path is none of these, or cannot be read.
    """
    if not isinstance(path, str | Path):
        raise InputError(
            f"read: given a {type(path).__name__}; allowed: the folder of a result, a study's file, or a workload"
        )
    folder = Path(path)
    if folder.name in RECORDS and folder.is_file():
        raise InputError(f"{path} is the record of a result; allowed: its folder, {folder.parent}")
    if folder.is_dir():
        if not (folder / STUDY).is_file():
            return ReadRun(folder)
        from bridge.studies.page import state_of

        state = state_of(folder)
        errors = [str(error) for error in state.results["error"] if error]
        n_cells, done = len(state.study), len(state.results)
        return Report(n_cells, done, len(errors), tuple(errors[:5]), 0, state.study, folder)
    if folder.suffix == ".toml":
        return load_study(folder)
    return given_workload(path, 0)


def report(result: Result | GridRows | Report | ReadRun | str | Path, other: str | Path | None = None) -> Page:
    """Make the report page of a result.

    Parameters
    ----------
    result : Result, GridRows, Report, ReadRun, str or Path
        A result of ``simulate``, ``sweep``, ``study`` or ``read``, or the folder of a run, a study, a comparison or a replay.
    other : str or Path, optional
        The folder of a second run: the page then compares both.

    Returns
    -------
    Page
        ``save(path)`` writes it as one HTML file, and a notebook shows it.

    Raises
    ------
    InputError
        If there is no such result.
    """
    if isinstance(result, str | Path):
        return page_maker(Path(result), None if other is None else Path(other))()
    if other is not None:
        raise InputError("other: given with a result in memory; allowed with two folders of runs")
    if not hasattr(result, "report"):
        raise InputError(
            f"report: given a {type(result).__name__}; allowed: a result of simulate, sweep, study or read, or its folder"
        )
    return result.report()


def page_maker(folder: Path, other: Path | None = None) -> Callable[[], Page]:
    """Return the function that makes the page of a folder, chosen by its record. Raises InputError if it has none."""
    if other is not None:
        return lambda: page_of_two(folder, other)
    if (folder / STUDY).is_file():
        from bridge.studies.page import study_page

        return lambda: study_page(folder)
    if (folder / COMPARISON).is_file():
        return lambda: comparison_page(folder)
    if (folder / "run.json").is_file():
        if "replay" in read_record(folder):
            from bridge.replay.report.page import replay_page

            return lambda: replay_page(folder)
        return lambda: run_page(folder)
    if not folder.exists():
        raise InputError(f"{folder}: there is no such folder{near_files(folder)}")
    if not folder.is_dir():
        raise InputError(
            f"{folder} is a file; allowed: the folder that twolevel run, study, grid, compare or replay has written"
        )
    raise InputError(
        f"{folder} is no result of twolevel: it has none of {', '.join(RECORDS)}; allowed: the --out of run, study, grid, "
        "compare or replay"
    )
