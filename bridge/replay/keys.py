"""The keys of slurm.conf: which are the replay's own, which are left out, and which are refused."""

from __future__ import annotations

__all__ = [
    "BY_CORES",
    "BY_HOSTS",
    "DEFAULTS",
    "LINES",
    "OF_NODES",
    "OWN",
    "OWN_OF_NODES",
    "OWN_OF_PARTITIONS",
    "refusal",
]

#: What holds where neither a site's file nor the user says it: any job may have any cores, in the order of their submits, with
#: Slurm's backfilling.
DEFAULTS = {"SchedulerType": "sched/backfill", "PriorityType": "priority/basic"}

#: Which of a host's cores jobs have; of hosts with one core, the same is found much sooner by whole hosts.
BY_CORES = {"SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core"}
BY_HOSTS = {"SelectType": "select/linear"}

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
    "ReturnToService": "0",
    "TreeWidth": "65533",
    "MaxJobCount": "",
    "SlurmdParameters": "config_overrides",
    "DebugFlags": "NO_CONF_HASH",
    "LaunchParameters": "disable_send_gids",
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
    "CommunicationParameters", "LaunchType", "MpiParams", "MCSPlugin", "MCSParameters",
    "NodeFeaturesPlugins", "PrepPlugins", "PrepParameters", "PropagateResourceLimits", "PropagateResourceLimitsExcept",
    "PowerPlugin", "PowerParameters", "TaskPluginParam", "TopologyParam", "SlurmctldPrimaryOnProg", "SlurmctldPrimaryOffProg",
    "VSizeFactor", "X11Parameters", "CryptoType", "RoutePlugin", "SlurmctldTimeout", "UsePAM", "DownNodes", "NodeSet",
    "FederationParameters", "CliFilterPlugins", "ExtSensorsType", "ExtSensorsFreq", "CoreSpecPlugin", "ChosLoc", "RequeueExit",
    "RequeueExitHold", "Include",
)  # fmt: skip
OWN |= dict.fromkeys(_DROPPED)

#: What a line of nodes may say here; the rest is replaced.
OF_NODES = (
    "CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore", "RealMemory", "TmpDisk", "Weight",
    "Feature", "Features", "Gres",
)  # fmt: skip
OWN_OF_NODES = ("NodeAddr", "NodeHostname", "Port", "State", "Reason", "BcastAddr", "CpuSpecList", "MemSpecLimit",
                 "CoreSpecCount", "CpuBind")  # fmt: skip

#: What a line of a partition says of accounts, which only slurmdbd knows, or of groups of users.
OWN_OF_PARTITIONS = (
    "AllowAccounts", "DenyAccounts", "AllowQos", "DenyQos", "QOS", "AllowGroups", "AllowAllocNodes", "TRESBillingWeights",
)  # fmt: skip

#: Keys of which there may be many lines.
LINES = ("nodename", "partitionname", "nodeset", "downnodes", "frontendname", "include")

#: Keys that ask for what a replay has not: what that is, and what is allowed instead.
_REFUSED = {
    "accountingstorageenforce": ("slurmdbd, which is not here", ("none", "0", "")),
    "priorityweightage": ("slurmdbd, which is not here", ("0", "")),
    "priorityweightfairshare": ("slurmdbd, which is not here", ("0", "")),
    "priorityweightqos": ("slurmdbd, which is not here", ("0", "")),
    "priorityweightassoc": ("slurmdbd, which is not here", ("0", "")),
    "preempttype": ("preemption, which a replay does not follow", ("preempt/none",)),
}


def refusal(key: str, value: str) -> str:
    """Why a key cannot be had with a value, and what is allowed; empty if it can."""
    what, allowed = _REFUSED.get(key.lower(), ("", ()))
    refused = what and value.lower() not in allowed
    return f"{key}={value}: needs {what}; allowed: {key}={allowed[0]}" if refused else ""
