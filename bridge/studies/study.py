"""A study: cells, seeds, and the tables to keep. A cell is a workload and the options of a run."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import product
from pathlib import Path
from urllib.parse import quote

from bls.options import SELECT
from bridge.scenarios.conflicts import WITHOUT_EFFECT
from bridge.scenarios.scenario import RECORDED
from bridge.standard_error import on_command_line
from bridge.studies.input import run_options as o
from bridge.studies.replicates import Replicates
from traces.base.errors import InputError, Mention, listed, one_of, shown, spelled, whole
from traces.base.options import SEED
from traces.figures.study.combinations import batch_label
from traces.intervals import OPEN, parse_intervals

#: Tables that may be kept of a cell and seed besides its metrics, and the file that ``run`` writes each into.
KEEP = {
    "jobs": "jobs.parquet",
    "tasks": "tasks.parquet",
    "nodes": "nodes.parquet",
    "decisions": "decisions.parquet",
    "trace": "trace/traces.otf2",
}

ALWAYS = ("bls", "backfill", "als", "variation")  #: options that every table of results has as its first columns
_PLUG_IN_FILE = re.compile(r"[^,:()]*\.py:")  #: the file of a plug-in, alone or among the candidates of a selection
_FOLDERS = re.compile(r"[^\s'\"]*/")  #: the base folder of files that a command line names
_LONGEST_WORD, _LONGEST_NAME = 80, 160  #: longest name of a policy in the name of a folder, and of a folder

_MOST_SEEDS = 100_000

MOST_RUNS = 10_000_000  #: cells × seeds


@dataclass(frozen=True)
class WorkloadSource:
    """A workload of a study."""

    name: str  # in the results
    file: str  # a log's name, as given, or ``sample``


@dataclass(frozen=True, eq=False)
class Cell:
    """A workload and the options given for it."""

    workload: WorkloadSource
    given: Mapping[str, o.Value]  # by the name of the option; missing ones have their defaults

    def value(self, option: str) -> o.Value:
        """The value of an option; instead of the policy the command of a scheduler, or ``slurm``, if one of these decides."""
        if option in (o.BLS_OPTION, "backfill") and self.given.get(o.BATCH_OPTION) == o.SLURM:
            return o.SLURM
        if option == o.BLS_OPTION and (command := self.given.get(o.BLS_COMMAND_OPTION)) is not None:
            return command
        return self.given.get(option, o.known_options()[option].default)

    def text(self, option: str) -> str:
        """The value of an option as a text: ``none`` if it is given and None, empty if it is None by default."""
        value = self.value(option)
        return "" if value is None and option not in self.given else _text(value)

    @cached_property
    def same(self) -> str:
        """A text that is equal for equal cells: it contains everything that is not default."""
        return json.dumps([self.workload.name, o.effects(self.given)], ensure_ascii=False)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every option and text of it that may name a file."""
        for name, value in self.given.items():
            if isinstance(value, str):
                yield name, value
            elif isinstance(value, tuple):
                yield from ((name, one) for one in value)


@dataclass(frozen=True)
class ComparedOption:
    """An option whose values are compared with one of them."""

    option: str
    base: o.Value  # the value with which the others are compared
    metrics: tuple[str, ...]
    drawn: str = "ratio"  # content of its figure; a ratio if there is one


