"""All features of the batch engine, in the order in which the subscribers of one event are called."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bls.engine.feature import Feature, FeatureRun
    from bls.engine.state import BatchState

#: The folder and the name of each feature; and what a run has, any of it, that may have the feature (``RunColumns.has`` and
#: ``FeatureRun.has``). Other runs do not load its declaration.
FEATURES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("decisions:RECORDS", ("keep_decisions",)),
    ("decisions:CHARGES", ("charges_decisions",)),
    # At an instant, after the ends: releases of cores, requests for cores, predictions, hosts, limits, and the others.
    ("releases:HOLDERS", ("releases",)),
    ("releases:RELEASES", ("releases",)),
    ("requests:REQUESTS", ("resizing",)),
    ("prediction:PREDICTS", ("predicted", "power")),
    ("outages:OUTAGES", ("outages",)),
    ("limits:LIMITS", ("power",)),
    ("stops:STOPS", ("stops",)),
    ("drains:DRAINS", ("drains",)),
    ("retries:RETRIES", ("outages", "loses", "directs")),
    ("prediction:PROMISES", ("promised",)),
    ("widths:WIDTHS", ("resizing",)),
    ("hints:HINTS", ("hints",)),
    ("hints:HINTS_AS_DECIDED", ("hints",)),
    ("directions:DIRECTS", ("directs",)),
    ("levels:SLOWS", ("powered",)),
    ("commands:TOGETHER", ("command_sources",)),
    ("commands:COMMANDS", ("max_commands",)),
    ("core_plan:BY_CORES", ("by_cores",)),
    ("plans:PLANS_AHEAD", ("by_cores", "max_reservations")),
    ("limits:EASY", ("powered",)),
    ("domains:PARTS", ("domains",)),
    ("scores:SCORES", ("order",)),
    ("molding:MOLDS", ("molds",)),
    ("molding:MOLDS_WITH_PLANS", ("molds",)),
    ("scores:TURNS_AWAY", ("order",)),
    ("partition_limits:PARTITION_LIMITS", ("limited",)),
    ("other_events:OTHERS", ("cancels", "windows", "dependencies", "switch_wait_ns", "keeps_reservations", "order")),
    ("dependencies:DEPENDENCIES", ("dependencies",)),
    ("switches:SWITCHES", ("requests",)),
    ("presets:PRESETS", ("presets",)),
    ("hold:HOLDS", ("order",)),
    # Policies try placements on hosts that are known to sleep; accounts begin when sleeping hosts have been waited for.
    ("sleep:SLEEPS", ("sleep",)),
    ("python:DECIDES", ("order",)),
    ("scores:ACCOUNTS", ("accounts",)),
)


@cache
def declared(where: str) -> "Feature":
    """The declaration of a feature, in ``feature.py`` of its folder."""
    folder, _, name = where.partition(":")
    found: Feature = getattr(import_module(f"bls.engine.features.{folder}.feature"), name)
    return found


def features_for(run: "FeatureRun") -> "Iterator[tuple[int, Feature]]":
    """Yield the features of a run before its first event, with their places; settings that one changes count for the next."""
    for place, (where, needs) in enumerate(FEATURES):
        if any(map(run.has, needs)) and (feature := declared(where)).there(run):
            yield place, feature


def features_of(state: "BatchState") -> "list[Feature]":
    """The features of a run."""
    return [declared(where) for (where, _), there in zip(FEATURES, state.features, strict=True) if there]
