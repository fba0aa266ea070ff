"""The options of ``twolevel run`` as a study's file gives them: by name, with values of their type."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from als.techniques import spelled
from bls.machine.platform import Platform
from bls.options import BLS, DECISIONS
from bridge.couplings import check_execution
from bridge.options.bundles import declaration
from bridge.options.declared import CERTIFICATE, LISTEN, RATE, TOKEN_FILE, WORKLOAD
from bridge.options.slurm import SlurmOptions
from bridge.replay.chosen import SlurmChoice, replay_options
from bridge.scenarios.conflicts import REPLAY, UNRESIZED
from bridge.scenarios.scenario import Scenario
from bridge.schedulers import decided
from traces.base.errors import InputError, Mention, Surface, in_table, one_of, shown, shown_name
from traces.base.given_file import parse_toml
from traces.base.options import Option, OptionPlace, built, check, places
from traces.base.retired import unknown

#: What an option's value may be.
Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None

#: The option that is no cell's: a study has seeds.
SEED = "seed"

#: Who schedules: a policy, or in its place a command.
BLS_OPTION, BLS_COMMAND_OPTION = "bls", "bls-command"

#: The application technique, of which two spellings are one value.
ALS_OPTION = "als"

#: Options that cannot change a result.
WITHOUT_EFFECT = ("coupling", "workers", "timeout")

#: A cell's batch level: our engine, or the real Slurm.
BATCH_OPTION, ENGINE, SLURM = "batch", "engine", "slurm"

#: What says which workload it is.
NAMED = ("name", "file", "source")

#: The key of [batch] that says it.
LEVEL = "level"

#: The table of the workload, which files with flat names have, too.
WORKLOAD_TABLE = "workload"

#: How our engine schedules: nothing of it is for Slurm. How Slurm is told and run: nothing of it is for our engine.
OF_ENGINE = (
    *(BLS_OPTION, BLS_COMMAND_OPTION, "backfill", "allocator", "estimates"),
    *("kill-at-walltime", "decision-cost"),
)
OF_SLURM = ("set", "settle", "phase", "topology", "priorities", "cleanup")

#: What a replay knows beside these. A cell of Slurm is given nothing else.
_REPLAYED = (
    *("select", "oversize", "platform", "cancelled", "slurm-conf", "als", "variation", "tasks-per-core", "lengths"),
    *(
        "applications",
        "overhead",
        "latency",
        "assignment",
        "network",
        "slack",
        "preset",
        "memory",
        "requests",
        "windows",
    ),
    *("failures", "on-failure", "max-attempts", "dependencies", "switches"),
)

#: Options of a scenario that no cell has: a study has seeds and workloads, keeps decisions, and no other hosts join its runs.
_NOT_HERE = (SEED, WORKLOAD.name, DECISIONS.name, LISTEN.name, TOKEN_FILE.name, CERTIFICATE.name)

_SAID = {bool: "true or false", int: "a whole number", float: "a number", str: "text", tuple: "a list of texts"}


@dataclass(frozen=True)
class RunOption:
    """An option of ``run`` that a cell may have; ``kind`` is bool, int, float, str, or tuple (of texts)."""

    name: str  # as on the command line, without its dashes: ``tasks-per-core``
    kind: type
    default: Value
    declared: Option[Any] | None


def kind_of(hint: Any) -> type:
    """The kind of an option that is annotated so."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        hint = next(one for one in get_args(hint) if one is not NoneType)
    return tuple if get_origin(hint) is list else hint


def _default(place: OptionPlace) -> Value:
    if place.option.name == BLS_OPTION:
        return BLS.default  # what is not said; a cell that says it by name is the same cell
    value: Value = place.default
    return value if isinstance(value, place.option.kind) or value is None else None


@cache
def known_options() -> Mapping[str, RunOption]:
    """Every option of ``run`` that says what is simulated, on what, how, by name; but the seed."""
    found = {}
    for place in places(Scenario):
        option = place.option
        if option.name not in _NOT_HERE:
            found[option.name] = RunOption(option.name, option.kind, _default(place), option)
    found[BATCH_OPTION] = RunOption(BATCH_OPTION, str, ENGINE, None)
    hints = get_type_hints(SlurmOptions, include_extras=True)
    for entry in fields(SlurmOptions):
        name, hint = entry.name.replace("_", "-"), hints[entry.name]
        if name != RATE.name:
            kind, default = kind_of(hint), cast(Value, entry.default)
            found[name] = RunOption(name, kind, () if default is None and kind is tuple else default, declaration(hint))
    return found


@cache
def parts() -> Mapping[str, Mapping[str, str]]:
    """The tables of a study that are parts of a scenario: their keys, and the option of each."""
    known, found = known_options(), dict[str, dict[str, str]]()
    for place in places(Scenario):
        if place.option.name in known:
            part, field = place.path
            found.setdefault(part, {})[field] = place.option.name
    found["batch"][LEVEL] = BATCH_OPTION
    found[SLURM] = {name.replace("-", "_"): name for name in ("slurm-conf", *OF_SLURM)}
    return found


@cache
def _keys() -> Mapping[str, str]:
    return {option: f"[{part}] {key}" for part, keys in parts().items() for key, option in keys.items()}


def in_study(mention: Mention) -> str:
    """A mention of an option as a key of a study's file, ``[batch] policy = 'sjf'``."""
    said = in_table(mention)
    name = mention.name.removeprefix("no-") if mention.given in ("True", "False") else mention.name
    return _keys().get(name, name) + said.removeprefix(name)


