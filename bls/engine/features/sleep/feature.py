"""Declaration of hosts that fall asleep when they idle."""

import numpy as np

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature, FeatureRun
from bls.engine.features.sleep.records import BOOTS
from bls.engine.features.sleep.state import all_awake
from traces.compiled import Array


def _awake(run: FeatureRun) -> dict[str, object]:
    first_ns = int(run.given.jobs.submit_ns.min(initial=b.NEVER))
    return {"sleep": all_awake(run.given.others["sleep"], run.sizes, first_ns)}


def _columns(state: b.BatchState) -> dict[str, Array]:
    start_ns, waits = (column[: state.n_rows] for column in (state.jobs.start_ns, state.jobs.late_ns))
    return {BOOTS.column: np.where(start_ns >= 0, waits, -1)}


def _up_to_now(state: b.BatchState) -> None:
    from bls.engine.features.sleep.hosts import let_sleep  # few runs need it

    let_sleep(state, -1, state.now_ns, 0, 0)


def _offered(run: FeatureRun) -> dict[str, int]:
    return {"offered_words": run.sizes["free_words"], "offered_hosts": run.hosts if run.settings.by_hosts else 0}


SLEEPS = Feature(
    on={
        h.FREED: f"{__package__}.hosts:let_sleep",
        h.HOST: f"{__package__}.hosts:change_host",
        h.BEFORE_PASS: f"{__package__}.hosts:begin_pass",
        h.STARTED: f"{__package__}.hosts:boot_hosts",
    },
    plays={h.PLACE_NOW: f"{__package__}.places:place_awake", h.SLOT_NOW: f"{__package__}.places:slot_awake"},
    sizes=_offered,
    settings=lambda run: {"host_log_room": 6 * run.hosts},  # each may fall asleep, boot, and go down
    state=_awake,
    columns=_columns,
    up_to_now=_up_to_now,
    power=f"{__package__}.power:FACTS",
    check=f"{__package__}.hosts:check_sleep",
)
