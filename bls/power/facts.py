"""Additions of features of the engine to the power of a run."""

from typing import Final

from bls.engine.feature import PowerFacts
from bls.engine.features.order import FEATURES, declared
from traces.base.options import named

FACTS: Final[tuple[PowerFacts, ...]] = tuple(
    named(feature.power) for feature in (declared(where) for where, _ in FEATURES) if feature.power
)

METRICS: Final = tuple(name for one in FACTS for name in one.metrics)  #: the names of their metrics
