"""Declaration of running jobs whose width changes."""

from bls.engine import hooks as h
from bls.engine.feature import Feature

_HERE = "bls.engine.features.widths"

WIDTHS = Feature(
    ("resizing",),
    on={h.AFTER_PASS: f"{_HERE}.widths:resize_running"},
    settings=lambda run: {"widest": run.cores},  # a job may get all cores
    sizes=lambda run: {"resizing": run.cores, "requested_widths": run.jobs},
    commands=1,
    check=f"{_HERE}.validation:check_widths",
)
