"""The options of ``twolevel run`` in a study's file: by name, with values of their type."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from als.techniques import spelled
from bls.machine.platform import Platform
from bls.options import BLS, POWER
from bridge.couplings import check_execution
from bridge.options.declared import RATE, SLURM_CONF
from bridge.options.slurm import SlurmOptions
from bridge.scenarios.conflicts import NOT_OF_CELLS, OF_ENGINE, REPLAY, SLURM_CELLS, UNRESIZED, WITHOUT_EFFECT
from bridge.scenarios.ready import decided
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError, Mention, Surface, in_table, leading, one_of, shown, shown_name
from traces.base.given_file import parse_toml
from traces.base.options import Choice, Option, OptionPlace, built, check, is_no_value, places
from traces.base.retired import unknown

if TYPE_CHECKING:
    from bridge.replay.chosen import SlurmChoice

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None  #: types of an option's value

#: An option and its value → file, table and key; ``("file", NAME)`` is the log of a workload.
Origins: TypeAlias = Mapping[tuple[str, Value], str]

_WORD = r"(?<![\w-]){}(?![\w-])"  #: a text that is not a part of a longer word
SEED = "seed"  #: not an option of cells: a study has seeds
BLS_OPTION, BLS_COMMAND_OPTION = "bls", "bls-command"  #: the scheduler: a policy, or a command instead
ALS_OPTION = "als"  #: the application technique; two spellings are the same value
BATCH_OPTION, ENGINE, SLURM = "batch", "engine", "slurm"  #: a cell's batch level: our engine, or the real Slurm
NAMED = ("name", "file", "source")  #: the options of the workload
LEVEL = "level"  #: the key of [batch] that selects the batch level
WORKLOAD_TABLE = "workload"  #: the table of the workload, also in files with flat names

#: Options of the configuration and run of Slurm, without effect on our engine.
OF_SLURM: Final = tuple(place.option.name for place in places(SlurmOptions) if place.option not in (SLURM_CONF, RATE))

_SAID = {bool: "true or false", int: "a whole number", float: "a number", str: "text", tuple: "a list of texts"}


_BATCH = OptionPlace(Option(name=BATCH_OPTION, default=ENGINE, help="Scheduler of a cell"), ("batch", LEVEL), ENGINE)


def _default(place: OptionPlace) -> Value:
    if place.option.name == BLS_OPTION:
        return BLS.default  # a cell that names the default policy is the same cell
    value: Value = place.default
    return value if isinstance(value, place.option.kind) or value is None else None


@cache
def known_options() -> Mapping[str, OptionPlace]:
    """The options of cells by their names on the command line, each with its table and key, and its default."""
    hidden = (*NOT_OF_CELLS, RATE.name)
    of_slurm = (place._replace(path=(SLURM, *place.path)) for place in places(SlurmOptions))
    every = {place.option.name: place for place in (*places(Scenario), _BATCH, *of_slurm)}
    return {name: one._replace(default=_default(one)) for name, one in every.items() if name not in hidden}


@cache
def parts() -> Mapping[str, Mapping[str, str]]:
    """The tables of a study that are parts of a scenario: their keys, and the option of each."""
    found = dict[str, dict[str, str]]()
    for name, place in known_options().items():
        part, key = place.path
        found.setdefault(part, {})[key] = name
    return found


@cache
def _keys() -> Mapping[str, str]:
    return {option: f"[{part}] {key}" for part, keys in parts().items() for key, option in keys.items()}


#: Options of a run that a study replaces by a key.
_KEEP: Final = {"tasks": "[study] keep = ['tasks']", "trace": "[study] keep without tasks"}


def in_study(mention: Mention) -> str:
    """A mention of an option as a key of a study's file, ``[batch] policy = 'sjf'``."""
    if mention.name in _KEEP:
        return _KEEP[mention.name]
    said = in_table(mention)
    name = mention.name.removeprefix("no-") if mention.given in ("True", "False") else mention.name
    return _keys().get(name, name) + said.removeprefix(name)


