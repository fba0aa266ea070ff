"""The keys of slurm.conf: those that a replay accepts, in which form, and why it replaces or omits the others.

The tables have every key of the man page slurm.conf(5) of Slurm 22.05 and of its parser. Other keys are refused.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from traces.base.errors import InputError, did_you_mean, shown

#: Defaults, unless a site's file or the user sets others: any cores for any job, in the order of submits, with backfilling.
DEFAULTS = {"SchedulerType": "sched/backfill", "PriorityType": "priority/basic"}

#: How cores of a host are selected for jobs; for hosts with one core, whole hosts give the same result much faster.
BY_CORES = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core"}
BY_HOSTS = {"SelectType": "select/linear"}


@dataclass(frozen=True)
class AllowedValues:
    """The values that a key may have."""

    allowed: str  # description for errors
    pattern: str  # a regular expression for the whole value
    most: int = 0  # upper bound of a number

    def takes(self, value: str) -> bool:
        """Whether a value has this form."""
        if not re.fullmatch(self.pattern, value, re.IGNORECASE | re.ASCII):
            return False
        return not (self.most and value.isdigit()) or int(value) <= self.most


@dataclass(frozen=True)
class Key:
    """A key, and its treatment in a replay."""

    name: str  # as Slurm spells it
    why: str  # the reason for this treatment
    form: AllowedValues | None = None  # values that are passed to slurmctld; None: values are not passed on
    # the replay's own value; None: the key is omitted, and Slurm's default applies. Empty: known only at run time
    instead: str | None = None
    # the only values that may be omitted, Slurm's default first; others are refused. Empty: all may be omitted
    harmless: tuple[str, ...] = ()

    def check(self, value: str) -> None:
        """Refuse a value that is not allowed in a replay. Raises InputError with the reason and the allowed values."""
        if self.form is not None and not self.form.takes(value):
            raise InputError(f"{self.name}={_said(value)}; allowed: {self.form.allowed}")
        if self.harmless and value.lower() not in self.harmless:
            raise InputError(f"{self.name}={_said(value)}: {self.why}; allowed: {self.name}={self.harmless[0]}")

    def replaced(self, value: str) -> str:
        """A line about a file's value that is not passed on; empty if nothing changes."""
        if self.harmless and value.lower() == self.harmless[0]:
            return ""
        said = self.name if self.name.endswith("Pass") else f"{self.name}={_said(value)}"
        return f"{said}: {'omitted' if self.instead is None else self.instead or 'set by the replay'} ({self.why})"


def _said(value: str) -> str:
    return value if value.isprintable() and 0 < len(value) <= 60 and "'" not in value else shown(value)


# ---- forms ----

_WHOLE = "0|[1-9][0-9]{0,18}"  # Slurm reads a number with a leading 0 as octal


def _count(bits: int, further: str = "", pattern: str = _WHOLE) -> AllowedValues:
    most = min(2**bits - 3, 10**19 - 1)  # the last values stand for "none" and "no limit"
    return AllowedValues(f"a whole number, 0 to {most}, without leading zeros{further}", pattern, most)


def _one(*names: str) -> AllowedValues:
    return AllowedValues(", ".join(names), "|".join(map(re.escape, names)))


#: A quotation mark, # or a backslash could make a value continue as another key. Values with blanks are quoted.
_WORDS = AllowedValues(
    "letters, digits, blanks and any of _.,:;=/*|&()@%+![]{}<>?~^$-",
    r"[A-Za-z0-9_.,:;=/*|&()@%+!\[\]{}<>?~^$ -]{0,10000}",
)
_NAMES = AllowedValues("letters, digits and any of _.,:()*@=-", r"[A-Za-z0-9_.,:()*@=-]{0,10000}")
_HOSTS = AllowedValues("a list of hosts, as n[0-3,7]", r"[A-Za-z0-9_.,\[\]-]{0,1000000}")
_TIME = AllowedValues(
    "minutes, [DAYS-]HOURS:MINUTES:SECONDS, UNLIMITED or NONE", r"[0-9:-]{1,30}|-1|UNLIMITED|INFINITE|NONE"
)
_YES = _one("YES", "NO", "TRUE", "FALSE", "UP", "DOWN", "1", "0")
_N16, _N32, _N64 = (_count(bits, ", or UNLIMITED", f"{_WHOLE}|UNLIMITED|INFINITE") for bits in (16, 32, 64))


