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
        """The power of a row's job on these cores, with GPUs for its units there, or on the ``n_cores`` cores with the least
        draw, on hosts whose GPUs it accepts."""
        if not self.limits:
            return None
        state, more = self._state, planned_more_mw(self._state, row)
        n, group = np.array([n_cores]), np.arange(len(more))
        if cores is not None:
            hosts, n = np.unique(state.host_of[np.array(list(cores), np.int64)], return_counts=True)
            group = np.searchsorted(state.power.first_core[1:-1], state.host_first[hosts], side="right")
        mw = n * more[group]
        if len(state.power.gpu_mw):
            gpus, origin = state.gpus, state.jobs.origin[row]
            parts = gpus.per_unit[origin] * (n // state.jobs.unit_cores[row]) + gpus.per_host[origin]
            mw = mw + parts * gpus.milli[origin] * planned_more_mw(state, row, gpus=True)[group]
            if cores is None and parts[0] and len(group) > 1:
                hosts = state.host_of[state.power.first_core[:-1]]
                mw = mw[(np.diff(gpus.of_host)[hosts] > 0) & (gpus.kinds[origin] >> gpus.kind[hosts] & 1 == 1)]
        return int(mw.min() if cores is None else mw.sum()) / 1000


def _watts(mw: int) -> float | None:
    return None if mw == NEVER else mw / 1000