@dataclass(frozen=True, eq=False)
class Study:
    """The description of a study. Raises InputError if there is nothing to run, or two cells would use the same folder."""

    name: str
    description: str
    cells: tuple[Cell, ...]  # all different
    # each cell is run for each seed; a job has the same tasks in all cells of one seed (common random numbers)
    seeds: tuple[int, ...]
    metrics: tuple[str, ...] | None  # metrics in the results; None: all
    keep: tuple[str, ...]  # of :data:`KEEP`: further tables written for each cell and seed
    comparisons: tuple[ComparedOption, ...]  # empty: every option that varies, with its first value
    folders: tuple[Path, ...]  # in which files are searched, in this order
    cluster: Mapping[str, Mapping[str, object]]  # settings of clusters, by kind
    text: str  # the study in the form of a file (``study_file``), needed to repeat it
    source: str = ""  # that file, for errors; empty if there is no file
    origins: o.Origins = field(default_factory=dict)  # place of each value in that file; empty if there is no file
    # the meaning of the seeds; with windows of a log, no seeds means all windows
    replicates: Replicates = Replicates()  # noqa: RUF009  # frozen
    # for each workload, by its name, the begins of its windows, instants of the log (ns); empty while unknown
    windows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    exact: bool = False  # whether nothing is random, so that one seed is enough (``preparing.settled``)
    # computed from each finished run, by the names of ``bridge.runs.afterwards.QUANTITIES``
    results: Mapping[str, str | bool] = field(default_factory=dict)
    where: str = "[study] {}"  # the name of a key of its head in errors

    def __post_init__(self) -> None:
        if not self.cells:
            raise InputError("the study has no cell")
        if not self.seeds and not self.replicates.length_ns:
            raise InputError("the study has no seed")
        if self.replicates.length_ns and any(cell.value("select") != SELECT.default for cell in self.cells):
            replicate, select = map(self.where.format, ("replicate", "select"))
            select = select.removeprefix("[study] ")  # it is in [run]
            raise InputError(f"{replicate}: not with {select}, as every window of a log is a replication; allowed: all")
        if len(self) > MOST_RUNS:
            raise InputError(f"the study has {len(self)} cells with seeds; allowed: up to {MOST_RUNS}")
        for word in self.keep:
            if word not in KEEP:
                raise one_of("thing to keep", word, KEEP, "[study] keep")
        files: dict[str, str] = {}
        for cell in self.cells:
            if files.setdefault(cell.workload.name, cell.workload.file) != cell.workload.file:
                raise InputError(f"[[workload]]: two have the name {shown(cell.workload.name)}; name them differently")
        if pair := _alike([cell.same for cell in self.cells]):
            cell = self.cells[pair[1]]
            said = ", ".join([cell.workload.name, *(f"{name} {_text(value)}" for name, value in cell.given.items())])
            same = f"cells {pair[0]} and {pair[1]} are the same, and would use the same folder"
            raise InputError(f"{same}: {said}; leave one of them out")
        for one in self.comparisons:
            option = Mention(one.option, o.column_name(one.option))
            values = {cell.value(one.option) for cell in self.cells}
            if len(values) < 2:
                same = f"{option} is the same in all cells"
                raise InputError(f"[[compare]] option: {same}; allowed: an option that varies")
            if one.base not in values:
                lacks, allowed = f"no cell has this value of {option}", listed(sorted(map(str, values)))
                raise InputError(f"[[compare]] base: {shown(one.base)}: {lacks}; allowed: {allowed}")
        if self.keep and (pair := _alike([name.lower() for name in self.names])):  # some file systems ignore case
            same = f"the same name {shown(self.names[pair[1]])} and use the same folder"
            raise InputError(f"cells {pair[0]} and {pair[1]} would have {same}; name their plug-ins differently")

    def __len__(self) -> int:
        """The number of runs: cells × seeds."""
        return len(self.cells) * len(self.seeds)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The options that are columns of the results: the usual ones, and all options given for some cell."""
        without = (*WITHOUT_EFFECT, o.BLS_COMMAND_OPTION)  # the latter is shown as the policy
        given = dict.fromkeys(name for cell in self.cells for name in cell.given if name not in without)
        return (*ALWAYS, *(name for name in given if name not in ALWAYS))

    @cached_property
    def varied(self) -> tuple[str, ...]:
        """The options that differ between cells."""
        return tuple(name for name in self.columns if len({cell.value(name) for cell in self.cells}) > 1)

    @cached_property
    def workloads(self) -> tuple[WorkloadSource, ...]:
        """Each workload once, in order."""
        return tuple({cell.workload.name: cell.workload for cell in self.cells}.values())

    @cached_property
    def simulates_applications(self) -> bool:
        """Whether some cell simulates applications."""
        return any(cell.value("als") != RECORDED for cell in self.cells)

    def spelled(self, text: str) -> str:
        """The text; options that it mentions are spelled as keys if the study has a file, otherwise as on the command line."""
        return spelled(text, o.spelling(self.text)) if self.origins else on_command_line(text)

    def error_text(self, text: str) -> str:
        """The same for an error, preceded by the study's file."""
        found = self.spelled(text)
        return found if found.startswith(self.source) else f"{self.source}: {found}"

    @cached_property
    def of_slurm(self) -> bool:
        """Whether the real Slurm decides in some cell."""
        return any(cell.given.get(o.BATCH_OPTION) == o.SLURM for cell in self.cells)

    @cached_property
    def policy_says_batch(self) -> bool:
        """Whether the policy distinguishes Slurm's cells from ours: not if ours use the policy ``slurm``, too."""
        ours = [cell for cell in self.cells if cell.given.get(o.BATCH_OPTION) != o.SLURM]
        labels = {batch_label(str(cell.value(o.BLS_OPTION)), str(cell.value("backfill"))) for cell in ours}
        return o.SLURM not in labels

    @cached_property
    def names(self) -> list[str]:
        """The name of each cell's folder: ``sjf+easy-gss-0.25``, with the workload and all else that varies."""
        without = (*ALWAYS, *self._of_workloads, *[o.BATCH_OPTION] * self.policy_says_batch)
        further = [name for name in self.varied if name not in without]
        return [self._cell_name(cell, further) for cell in self.cells]

    @cached_property
    def _of_workloads(self) -> set[str]:
        # Options that follow from the workload, and so need not be named.
        values: dict[tuple[str, str], set[o.Value]] = {}
        for cell in self.cells:
            for name in self.varied:
                values.setdefault((name, cell.workload.name), set()).add(cell.value(name))
        several = {name for (name, _), found in values.items() if len(found) > 1}
        return set(self.varied) - several

    def _cell_name(self, cell: Cell, further: Sequence[str]) -> str:
        decides = str(cell.value(o.BLS_OPTION))
        if cell.given.get(o.BLS_COMMAND_OPTION) is not None:
            decides = _FOLDERS.sub("", decides)
        batch = batch_label(short_word(decides), str(cell.value("backfill")))
        words = [batch, short_word(str(cell.value("als"))), _number(float(cell.value("variation") or 0.0))]  # type: ignore[arg-type]
        if len(self.workloads) > 1:
            words.insert(0, short_word(cell.workload.name))
        words += [f"{name}={short_word(cell.text(name))}" for name in further]
        return _short("-".join(words), _LONGEST_NAME)


