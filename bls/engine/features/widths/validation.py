"""Invariants of running jobs whose width changes."""

import numpy as np

from bls.engine import state as b
from bls.engine.validation import BatchChecks


def check_widths(checks: BatchChecks) -> None:
    """Check the maximum widths of running jobs and the counts of cores requested back from them."""
    state, jobs, owner, cores = checks.state, checks.jobs, checks.owner, checks.held_cores
    if checks.settings.releases == b.NO_RELEASES or checks.settings.resizing == b.NO_RESIZE:
        return
    left = np.bincount(owner, minlength=state.n_rows)
    asked = np.bincount(owner[state.asked[cores] == 1], minlength=state.n_rows)
    wanted = np.where(checks.holds, asked, jobs.asked)
    checks.counts(lambda row: f"cores that {checks.name(row)} was asked for", jobs.asked, wanted)
    most = np.maximum(jobs.cores, jobs.max_cores[jobs.origin])
    too_wide = checks.holds & (left > most)
    checks.none(too_wide, lambda row: f"{checks.name(row)} holds {left[row]} cores; it may have at most {most[row]}")
    given = cores[state.given_at[cores] > 0]
    commands = state.commands.take(state.given_at[given] - 1)
    wrong = (commands.job != state.holder[given]) | (commands.core != given) | (commands.what != b.GIVEN)
    checks.none(wrong, lambda k: f"core {given[k]}: the log has no command that gave it to its holder")
