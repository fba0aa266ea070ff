"""Declarations of running jobs that release cores."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature
from bls.engine.status import BatchStatus

HOLDERS = Feature(
    on={h.TAKEN: f"{__package__}.releases:take_up", h.FREED: f"{__package__}.releases:count_released"},
    plays={h.GIVE_BACK: f"{__package__}.releases:give_up"},
    grow={BatchStatus.RELEASES_FULL: lambda state: (state.releases.made, len(state.releases.holder))},
    heaps=lambda state: {"releases": (state.releases.due, b.WIDTH_REQUEST_KEY + state.n_rows)},
    find_held=f"{__package__}.releases:find_held",
    check=f"{__package__}.releases:check_releases",
    sizes=lambda run: {"held": run.cores, "releasing": run.cores, "releases": 4 * run.cores, "job_releases": run.jobs},
)

RELEASES = Feature(
    lambda run: run.settings.releases != b.BY_DRAIN,
    given=lambda run: {"releases": run.chosen.rules.releases},
    on={h.NEXT: f"{__package__}.releases:next_release", h.INSTANT: f"{__package__}.releases:handle_releases"},
    deals=lambda state: ("releases", "awaits_outcomes"),
)
