"""Declarations of the log of commands to running jobs."""

from bls.engine import hooks as h
from bls.engine.feature import Feature
from bls.engine.status import BatchStatus

COMMANDS = Feature(
    on={h.BEFORE_PASS: "bls.engine.features.commands.commands:room"},
    # Each of these features may send commands to every job.
    sizes=lambda run: {
        "interrupted": run.cores * run.settings.command_sources,
        "commands": 4 * run.cores * run.settings.command_sources,
        "job_commands": run.jobs,
    },
    grow={BatchStatus.COMMANDS_FULL: lambda state: (state.commands.log, state.settings.max_commands)},
)

TOGETHER = Feature(
    lambda run: run.settings.command_sources > 1,
    on={h.AFTER_PASS: "bls.engine.features.commands.commands:sort_commands"},
)
