"""The commands that running jobs have received, for records of events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bls.engine.features.commands.state import CommandLog
    from bls.engine.state import BatchState


def commands_of(state: BatchState, *kinds: int) -> CommandLog:
    """Return all commands of these kinds so far, by row, then by time."""
    commands = state.commands.log.front(state.commands.n_log)
    commands = commands.take(np.isin(commands.what, kinds))
    return commands.take(np.argsort(commands.job, kind="stable"))
