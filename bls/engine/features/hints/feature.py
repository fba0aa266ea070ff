"""Declarations of hints, of the queue's head or of a policy."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature

HINTS = Feature(
    lambda run: run.settings.hints == b.OF_HEAD,
    given=lambda run: {"hints": b.BY_POLICY if "hints" in run.chosen.directs else b.OF_HEAD},
    on={h.AFTER_PASS: "bls.engine.features.hints.hints:hint_running"},
    deals=lambda state: ("hints",),
    sizes=lambda run: {"hinted": run.cores, "job_hints": run.jobs},
    commands=1,
)

HINTS_AS_DECIDED = Feature(
    lambda run: run.settings.hints == b.BY_POLICY,
    on={h.AFTER_PASS: "bls.engine.features.hints.hints:hint_as_decided"},
    deals=lambda state: ("hints",),
    sizes=lambda run: {"hinted": run.cores, "directed": 5 * run.cores, "job_hints": run.jobs},
    commands=1,
)