def spelling(text: str) -> Surface:
    """The spelling of options in errors about a study's file: as keys of parts if the file has any, else as names."""
    try:
        given = parse_toml(text, "")
    except InputError:
        return in_study
    tables = [one for name in ("run", "grid", "cell") for one in _several(given.get(name))]
    of_parts = {*parts()} - {WORKLOAD_TABLE}
    nested = any(not of_parts.isdisjoint(table) for table in (given, *tables))
    return in_study if nested or not any(tables) else in_table


def _several(given: object) -> list[Mapping[str, Any]]:
    return [one for one in (given if isinstance(given, list) else [given]) if isinstance(one, dict)]


class GivenOption(NamedTuple):
    """An option in a study's file."""

    option: str
    value: object
    where: str  # table and key


def entries(given: Mapping[str, Any], where: str) -> Iterator[GivenOption]:
    """The options of a table, perhaps grouped by parts, as ``batch.policy``. Raises InputError if a part has no such key."""
    for key, value in given.items():
        if key in parts() and isinstance(value, dict):
            yield from of_part(key, value, f"{where}{key}.")
        else:
            yield GivenOption(key, value, where + shown_name(key))


def once(given: Iterable[GivenOption]) -> Iterator[GivenOption]:
    """The same options. Raises InputError if one occurs twice, perhaps in two spellings."""
    seen: dict[str, str] = {}
    for one in given:
        if one.option in seen:
            raise InputError(f"{one.where}: the same option as {seen[one.option]}; allowed: one of them")
        seen[one.option] = one.where
        yield one


def of_part(part: str, given: Mapping[str, Any], where: str) -> Iterator[GivenOption]:
    """The options of a part of a scenario. Raises InputError if it has no such key."""
    keys = parts()[part]
    for key, value in given.items():
        if key not in keys:
            raise _unknown_key(part, key, f"{where}{shown_name(key)}")
        yield GivenOption(keys[key], value, f"{where}{key}")


def _unknown_key(part: str, key: str, where: str) -> InputError:
    # A key of another part, or a name on the command line, is named with its place.
    if others := [other for other, keys in parts().items() if key in keys]:
        return InputError(f"{where}: {key} belongs to [{others[0]}]")
    if key in _keys():
        return InputError(f"{where}: {key} is called '{_keys()[key]}' here")
    return unknown("key", key, parts()[part], where)


def shared_entries(given: Mapping[str, Any], part: str) -> Iterator[GivenOption]:
    """The options of a table that is a part of a scenario; none of several workloads. Raises InputError if a key is unknown."""
    table = given[part]
    if part == "workload":
        table = {key: value for key, value in table.items() if key not in NAMED} if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise InputError(f"[{part}]: {shown(table)}; allowed: a table")
    return of_part(part, table, f"[{part}] ")


def is_axis(entry: GivenOption) -> bool:
    """Whether a value of a part is a list of values for cells to combine; a list of lists if the option may be repeated."""
    kind, value = known_options()[entry.option].option.kind, entry.value
    return isinstance(value, list) and not (kind is tuple and all(isinstance(one, str) for one in value))


def column_name(option: str) -> str:
    """The column of an option in a table of results."""
    return option.replace("-", "_")


def checked_value(name: str, value: object, where: str) -> Value:
    """A value of the type of an option. Raises InputError if there is no such option, or the value is not allowed."""
    known = known_options()
    if name == SEED:
        raise InputError(f"{where}: a study has seeds: seeds in [study]")
    if name not in known:
        raise unknown("option of twolevel run", name, known, where)
    if name == BATCH_OPTION and value not in (ENGINE, SLURM):
        raise one_of("batch level", value, (ENGINE, SLURM), where)
    if is_no_value(value, known[name].option, known[name].default):
        return None
    found = value_of(known[name].option, value, where)
    return spelled(found) if name == ALS_OPTION and isinstance(found, str) else found


def value_of(option: Option[Any], value: object, where: str) -> Value:
    """A value of a file converted for an option; a time has its unit. Raises InputError if it has another type."""
    kind, value = option.kind, option.read(value, where)
    if value is None:
        return None
    if isinstance(option, Choice):
        value = option.named(value)
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if fits and isinstance(value, bool | int | float | str):
        return value
    number = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and number:
        try:
            return float(value)  # type: ignore[arg-type]
        except OverflowError:  # an integer beyond every float
            raise InputError(f"{where}: {shown(value)} is beyond any range") from None
    if kind is str and number:
        return str(value)  # a number of reservations
    if kind is tuple and isinstance(value, str) and value:
        return (value,)
    if kind is tuple and isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise InputError(f"{where}: {shown(value)}; allowed: {_SAID[kind]}")


