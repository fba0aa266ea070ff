"""The record study.json of a study's folder: the study, and the inputs and versions with which it was run."""

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
    """The content of study.json."""

    path: Path  # the file
    name: str
    text: str  # the study, in the form of a file
    folders: tuple[Path, ...]  # folders in which its files were searched
    files: Mapping[str, str]  # SHA-256 of each, by its name in the study
    seeds: tuple[int, ...]  # versions with which it was run
    windows: Mapping[str, tuple[int, ...]]  # begins of the windows of each workload, if each seed is one
    exact: bool = False  # whether nothing was random

    def study(self, data: tuple[Path, ...] = ()) -> Study:
        """The study; its files may be in further folders. Raises InputError if its folder is missing, or it is not valid."""
        folders = [folder for folder in (*self.folders, *data) if os.path.isdir(folder)]
        if not folders:
            gone = f"there is no folder {shown_path(self.folders[0])} any more"
            raise InputError(f"{self.path}: {gone}; name the folder of its files with {DATA}")
        try:
            study = parse_study(self.text, folders, self.name, stored=True)
            return replace(study, seeds=self.seeds, windows=self.windows, exact=self.exact)
        except InputError as error:
            raise InputError(f"{self.path}: {error.text}") from None


def drawn_in(folder: Path) -> set[str]:
    """The figures that ``twolevel`` has drawn of a study, by their paths in its folder."""
    return {name for name in ours_in(folder) if name.startswith(f"{FIGURES}/")}


def list_drawn(folder: Path, names: Iterable[str]) -> None:
    """List the figures in study.json."""
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
    """Read study.json. Raises InputError if the folder has none, or it has another format."""
    path, record = folder / RECORD, read_record(folder, RECORD, "study")
    found = record.get("format")
    if found != FORMAT:
        raise InputError(f"{path}: has format {shown(found)}; this twolevel reads format {FORMAT}")
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
