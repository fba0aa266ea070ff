"""Declaration of running jobs whose width changes."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

WIDTHS = Feature(
    given=lambda run: {"resizing": run.chosen.rules.resizing, "releases": b.BY_CORE},
    on={h.AFTER_PASS: "bls.engine.features.widths.widths:resize_running"},
    deals=lambda state: ("resizes",),
    settings=lambda run: {"widest": run.cores},  # a job may get all cores
    sizes=lambda run: {"resizing": run.cores, "requested_widths": run.jobs, "job_widths": run.jobs},
    commands=1,
    check="bls.engine.features.widths.widths:check_widths",
)
