"""Declarations of running jobs that release cores."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature
from bls.engine.status import BatchStatus

_HERE = "bls.engine.features.releases"

HOLDERS = Feature(
    on={h.TAKEN: f"{_HERE}.releases:take_up"},
    plays={h.GIVE_BACK: f"{_HERE}.releases:give_up"},
    grow={BatchStatus.RELEASES_FULL: lambda state: (state.releases.made, len(state.releases.holder))},
    check=f"{_HERE}.releases:check_releases",
    sizes=lambda run: {"held": run.cores, "releasing": run.cores, "releases": 4 * run.cores},
)

RELEASES = Feature(
    lambda run: run.settings.releases != b.BY_DRAIN,
    given=lambda run: {"releases": run.chosen.rules.releases},
    on={h.NEXT: f"{_HERE}.releases:next_release", h.INSTANT: f"{_HERE}.releases:handle_releases"},
    deals=lambda state: ("releases", "awaits_outcomes"),
)
