"""The settings of Slurm's multifactor priority, given in the policy's name, in a TOML file, or both.

``multifactor:age=1000,fairshare=2000,max_age=14d`` gives settings one by one; ``multifactor:config=FILE.toml`` reads settings,
and tables, from a file; settings in the name take precedence over those in the file::

    fairshare = 2000            # settings, as in multifactor:KEY=VALUE
    max_age = "7d"

    [[accounts]]                # lists of tables
    name = "physics"
    shares = 40

    [[users]]
    number = 17
    account = "physics"
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bls.machine.platform import MAX_CORES, from_keys
from bls.policies.multifactor.tree import Account, AccountTree, Row, User
from traces.base.errors import InputError, one_of, parse_real, parse_whole, real, shown, whole
from traces.base.given_file import check_keys, list_of_tables, parse_toml, read_text
from traces.base.time import MAX_NS, NS_PER_S, format_ns, parse_duration_ns

#: The factors that have a weight. ``cpu``, ``node`` and ``gpu`` are Slurm's TRES.
WEIGHTS = ("age", "assoc", "fairshare", "size", "partition", "qos", "cpu", "node", "gpu")

ALGORITHMS = ("fair-tree", "classic")

_DAY_NS = 86400 * NS_PER_S
_MAX_WEIGHT, _MAX_BILLING = 2.0**32 - 1, 10**6
_FLAGS = ("favor_small", "small_relative_to_time")
# Durations: the key of a setting is its field without the unit. For some, "none" is 0.
_DURATIONS = ("max_age", "half_life", "calc_period", "reset")
_MAY_BE_NONE = ("half_life", "reset")

#: The keys of settings, in a name and at the top of a file.
SETTINGS = (*WEIGHTS, *_DURATIONS, "algorithm", "dampening", *_FLAGS, "cores_per_node", "others")


@dataclass(frozen=True)
class PartitionPart(Row):
    """A partition's part in the priority."""

    number: int  # as in the workload
    priority: int = 0  # PriorityJobFactor, 0 to 2**32 - 1; the factor is this / the highest of all partitions
    cores: int | None = None  # cores to which TRES factors are relative; None: those of the machine
    gpus: int | None = None  # the same, of GPUs


@dataclass(frozen=True)
class Qos(Row):
    """A quality of service: its number in the workload, and its priority as in :class:`PartitionPart`."""

    number: int
    priority: int = 0


@dataclass(frozen=True)
class Billing:
    """Weights of amounts in the usage of a running job, as TRESBillingWeights. Raises InputError if one is out of range or
    not in whole thousandths, or both are 0; the message begins with its name."""

    cores: float = 0.0  # of a core, 0 to 10**6
    gpus: float = 0.0  # of a GPU

    def __post_init__(self) -> None:
        for name in ("cores", "gpus"):
            value = real(name, getattr(self, name), 0.0, _MAX_BILLING)
            if round(1000 * value) / 1000 != value:
                raise InputError(f"{name}: {value!r} is out of range; allowed: whole thousandths")
        if self.cores == self.gpus == 0.0:
            raise InputError("cores: 0, and gpus; allowed: a weight above 0 for one of them")

    def whole(self) -> tuple[int, int]:
        """Weights of a core and of a thousandth of a GPU, as whole numbers without a common divisor. Usage is relative, so that
        only their ratio matters, and sums of whole numbers are exact in float64."""
        core, milli = 1000 * round(1000 * self.cores), round(1000 * self.gpus)
        divisor = math.gcd(core, milli)
        return core // divisor, milli // divisor


