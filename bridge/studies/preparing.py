"""From a study to units that can be run: find files and compute checksums, read and select workloads, check options."""

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from hashlib import sha256
from pathlib import Path

from bls.machine.platform import Platform
from bls.workloads import given_workload, is_seeded, sample_path
from bls.workloads.selection import fit
from bls.workloads.workload import Workload
from bridge.options.declared import DATA
from bridge.options.output import RunOutput
from bridge.runs.afterwards import Afterwards
from bridge.scenarios.conflicts import check_used
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.remarks import machine_words
from bridge.scenarios.scenario import Scenario, given_platform, platform_for
from bridge.studies.executors.executor import Prepared, Unit
from bridge.studies.input import run_options as o
from bridge.studies.input.named_files import FileSums, find_file, is_path, located_value, names_in
from bridge.studies.replicates import nothing_drawn, replicate, with_windows
from bridge.studies.study import Cell, Study, WorkloadSource
from traces.base.errors import InputError, TwolevelError, shown_path
from traces.base.given_file import GivenFile

#: The options of the batch level that do not affect applications.
_BATCH_ONLY = ("bls", "bls-command", "backfill", "allocator", "slack", o.BATCH_OPTION, *o.OF_SLURM)

#: Number of cells up to which all are checked before anything is simulated; of more, the first cell with each value.
_ALL_CHECKED = 1000


#: Choice for cells without an application level (``bridge.scenarios.ready``), in the form of a cell's key: in another study
#: the same cell may have another machine.
_ON_LOGS_MACHINE: Mapping[str, o.Value] = {"platform": "log, if it names one"}


@dataclass(frozen=True)
class Inputs:
    """The files of a study."""

    logs: Mapping[str, Path]  # of each workload, by its name; the file of the function if a function makes it
    # mapping of str to (Path, str), every file, including logs, by the name that it was given: its path, and its SHA-256
    files: Mapping[str, tuple[Path, str]]
    # for each cell: of its options as they are written, and of the contents of its log and of the files that they name;
    # independent of their paths, and of the log's name
    keys: tuple[str, ...]
    older: tuple[tuple[str, ...], ...]  # for each cell: the keys that older versions may have given to it

    def begun(self, known: Collection[str]) -> "Inputs":
        """The same, but a cell has an older key if ``known``, the keys in a journal, contains that one only."""
        cells = zip(self.keys, self.older, strict=True)
        keys = (next((one for one in (key, *older) if one in known), key) for key, older in cells)
        return replace(self, keys=tuple(keys))


def find_inputs(study: Study) -> Inputs:
    """Find every file that a study names, and its checksum. Raises InputError if one is missing or cannot be read."""
    sums = FileSums()
    of_results = _files_of_results(study)
    logs = {one.name: workload_path(one, study) for one in study.workloads}
    files = {one.file: (logs[one.name], sums.of(logs[one.name])) for one in study.workloads}
    files |= {str(study.results[key]): (path, sums.of(path)) for key, path in of_results.items()}
    computed = dict(study.results) | {key: sums.of(path) for key, path in of_results.items()}
    keys, older = [], []
    by_text: dict[tuple[str, str], dict[str, tuple[Path, str]]] = {}
    for cell in study.cells:
        named: dict[str, tuple[Path, str]] = {}
        for option, text in cell.texts():
            if (option, text) not in by_text:
                by_text[option, text] = sums.named_by(option, text, study.folders)
            named |= by_text[option, text]
        files |= named
        given = cell.given if study.simulates_applications else {**_ON_LOGS_MACHINE, **cell.given}
        content = [
            files[cell.workload.file][1] + _function(cell.workload),
            sorted((name, one[1]) for name, one in named.items()),
            *([list(astuple(study.replicates))] if study.replicates.by_seed else []),
            *([sorted(computed.items())] if computed else []),
        ]
        effects = o.effects(given)
        keys.append(_key(effects, content))
        older.append(tuple(_key(one, content) for one in o.older_effects(effects)))
    return Inputs(logs, files, tuple(keys), tuple(older))


