"""The slurm.conf of a replay, made from a machine; that of a site is read in ``bridge.replay.site``."""

import os
import pwd
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Self

from bls.machine.partitions import GPU_LIMITS, Partition, Switch
from bls.machine.platform import MEMORY, HostGroup, Platform
from bls.options import PLATFORM
from bridge.options.declared import SLURM_CONF, SLURM_SET
from bridge.replay.host_names import compressed, is_plain
from bridge.replay.keys import BY_CORES, BY_HOSTS, DEFAULTS, LINES, OWN, TOP, known, line_of
from bridge.replay.messages import DEVICES, GPU
from bridge.replay.nodes import node_address
from bridge.replay.switch_file import NamedSwitch, given_switches, read_switches, switches_of, switches_text
from traces.base.errors import InputError, shown
from traces.base.options import CORE_GFLOPS
from traces.base.time import NS_PER_S
from traces.intervals import parse_intervals

HERE = "/proc/self/cwd"  # the working directory of a program, in Slurm's notation, whatever its name
MB_KB, MINUTE_NS = 1024, 60 * NS_PER_S  # KB in a MB, ns in a minute

#: Default interval of backfilling passes, s.
_INTERVAL, _INTERVAL_S = re.compile(r"\bbf_interval=([0-9]{1,9})(?![0-9])"), 30
_NAMED = re.compile(r"PartitionName=(\S+)", re.IGNORECASE)


@dataclass(frozen=True)
class Node:
    """A node and its settings in slurm.conf."""

    name: str
    cpus: int
    words: str  # of its line
    memory_mb: int = 0  # 0: not given
    resources: tuple[tuple[str, str, int], ...] = ()  # generic ones, such as GPUs: name, type or "", count
    features: tuple[str, ...] = ()
    line: int = 0  # distinguishes neighbours that have their own lines


@dataclass(frozen=True)
class Configuration:
    """The contents of a slurm.conf, except for the places of its files."""

    keys: dict[str, str]  # chosen by a site or the user, or needed by requests of jobs
    nodes: tuple[Node, ...]
    partitions: tuple[str, ...]  # lines
    replaced: tuple[str, ...] = field(default=())  # descriptions of a site's settings that do not apply
    switches: tuple[NamedSwitch, ...] = field(default=())  # of topology.conf; empty: no topology
    site: bool = False  # whether it is from a site, whose partitions have names

    @property
    def backfills_ns(self) -> int:
        """Interval between passes of backfilling."""
        found = _INTERVAL.search(self.key("SchedulerParameters"))
        return ((found and int(found[1])) or _INTERVAL_S) * NS_PER_S

    def key(self, name: str) -> str:
        """The value of a key; empty if not given."""
        return next((value for key, value in self.keys.items() if key.lower() == name.lower()), "")

    def with_switches(self, path: str, where: str = "--topology") -> Self:
        """A copy with the switches of a file. Raises InputError if it cannot be used."""
        return replace(self, switches=read_switches(path, [node.name for node in self.nodes], where))

    def files(self, jobs: int) -> dict[str, str]:
        """The texts of slurm.conf and topology.conf, by name, for a slurmctld in their folder with this many jobs at once."""
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            raise InputError(f"Slurm needs a named user, and user {os.geteuid()} has no name here") from None
        places = {
            "SlurmUser": user,
            "SlurmdUser": user,
            "StateSaveLocation": f"{HERE}/state",
            "SlurmctldPidFile": f"{HERE}/slurmctld.pid",
            "SlurmctldLogFile": f"{HERE}/slurmctld.log",
            "MaxJobCount": str(max(10_000, jobs + 1)),
        }
        own = {key: places.get(key, value) for key, value in OWN.items()}
        if self.switches:
            own["TopologyPlugin"] = "topology/tree"
        lines = [f"{key}={value}" for key, value in over(own, self.keys).items() if key not in self.keys]
        lines += [line_of({key: value}) for key, value in self.keys.items()]
        # For every job, Slurm searches the nodes of each line separately.
        for (_, words), group in groupby(enumerate(self.nodes), lambda one: (one[1].line, one[1].words)):
            alike = list(group)
            names = compressed(node.name for _, node in alike)
            addresses = compressed(node_address(at) for at, _ in alike)
            where = f"NodeHostname=localhost NodeAddr={addresses} Port={OWN['SlurmdPort']} State=UNKNOWN"
            lines.append(f"NodeName={names} {where} {words}")
        files = {"slurm.conf": "\n".join([*lines, *self.partitions]) + "\n"}
        return files | ({"topology.conf": switches_text(self.switches)} if self.switches else {})

    def platform_switches(self) -> tuple[Switch, ...]:
        """The switches in the form of a platform. Raises InputError if it cannot have them."""
        return switches_of(self.switches, [node.name for node in self.nodes])

    def platform(self) -> Platform:
        """The machine of these nodes, with cores of the speed on which logs were recorded; without its switches."""
        hosts, named = [], not self.unnamed_gpus
        kinds = groupby(self.nodes, lambda one: (one.cpus, ("memory_mb", "", one.memory_mb), *one.resources))
        for (cpus, *amounts), alike in kinds:
            resources: Any = {name: n for name, _, n in amounts if n and name not in DEVICES}
            gpus = [(kind, n) for name, kind, n in amounts if name == GPU and n]
            kind, count = gpus[0][0] if gpus and named else "", sum(n for _, n in gpus)
            speed = cpus * CORE_GFLOPS.default
            hosts.append(HostGroup(len(list(alike)), cpus, speed, resources, gpus=count, gpu=kind))
        return Platform(tuple(hosts), name=self.keys.get("ClusterName", "cluster"))

    @property
    def unnamed_gpus(self) -> bool:
        """Whether a platform cannot have the types of its GPUs: a node has several of them, or only some have one."""
        of_nodes = [[kind for name, kind, n in node.resources if name == GPU and n] for node in self.nodes]
        kinds = {kind for one in of_nodes for kind in one}
        return any(len(one) > 1 for one in of_nodes) or ("" in kinds and len(kinds) > 1)