_ORDINARY = ("all", "log", "none", "paper")  #: values that are also ordinary words in errors


def with_origin(error: str, given: Mapping[str, Value], origins: Origins, before: str = "") -> str:
    """An error of a cell, preceded by the place of the option or value that it names, or by ``before``."""
    option, rest = leading(error)
    if option is not None and (place := origins.get((option.name, given.get(option.name)))):
        return f"{place}: {option.said or rest.removeprefix(':').lstrip()}{rest * bool(option.said)}"
    error = before + error
    for name, value in given.items():
        texts = [text for text in (value if isinstance(value, tuple) else (value,)) if isinstance(text, str)]
        telling = (text for text in texts if text and text not in _ORDINARY)
        if (name, value) in origins and any(re.search(_WORD.format(re.escape(text)), error) for text in telling):
            return f"{origins[name, value]}: {error}"
    return error


def effects(given: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """The options that can change a result: those without their default values, in the order of their names."""
    known = known_options()
    without = (*WITHOUT_EFFECT, *(OF_ENGINE if given.get(BATCH_OPTION) == SLURM else OF_SLURM))
    return sorted((name, one) for name, one in given.items() if one != known[name].default and name not in without)


def older_effects(found: Iterable[tuple[str, Value]]) -> list[list[tuple[str, Value]]]:
    """The same as :func:`effects` of older versions, in which ``power`` was true or false, and ``power-of`` said the rest."""
    rest = dict(found)
    of = rest.pop(POWER.name, None)
    if of is None:
        return []
    working: dict[str, Value] = {"power-of": of} if of != POWER.bare else {}
    implied = working or any(known_options()[name].path[0] == POWER.name for name in rest)
    return [sorted((rest | working | on).items()) for on in ({POWER.name: True}, {}) if on or implied]


@dataclass(frozen=True)
class Drawn:
    """A cell's options for one seed."""

    scenario: Scenario  # without the workload, with the deciding policy
    slurm: "SlurmChoice | None" = None  # how Slurm decides, if it does
    machine: Platform | None = None  # of a site's slurm.conf, for either batch level


def drawn(given: Mapping[str, Value], seed: int, *, beside_techniques: bool, keep_decisions: bool = False) -> Drawn:
    """The options of a run, by name. ``beside_techniques``: other cells simulate applications, so those of recorded run times
    ignore options of applications. Raises InputError if a value is not allowed."""
    places_of = {name: place.path for name, place in known_options().items() if place.path[0] == SLURM}
    of_slurm = {path[1:]: given[name] for name, path in places_of.items() if name in given}
    by_slurm, slurm, machine = given.get(BATCH_OPTION) == SLURM, None, None
    if by_slurm or of_slurm:
        from bridge.replay.chosen import SlurmChoice, replay_options  # cells of our engine do not load replays

        slurm = built(SlurmChoice, of_slurm)
        machine = slurm.machine()
        check(REPLAY, {"platform": given.get("platform"), "slurm_conf": slurm.slurm_conf})
    if by_slurm:
        check(SLURM_CELLS, dict(effects(given)))
        given = {name: value for name, value in given.items() if name not in OF_ENGINE}
    scenario = decided(_scenario(given, seed, keep_decisions))
    check_execution(scenario.execution)
    if not scenario.application.simulated and beside_techniques:
        scenario = scenario.without_applications()
    check((UNRESIZED,), scenario)
    if by_slurm:
        scenario = replay_options(scenario)
    return Drawn(scenario, slurm if by_slurm else None, machine)


def _scenario(given: Mapping[str, Value], seed: int, keep_decisions: bool) -> Scenario:
    known = known_options()
    values = {
        known[name].path: value
        for name, value in given.items()
        if known[name].path[0] != SLURM and name != BATCH_OPTION and value is not None
    }
    return built(Scenario, values).with_options(seed=seed, keep_decisions=keep_decisions)
