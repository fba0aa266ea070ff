"""Commands of a policy to running jobs, passed to the engine."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bls.engine.features.directions.state import Directed
from bls.engine.state import SCALED, BatchState

ALL = -1  #: stands for all cores of a job


class Commands(NamedTuple):
    """The commands of one pass, by row."""

    widths: Mapping[int, int]
    # Entries of ``Directed``: job, command, core, value
    hints: Sequence[tuple[int, int, int, int]]
    scales: Mapping[int, int]  # jobs whose only command is a scale of all cores
    others: Sequence[tuple[int, int, int, int]]  # entries of the other jobs, by row


def put_commands(state: BatchState, given: Commands) -> None:
    """Pass the commands of a pass to the engine."""
    if given.widths:
        state.requests.of_row.width[list(given.widths)] = list(given.widths.values())
    at, directed = len(given.hints), state.directions.decided
    _put(directed, 0, given.hints)
    # One assignment per column: scaled speeds may change all running jobs.
    if scales := given.scales:
        stop = at + len(scales)
        directed.job[at:stop], directed.value[at:stop] = list(scales), list(scales.values())
        directed.what[at:stop], directed.core[at:stop] = SCALED, ALL
        at = stop
    _put(directed, at, given.others)
    state.directions.n_decided = at + len(given.others)


def _put(directed: Directed, at: int, entries: Sequence[tuple[int, int, int, int]]) -> None:
    # Write entries (job, command, core, value), beginning at position ``at``.
    if entries:
        for column, values in zip(directed, zip(*entries, strict=True), strict=True):
            column[at : at + len(entries)] = values
