"""What a feature of the batch engine declares about itself, in the file ``feature.py`` of its folder.

``bls.engine.features.order`` has all features, in the order in which subscribers of one event are called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bls.engine.settings import Settings
from traces.kernels.state import State, fields_of

if TYPE_CHECKING:
    from bls.engine.initial_state import RunColumns
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
        """Whether a run has a field of the state, a dimension that is not empty, or a setting other than the default."""
        fields = fields_of(Settings)
        if name in fields:
            return bool(getattr(self.settings, name) != fields[name].fill)
        return name in self.given.state or self.sizes[name] > 0


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature of the batch engine. Only runs that have any of the names in ``needs`` (``FeatureRun.has``) may have it."""

    needs: tuple[str, ...]
    there: Callable[[FeatureRun], Any] = lambda run: True  # whether such a run has the feature
    on: Mapping[int, str] = field(default_factory=dict)  # ``"module:kernel"`` by the events to which it subscribes
    plays: Mapping[int, str] = field(default_factory=dict)  # ``"module:kernel"`` by the roles that it plays
    # Of several features' values the greatest counts, of settings and of sizes of dimensions of their columns:
    settings: Callable[[FeatureRun], Mapping[str, int]] = lambda run: {}
    sizes: Callable[[FeatureRun], Mapping[str, int]] = lambda run: {}
    state: Callable[[FeatureRun], Mapping[str, Any]] = lambda run: {}  # first values of its fields of the state
    begin: Callable[[BatchState], None] = lambda state: None  # sets first values of columns, when all fields are there
    # By the ``BatchStatus`` that asks for room, a table that is to have twice as much, and as many entries more
    grow: Mapping[int, Callable[[BatchState], tuple[State, int]]] = field(default_factory=dict)
    carried: tuple[str, ...] = ()  # dimensions of columns that ``carry`` brings into the next state of a chain of runs
    carry: Callable[[BatchState, BatchState], None] = lambda old, new: None
    stuck: Callable[[BatchState], str] = lambda state: (
        ""
    )  # why no job starts any more, if that is because of the feature
    check: str = ""  # ``"module:function"`` that checks its invariants, called with a ``BatchChecks``
    tells: int = 0  # how many commands it may have for a core of a running job after one pass