@dataclass(frozen=True)
class Multifactor:
    """The settings of Slurm's priority/multifactor plugin; :mod:`bls.policies.multifactor.priority` describes their effects.
    Raises InputError if a value is out of range, or a partition or QOS is given twice; the message begins with its name."""

    # weights, 0 to 2**32 - 1, all 0 by default: PriorityWeight… and, for cpu, node and gpu, PriorityWeightTRES
    age: float = 0.0
    assoc: float = 0.0
    fairshare: float = 0.0
    size: float = 0.0
    partition: float = 0.0
    qos: float = 0.0
    cpu: float = 0.0
    node: float = 0.0
    gpu: float = 0.0
    max_age_ns: int = 7 * _DAY_NS  # PriorityMaxAge: 1 ns to 2**62, 7 days by default
    half_life_ns: int = 7 * _DAY_NS  # PriorityDecayHalfLife: 0 (usage does not decay) to 2**62, 7 days by default
    calc_period_ns: int = 300 * NS_PER_S  # PriorityCalcPeriod: 1 s to 30 days, 5 minutes by default
    # as PriorityUsageResetPeriod, but from instant 0 on, not by the calendar: 0 (never) or a multiple of the period
    reset_ns: int = 0
    algorithm: str = "fair-tree"  # ``fair-tree`` or ``classic`` (NO_FAIR_TREE)
    dampening: float = 1.0  # FairShareDampeningFactor, of the classic algorithm: 1 to 65533
    favor_small: bool = False  # PriorityFavorSmall
    small_relative_to_time: bool = False  # the flag of this name
    cores_per_node: int = 1  # a job, or the machine, has cores / cores_per_node nodes, rounded up
    tree: AccountTree = field(default_factory=AccountTree)  # the associations
    partitions: tuple[PartitionPart, ...] = ()  # others have factor 0
    qos_levels: tuple[Qos, ...] = ()  # others have factor 0
    billing: Billing = Billing(cores=1.0)  # what usage counts
    source: str = field(default="multifactor", repr=False)  # their origin, for messages

    def __post_init__(self) -> None:
        for name in WEIGHTS:
            object.__setattr__(self, name, real(name, getattr(self, name), 0.0, _MAX_WEIGHT))
        for name, lowest, highest in (
            ("max_age", 1, MAX_NS),
            ("half_life", 0, MAX_NS),
            ("calc_period", NS_PER_S, 30 * _DAY_NS),
            ("reset", 0, MAX_NS),
        ):
            if not lowest <= whole(name, getattr(self, f"{name}_ns"), 0, MAX_NS) <= highest:
                given, allowed = getattr(self, f"{name}_ns"), f"{format_ns(lowest)} to {format_ns(highest)}"
                raise InputError(f"{name}: {format_ns(given)} is out of range; allowed: {allowed}")
        if self.reset_ns % self.calc_period_ns:
            reset, period = format_ns(self.reset_ns), format_ns(self.calc_period_ns)
            raise InputError(f"reset: {reset} is no multiple of calc_period; allowed: multiples of {period}")
        if self.algorithm not in ALGORITHMS:
            raise one_of("algorithm", self.algorithm, ALGORITHMS, "algorithm")
        object.__setattr__(self, "dampening", real("dampening", self.dampening, 1.0, 65533.0))
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name}: {shown(getattr(self, name))} is no truth value; allowed: true, false")
        whole("cores_per_node", self.cores_per_node, 1, MAX_CORES)
        _once("partitions", self.partitions)
        _once("qos_levels", self.qos_levels)

    @classmethod
    def from_text(cls, text: str, where: str = "multifactor") -> "Multifactor":
        """Read the settings after the colon of a policy's name, as ``age=1000,config=FILE.toml``; empty: all defaults. Raises
        InputError if it is not ``key=value`` pairs, a key is unknown or given twice, or a value (or the file) cannot be used.
        """
        words: dict[str, str] = {}
        for pair in text.split(",") if text.strip() else ():
            key, equals, value = (part.strip() for part in pair.partition("="))
            if not equals or not value:
                raise InputError(f"{where}: {shown(pair)} is not a setting; allowed: key=value")
            if key not in (*SETTINGS, "config"):
                raise one_of("key", key, (*SETTINGS, "config"), where)
            if key in words:
                raise InputError(f"{where}: {key}: given twice")
            words[key] = value
        config = words.pop("config", None)
        if config is None:
            return cls.from_toml("", where, words, where)
        return cls.from_toml(read_text(config, "priority file", "TOML"), config, words, where)

    @classmethod
    def from_toml(
        cls, text: str, source: str, words: Mapping[str, str] = MappingProxyType({}), where: str = "multifactor"
    ) -> "Multifactor":
        """Read the settings in the text of a file, ``source``, and those in the name (``where``), which take precedence. Raises
        InputError, which begins with the source and the key's path, if the text, a key or a value cannot be used."""
        content = parse_toml(text, source)
        check_keys(content, [*SETTINGS, *_TABLES, "billing"], f"{source}: ")
        billing = content.pop("billing", {"cores": 1.0})
        if not isinstance(billing, Mapping):
            raise InputError(
                f"{source}: billing: {shown(billing)} is not a table; allowed: as {{ cores = 1, gpus = 16 }}"
            )
        made = {
            name: tuple(from_keys(kind, row, path) for path, row in list_of_tables(content, name, source))
            for name, kind in _TABLES.items()
        }
        settings: dict[str, Any] = {"billing": from_keys(Billing, billing, f"{source}: billing.")}
        for key, value in content.items():
            if key not in _TABLES:
                settings.update(_setting(key, value, f"{source}: {key}"))
        for key, word in words.items():
            settings.update(_setting(key, _value(key, word), f"{where}: {key}"))
        others = settings.pop("others", None)
        try:
            tree = AccountTree(made["accounts"], made["users"], others)
            partitions, levels = made["partitions"], made["qos_levels"]
            return cls(tree=tree, partitions=partitions, qos_levels=levels, source=source, **settings)
        except InputError as error:
            key = error.text.partition(":")[0]
            raise InputError(f"{where if key in words else source}: {error.text}") from None


_TABLES: dict[str, type[Any]] = {"accounts": Account, "users": User, "partitions": PartitionPart, "qos_levels": Qos}


def _once(name: str, rows: tuple[Any, ...]) -> None:
    seen: dict[int, int] = {}
    for place, row in enumerate(rows):
        if (first := seen.setdefault(row.number, place)) != place:
            what = f"{row.number} is {name}[{first}], too; allowed: every number once"
            raise InputError(f"{name}[{place}].number: {what}")


def _value(key: str, text: str) -> Any:
    """The value of a setting in a policy's name; the text itself if the key cannot have this value."""
    if key in _FLAGS:
        return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    if key in _DURATIONS or key in ("algorithm", "others"):
        return text
    try:
        return parse_whole(text) if text.lstrip("-").isdecimal() else parse_real(text)
    except ValueError:
        return text


def _setting(key: str, value: Any, where: str) -> dict[str, Any]:
    """A setting as an argument of :class:`Multifactor`."""
    if key not in _DURATIONS:
        return {key: value}
    if key in _MAY_BE_NONE and value == "none":
        return {f"{key}_ns": 0}
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f'{where}: {shown(value)} is no time; allowed: text such as "7d", or seconds')
    return {f"{key}_ns": parse_duration_ns(str(value), where)}
