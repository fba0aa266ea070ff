"""Why a job cannot have the cores that a policy has named for it, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.engine import state as b
from bls.engine.state import BatchState
from bls.machine.platform import Platform
from bls.seen.answers import cores_text
from traces.base.errors import shown
from traces.base.time import format_ns


def refusal(
    state: BatchState, row: int, platform: Platform, windows: Windows | None, domains: Sequence[str] = ()
) -> str:
    """What is wrong with the cores that were named for a job, as ``bls.engine.features.planning.decided`` has noted it.

    - ``state``: as it is when the choice has been refused
    - ``row``: the job's
    - ``domains``: what the parts of the machine are called that have limits to power of their own
    """
    jobs = state.jobs
    why = int(state.refused)
    if why == b.NO_POWER:
        more, room, where = state.refused_at, state.refused_of, state.refused_where
        there = f" of {domains[where - 1]}" if where else ""
        return (
            f"gave job {jobs.number[row]}, which would draw {more / 1000:g} W more than idle cores; under the limit to "
            f"power{there} {max(room, 0) / 1000:g} W are left"
        )
    first = next(k for k in range(int(state.n_chosen)) if state.chosen[k] == row)
    named = slice(int(state.chosen_first[first]), int(state.chosen_first[first + 1]))
    cores = cores_text(zip(state.chosen_lo[named].tolist(), state.chosen_hi[named].tolist(), strict=True))
    return f"placed job {jobs.number[row]} on {cores}: {_why(state, row, platform, windows, why)}"


def _why(state: BatchState, row: int, platform: Platform, windows: Windows | None, why: int) -> str:
    at, of = state.refused_at, state.refused_of
    asked, unit = state.jobs.cores[row], state.jobs.unit_cores[row]
    if why == b.TAKEN:
        return f"core {at} {_holder(state, at)}"
    if why == b.HELD_BACK:
        return "a limit of its partition on what runs at once does not let it start now"
    if why == b.OUTSIDE:
        return f"core {at} is not of its partition, {shown(platform.partitions[state.jobs.partition[row]].name)}"
    if why in (b.IN_WINDOW, b.OUT_OF_WINDOW):
        assert windows is not None
        window = windows.windows[at]
        lasts = f"{window}, from {format_ns(window.begin_ns)} to {format_ns(window.end_ns)}"
        if why == b.IN_WINDOW:
            return f"it would meet {lasts}, on core {of}"
        return f"it may only run inside {lasts}" if of < 0 else f"core {of} is not of its {window}"
    if why == b.BROKEN_UNIT:
        return f"{of} cores on host {at} are no multiple of the {unit} of a unit"
    if why == b.SHARED_HOST:
        return f"{of} of the cores of host {at}; allowed: whole hosts, which jobs do not share"
    if why == b.NO_RESOURCE:
        n, names = int(state.settings.n_resources), platform.resource_names
        left = max(0, int(state.cores_profile.now.amounts[at * n + of]))
        return f"host {at} has {left} {names[of]} left, and each unit needs {state.needs[of, row]}"
    if why == b.NO_LICENCE:
        n, amounts = int(state.settings.n_resources), state.cores_profile.now.amounts
        left = int(amounts[len(amounts) - len(platform.licence_names) + at])
        return f"{left} {platform.licence_names[at]} are left, and it needs {state.needs[n + at, row]}"
    if why == b.TOO_FEW:
        return f"its units can use {at} of them, and it asks for {asked}"
    if why == b.TOO_MANY:
        return f"it does not need host {at}; allowed: as many whole hosts as it needs"
    assert why == b.SWITCHES, why
    return f"they are on {at} leaf switches, and it accepts {state.jobs.switch_limit[row]}"


def _holder(state: BatchState, core: int) -> str:
    jobs = state.jobs
    for row in np.flatnonzero((jobs.start_ns >= 0) & (jobs.state < 0)).tolist():
        first = int(jobs.held_first[row])
        for k in range(first, first + int(jobs.held_count[row])):
            released = state.settings.releases != b.NO_RELEASES and state.holder[core] != row
            if state.pool.lo[k] <= core < state.pool.hi[k] and not released:
                return f"is held by job {jobs.number[row]}"
    return f"is on host {state.host_of[core]}, which is down"
