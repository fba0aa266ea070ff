"""A replay that was made before, as its folder has it: for a report without Slurm."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridge.options.declared import FORCE, OUT, REPORT_ONLY
from bridge.replay.report.sides import SLURM, Side, of_table
from bridge.runs.directory import ours_in, put_aside, read_record, remove_files, write_record
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import InputError, shown
from traces.base.parsing import parse_json
from traces.tables import read_jobs

#: The folder of a report in that of a replay.
FOLDER = "report"

#: Which tables were written beside that of jobs is of no account.
_TABLES = ("tasks_table", "trace")


@dataclass(frozen=True)
class Finished:
    """What is known of it."""

    side: Side  # its schedule
    cost: Mapping[str, Any]  # what it has taken, as in its record


def finished(folder: Path, scenario: ReadyScenario, arguments: Mapping[str, Any], *, force: bool) -> Finished:
    """The replay in a folder, which is to be that of a scenario; ``arguments`` as its record has them. Raises
    InputError if there is none, it was made with other options, or it has a report and ``force`` is off."""
    record = read_record(folder, what="replay")
    if not isinstance(record.get("replay"), dict):
        raise InputError(f"{REPORT_ONLY}: {folder} holds a run of our engine; allowed: a replay")
    was, wanted = record["arguments"], parse_json(json.dumps({**arguments, **scenario.options.names()}), "options")
    for key in wanted:
        if key not in _TABLES and was.get(key) != wanted[key]:
            raise InputError(
                f"{REPORT_ONLY}: {folder} was made with {key} {shown(was.get(key))}, and not {shown(wanted[key])}; "
                "allowed: the same options"
            )
    if record["workload"]["jobs"] != (n := len(scenario.workload)):
        raise InputError(
            f"{REPORT_ONLY}: {folder} has {record['workload']['jobs']} jobs, the workload now {n}; allowed: the same"
        )
    if (folder / FOLDER).exists() and not force:
        raise InputError(f"{OUT}: {folder / FOLDER} exists; replace it with {FORCE}")
    frame = read_jobs(folder / "jobs.parquet")
    killed = int(record["metrics"].get("state_killed") or 0)
    return Finished(of_table(SLURM, frame, killed), record["replay"])


def put_report(folder: Path, write: Callable[[Path], None]) -> None:
    """Have a report written, and put it into the folder of its replay, whose record lists it then. The files of an
    older report that its record lists are removed; any other file of the same name gets a ``~`` after it."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{FOLDER}.partial-") as place:
        made = Path(place) / FOLDER
        write(made)
        record = read_record(folder, what="replay")
        old = {name for name in ours_in(folder) if name.startswith(f"{FOLDER}/")}
        if (folder / FOLDER).is_symlink():  # a user's own folder in its place
            put_aside([folder / FOLDER])
        else:
            remove_files(folder, old)
        (folder / FOLDER).mkdir(exist_ok=True)
        files = [name for name in record.get("files", ()) if not name.startswith(f"{FOLDER}/")]
        for path in sorted(made.iterdir()):
            put_aside([folder / FOLDER / path.name])
            shutil.move(path, folder / FOLDER / path.name)
            files.append(f"{FOLDER}/{path.name}")
    write_record(folder / "run.json", record | {"files": sorted(files)})
