"""A study's file, ``study.toml`` (docs/reference/studies.md), and the equivalent file of ``twolevel grid``.

The tables of a scenario's parts, as ``[batch] policy``, have values of all cells; lists are combined into cells. ``[run]``,
``[grid]`` and ``[[cell]]`` accept the same options by their names on the command line.
"""

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from als.lengths import takes_variation
from als.options import VARIATION
from als.techniques import spelled as one_spelling
from als.techniques import split_techniques
from bls.machine.partitions import printable_name
from bls.options import POWER, SIGNALS
from bls.policies import reads_signals, split_names
from bridge.options.declared import DATA, VARIATIONS
from bridge.runs.afterwards import QUANTITIES
from bridge.runs.directory import power_words, under_present_names
from bridge.scenarios.conflicts import OF_ENGINE
from bridge.scenarios.scenario import RECORDED, Scenario
from bridge.studies.input import run_options as o
from bridge.studies.replicates import REPLICATION, Replicates, given_replicates
from bridge.studies.study import MOST_RUNS, Cell, ComparedOption, Study, WorkloadSource, every_combination, seeds_of
from traces.base.errors import InputError, Mention, one_of, parse_list, parse_real, parse_whole, shown, spelled
from traces.base.given_file import parse_toml, read_text
from traces.base.options import Implied, places

COMPARED = ("makespan_ns", "mean_wait_ns", "mean_bounded_slowdown")  #: the metrics compared by default

_TABLES = ("study", "run", "grid", "cell", "results", "compare", "cluster", *o.parts())
_STUDY = ("name", "description", "seeds", *REPLICATION, "metrics", "keep")
_CLUSTERS = ("slurm",)
_COMPARE = ("option", "base", "metrics", "drawn")
_DRAWN = ("ratio", "difference")

Table = Mapping[str, Any]


def load_study(path: str | Path, data: Sequence[str | Path] = ()) -> Study:
    """Read a study's file.

    Parameters
    ----------
    path : str or Path
        The file; its folder is searched for the files that it names.
    data : sequence of str or Path
        Further folders.

    Returns
    -------
    Study

    Raises
    ------
    InputError
        If the file cannot be used; the message begins with the file and the key.
    """
    text = read_text(path, "study file", "TOML")
    folders = [Path(path).resolve().parent]
    for folder in data:
        if not os.path.isdir(folder):
            raise InputError(f"{DATA}: {folder} is not a folder")
        folders.append(Path(folder).resolve())
    try:
        study = parse_study(text, folders, Path(path).stem)
    except InputError as error:
        raise InputError(f"{path}: {spelled(error.text, o.spelling(text))}") from None
    return replace(study, source=str(path), origins=_origins(parse_toml(text, ""), str(path)))


def parse_study(
    text: str, folders: Sequence[Path], name: str, where: str = Study.where, *, stored: bool = False
) -> Study:
    """A study from its text; ``name`` is its default name, ``where`` names keys in errors. A ``stored`` one may have options of
    older versions. Raises InputError as :func:`load_study`."""
    given = _under_present_names(parse_toml(text, "")) if stored else parse_toml(text, "")
    _check_keys(given, _TABLES, "")
    head = _table(given.get("study", {}), "[study]")
    _check_keys(head, _STUDY, "[study] ")
    shared = [one for part in given if part in o.parts() for one in o.shared_entries(given, part)]
    axes = [one for one in shared if o.is_axis(one)]
    of_all = o.entries(_table(given.get("run", {}), "[run]"), "[run] ")
    run = _options([*of_all, *(one for one in shared if one not in axes)])
    workloads = [_workload(one, where) for one, where in _numbered(given, "workload")]
    if not workloads:
        raise InputError("[workload]: missing; allowed: a table with source, or several [[workload]]")
    cells = tuple(Cell(log, {**run, **theirs, **ours}) for log, theirs in workloads for ours in _cells(given, axes))
    if stored:
        cells = tuple(replace(cell, given=_implied_power(cell.given)) for cell in cells)
    nothing = dict.fromkeys(name for cell in cells for name, value in cell.given.items() if value is None)
    cells = tuple(replace(cell, given={**nothing, **cell.given}) for cell in cells)  # one label for none and no option
    _check_slurm(given, cells)
    named = head.get("metrics", "all")
    metrics = None if named == "all" else tuple(_texts(named, "[study] metrics"))
    replicates = _replicates(head)
    return Study(
        name=_text(head.get("name", name), "[study] name"),
        description=_text(head.get("description", ""), "[study] description"),
        cells=cells,
        seeds=() if replicates.length_ns and "seeds" not in head else seeds_of(head.get("seeds", 1), "[study] seeds"),
        metrics=metrics,
        keep=tuple(_texts(head.get("keep", []), "[study] keep", empty=True)),
        comparisons=tuple(_comparison(one, where, metrics) for one, where in _numbered(given, "compare")),
        folders=tuple(folders),
        cluster=_clusters(_table(given.get("cluster", {}), "[cluster]")),
        text=text,
        results=_results(_table(given.get("results", {}), "[results]")),
        replicates=replicates,
        where=where,
    )