def partition_names(found: Configuration) -> list[str]:
    """The names of its partitions."""
    return [named[1] for line in found.partitions if (named := _NAMED.match(line)) and named[1].upper() != "DEFAULT"]


def settings(given: Sequence[str]) -> dict[str, str]:
    """The pairs of ``--set KEY=VALUE``. Raises InputError if one is not such a pair, or a key is the replay's own."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
            raise InputError(f"{SLURM_SET}: {shown(text)}; allowed: KEY=VALUE, a line of slurm.conf")
        if name.lower() in LINES:
            given_by = f"{SLURM_CONF} FILE or {PLATFORM} FILE"
            raise InputError(f"{SLURM_SET}: {name}: nodes and partitions are given by {given_by}")
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        try:
            key = known(TOP, name)
            key.check(value)
        except InputError as error:
            raise InputError(f"{SLURM_SET}: {error.text}") from None
        if key.form is not None:
            found[key.name] = value
        elif not key.harmless:
            taken = ", ".join(sorted(one.name for one in TOP.values() if one.form is not None))
            raise InputError(f"{SLURM_SET}: {key.name}: is set by the replay ({key.why}); allowed: {taken}")
    return found


def of_machine(given: Mapping[str, str], machine: Platform) -> Configuration:
    """The configuration for a machine; ``given`` keys have precedence. Raises InputError for limits that need slurmdbd."""
    sizes = [int(size) for size in machine.first_core[1:] - machine.first_core[:-1]]
    names = [f"n{at}" for at in range(len(sizes))]
    groups = [group for group in machine.hosts for _ in range(group.count)]
    nodes = tuple(_node(name, group) for name, group in zip(names, groups, strict=True))
    keys = DEFAULTS
    if not any(key.lower().startswith("selecttype") for key in given):
        simple = max(sizes) == 1 and not machine.resource_names and not machine.n_gpus
        keys = keys | (BY_HOSTS if simple else BY_CORES)
    generic = [name for name in machine.resource_names if name != MEMORY] + [GPU] * (machine.n_gpus > 0)
    if generic:
        keys = keys | {"GresTypes": ",".join(generic)}
    if machine.licences:
        keys = keys | {"Licenses": ",".join(f"{name}:{count}" for name, count in machine.licences)}
    partitions = _partitions(machine.partitions, names)
    return Configuration(over(keys, given), nodes, partitions, switches=given_switches(machine.switches, names))


def _node(name: str, group: HostGroup) -> Node:
    own, cpus = dict(group.resources), group.cores
    words = f"CPUs={cpus}"
    # Requests of jobs are rounded up to whole MB per core: one more per core ensures that every job fits.
    memory_mb = own.pop(MEMORY) // MB_KB + cpus if MEMORY in own else 0
    if memory_mb:
        words += f" RealMemory={memory_mb}"
    generic = [(what, "", count) for what, count in own.items()]
    if group.gpus:  # of a type: otherwise Slurm gives jobs whole GPUs that are shared
        generic.append((GPU, group.gpu or GPU, group.gpus))
    if generic:
        words += " Gres=" + ",".join(":".join(filter(None, (what, kind, str(count)))) for what, kind, count in generic)
    if group.gpu:
        words += f" Feature={kind_feature(group.gpu)}"
    return Node(name, cpus, words, memory_mb, tuple(generic))


def kind_feature(kind: str) -> str:
    """The feature of a platform's nodes with GPUs of a kind, for requests of several kinds, and of shares."""
    return f"gpu-{kind}"


#: Limits of a partition that Slurm implements with a QOS, which needs slurmdbd.
_BY_QOS = ("max_running_jobs", "max_running_cores", "max_jobs_per_user", "max_cores_per_user", *GPU_LIMITS)


def _partitions(partitions: Sequence[Partition], nodes: Sequence[str]) -> tuple[str, ...]:
    if not partitions:
        return ("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",)
    tiers = sorted({one.priority for one in partitions})
    lines = []
    for at, one in enumerate(partitions):
        for key in _BY_QOS:
            if getattr(one, key) is not None:
                why = "is a QOS of Slurm, which needs slurmdbd, and a replay has none"
                allowed = "hosts, priority, max_time, min_cores, max_cores"
                raise InputError(f"{PLATFORM}: partitions[{at}].{key}: {why}; allowed: {allowed}")
        hosts = [host for lo, hi in parse_intervals(one.hosts, "hosts", len(nodes)) for host in range(lo, hi)]
        where = compressed([nodes[host] for host in hosts]) if hosts else "ALL"
        longest = "INFINITE" if one.max_time_ns is None else str(max(1, -(-one.max_time_ns // MINUTE_NS)))
        tier = f"PriorityTier={1 + tiers.index(one.priority)}"
        name, default = slurm_partition(partitions, at), " Default=YES" if one.default else ""
        lines.append(f"PartitionName={name} Nodes={where} MaxTime={longest} {tier} State=UP{default}")
    return tuple(lines)


def slurm_partition(partitions: Sequence[Partition], at: int) -> str:
    """Slurm's name of a platform's partition: its own name, if Slurm accepts it."""
    return partitions[at].name if is_plain(partitions[at].name) else f"p{at}"


def over(keys: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Keys with replacements; names in any case are equal."""
    said = {key.lower() for key in given}
    return {key: value for key, value in keys.items() if key.lower() not in said} | dict(given)