def whole(text: str, bits: int = 64) -> int:
    """A number in Slurm's notation. Raises ValueError if it is not one, or exceeds the range of these bits."""
    form = _count(bits)
    if not form.takes(text):
        raise ValueError(f"{_said(text)}; allowed: {form.allowed}")
    return int(text)


# ---- the table ----

#: By form: the keys that determine which job slurmctld starts when and where.
_TAKEN: Mapping[AllowedValues, str] = {
    _one("sched/backfill", "sched/builtin"): "SchedulerType",
    _one("select/cons_tres", "select/cons_res", "select/linear"): "SelectType",
    _one("priority/basic", "priority/multifactor"): "PriorityType",
    _WORDS: "SchedulerParameters SelectTypeParameters PriorityFlags PriorityWeightTRES DependencyParameters",
    _NAMES: "GresTypes Licenses",
    _one("ALL", "ANY", "NO", "YES", "TRUE", "FALSE", "1", "0"): "EnforcePartLimits",
    _TIME: "PriorityCalcPeriod PriorityDecayHalfLife PriorityMaxAge",
    _one("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"): "PriorityUsageResetPeriod",
    _YES: "PriorityFavorSmall",
    _N16: "CompleteWait JobRequeue KillWait MaxTasksPerNode OverTimeLimit ResvOverRun",
    _N32: "PriorityWeightJobSize PriorityWeightPartition",
    _N64: "DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode",
}

_PLACE = "the place of slurmctld and its files"
_TRUST = "authentication of slurmctld's users"
_ON_NODES = "belongs to nodes, which are simulated"
_RECORDS = "there is no accounting"
_NODES_LAST = "simulated nodes are never down by themselves"
_LOG = "the replay reads slurmctld's log"

#: The replay's own values, by reason. Empty: known only at run time.
_OURS: Mapping[str, Mapping[str, str]] = {
    _PLACE: {
        "ClusterName": "replay", "SlurmctldHost": "localhost(127.0.0.1)", "SlurmctldPort": "6817", "SlurmdPort": "6818",
        "StateSaveLocation": "", "SlurmctldPidFile": "", "SlurmctldLogFile": "", "SlurmdSpoolDir": "/dev/null",
    },
    _TRUST: {"AuthType": "auth/none", "CredType": "cred/none", "SlurmUser": "", "SlurmdUser": "",
             "LaunchParameters": "disable_send_gids"},
    "no program of a file is run": {"MailProg": "/bin/true"},
    _ON_NODES: {"ProctrackType": "proctrack/pgid", "TaskPlugin": "task/none", "SwitchType": "switch/none",
                "MpiDefault": "none"},
    _RECORDS: {
        "JobCompType": "jobcomp/none", "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
    },
    _NODES_LAST: {"SlurmdTimeout": "0", "InactiveLimit": "0", "ReturnToService": "0"},
    "all nodes are one process": {"TreeWidth": "65533", "SlurmdParameters": "config_overrides"},
    "all jobs of the workload fit": {"MaxJobCount": ""},
    _LOG: {"SlurmctldDebug": "info", "LogTimeFormat": "iso8601_ms", "DebugFlags": "NO_CONF_HASH"},
    "switches are read from topology.conf": {"TopologyPlugin": "topology/none"},
}  # fmt: skip