#: Options of older versions that changed the meaning of another option, perhaps of another table.
_TOGETHER = {"conservative": "backfill", "power-of": "power"}


def _under_present_names(given: Table) -> Table:
    # A study of an older version; metrics of finished runs are in [results] now.
    def now(tables: Any) -> Any:
        if isinstance(tables, dict):
            of_all = {key: run[key] for key, other in _TOGETHER.items() if key in run and other in tables}
            return under_present_names(
                tables | {key: of for key, of in of_all.items() if key not in tables}, typed=True
            )
        return [now(one) for one in tables]

    run = dict(_table(given.get("run", {}), "[run]"))
    power = dict(_table(given.get("power", {}), "[power]"))
    if "on" in power:
        words = power_words(power["on"], power.get("of"))
        power = {"of" if key == "on" else key: value for key, value in power.items()} | {"of": words}
    moved = [name for name in QUANTITIES if name != SIGNALS.name or not _reads_signals(given)]
    results = {name: table.pop(name) for table in (run, power) for name in moved if table.get(name)}
    found = {**given, "run": run, "power": power, "results": results | given.get("results", {})}
    found |= {"compare": [_compared_now(one) for one, _ in _numbered(given, "compare")]}
    return found | {key: now(found[key]) for key in ("run", "grid", "cell", "workload") if key in found}


def _implied_power(given: Mapping[str, o.Value]) -> dict[str, o.Value]:
    # In older versions "none" did not exclude other options about power.
    none = o.known_options()[POWER.name].default
    return {name: none if (name, value) == (POWER.name, none) else value for name, value in given.items()}


def _compared_now(given: Table) -> Table:
    if given.get("option") not in ("power", "power-of"):
        return given
    base = {"base": power_words(given["base"], None)} if "base" in given else {}
    return {**given, "option": "power", **base}


def _reads_signals(given: Table) -> bool:
    # Whether a cell's policy uses power; otherwise these options were for costs.
    tables = [given.get("run", {}), *(one for key in ("grid", "cell", "workload") for one, _ in _numbered(given, key))]
    batch, execution = (_table(given.get(part, {}), f"[{part}]") for part in ("batch", "execution"))
    named = [table.get("bls", "fcfs") for table in tables] + [batch.get("policy", "fcfs")]
    orders = [str(one) for value in named for one in (value if isinstance(value, list) else [value])]
    programs = ("bls-command" in table or "bls_command" in table for table in (*tables, execution))
    return any(programs) or any(map(reads_signals, orders))


def _check_slurm(given: Table, cells: Iterable[Cell]) -> None:
    # The nodes of a slurm.conf are also the machine of our engine; everything else is used by Slurm only.
    shared = o.shared_entries(given, o.SLURM) if o.SLURM in given else ()
    of_slurm = [one.option for one in shared if one.option in o.OF_SLURM]
    if of_slurm and not any(cell.given.get(o.BATCH_OPTION) == o.SLURM for cell in cells):
        raise InputError(f"[{o.SLURM}] {of_slurm[0]}: no cell runs Slurm; add [batch] level = '{o.SLURM}'")


def _replicates(head: Table) -> Replicates:
    where = "[study] {}".format
    length, warm_up, shake = (_duration(head[key], where(key)) if key in head else None for key in REPLICATION)
    return given_replicates(length, warm_up, shake, where)


def _duration(given: object, where: str) -> str:
    # A text, or a number as one: seconds of a duration.
    number = isinstance(given, int | float) and not isinstance(given, bool)
    return str(given) if number else _text(given, where)


def _results(given: Table) -> dict[str, str | bool]:
    _check_keys(given, tuple(QUANTITIES), "[results]")
    found: dict[str, str | bool] = {}
    for key in filter(given.__contains__, QUANTITIES):
        if QUANTITIES[key].option.kind is not bool:
            found[key] = _duration(given[key], f"[results] {key}")
        elif not isinstance(given[key], bool):
            raise InputError(f"[results] {key}: {shown(given[key])}; allowed: true or false")
        elif given[key]:
            found[key] = True
    return found


def _clusters(given: Table) -> dict[str, Table]:
    _check_keys(given, _CLUSTERS, "[cluster]")
    return {kind: _table(one, f"[cluster.{kind}]") for kind, one in given.items()}