def _alike(words: Sequence[str]) -> tuple[int, int] | None:
    # The places of the first two equal words.
    seen: dict[str, int] = {}
    for place, word in enumerate(words):
        if (other := seen.setdefault(word, place)) != place:
            return other, place
    return None


def _text(value: o.Value) -> str:
    if isinstance(value, tuple):
        return ";".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return _number(value) if isinstance(value, float) else "none" if value is None else str(value)


def _number(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def short_word(name: str) -> str:
    """A name as part of a file name; of a plug-in ``FILE.py:NAME`` only NAME."""
    return _short(quote(_PLUG_IN_FILE.sub("", name), safe=" +-=,:()*;"), _LONGEST_WORD)


def _short(word: str, most: int) -> str:
    return word if len(word) <= most else f"{word[: most - 9]}…{sha256(word.encode()).hexdigest()[:8]}"


def every_combination(axes: Mapping[str, Sequence[o.Value]]) -> Iterator[dict[str, o.Value]]:
    """Every combination of the values of some options, the first slowest."""
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def seeds_of(given: object, where: str) -> tuple[int, ...]:
    """Read seeds: their number, from 0; a list; or ``0-4 9``. Raises InputError for none, or one that occurs twice."""
    if isinstance(given, int) and not isinstance(given, bool):
        return tuple(range(whole(where, given, 1, _MOST_SEEDS)))
    said = given
    if isinstance(given, str):
        intervals = parse_intervals(given, where, example="0-4 9")
        if intervals and intervals[-1][1] == OPEN:
            raise InputError(f"{where}: {shown(given)} has no end; allowed: e.g. 0-4 9")
        if sum(hi - lo for lo, hi in intervals) > _MOST_SEEDS:
            raise InputError(f"{where}: {shown(given)}: too many; allowed: up to {_MOST_SEEDS}")
        given = [seed for lo, hi in intervals for seed in range(lo, hi)]
    if not isinstance(given, list | tuple) or not given:
        raise InputError(f"{where}: {shown(said)}; allowed: a number of seeds, a list of seeds, or as '0-4 9'")
    seeds = tuple(SEED.check(seed, where) for seed in given)
    if len(set(seeds)) < len(seeds):
        raise InputError(f"{where}: a seed occurs twice; allowed: each once")
    if len(seeds) > _MOST_SEEDS:
        raise InputError(f"{where}: {len(seeds)} of them; allowed: up to {_MOST_SEEDS}")
    return seeds


def option_column(cells: Sequence[Cell], option: str) -> list[object]:
    """The values of an option as a column: numbers as numbers, lists as texts, None as ``Cell.text``."""
    values = [cell.value(option) for cell in cells]
    numbers = all(isinstance(value, bool | int | float) for value in values)
    known = not any(isinstance(value, float) and math.isnan(value) for value in values)
    return list(values) if numbers and known else [cell.text(option) for cell in cells]