#: Omitted, by reason.
_LEFT_OUT: Mapping[str, str] = {
    "no program of a file is run": (
        "Prolog Epilog PrologSlurmctld EpilogSlurmctld ResvProlog ResvEpilog TaskProlog TaskEpilog SrunProlog SrunEpilog"
        " HealthCheckProgram RebootProgram ResumeProgram ResumeFailProgram SuspendProgram UnkillableStepProgram"
        " SlurmctldPrimaryOnProg SlurmctldPrimaryOffProg SallocDefaultCommand InteractiveStepOptions"
    ),
    "no plug-in of a file is loaded": (
        "PluginDir PlugStackConfig SlurmctldPlugstack JobSubmitPlugins CliFilterPlugins BurstBufferType BurstBufferParameters"
        " JobContainerType MCSPlugin MCSParameters NodeFeaturesPlugins PrEpPlugins PrEpParameters PowerPlugin PowerParameters"
        " RoutePlugin CoreSpecPlugin ExtSensorsType ExtSensorsFreq PrioritySiteFactorPlugin PrioritySiteFactorParameters"
        " PriorityParameters CryptoType LaunchType ChosLoc"
    ),
    _PLACE: (
        "ControlMachine ControlAddr BackupController BackupAddr SlurmctldAddr SlurmdPidFile SlurmctldParameters TmpFS"
        " FederationParameters CommunicationParameters"
    ),
    _TRUST: (
        "AuthInfo AuthAltTypes AuthAltParameters JobCredentialPrivateKey JobCredentialPublicCertificate SchedulerAuth"
        " DisableRootJobs PrivateData GroupUpdateForce GroupUpdateTime UsePAM"
    ),
    _LOG: "SlurmdLogFile SlurmSchedLogFile SlurmSchedLogLevel SlurmctldSyslogDebug SlurmdSyslogDebug SlurmdDebug",
    _ON_NODES: (
        "AllowSpecResourcesUsage BcastExclude BcastParameters SbcastParameters CpuFreqDef CpuFreqGovernors GpuFreqDef"
        " JobFileAppend KillOnBadExit MaxStepCount MpiParams PrologEpilogTimeout PrologFlags PropagatePrioProcess"
        " PropagateResourceLimits PropagateResourceLimitsExcept ScronParameters SrunPortRange SwitchParameters TaskPluginParam"
        " TopologyParam UnkillableStepTimeout VSizeFactor WaitTime X11Parameters RequeueExit RequeueExitHold"
    ),
    _NODES_LAST: (
        "DownNodes HealthCheckInterval HealthCheckNodeState ResumeRate ResumeTimeout SuspendExcNodes SuspendExcParts"
        " SuspendRate SuspendTime SuspendTimeout SlurmctldTimeout FastSchedule MaxNodeCount FrontendName ReconfigFlags"
    ),
    "messages take no time": (
        "BatchStartTimeout EioTimeout EpilogMsgTime GetEnvTimeout KeepAliveTime MaxDBDMsgs MessageTimeout TCPTimeout MailDomain"
    ),
    "jobs have the numbers of the workload": "FirstJobId MaxArraySize MaxJobId MinJobAge",
    _RECORDS: (
        "AccountingStorageBackupHost AccountingStorageExternalHost AccountingStorageHost AccountingStorageLoc"
        " AccountingStorageParameters AccountingStoragePass AccountingStoragePort AccountingStorageTRES AccountingStorageUser"
        " AccountingStoreFlags AccountingStoreJobComment AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType"
        " AcctGatherInterconnectType AcctGatherNodeFreq AcctGatherProfileType FairShareDampeningFactor JobAcctGatherFrequency"
        " JobAcctGatherParams JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPort JobCompUser TrackWCKey"
    ),
    "a replay has no preemption": "PreemptExemptTime SchedulerTimeSlice",
}

_SLURMDBD = "needs slurmdbd, which a replay does not have"
_PREEMPTION = "needs preemption, which a replay does not support"

#: Keys for features that a replay lacks, with the values that do not use them.
_REFUSED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "AccountingStorageEnforce": (_SLURMDBD, ("none", "0", "")),
    "PriorityWeightAge": (_SLURMDBD, ("0",)),
    "PriorityWeightAssoc": (_SLURMDBD, ("0",)),
    "PriorityWeightFairshare": (_SLURMDBD, ("0",)),
    "PriorityWeightQOS": (_SLURMDBD, ("0",)),
    "PreemptType": (_PREEMPTION, ("preempt/none",)),
    # Without a PreemptType their only effect is that slurmctld does not start; GANG would suspend jobs.
    "PreemptMode": (_PREEMPTION, ("off", "cancel", "requeue", "suspend", "")),
}

_ACCOUNTS = "accounts, groups and QOS are not supported"

