"""What a study's folder says of itself: study.json, which study it is, and with which inputs and versions it was run."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from bridge.options.declared import DATA
from bridge.runs.directory import FIGURES, ours_in, read_record, write_record
from bridge.runs.library_versions import versions
from bridge.studies.input.study_file import parse_study
from bridge.studies.journal import FORMAT
from bridge.studies.preparing import Inputs
from bridge.studies.study import Study
from traces.base.errors import InputError, parse_whole, shown, shown_path
from traces.base.process import processor_model

RECORD = "study.json"


@dataclass(frozen=True)
class StudyRecord:
    """What study.json says."""

    path: Path  # the file
    name: str
    text: str  # the study, as its file has it
    folders: tuple[Path, ...]  # where its files were looked for
    files: Mapping[str, str]  # SHA-256 of each, by the name that the study gives it
    seeds: tuple[int, ...]  # those that it was run for
    windows: Mapping[str, tuple[int, ...]]  # begins of the windows of each workload, where each seed is one
    exact: bool = False  # whether nothing was drawn at random

    def study(self, data: tuple[Path, ...] = ()) -> Study:
        """The study again; its files may be in further folders. Raises InputError if the folder in which it was run is
        not there, and no other is given; or it is no study."""
        folders = [folder for folder in (*self.folders, *data) if os.path.isdir(folder)]
        if not folders:
            gone = shown_path(self.folders[0])
            raise InputError(f"{self.path}: there is no folder {gone} any more; say with {DATA} where its files are")
        try:
            study = parse_study(self.text, folders, self.name)
            return replace(study, seeds=self.seeds, windows=self.windows, exact=self.exact)
        except InputError as error:
            raise InputError(f"{self.path}: {error.text}") from None


def drawn_in(folder: Path) -> set[str]:
    """The figures that ``twolevel`` has drawn of a study, by their paths in its folder."""
    return {name for name in ours_in(folder) if name.startswith(f"{FIGURES}/")}


def list_drawn(folder: Path, names: Iterable[str]) -> None:
    """Say in study.json which figures there are."""
    write_record(folder / RECORD, {**read_record(folder, RECORD, "study"), FIGURES: sorted(names)})


def write_study_record(study: Study, inputs: Inputs, folder: Path) -> None:
    """Write study.json, whole or not at all."""
    record = {
        "format": FORMAT,
        "twolevel": version("twolevel"),
        "name": study.name,
        "description": study.description,
        "study": study.text,
        "folders": [str(one) for one in study.folders],
        "seeds": list(study.seeds),
        **({"windows": {name: list(begins) for name, begins in study.windows.items()}} if study.windows else {}),
        **({"exact": True} if study.exact else {}),
        "cells": len(study.cells),
        "options": list(study.columns),
        "varied": list(study.varied),
        "keep": list(study.keep),
        "metrics": "all" if study.metrics is None else list(study.metrics),
        "inputs": {name: {"path": str(path), "sha256": sum_} for name, (path, sum_) in sorted(inputs.files.items())},
        "versions": versions(),
        "processor": processor_model(),
        FIGURES: sorted(drawn_in(folder)),
    }
    write_record(folder / RECORD, record)


def _wholes(values: Iterable[object]) -> tuple[int, ...]:
    return tuple(parse_whole(str(one)) for one in values)


def read_study_record(folder: Path) -> StudyRecord:
    """Read study.json. Raises InputError if the folder has none, or it is of another form."""
    path, record = folder / RECORD, read_record(folder, RECORD, "study")
    found = record.get("format")
    if found != FORMAT:
        raise InputError(f"{path}: is of form {shown(found)}; this twolevel reads form {FORMAT}")
    try:
        files = {str(name): str(one["sha256"]) for name, one in record["inputs"].items()}
        first, *others = map(Path, record["folders"])
        seeds = _wholes(record["seeds"])
        windows = {str(name): _wholes(begins) for name, begins in record.get("windows", {}).items()}
        names = str(record["name"]), str(record["study"])
        exact = bool(record.get("exact", False))
        return StudyRecord(path, *names, (first, *others), files, seeds, windows, exact)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{path}: is not a record of twolevel study") from None
