"""All features of the batch engine, in the order in which the subscribers of one event are called."""

from typing import TYPE_CHECKING

from bls.engine.feature import Feature
from bls.engine.features.commands import feature as commands
from bls.engine.features.core_plan import feature as core_plan
from bls.engine.features.decisions import feature as decisions
from bls.engine.features.dependencies import feature as dependencies
from bls.engine.features.directions import feature as directions
from bls.engine.features.domains import feature as domains
from bls.engine.features.drains import feature as drains
from bls.engine.features.hints import feature as hints
from bls.engine.features.hold import feature as hold
from bls.engine.features.levels import feature as levels
from bls.engine.features.limits import feature as limits
from bls.engine.features.molding import feature as molding
from bls.engine.features.other_events import feature as other_events
from bls.engine.features.outages import feature as outages
from bls.engine.features.partition_limits import feature as partition_limits
from bls.engine.features.plans import feature as plans
from bls.engine.features.prediction import feature as prediction
from bls.engine.features.presets import feature as presets
from bls.engine.features.python import feature as python
from bls.engine.features.releases import feature as releases
from bls.engine.features.requests import feature as requests
from bls.engine.features.retries import feature as retries
from bls.engine.features.scores import feature as scores
from bls.engine.features.sleep import feature as sleep
from bls.engine.features.stops import feature as stops
from bls.engine.features.switches import feature as switches
from bls.engine.features.widths import feature as widths

if TYPE_CHECKING:
    from bls.engine.state import BatchState

FEATURES = (
    *(decisions.RECORDS, decisions.CHARGES),
    # At an instant, after the ends: releases of cores, requests for cores, predictions, hosts, limits, and the others.
    *(releases.HOLDERS, releases.RELEASES, requests.REQUESTS, prediction.PREDICTS),
    *(outages.OUTAGES, limits.LIMITS, stops.STOPS, drains.DRAINS, retries.RETRIES, prediction.PROMISES),
    *(widths.WIDTHS, hints.HINTS, hints.HINTS_AS_DECIDED, directions.DIRECTS, levels.SLOWS),
    *(commands.TOGETHER, commands.COMMANDS, core_plan.BY_CORES, plans.PLANS_AHEAD, limits.EASY, domains.PARTS),
    *(scores.SCORES, molding.MOLDS, molding.MOLDS_WITH_PLANS, scores.TURNS_AWAY),
    *(partition_limits.PARTITION_LIMITS, other_events.OTHERS, dependencies.DEPENDENCIES, switches.SWITCHES),
    *(presets.PRESETS, hold.HOLDS),
    # Policies try placements on hosts that are known to sleep; accounts begin when sleeping hosts have been waited for.
    *(sleep.SLEEPS, python.DECIDES, scores.ACCOUNTS),
)


def features_of(state: "BatchState") -> list[Feature]:
    """The features of a run."""
    return [feature for feature, there in zip(FEATURES, state.features, strict=True) if there]
