"""Power limits, as a policy sees them."""

from collections.abc import Iterable

import numpy as np

from bls.engine.features.draws.draws import planned_more_mw, power_left
from bls.engine.state import NEVER, BatchState


class PowerRoom:
    """The power, above idle, that jobs draw and may draw, mW. ``limits``: whether starts depend on a power limit."""

    def __init__(self, state: BatchState) -> None:
        self._state, self.limits = state, len(state.domains.limit_mw) > 0

    @property
    def limit_mw(self) -> int:
        """The known power limit of the machine; ``NEVER`` if there is none."""
        return int(min(self._state.domains.limit_mw[:1].tolist(), default=NEVER))

    @property
    def left_mw(self) -> int:
        """The power left under that limit; ``NEVER`` if there is none."""
        return power_left(self._state)

    def more_mw(self, row: int, n_cores: int, cores: Iterable[int] | None) -> int:
        """The power of a row's job on these cores, or on the ``n_cores`` cores with the least draw."""
        more = planned_more_mw(self._state, row)
        if cores is None:
            return n_cores * int(more.min())
        group = np.searchsorted(self._state.power.first_core[1:-1], list(cores), side="right")
        return int(more[group].sum())
