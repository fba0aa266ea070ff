"""The arguments and options that several commands of the command line share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = [
    "AllocatorOption",
    "ForceOption",
    "OutOption",
    "OverheadOption",
    "OversizeOption",
    "PlatformOption",
    "SeedOption",
    "SelectOption",
    "SlackOption",
    "TasksPerCoreOption",
    "WorkersOption",
    "WorkloadArgument",
]

WorkloadArgument = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="An SWF file, plain or gzipped; or 'sample'.")
]
PlatformOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Platform in TOML; default: 4 hosts × 64 cores (twolevel platform).")
]
SelectOption = Annotated[
    str, typer.Option(metavar="WHICH", help="all, first:N, busiest:LENGTH or window:START+LENGTH, as busiest:24h.")
]
OversizeOption = Annotated[
    str, typer.Option(metavar="HOW", help="Jobs wider than the platform: reject, or clamp to its width.")
]
SeedOption = Annotated[int, typer.Option(help="Seed of the task lengths.")]
SlackOption = Annotated[float, typer.Option(help="EDF's deadline is submit + SLACK × estimate.")]
OverheadOption = Annotated[int, typer.Option(metavar="NS", help="What a core pays before each chunk, ns.")]
TasksPerCoreOption = Annotated[int, typer.Option(metavar="K", help="Mean number of tasks a core of a job.")]
AllocatorOption = Annotated[str, typer.Option(help="Choice of cores by name (lowest …), or FILE.py:NAME.")]
OutOption = Annotated[str, typer.Option(metavar="DIR", help="Folder for the results; it must not exist.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the results in DIR.")]
WorkersOption = Annotated[int | None, typer.Option(metavar="N", help="Processes at once; default: one a processor.")]