def spelling(text: str) -> Surface:
    """How errors about a study's file spell options: as keys of parts if the file has any, else by their names alone."""
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
    """An option as a study's file gives it."""

    option: str
    value: object
    where: str  # table and key


def entries(given: Mapping[str, Any], where: str) -> Iterator[GivenOption]:
    """The options of a table, which may be grouped by the parts of a scenario, as ``batch.policy``. Raises InputError if a
    part has no such key."""
    for key, value in given.items():
        if key in parts() and isinstance(value, dict):
            yield from of_part(key, value, f"{where}{key}.")
        else:
            yield GivenOption(key, value, where + shown_name(key))


def once(given: Iterable[GivenOption]) -> Iterator[GivenOption]:
    """The same options. Raises InputError if one is there twice, perhaps in two spellings."""
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
        return InputError(f"{where}: {key} is called {_keys()[key]} here")
    return unknown("key", key, parts()[part], where)


def shared_entries(given: Mapping[str, Any], part: str) -> Iterator[GivenOption]:
    """The options of a table that is a part of a scenario; nothing of workloads that are several tables. Raises InputError
    if it is no table, or has no such key."""
    table = given[part]
    if part == "workload":
        table = {key: value for key, value in table.items() if key not in NAMED} if isinstance(table, dict) else {}
    if not isinstance(table, dict):
        raise InputError(f"[{part}]: {shown(table)}; allowed: a table")
    return of_part(part, table, f"[{part}] ")


def is_axis(entry: GivenOption) -> bool:
    """Whether a value of a part is a list of values, which cells combine; of an option that may be repeated a list of lists."""
    kind, value = known_options()[entry.option].kind, entry.value
    return isinstance(value, list) and not (kind is tuple and all(isinstance(one, str) for one in value))


def column_name(option: str) -> str:
    """The column of an option in a table of results."""
    return option.replace("-", "_")


def checked_value(name: str, value: object, where: str) -> Value:
    """A value of the type of an option. Raises InputError if there is no such option, or it takes no such value."""
    known = known_options()
    if name == SEED:
        raise InputError(f"{where}: a study has seeds: seeds in [study]")
    if name not in known:
        raise unknown("option of twolevel run", name, known, where)
    if name == BATCH_OPTION and value not in (ENGINE, SLURM):
        raise one_of("batch level", value, (ENGINE, SLURM), where)
    found = value_of_kind(known[name].kind, value, where, known[name].declared)
    return spelled(found) if name == ALS_OPTION and isinstance(found, str) else found


def value_of_kind(kind: type, value: object, where: str, declared: Option[Any] | None = None) -> Value:
    """A value of a file as an option of a kind takes it; of an option that is ``declared`` as a time, a text as ``1ms``
    is the number that it stands for. Raises InputError if it is none."""
    if declared is not None:
        value = declared.read(value, where)
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


def effects(given: Mapping[str, Value]) -> list[tuple[str, Value]]:
    """What of some options can change a result: those that are not as they are by default, in the order of their names."""
    known = known_options()
    without = (*WITHOUT_EFFECT, *(OF_ENGINE if given.get(BATCH_OPTION) == SLURM else OF_SLURM))
    return sorted(
        (name, value) for name, value in given.items() if value != known[name].default and name not in without
    )


@dataclass(frozen=True)
class Drawn:
    """A cell's options for one seed."""

    scenario: Scenario  # without the workload, with the policy that decides
    slurm: SlurmChoice | None = None  # how Slurm decides, if it does
    machine: Platform | None = None  # of a site's slurm.conf, whoever decides


def drawn(given: Mapping[str, Value], seed: int, *, beside_techniques: bool, keep_decisions: bool = False) -> Drawn:
    """The options of a run, by name; those that are missing have their defaults. ``beside_techniques``: whether other
    cells simulate applications: then a cell of recorded run times is compared with them, and the options of
    applications are not its own. Raises InputError if a value cannot be."""
    keys = {entry.name: entry.name.replace("_", "-") for entry in fields(SlurmOptions)}
    slurm = SlurmChoice(**{key: given[name] for key, name in keys.items() if name in given})  # type: ignore[arg-type]
    machine = slurm.machine()
    check(REPLAY, {"platform": given.get("platform"), "slurm_conf": slurm.slurm_conf})
    by_slurm = given.get(BATCH_OPTION) == SLURM
    if by_slurm:
        given = _of_replay(given)
    scenario = decided(_scenario(given, seed, keep_decisions))
    check_execution(scenario.execution)
    if not scenario.application.simulated and beside_techniques:
        scenario = scenario.without_applications()
    check((UNRESIZED,), scenario)
    if by_slurm:
        scenario = replay_options(scenario)
    return Drawn(scenario, slurm if by_slurm else None, machine)


def _scenario(given: Mapping[str, Value], seed: int, keep_decisions: bool) -> Scenario:
    known = {place.option.name: place for place in places(Scenario)}
    values = {known[name].path: value for name, value in given.items() if name in known and value is not None}
    values |= {known[SEED].path: seed, known[DECISIONS.name].path: keep_decisions}
    return built(Scenario, values)


def _of_replay(given: Mapping[str, Value]) -> dict[str, Value]:
    # What of a cell of Slurm holds; what would be another experiment without it is refused.
    for name, _ in effects(given):
        if name not in (BATCH_OPTION, *OF_SLURM, *_REPLAYED):
            option = Mention(name, name.replace("-", "_"))
            raise InputError(
                f"{option}: not with {BATCH_OPTION} {SLURM}: a replay knows nothing of it; allowed: {', '.join(_REPLAYED)}"
            )
    return {name: value for name, value in given.items() if name not in OF_ENGINE}