def _check_keys(given: Table, known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise one_of("key", key, known, where.strip().rstrip(":"))


def _table(given: object, where: str) -> Table:
    if not isinstance(given, dict):
        raise InputError(f"{where}: {shown(given)}; allowed: a table")
    return given


def _numbered(given: Table, key: str) -> list[tuple[Table, str]]:
    # The tables of a key, each with its place: [grid] and [workload] may be single tables.
    found = given.get(key, [])
    if key == "workload" and isinstance(found, dict):  # other keys are options of all cells
        return [({name: value for name, value in found.items() if name in o.NAMED}, "[workload] ")]
    rows = [found] if isinstance(found, dict) and key == "grid" else found
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise InputError(f"{key}: {shown(found)}; allowed: tables, each as [[{key}]]")
    single = key == "grid" and len(rows) == 1
    return [(one, f"[{key}] " if single else f"[[{key}]] {k + 1}: ") for k, one in enumerate(rows)]


def _origins(given: Table, path: str) -> dict[tuple[str, o.Value], str]:
    # The place of every value in tables that have been checked; that of a cell before that of a grid, and so on.
    found: dict[tuple[str, o.Value], str] = {}

    def note(given: Iterable[o.GivenOption], *, lists: bool = False) -> None:
        for one in given:
            for value in one.value if lists and isinstance(one.value, list) else [one.value]:
                found.setdefault((one.option, o.checked_value(one.option, value, one.where)), f"{path}: {one.where}")

    for key in ("cell", "grid"):
        for table, where in _numbered(given, key):
            note(o.entries(table, where), lists=key == "grid")
    for table, where in _numbered(given, "workload"):
        for key in ("source", "file"):
            if key in table:
                found.setdefault(("file", table[key]), f"{path}: {where}{key}")
        note(o.entries({key: value for key, value in table.items() if key not in o.NAMED}, where))
    shared = [one for part in given if part in o.parts() for one in o.shared_entries(given, part)]
    note((one for one in shared if o.is_axis(one)), lists=True)
    note(one for one in shared if not o.is_axis(one))
    note(o.entries(given.get("run", {}), "[run] "))
    return found


def _text(given: object, where: str) -> str:
    if not isinstance(given, str):
        raise InputError(f"{where}: {shown(given)}; allowed: text")
    return given


def _texts(given: object, where: str, *, empty: bool = False) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given) or not (given or empty):
        raise InputError(f"{where}: {shown(given)}; allowed: a list of names")
    if len(set(given)) < len(given):
        raise InputError(f"{where}: {shown(given)} has one twice")
    return given


def _options(given: Iterable[o.GivenOption]) -> dict[str, o.Value]:
    return {one.option: o.checked_value(*one) for one in o.once(given)}


def _workload(given: Table, where: str) -> tuple[WorkloadSource, dict[str, o.Value]]:
    key = "source" if "source" in given else "file"
    if "source" in given and "file" in given:
        raise InputError(f"{where}file: not with source, which is the same; allowed: one of them")
    if key not in given:
        raise InputError(f"{where}source: missing; allowed: a log, 'sample', or FILE.py:NAME")
    file = _text(given[key], f"{where}{key}")
    stem = "".join(letter if letter.isprintable() else "?" for letter in Path(file).name.partition(".")[0])
    name = printable_name(f"{where}name", given.get("name", stem[:100] or "log"))
    options = {key: value for key, value in given.items() if key not in o.NAMED}
    return WorkloadSource(name, file), _options(o.entries(options, where))


def _cells(given: Table, shared: Sequence[o.GivenOption]) -> Iterator[dict[str, o.Value]]:
    # ``shared``: lists that all grids have.
    grids, single = _numbered(given, "grid"), _numbered(given, "cell")
    if not grids and not single and not shared:
        yield {}
    for grid, where in grids or [({}, "[grid] ")] * bool(shared):
        if not grid and not shared:
            raise InputError(f"{where.strip()}: empty; allowed: options of twolevel run, each with a list of values")
        axes = {one.option: _axis(*one) for one in o.once((*shared, *o.entries(grid, where)))}
        if (cells := math.prod(map(len, axes.values()))) > MOST_RUNS:
            raise InputError(f"{where.strip()}: {cells} combinations; allowed: up to {MOST_RUNS}")
        both = len(axes.get(o.BATCH_OPTION, ())) > 1
        yield from _each_once(every_combination(axes)) if both else every_combination(axes)
    for one, where in single:
        yield _options(o.entries(one, where))


def _each_once(combinations: Iterator[dict[str, o.Value]]) -> Iterator[dict[str, o.Value]]:
    # In a grid of both batch levels, options for the other level do not multiply the cells of a level.
    seen = set()
    for given in combinations:
        not_theirs = OF_ENGINE if given[o.BATCH_OPTION] == o.SLURM else o.OF_SLURM
        cell = {name: value for name, value in given.items() if name not in not_theirs}
        if (key := tuple(cell.items())) not in seen:
            seen.add(key)
            yield cell