def _key(effects: Sequence[tuple[str, o.Value]], content: Sequence[object]) -> str:
    return sha256(json.dumps([effects, *content]).encode()).hexdigest()[:20]


def _files_of_results(study: Study) -> dict[str, Path]:
    # The files that [results] names, by their keys; they are read here, and their content is sent to whoever runs a cell.
    found: dict[str, Path] = {}
    for key, name in ((key, str(value)) for key, value in study.results.items() if is_path(key, str(value))):
        if (path := find_file(name, study.folders)) is None:
            raise InputError(f"[results] {key}: no file {shown_path(name)}; say in which folder it is with {DATA}")
        found[key] = path
    return found


def _afterwards(study: Study) -> Afterwards:
    try:
        return Afterwards.given({**study.results, **_files_of_results(study)})
    except InputError as error:
        raise InputError(study.error_text(error.text)) from None


def _check_afterwards(afterwards: Afterwards, scenario: ReadyScenario) -> None:
    try:
        afterwards.check(scenario)
    except InputError as error:
        raise InputError(f"[results]: {error.text}") from None


def needed_elsewhere(study: Study, inputs: Inputs) -> dict[Path, str]:
    """The files that the process of a cell reads, with their checksums. Workloads, platforms, maps and the files of results are
    read here and sent; a function that makes jobs may contain a plug-in, too."""
    here = {inputs.logs[one.name] for one in study.workloads if not is_seeded(one.file)}
    here.update(_files_of_results(study).values())
    there: set[Path] = set()
    for option, text in {given: None for cell in study.cells for given in cell.texts()}:
        named = {one.path for one in names_in(text, study.folders, whole=is_path(option, text))}
        (here if option in ("platform", "applications") else there).update(named)
    return {path: sum_ for path, sum_ in inputs.files.values() if path in there or path not in here}


def _function(source: WorkloadSource) -> str:
    # The function of a file that makes the jobs, with the colon; empty for a log.
    return f":{source.file.rpartition(':')[2]}" if is_seeded(source.file) else ""


def settled(study: Study) -> Study:
    """The study with the seeds of its windows; with one seed, and ``exact``, if nothing is random. Raises InputError."""
    study = with_windows(study, workload_path)

    def names(cell: Cell) -> dict[str, object]:  # as in the record of a run
        scenario = options_of(study, cell, study.seeds[0]).scenario
        return {**scenario.names(), **scenario.execution.names()}

    with contextlib.chdir(study.folders[0]):
        exact = nothing_drawn(study, names)
    return replace(study, seeds=study.seeds[:1], exact=True) if exact else study


def workload_path(source: WorkloadSource, study: Study) -> Path:
    """The file of a workload, or of the function that makes it. Raises InputError if it is in none of the folders."""
    if source.file == "sample":
        return Path(sample_path())
    file = source.file.removesuffix(_function(source))
    if (found := find_file(file, study.folders)) is None:
        origin = study.origins.get(("file", source.file), f"workload {source.name}")
        if is_seeded(source.file):
            raise InputError(f"{origin}: no file {shown_path(file)}; name its folder with {DATA}")
        try:
            GivenFile(source.file, "workload file")  # has the best error message
        except InputError as error:
            further = "or download a log of the archive with twolevel workload fetch"
            raise InputError(f"{origin}: {error.text}; name its folder with {DATA}, {further}") from None
        raise InputError(f"{origin}: {shown_path(source.file)} is not a file")
    return found


def options_of(study: Study, cell: Cell, seed: int) -> o.Drawn:
    """The options of a cell, with paths of files."""
    given = {name: located_value(name, value, study.folders) for name, value in cell.given.items()}
    keep_decisions = "decisions" in study.keep
    return o.drawn(given, seed, beside_techniques=study.simulates_applications, keep_decisions=keep_decisions)


