"""Power limits, as a policy sees them."""

from collections.abc import Iterable

import numpy as np

from bls.engine.features.draws.draws import planned_more_mw, power_left
from bls.engine.state import NEVER, BatchState


class PowerRoom:
    """The power, above idle, that jobs draw and may draw, W; None without a limit. ``limits``: whether starts depend on one."""

    def __init__(self, state: BatchState) -> None:
        self._state, self.limits = state, len(state.domains.limit_mw) > 0

    @property
    def limit_w(self) -> float | None:
        """The known power limit of the machine."""
        return _watts(min(self._state.domains.limit_mw[:1].tolist(), default=NEVER))

    @property
    def left_w(self) -> float | None:
        """The power left under that limit."""
        return _watts(power_left(self._state))

    def more_w(self, row: int, n_cores: int, cores: Iterable[int] | None) -> float | None:
        """The power of a row's job on these cores, or on the ``n_cores`` cores with the least draw."""
        if not self.limits:
            return None
        more = planned_more_mw(self._state, row)
        if cores is None:
            return n_cores * int(more.min()) / 1000
        group = np.searchsorted(self._state.power.first_core[1:-1], list(cores), side="right")
        return int(more[group].sum()) / 1000


def _watts(mw: int) -> float | None:
    return None if mw == NEVER else mw / 1000
