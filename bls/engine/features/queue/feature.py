"""Declarations of the features of waiting jobs."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun
from bls.engine.features.queue.limits import carry_tallies

_HERE = "bls.engine.features.queue"


def _have_others(run: FeatureRun) -> bool:
    waits = run.settings.keeps_reservations == 1 or run.settings.order == b.DECIDED  # a pass at another instant
    return waits or any(map(run.has, _OTHERS))


_OTHERS = ("cancels", "windows", "child_first", "switch_wait_ns")

OTHERS = Feature(
    (*_OTHERS, "keeps_reservations", "order"),
    _have_others,
    on={h.NEXT: f"{_HERE}.other_events:next_other", h.INSTANT: f"{_HERE}.other_events:others"},
    deals=lambda state: ("cuts",) if state.cancel_order.size else (),
)

DEPENDENCIES = Feature(
    ("child_first",),
    on={h.ENDED: f"{_HERE}.other_events:let_children_come"},
    overtakes=True,
    sizes=lambda run: {"arriving": 2 * run.jobs},
)

SWITCHES = Feature(
    ("switch_wait_ns",),
    on={h.ARRIVED: f"{_HERE}.other_events:wait_for_switches"},
    sizes=DEPENDENCIES.sizes,
    overtakes=True,
)

PARTITION_LIMITS = Feature(
    ("limited",),
    on={h.BLOCKED: f"{_HERE}.limits:is_beyond", **dict.fromkeys((h.TAKEN, h.FREED), f"{_HERE}.limits:count")},
    sizes=lambda run: {"users": int(run.given.jobs.user.max()) + 1},
    carried=("users",),
    carry=carry_tallies,
    check=f"{_HERE}.limits:check_tallies",
    overtakes=True,
)

PREDICTS = Feature(
    ("history_least", "power"),
    lambda run: run.has("history_least") or len(run.given.state["power"].seen) > 0,
    on={
        h.ENDED: f"{_HERE}.prediction:learn",
        h.INSTANT: f"{_HERE}.prediction:predict_again",
        h.ARRIVED: f"{_HERE}.prediction:predict",
    },
)

PRESETS = Feature(("presets",), on={h.BEFORE_PASS: f"{_HERE}.other_events:start_presets"}, overtakes=True)
