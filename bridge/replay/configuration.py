"""The slurm.conf of a replay: ours, or a site's, with what makes no sense here replaced, and a list of what was."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from bls.machine.platform import HostGroup, Platform
from bridge.replay.host_names import compressed, expanded
from bridge.replay.nodes import node_address
from traces.base.errors import InputError, shown
from traces.base.shared_options import CORE_GFLOPS
from traces.base.time import NS_PER_S

__all__ = ["HERE", "Configuration", "Node", "of_machine", "of_site", "settings"]

#: The folder that a program runs in, as Slurm takes it, whatever its name.
HERE = "/proc/self/cwd"

#: What holds where neither a site's file nor the user says it: any job may have any cores, in the order of their submits, with
#: Slurm's backfilling.
DEFAULTS = {"SchedulerType": "sched/backfill", "PriorityType": "priority/basic"}

#: Which of a host's cores jobs have; of hosts with one core, the same is found much sooner by whole hosts.
_BY_CORES = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core"}
_BY_HOSTS = {"SelectType": "select/linear"}

#: Keys that are the replay's own, whoever says otherwise: where slurmctld is and keeps its files, whom it trusts, and that
#: nodes are played. None: the key is left out, and Slurm's own default holds.
OWN: dict[str, str | None] = {
    "ClusterName": "replay",
    "SlurmctldHost": "localhost(127.0.0.1)",
    "SlurmctldPort": "6817",
    "SlurmdPort": "6818",
    "AuthType": "auth/none",
    "CredType": "cred/none",
    "SlurmUser": "",
    "SlurmdUser": "",
    "StateSaveLocation": "",
    "SlurmctldPidFile": "",
    "SlurmctldLogFile": "",
    "SlurmdSpoolDir": "/dev/null",
    "MailProg": "/bin/true",
    "ProctrackType": "proctrack/pgid",
    "TaskPlugin": "task/none",
    "SwitchType": "switch/none",
    "MpiDefault": "none",
    "JobCompType": "jobcomp/none",
    "JobAcctGatherType": "jobacct_gather/none",
    "AccountingStorageType": "accounting_storage/none",
    "SlurmdTimeout": "0",
    "InactiveLimit": "0",
    "ReturnToService": "2",
    "TreeWidth": "65533",
    "MaxJobCount": "",
    "SlurmdParameters": "config_overrides",
    "DebugFlags": "NO_CONF_HASH",
    "TopologyPlugin": "topology/none",
}
_DROPPED = (
    "ControlMachine", "ControlAddr", "BackupController", "BackupAddr", "SlurmctldAddr", "AuthInfo", "AuthAltTypes",
    "AuthAltParameters", "PluginDir", "PlugStackConfig", "SlurmdPidFile", "SlurmdLogFile", "SlurmSchedLogFile",
    "SlurmctldSyslogDebug", "SlurmdSyslogDebug", "SlurmdDebug", "Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld",
    "PrologFlags", "TaskProlog", "TaskEpilog", "SrunProlog", "SrunEpilog", "SrunPortRange", "HealthCheckProgram",
    "HealthCheckInterval", "HealthCheckNodeState", "ResumeProgram", "SuspendProgram", "ResumeFailProgram", "SuspendTime",
    "SuspendTimeout", "ResumeTimeout", "SuspendRate", "ResumeRate", "RebootProgram", "UnkillableStepProgram",
    "AccountingStorageHost", "AccountingStorageBackupHost", "AccountingStoragePort", "AccountingStoragePass",
    "AccountingStorageUser", "AccountingStorageTRES", "AccountingStorageExternalHost", "AccountingStoreFlags",
    "AcctGatherNodeFreq", "AcctGatherEnergyType", "AcctGatherProfileType", "AcctGatherInterconnectType",
    "AcctGatherFilesystemType", "JobCompLoc", "JobCompHost", "JobCompPass", "JobCompPort", "JobCompUser", "JobCompParams",
    "JobAcctGatherFrequency", "JobAcctGatherParams", "JobSubmitPlugins", "JobContainerType", "BurstBufferType",
    "CommunicationParameters", "LaunchParameters", "LaunchType", "MpiParams", "MCSPlugin", "MCSParameters", "GresTypes",
    "NodeFeaturesPlugins", "PrepPlugins", "PrepParameters", "PropagateResourceLimits", "PropagateResourceLimitsExcept",
    "PowerPlugin", "PowerParameters", "TaskPluginParam", "TopologyParam", "SlurmctldPrimaryOnProg", "SlurmctldPrimaryOffProg",
    "VSizeFactor", "X11Parameters", "CryptoType", "RoutePlugin", "SlurmctldTimeout", "UsePAM", "DownNodes", "NodeSet",
    "FederationParameters", "CliFilterPlugins", "ExtSensorsType", "ExtSensorsFreq", "CoreSpecPlugin", "ChosLoc", "RequeueExit",
    "RequeueExitHold", "Include",
)  # fmt: skip
OWN |= dict.fromkeys(_DROPPED)

#: What a line of nodes may say here; the rest is replaced.
_OF_NODES = (
    "CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore", "RealMemory", "TmpDisk", "Weight",
    "Feature", "Features",
)  # fmt: skip
_OWN_OF_NODES = ("NodeAddr", "NodeHostname", "Port", "State", "Reason", "Gres", "BcastAddr", "CpuSpecList", "MemSpecLimit",
                 "CoreSpecCount", "CpuBind")  # fmt: skip

#: What a line of a partition says of accounts, which only slurmdbd knows, or of groups of users.
_OWN_OF_PARTITIONS = (
    "AllowAccounts", "DenyAccounts", "AllowQos", "DenyQos", "QOS", "AllowGroups", "AllowAllocNodes", "TRESBillingWeights",
)  # fmt: skip

#: Keys of which there may be many lines.
_LINES = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname", "include")

_WORD = re.compile(r'([A-Za-z][\w/]*)\s*=\s*("[^"]*"|\S*)')

#: How often backfilling passes, s, if it is not said.
_INTERVAL, _INTERVAL_S = re.compile(r"\bbf_interval=(\d+)"), 30

#: Keys that ask for what a replay has not: what that is, and what is allowed instead.
_REFUSED = {
    "accountingstorageenforce": ("slurmdbd, which is not here", ("none", "0", "")),
    "preempttype": ("preemption, which a replay does not follow", ("preempt/none",)),
}


@dataclass(frozen=True)
class Node:
    """A node, and what slurm.conf says of it; ``line`` tells neighbours apart that stand in lines of their own."""

    name: str
    cpus: int
    words: str
    line: int = 0


@dataclass(frozen=True)
class Configuration:
    """What a slurm.conf is made of, but for where its files are.

    Attributes
    ----------
    keys : dict of str to str
        Those that a site or the user has chosen.
    nodes : tuple of Node
    partitions : tuple of str
        Lines.
    replaced : tuple of str
        What of a site's file does not hold, in words.
    """

    keys: dict[str, str]
    nodes: tuple[Node, ...]
    partitions: tuple[str, ...]
    replaced: tuple[str, ...] = field(default=())

    @property
    def recalculates(self) -> bool:
        """Whether priorities change by themselves, now and then."""
        return any(key.lower() == "prioritytype" and "multifactor" in value for key, value in self.keys.items())

    @property
    def backfills_ns(self) -> int:
        """How long after a pass of backfilling the next one is."""
        said = next((value for key, value in self.keys.items() if key.lower() == "schedulerparameters"), "")
        found = _INTERVAL.search(said)
        return (int(found[1]) if found else _INTERVAL_S) * NS_PER_S

    def text(self, jobs: int) -> str:
        """The file, for a slurmctld that runs in the folder of its files, and for so many jobs at once."""
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            raise InputError(f"Slurm needs a user with a name, and user {os.geteuid()} has none here") from None
        places = {
            "SlurmUser": user,
            "SlurmdUser": user,
            "StateSaveLocation": f"{HERE}/state",
            "SlurmctldPidFile": f"{HERE}/slurmctld.pid",
            "SlurmctldLogFile": f"{HERE}/slurmctld.log",
            "MaxJobCount": max(10_000, jobs + 1),
        }
        own = {key: places.get(key, value) for key, value in OWN.items() if value is not None}
        lines = [f"{key}={value}" for key, value in (own | self.keys).items()]
        # Slurm looks for every job at each line's nodes by themselves.
        for (_, words), group in groupby(enumerate(self.nodes), lambda one: (one[1].line, one[1].words)):
            alike = list(group)
            names, addresses = (
                compressed(node.name for _, node in alike),
                compressed(node_address(at) for at, _ in alike),
            )
            where = f"NodeHostname=localhost NodeAddr={addresses} Port={OWN['SlurmdPort']} State=UNKNOWN"
            lines.append(f"NodeName={names} {where} {words}")
        return "\n".join([*lines, *self.partitions]) + "\n"

    def platform(self) -> Platform:
        """The machine of these nodes, its cores as fast as those that logs were measured on."""
        groups: list[tuple[int, int]] = []
        for node in self.nodes:
            if groups and groups[-1][1] == node.cpus:
                groups[-1] = (groups[-1][0] + 1, node.cpus)
            else:
                groups.append((1, node.cpus))
        hosts = tuple(HostGroup(count, cpus, cpus * CORE_GFLOPS.default) for count, cpus in groups)
        return Platform(hosts, name=self.keys.get("ClusterName", "cluster"))


def settings(given: Sequence[str]) -> dict[str, str]:
    """What ``--set KEY=VALUE`` says.

    Raises
    ------
    InputError
        If one is no such pair, or a key is the replay's own.
    """
    own = {key.lower(): key for key in OWN}
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z]\w*", key) or "\n" in value:
            raise InputError(f"--set: {shown(text)}; allowed: KEY=VALUE, a line of slurm.conf")
        if key.lower() in own:
            raise InputError(f"--set: {key}: is the replay's own (docs/replay.md); allowed: other keys of slurm.conf")
        if refusal := _refusal(key, value):
            raise InputError(f"--set: {refusal}")
        if key.lower() in _LINES:
            raise InputError(f"--set: {key}: nodes and partitions are given by --slurm-conf FILE or --platform FILE")
        found[key] = value
    return found


def _refusal(key: str, value: str) -> str:
    what, allowed = _REFUSED.get(key.lower(), ("", ()))
    refused = what and value.lower() not in allowed
    return f"{key}={value}: needs {what}; allowed: {key}={allowed[0]}" if refused else ""


def of_machine(given: Mapping[str, str], machine: Platform) -> Configuration:
    """For a machine; what is ``given`` holds in any case.

    Raises
    ------
    InputError
        If it has partitions, which belong to jobs by what a log says of them, and not by names.
    """
    if machine.partitions:
        raise InputError(
            "--platform: its partitions are not known to a replay; allowed: a platform without, or --slurm-conf FILE"
        )
    sizes = [int(size) for size in machine.first_core[1:] - machine.first_core[:-1]]
    nodes = tuple(Node(f"n{at}", size, f"CPUs={size}") for at, size in enumerate(sizes))
    partition = "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
    keys = DEFAULTS
    if not any(key.lower().startswith("selecttype") for key in given):
        keys = keys | (_BY_HOSTS if max(sizes) == 1 else _BY_CORES)
    return Configuration(_over(keys, given), nodes, (partition,))


def _over(keys: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    # Keys are the same in whatever case.
    said = {key.lower() for key in given}
    return {key: value for key, value in keys.items() if key.lower() not in said} | dict(given)


def _lines(path: str) -> Iterable[tuple[int, str]]:
    # Without comments, and joined where one ends in a backslash.
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"--slurm-conf: {path}: is no text in UTF-8") from None
    except OSError as error:
        raise InputError(f"--slurm-conf: {path}: {error.strerror}") from None
    joined, begin = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(?<!\\)#.*", "", raw).strip()
        begin = begin or number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        if (joined + line).strip():
            yield begin, (joined + line).strip()
        joined, begin = "", 0


def of_site(path: str, given: Mapping[str, str]) -> Configuration:
    """A site's slurm.conf; what is ``given`` holds in any case.

    Raises
    ------
    InputError
        If it cannot be read, or asks for what is not here.
    """
    own = {key.lower(): key for key in OWN}
    keys: dict[str, str] = {}
    nodes: list[Node] = []
    partitions: list[str] = []
    replaced: list[str] = []
    node_default: dict[str, str] = {}
    for number, line in _lines(path):
        where = f"--slurm-conf: {path}: line {number}"
        words = [(key, value.strip('"')) for key, value in _WORD.findall(line)]
        if line.lower().startswith("include"):
            raise InputError(f"{where}: Include: other files are not read; allowed: one file with all of it")
        if not words:
            raise InputError(f"{where}: {shown(line)}; allowed: KEY=VALUE")
        first = words[0][0].lower()
        if first == "nodename":
            nodes += _nodes(words, node_default, replaced, where, number)
        elif first == "partitionname":
            partitions.append(_partition(words, replaced))
        elif first in _LINES:
            replaced.append(f"{words[0][0]}: left out")
        else:
            for key, value in words:
                if key.lower() in own:
                    instead = OWN[own[key.lower()]]
                    replaced.append(
                        f"{key}={value}: " + ("left out" if instead is None else f"{instead or 'of the replay'}")
                    )
                else:
                    keys[key] = value
    keys = _over(keys, given)
    for key, value in keys.items():
        if found := _refusal(key, value):
            raise InputError(f"--slurm-conf: {path}: {found} (--set KEY=VALUE)")
    if not nodes:
        raise InputError(f"--slurm-conf: {path}: has no NodeName; allowed: a file with the nodes of the machine")
    if not partitions:
        raise InputError(f"--slurm-conf: {path}: has no PartitionName; allowed: a file with at least one partition")
    return Configuration(keys, tuple(nodes), tuple(partitions), tuple(dict.fromkeys(replaced)))


def _nodes(
    words: Sequence[tuple[str, str]], default: dict[str, str], replaced: list[str], where: str, line: int
) -> Iterable[Node]:
    kept = {key.lower(): key for key in _OF_NODES}
    own = {key.lower() for key in _OWN_OF_NODES}
    said: dict[str, str] = {}
    for key, value in words[1:]:
        if key.lower() in kept:
            said[kept[key.lower()]] = value
        elif key.lower() in own:
            replaced.append(f"{key} of nodes: of the replay")
        else:
            raise InputError(
                f"{where}: {key}: is not known of nodes; allowed: {', '.join((*_OF_NODES, *_OWN_OF_NODES))}"
            )
    if words[0][1].upper() == "DEFAULT":
        default |= said
        return
    said = default | said
    try:
        names = expanded(words[0][1])
        cpus = _cpus(said)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
    for name in names:
        yield Node(name, cpus, " ".join(f"{key}={value}" for key, value in said.items()), line)


def _cpus(said: Mapping[str, str]) -> int:
    if "CPUs" in said:
        return int(said["CPUs"])
    sockets = int(said.get("Sockets", said.get("SocketsPerBoard", "1"))) * int(said.get("Boards", "1"))
    return sockets * int(said.get("CoresPerSocket", "1")) * int(said.get("ThreadsPerCore", "1"))


def _partition(words: Sequence[tuple[str, str]], replaced: list[str]) -> str:
    own = {key.lower() for key in _OWN_OF_PARTITIONS}
    replaced += [f"{key} of partitions: left out" for key, _ in words if key.lower() in own]
    return " ".join(f"{key}={value}" for key, value in words if key.lower() not in own)