#: Keys in lines of nodes, partitions and sets of nodes.
_OF_NODES: Mapping[AllowedValues, str] = {
    _count(16): "Boards CoresPerSocket CPUs Procs Sockets SocketsPerBoard ThreadsPerCore",
    _count(64): "RealMemory",
    _count(32): "TmpDisk Weight",
    _WORDS: "Feature Features Gres TRESWeights",
}
_NOT_OF_NODES: Mapping[str, str] = {
    "simulated nodes have addresses of the replay": "NodeAddr NodeHostname BcastAddr Port",
    _NODES_LAST: "State Reason",
    _ON_NODES: "CoreSpecCount CPUSpecList CpuBind MemSpecLimit",
}
_OF_PARTITIONS: Mapping[AllowedValues, str] = {
    _HOSTS: "Nodes",
    _WORDS: "SelectTypeParameters OverSubscribe Shared",
    _NAMES: "Alternate",
    _YES: "Default ExclusiveUser Hidden LLN ReqResv RootOnly",
    _one("UP", "DOWN", "DRAIN", "INACTIVE"): "State",
    _TIME: "DefaultTime MaxTime",
    _N16: "OverTimeLimit Priority PriorityJobFactor PriorityTier",
    _N32: "MaxCPUsPerNode MaxNodes MinNodes",
    _N64: "DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode",
}
_NOT_OF_PARTITIONS: Mapping[str, str] = {
    _ACCOUNTS: "AllowAccounts AllowGroups AllowQos DenyAccounts DenyQos QOS TRESBillingWeights",
    "all jobs are submitted from one place, by one user": "AllocNodes DisableRootJobs",
    "a replay has no preemption": "GraceTime PreemptMode",
    _NODES_LAST: "ResumeTimeout SuspendTime SuspendTimeout",
    _ON_NODES: "CpuBind",
}


def _table(
    taken: Mapping[AllowedValues, str],
    left_out: Mapping[str, str],
    ours: Mapping[str, Mapping[str, str]] | None = None,
    refused: Mapping[str, tuple[str, tuple[str, ...]]] | None = None,
) -> dict[str, Key]:
    keys = [Key(name, "Slurm decides by it", form=form) for form, names in taken.items() for name in names.split()]
    keys += [Key(name, why) for why, names in left_out.items() for name in names.split()]
    keys += [Key(name, why, instead=own) for why, names in (ours or {}).items() for name, own in names.items()]
    keys += [Key(name, why, harmless=omitted) for name, (why, omitted) in (refused or {}).items()]
    return {key.name.lower(): key for key in keys}


#: The keys by their names in lower case: of the file, and of its lines of nodes, partitions and sets of nodes.
TOP = _table(_TAKEN, _LEFT_OUT, _OURS, _REFUSED)
NODES = _table(_OF_NODES, _NOT_OF_NODES)
PARTITIONS = _table(_OF_PARTITIONS, _NOT_OF_PARTITIONS)
NODE_SETS = _table({_HOSTS: "Nodes", _NAMES: "Feature"}, {})

#: The replay's own keys and their values; an empty one is known only at run time.
OWN: dict[str, str] = {key.name: key.instead for key in TOP.values() if key.instead is not None}

#: Keys that begin a line of their own, only allowed in a file.
LINES: Sequence[str] = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname")


def known(table: Mapping[str, Key], name: str, of: str = "slurm.conf 22.05") -> Key:
    """The key with a name in any case. Raises InputError if Slurm has no such key."""
    found = table.get(name.lower())
    if found is None:
        near = did_you_mean(name, [key.name for key in table.values()])
        taken = ", ".join(sorted(key.name for key in table.values() if key.form is not None))
        raise InputError(f"{_said(name)}: is not a key of {of}{near}; allowed: {taken}")
    return found


def line_of(words: Mapping[str, str]) -> str:
    """Keys and values as one line of slurm.conf; a value that is empty or has a blank is quoted. Raises InputError if a
    value could continue as another key."""
    for key, value in words.items():
        if not re.fullmatch(r'[^"#\\\n\r\t\v\f]*', value):
            raise InputError(f"{key}={shown(value)}; allowed: no quotation mark, #, backslash or end of line")
    quoted = {key: value if value and " " not in value else f'"{value}"' for key, value in words.items()}
    return " ".join(f"{key}={value}" for key, value in quoted.items())
