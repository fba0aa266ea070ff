"""Commands of a policy to running jobs, passed to the engine."""

from collections.abc import Mapping, Sequence

from bls.engine.features.directions.state import Directed
from bls.engine.state import SCALED, BatchState

ALL = -1  #: stands for all cores of a job

Entry = tuple[int, int, int, int]  #: a line of ``Directed``: job, command, core, value

#: By row: widths, hints, scales of jobs whose only command is a scale of all cores, and all other commands.
Commands = tuple[Mapping[int, int], Sequence[Entry], Mapping[int, int], Sequence[Entry]]


def put_commands(state: BatchState, commands: Commands) -> None:
    """Pass the commands of a pass to the engine."""
    widths, hints, scales, others = commands
    if widths:
        state.requests.of_row.width[list(widths)] = list(widths.values())
    at, directed = len(hints), state.directions.decided
    _put(directed, 0, hints)
    # One assignment per column: scaled speeds may change all running jobs.
    if scales:
        stop = at + len(scales)
        directed.job[at:stop], directed.value[at:stop] = list(scales), list(scales.values())
        directed.what[at:stop], directed.core[at:stop] = SCALED, ALL
        at = stop
    _put(directed, at, others)
    state.directions.n_decided = at + len(others)


def _put(directed: Directed, at: int, entries: Sequence[Entry]) -> None:
    # Write entries, beginning at position ``at``.
    if entries:
        for column, values in zip(directed, zip(*entries, strict=True), strict=True):
            column[at : at + len(entries)] = values
