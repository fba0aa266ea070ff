"""Declaration of running jobs whose width changes."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, RunColumns
from traces.compiled import Array


def ranges(run: RunColumns) -> dict[str, dict[str, Array]]:
    """The columns of jobs with their least and largest widths."""
    widths = run.chosen.constraints.widths
    return {} if widths is None else {"jobs": {"min_cores": widths.min_cores, "max_cores": widths.max_cores}}


WIDTHS = Feature(
    given=lambda run: {"resizing": run.chosen.rules.resizing, "releases": b.BY_CORE, **ranges(run)},
    on={h.AFTER_PASS: "bls.engine.features.widths.widths:resize_running"},
    deals=lambda state: ("resizes",),
    settings=lambda run: {"widest": run.cores},  # a job may get all cores
    sizes=lambda run: {"resizing": run.cores, "requested_widths": run.jobs},
    commands=1,
    check="bls.engine.features.widths.widths:check_widths",
)
