"""The choice of a policy in Python, passed to the engine; and why a job cannot have the cores that were named for it."""

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from bls.engine import state as b
from bls.machine.platform import Platform
from traces.base.errors import shown
from traces.base.time import format_ns
from traces.intervals import intervals_text

_SHOWN = 80  #: length up to which a list of cores is shown


def put_choice(
    state: b.BatchState, rows: Sequence[int], named: Mapping[int, Sequence[tuple[int, int]]], rejected: Set[int]
) -> int:
    """Pass the rows of rejected and of starting jobs to the engine, with the cores of some of the latter, by position.
    Returns the number of these jobs."""
    entries = [*(-1 - row for row in rejected), *rows] if rejected else rows
    state.n_chosen = len(entries)
    if entries:
        state.choice.rows[: len(entries)] = entries
    if named:
        first = [0] * (len(rejected) + 1)
        spans: list[tuple[int, int]] = []
        for place in range(len(rows)):
            spans += named.get(place, ())
            first.append(len(spans))
        state.choice.first[: len(first)] = first
        state.choice.lo[: len(spans)], state.choice.hi[: len(spans)] = zip(*spans, strict=True)
        state.choice.n_named = len(spans)
    return len(entries)


def cores_text(cores: Iterable[tuple[int, int]]) -> str:
    """Cores in the form of errors: ``core 3``, ``cores 0-3 8``."""
    text = intervals_text(cores)
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"core {short}" if text.isdigit() else f"cores {short}"


def named_refusal(state: b.BatchState, row: int, platform: Platform, windows: Sequence[str]) -> str:
    """The reason why a job cannot have the cores named for it, from the notes of ``bls.engine.features.python.decided``.
    ``windows``: the names of all windows."""
    choice = state.choice
    first = next(k for k in range(int(state.n_chosen)) if choice.rows[k] == row)
    named = slice(int(choice.first[first]), int(choice.first[first + 1]))
    cores = cores_text(zip(choice.lo[named].tolist(), choice.hi[named].tolist(), strict=True))
    return f"placed job {state.jobs.number[row]} on {cores}: {_why(state, row, platform, windows)}"


def _why(state: b.BatchState, row: int, platform: Platform, windows: Sequence[str]) -> str:
    why, at, of = int(state.choice.refused), state.choice.refused_at, state.choice.refused_of
    if why == b.TAKEN:
        return f"core {at} {_holder(state, at)}"
    if why == b.OUTSIDE:
        return f"core {at} is not of its partition, {shown(platform.partitions[state.jobs.partition[row]].name)}"
    if why in (b.IN_WINDOW, b.OUT_OF_WINDOW):
        begin_ns, end_ns = int(state.windows.begin_ns[at]), int(state.windows.end_ns[at])
        lasts = f"{windows[at]}, from {format_ns(begin_ns)} to {format_ns(end_ns)}"
        if why == b.IN_WINDOW:
            return f"it would meet {lasts}, on core {of}"
        return f"it may only run inside {lasts}" if of < 0 else f"core {of} is not of its {windows[at]}"
    if why == b.NO_RESOURCE:
        n, names = int(state.settings.n_resources), platform.resource_names
        left = max(0, int(state.cores_profile.now.amounts[at * n + of]))
        return f"host {at} has {left} {names[of]} left, and each unit needs {state.needs[of, row]}"
    if why == b.NO_LICENCE:
        n, amounts = int(state.settings.n_resources), state.cores_profile.now.amounts
        left = int(amounts[len(amounts) - len(platform.licence_names) + at])
        return f"{left} {platform.licence_names[at]} are left, and it needs {state.needs[n + at, row]}"
    if why == b.SWITCHES:
        return f"they are on {at} leaf switches, and it accepts {state.switch_limit[state.jobs.origin[row]]}"
    texts: dict[int, str] = {
        b.TOO_FEW: f"its units can use {at} of them, and it requests {state.jobs.cores[row]}",
        b.TOO_MANY: f"it does not need host {at}; allowed: as many whole hosts as it needs",
        b.BROKEN_UNIT: f"{of} cores on host {at} are no multiple of the {state.jobs.unit_cores[row]} of a unit",
        b.NO_PARTS: f"the free GPUs of host {at} suffice for {of} of its units there",
        b.SHARED_HOST: f"{of} of the cores of host {at}; allowed: whole hosts, which jobs do not share",
        b.HELD_BACK: "a limit of its partition on what runs at once does not let it start now",
    }
    return texts[why]


def _holder(state: b.BatchState, core: int) -> str:
    jobs, holder = state.jobs, state.releases.holder
    for row in np.flatnonzero((jobs.start_ns >= 0) & (jobs.state < 0)).tolist():
        held = slice(jobs.held_first[row], jobs.held_first[row] + jobs.held_count[row])
        inside = (state.pool.lo[held] <= core) & (core < state.pool.hi[held])
        if inside.any() and (not len(holder) or holder[core] == row):
            return f"is held by job {jobs.number[row]}"
    return f"is on host {state.host_of[core]}, which is down"
