"""What a feature of the batch engine declares about itself, in the file ``feature.py`` of its folder.

``bls.engine.features.order`` has all features, in the order in which subscribers of one event are called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bls.engine.initial_state import RunColumns
    from bls.engine.settings import Settings
    from bls.engine.state import BatchState


@dataclass(frozen=True)
class FeatureRun:
    """A run before its first event: what is given of it, its settings, and how many jobs, hosts and cores there are."""

    given: RunColumns
    settings: Settings
    jobs: int
    hosts: int
    cores: int
    sizes: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))  # of dimensions, 0 where not known

    def has(self, name: str) -> bool:
        """Whether a field of the state is given."""
        return name in self.given.state


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature of the batch engine."""

    there: Callable[[FeatureRun], Any]  # whether a run has the feature
    on: Mapping[int, str] = field(default_factory=dict)  # ``"module:kernel"`` by the events to which it subscribes
    plays: Mapping[int, str] = field(default_factory=dict)  # ``"module:kernel"`` by the roles that it plays
    settings: Callable[[FeatureRun], Mapping[str, int]] = (
        lambda run: {}
    )  # of several features' values the greatest counts
    sizes: Callable[[FeatureRun], Mapping[str, int]] = (
        lambda run: {}
    )  # the sizes of dimensions of its columns; likewise
    state: Callable[[FeatureRun], Mapping[str, Any]] = lambda run: {}  # first values of its fields of the state
    stuck: Callable[[BatchState], str] = lambda state: (
        ""
    )  # why no job starts any more, if that is because of the feature
    check: str = ""  # ``"module:function"`` that checks its invariants, called with a ``BatchChecks``
    tells: int = 0  # how many commands it may have for a core of a running job after one pass