def _axis(name: str, values: object, where: str) -> list[o.Value]:
    if not isinstance(values, list):
        values = [values]
    if not values:
        raise InputError(f"{where}: empty; allowed: one value or more")
    axis = [o.checked_value(name, value, where) for value in values]
    if len(set(axis)) < len(axis):
        raise InputError(f"{where}: {shown(values)} has one twice")
    return axis


def _comparison(given: Table, where: str, metrics: tuple[str, ...] | None) -> ComparedOption:
    _check_keys(given, _COMPARE, where.strip())
    if "option" not in given:
        raise InputError(f"{where}option: missing; allowed: an option that varies")
    part, _, key = _text(given["option"], f"{where}option").partition(".")
    option = o.parts().get(part, {}).get(key, part + f".{key}" * bool(key))
    if "base" not in given:
        raise InputError(f"{where}base: missing; allowed: a value of {Mention(option, option.replace('-', '_'))}")
    base = o.checked_value(option, given["base"], f"{where}base")
    usual = COMPARED if metrics is None else tuple(name for name in COMPARED if name in metrics) or metrics
    chosen = _texts(given["metrics"], f"{where}metrics") if "metrics" in given else usual
    if (drawn := given.get("drawn", "ratio")) not in _DRAWN:
        raise InputError(f"{where}drawn: {shown(drawn)}; allowed: {' or '.join(_DRAWN)}")
    return ComparedOption(option, base, tuple(chosen), drawn)


def grid_text(
    workload: str,
    bls: str,
    als: str,
    variation: str | None,
    seeds: str | None,
    shared: Mapping[str, Any],
    replicate: str | None = None,
    warmup: str | None = None,
    shake: str | None = None,
) -> str:
    """The text of a study of one workload that keeps the jobs. Lists are separated by commas; ``shared["seed"]`` counts if
    ``seeds`` is None. Raises InputError if a list is empty, has a value twice, or has no number."""
    lists = {"bls": bls, "backfill": shared["backfill"], "als": als, "variation": variation}
    for name, text in lists.items():
        if text is not None:
            parse_list(text, f"--{name}")
    techniques = [one_spelling(one) for one in split_techniques(als)]
    if variation is None:
        varied = shared["applications"] is not None or takes_variation(shared["lengths"] or "")
        variation = VARIATIONS.default if varied and set(techniques) != {RECORDED} else "0"
    try:
        variations = [parse_real(text) for text in _words(variation)]
    except ValueError:
        raise InputError(f"{VARIATION}: {shown(variation)}; allowed: numbers separated by commas") from None
    if infinite := [value for value in variations if not math.isfinite(value)]:
        raise InputError(f"{VARIATION}: {infinite[0]}; allowed: {VARIATION.limits}")
    axes: dict[str, list[Any]] = {"bls": split_names(bls), "backfill": _words(shared["backfill"])}
    axes |= {"als": techniques, "variation": variations}
    for name, values in axes.items():
        if len(set(values)) < len(values):
            raise InputError(f"--{name}: {shown(','.join(map(str, values)))} has one twice")
    given_replicates(replicate, warmup, shake, "--{}".format)
    chosen: Sequence[int] = [shared["seed"]]
    if seeds is not None:
        if shared["seed"]:
            raise InputError(f"--seed {shared['seed']}: not with --seeds, which gives all seeds; allowed: one of them")
        word = seeds.strip()
        number = word.isascii() and word.isdecimal() and len(seeds) < 19
        chosen = seeds_of(parse_whole(word) if number else seeds, "--seeds")
    lines = [
        "[study]",
        *([f"seeds = {_toml(list(chosen))}"] if replicate is None or seeds is not None else []),
        *(f"{key} = {_toml(text)}" for key, text in zip(REPLICATION, (replicate, warmup, shake), strict=True) if text),
        'keep = ["jobs"]',
    ]
    tables: dict[str, dict[str, Any]] = {"workload": {"source": workload}}
    for place in places(Scenario):
        key, (part, *names) = place.option.key, place.path
        given = axes.get(key, shared.get(key))
        default = None if isinstance(place.default, Implied) else place.default
        if names and given not in (None, (), default):
            tables.setdefault(part, {})[names[0]] = given
    for part, table in tables.items():
        lines += ["", f"[{part}]", *(f"{name} = {_toml(given)}" for name, given in table.items())]
    return "\n".join([*lines, ""])


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _toml(value: object) -> str:
    # JSON's texts, numbers, booleans and lists of these are valid TOML, except for DEL, which JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
