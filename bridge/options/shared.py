"""The arguments and options that several commands of the command line share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "CORE_SPEED",
    "TECHNIQUES_HELP",
    "AllocatorOption",
    "ApplicationsOption",
    "AssignmentOption",
    "BackfillOption",
    "CancelledOption",
    "ChargeOption",
    "ConservativeOption",
    "CoreSpeedOption",
    "CostOption",
    "DependenciesOption",
    "FailuresOption",
    "ForceOption",
    "EstimatesOption",
    "KillOption",
    "LatencyOption",
    "LengthsOption",
    "MaxAttemptsOption",
    "MemoryOption",
    "OnFailureOption",
    "OutOption",
    "NetworkOption",
    "OverheadOption",
    "OversizeOption",
    "PlatformOption",
    "PresetOption",
    "RequestsOption",
    "SeedOption",
    "SelectOption",
    "SlackOption",
    "SpeedsOption",
    "SwitchesOption",
    "TasksPerCoreOption",
    "WindowsOption",
    "WorkersOption",
    "WorkloadArgument",
]

#: Speed of a core of the default platform, GFLOP/s.
CORE_SPEED = "46.875"

#: What ``--als`` takes.
TECHNIQUES_HELP = "static, ss, gss, fac, awf-c, heft …; as fsc:h=1e-6,sigma=0.2; select:NAME,NAME; FILE.py:NAME"

WorkloadArgument = Annotated[
    str,
    typer.Argument(metavar="WORKLOAD", help="A log: SWF, sacct, Batsim's JSON or GWF, plain or gzipped; or 'sample'."),
]
PlatformOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Platform in TOML, or AccaSim's JSON; default: 4 hosts × 64 cores (twolevel platform)."
    ),
]
SelectOption = Annotated[
    str, typer.Option(metavar="WHICH", help="all, first:N, busiest:LENGTH or window:START+LENGTH, as busiest:24h.")
]
OversizeOption = Annotated[
    str, typer.Option(metavar="HOW", help="Jobs wider than the platform: reject, or clamp to its width.")
]
SeedOption = Annotated[
    int, typer.Option(help="Seed of all that is drawn: task lengths, shares, speeds, failures, cores.")
]
SlackOption = Annotated[float, typer.Option(help="EDF's deadline is submit + SLACK × estimate.")]
LengthsOption = Annotated[
    str,
    typer.Option(metavar="SPEC", help="Distribution of task lengths, as gamma:cov=0.5 or file:PATH; default: normal."),
]
ApplicationsOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="TOML that says which job computes what: serial parts, loops, steps.")
]
OverheadOption = Annotated[int, typer.Option(metavar="NS", help="What each chunk costs before its tasks, ns.")]
LatencyOption = Annotated[
    int, typer.Option(metavar="NS", help="What a message between a job's first host and another takes, ns.")
]
AssignmentOption = Annotated[
    str, typer.Option(metavar="HOW", help="Who calculates chunks, and pays: distributed (each core), or master.")
]
SpeedsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SPEC", help="Core speeds that change, as square:period=60s,low=0.5; may be repeated."),
]
NetworkOption = Annotated[
    str,
    typer.Option(metavar="MODEL", help="What data between a graph's tasks take: none, hockney, cm02, lv08."),
]
TasksPerCoreOption = Annotated[int, typer.Option(metavar="K", help="Mean number of tasks a core of a job.")]
AllocatorOption = Annotated[str, typer.Option(help="Choice of cores by name (first-fit …), or FILE.py:NAME.")]
BackfillOption = Annotated[
    str, typer.Option(metavar="HOW", help="Reservations: none, easy (one), conservative (all), or their number.")
]
ConservativeOption = Annotated[
    str | None,
    typer.Option(metavar="HOW", help="Conservative plans: keep (the default) what was promised, or rebuild each time."),
]
KillOption = Annotated[bool, typer.Option("--kill-at-walltime", help="Kill jobs that have run for their request.")]
EstimatesOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How long the scheduler thinks that jobs run: requested, exact, within:X%, last-two, profile or FILE.py:NAME.",
    ),
]
OnFailureOption = Annotated[str, typer.Option(metavar="HOW", help="Jobs that lose a host: requeue or lose.")]
MaxAttemptsOption = Annotated[int, typer.Option(metavar="N", help="Give up when a job was cut so often.")]
ChargeOption = Annotated[
    bool, typer.Option("--charge-decisions", help="Jobs start only after the time it took to decide so.")
]
CostOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="What a decision takes, as 50ms, instead of what is measured.")
]
MemoryOption = Annotated[
    str, typer.Option(metavar="WHENCE", help="Memory that a core asks for: none, or swf: the log's.")
]
RequestsOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="CSV of what jobs ask for: units, resources, licences, switches.")
]
WindowsOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="TOML of reservations and maintenance windows.")
]
FailuresOption = Annotated[
    str | None, typer.Option(metavar="WHAT", help="Host failures: a CSV file, or mtbf:30d,mttr:4h.")
]
DependenciesOption = Annotated[
    bool, typer.Option("--dependencies", help="Jobs wait for their preceding job and think time (SWF 17, 18).")
]
SwitchesOption = Annotated[
    str | None, typer.Option(metavar="N[@TIME]", help="Jobs accept so many leaf switches, and wait so long for it.")
]
PresetOption = Annotated[
    bool, typer.Option("--preset", help="With the jobs that by the log run at the window's start.")
]
CancelledOption = Annotated[
    bool, typer.Option("--cancelled", help="With the jobs that were cancelled before they started.")
]
OutOption = Annotated[str, typer.Option(metavar="DIR", help="Folder for the results; it must not exist.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the results in DIR.")]
WorkersOption = Annotated[int | None, typer.Option(metavar="N", help="Processes at once; default: one a processor.")]

CoreSpeedOption = Annotated[
    str, typer.Option(metavar="GFLOPS", help="Speed of every core, GFLOP/s; or of each, as 2,1,1,1.")
]