class Preparation:
    """Makes units from cells and seeds. ``folder``: of the study; kept results go below it."""

    def __init__(self, study: Study, inputs: Inputs, folder: Path) -> None:
        self.study, self.inputs, self.folder = study, inputs, folder
        self._places: dict[tuple[object, ...], int] = {}
        self._drawn: dict[int, o.Drawn] = {}
        self._log: tuple[tuple[str, int, bool], Workload] | None = None
        self.prepared: dict[int, Prepared] = {}  # shared data of units, by index
        # Remarks on the machine of each, for the first seed, and the options of the checked cells.
        self.words: dict[int, list[str]] = {}
        self.options: dict[int, list[Scenario]] = {}
        self._checked: set[int] = set()
        self.afterwards = _afterwards(study)  # what is computed from each finished run

    def folder_of(self, cell: int, seed: int) -> Path | None:
        """The folder for the kept results of a cell and seed."""
        return self.folder / "cells" / self.study.names[cell] / f"seed-{seed}" if self.study.keep else None

    def _options(self, cell: int) -> o.Drawn:
        if cell not in self._drawn:
            try:
                self._drawn[cell] = options_of(self.study, self.study.cells[cell], self.study.seeds[0])
            except TwolevelError as error:
                raise self._of_cell(error, cell) from None
        return self._drawn[cell]

    def _of_cell(self, error: TwolevelError, cell: int) -> TwolevelError:
        where = o.with_origin(error.text, self.study.cells[cell].given, self.study.origins)
        said = f" (cell {cell}: {self.study.names[cell]})" if len(self.study.cells) > 1 else ""
        return type(error)(self.study.error_text(f"{where}{said}"))

    def _place(self, cell: int, seed: int) -> int:
        # Index of a cell's shared data; made at the first use. A log is the same for all seeds.
        source, chosen = self.study.cells[cell].workload, self._options(cell)
        jobs_of, platform = chosen.scenario.workload, chosen.scenario.machine.platform
        seed = seed if self._by_seed(source) else self.study.seeds[0]
        selection = jobs_of.select, jobs_of.oversize, jobs_of.preset, jobs_of.cancelled
        key = (source.name, seed, platform, *selection, chosen.machine)
        if key not in self._places:
            replayed = not self.study.simulates_applications
            try:
                given_platform(platform)  # check the file before a long log is read
                log = self._read(source, seed, jobs_of.cancelled)
                jobs, machine = self._jobs(source, log, chosen, seed, replayed=replayed)
            except TwolevelError as error:
                given, about = self.study.cells[cell].given, f"workload {source.name}: "
                text = o.with_origin(error.text, given, self.study.origins, about)
                raise type(error)(self.study.error_text(text)) from None
            place = self._places[key] = len(self.prepared)
            self.prepared[place] = Prepared(jobs, machine, log.job_id)
            if seed == self.study.seeds[0]:
                given_machine = chosen.machine or platform
                self.words[place] = machine_words(jobs, machine, given_machine, replayed=replayed)
        return self._places[key]

    def _by_seed(self, source: WorkloadSource) -> bool:
        # Whether each seed has its own jobs.
        return is_seeded(source.file) or self.study.replicates.by_seed

    def _jobs(
        self, source: WorkloadSource, log: Workload, chosen: o.Drawn, seed: int, *, replayed: bool
    ) -> tuple[Workload, Platform]:
        given, scenario = self.study.replicates, chosen.scenario
        if not given.length_ns:
            jobs, machine = scenario.jobs(log, replayed=replayed, machine=chosen.machine)
            return (replicate(jobs, log, machine.n_cores, given, (), seed, None) if given.by_seed else jobs), machine
        machine = chosen.machine or platform_for(scenario.machine.platform, log, replayed=replayed)
        fitting = fit(log, machine.n_cores, scenario.workload.oversize)
        begins, preset = self.study.windows[source.name], scenario.workload.preset
        return replicate(fitting, log, machine.n_cores, given, begins, seed, preset), machine

    def replications(self) -> dict[str, list[Workload]]:
        """The jobs of every prepared seed, by the name of the workload; empty if they are the same for all."""
        found: dict[str, list[Workload]] = {}
        if self.study.replicates.by_seed:
            for key, place in self._places.items():
                found.setdefault(str(key[0]), []).append(self.prepared[place].workload)
        return found

    def _read(self, source: WorkloadSource, seed: int, cancelled: bool) -> Workload:
        # The latest log is kept, for several selections from it.
        seed = seed if is_seeded(source.file) else self.study.seeds[0]
        name = f"{self.inputs.logs[source.name]}{_function(source)}"
        if self._log is None or self._log[0] != (name, seed, cancelled):
            self._log = ((name, seed, cancelled), given_workload(name, seed, cancelled=cancelled))
        return self._log[1]

    def check(self, cells: Sequence[int]) -> None:
        """Check cells before anything is simulated. Raises TwolevelError, which names the cell."""
        names = {name: o.column_name(name) for name in o.known_options()}
        try:
            check_used({key: cell.value(name) for name, key in names.items()} for cell in self.study.cells)
        except InputError as error:
            raise InputError(self.study.error_text(error.text)) from None
        seen: set[tuple[object, ...]] = set()
        for number, cell in enumerate(cells):
            one = self.study.cells[cell]
            new = {(one.workload.name, name, value) for name, value in one.given.items()} - seen
            if number >= _ALL_CHECKED and not new:
                continue
            seen |= new
            if cell in self._checked:
                continue
            self._checked.add(cell)
            chosen = self._options(cell)
            place, options = self._place(cell, self.study.seeds[0]), chosen.scenario
            if self._by_seed(one.workload):
                for seed in self.study.seeds[1:]:
                    self._place(cell, seed)  # so that errors appear before other cells run
            self.options.setdefault(place, []).append(options)
            ready = self.prepared[place]
            try:
                scenario = ReadyScenario.of(ready.workload, ready.platform, options, known_jobs=ready.known_jobs)
                if chosen.slurm is not None:
                    chosen.slurm.check(ready.platform)
                    if self.study.results:
                        raise InputError("[results]: not with the real Slurm: nothing is computed from a replay")
                else:
                    _check_afterwards(self.afterwards, scenario)
            except TwolevelError as error:
                raise self._of_cell(error, cell) from None

    def units(self, places: Sequence[int]) -> Iterator[Unit]:
        """Units by index (cell × number of seeds + index of the seed); those that share applications are neighbours."""
        seeds = self.study.seeds
        groups: dict[tuple[int, str], list[int]] = {}
        for place in places:
            one, seed = self.study.cells[place // len(seeds)], place % len(seeds)
            shared = sorted((name, value) for name, value in one.given.items() if name not in _BATCH_ONLY)
            groups.setdefault((seed, repr((one.workload.name, shared))), []).append(place)
        for (seed, group), members in groups.items():
            for place in members:
                yield self._unit(place, place // len(seeds), seeds[seed], f"{group} {seeds[seed]}")

    def _unit(self, place: int, cell: int, seed: int, group: str) -> Unit:
        study, chosen = self.study, self._options(cell)
        file = study.cells[cell].workload.file
        of_engine = {"observe": [], **chosen.scenario.execution.names()}
        formats = ("otf2",) if "trace" in study.keep else ()
        record = {
            **chosen.scenario.source(self.prepared[self._place(cell, seed)].workload),
            "workload": file,
            **({} if chosen.slurm else of_engine),
            "tasks_table": "tasks" in study.keep,
            **({"trace": list(formats) or False} if chosen.slurm else RunOutput().trace_names(formats)),
        }
        return Unit(
            place,
            self._place(cell, seed),
            replace(chosen.scenario, seed=seed),
            self.afterwards,
            study.metrics,
            study.keep,
            self.folder_of(cell, seed),
            record if study.keep else None,
            group,
            self.inputs.keys[cell],
            chosen.slurm,
            self.folder if chosen.slurm else None,
        )
