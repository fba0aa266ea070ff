"""All features of the batch engine, in the order in which the subscribers of one event are called."""

from collections.abc import Iterator
from functools import cache
from os import path
from typing import TYPE_CHECKING, Any, Final

from traces.base.options import named

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
    ("domains:PARTS", ("parts",)),
    ("scores:SCORES", ("order",)),
    ("molding:MOLDS", ("molds",)),
    ("molding:MOLDS_WITH_PLANS", ("molds",)),
    ("scores:TURNS_AWAY", ("order",)),
    ("partition_limits:PARTITION_LIMITS", ("limited",)),
    ("other_events:OTHERS", ("cancels", "windows", "dependencies", "switch_wait_ns", "keeps_reservations", "order")),
    ("dependencies:DEPENDENCIES", ("dependencies",)),
    ("switches:SWITCHES", ("requests",)),
    ("gpus:GPUS", ("requests", "by_units")),
    ("gpus:TALLIES", ("requests",)),
    ("presets:PRESETS", ("presets",)),
    ("hold:HOLDS", ("order",)),
    # Policies try placements on hosts that are known to sleep; accounts begin when sleeping hosts have been waited for.
    ("sleep:SLEEPS", ("sleep",)),
    ("python:DECIDES", ("order",)),
    ("scores:ACCOUNTS", ("accounts",)),
)

#: The kinds of events of running jobs in ``records.py``, in the order of traces, and of events at one instant in stories.
RECORDS: Final = ("hints:HintRecords", "widths:WidthRecords", "directions:ScaleRecords", "releases:ReleaseRecords")


@cache
def declared(where: str, module: str = "feature") -> Any:
    """The declaration of a feature, or another one, in a module of its folder."""
    folder, _, name = where.partition(":")
    return named(f"bls.engine.features.{folder}.{module}:{name}")


def having(file: str) -> Iterator[str]:
    """Yield the folders of features that have a file, the last ones first, as they build on those before them."""
    here, folders = path.dirname(__file__), dict.fromkeys(where.partition(":")[0] for where, _ in reversed(FEATURES))
    return (folder for folder in folders if path.isfile(path.join(here, folder, file)))


def features_for(run: "FeatureRun") -> "Iterator[tuple[int, Feature]]":
    """Yield the features of a run before its first event, with their places; settings that one changes count for the next."""
    for place, (where, needs) in enumerate(FEATURES):
        if any(map(run.has, needs)) and (feature := declared(where)).there(run):
            yield place, feature


def features_of(state: "BatchState") -> "list[Feature]":
    """The features of a run."""
    return [declared(where) for (where, _), there in zip(FEATURES, state.features, strict=True) if there]
