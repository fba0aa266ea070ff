"""What every generator is given: how the weights of tasks and edges become work and bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from als.graphs.contract import MAX_CCR, MAX_COV, GraphModel
from traces.base.ranges import real


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Parameters of any generator."""

    name: ClassVar[str]
    # ratio of communication to computation, 0 to ``MAX_CCR``: mean over edges of bytes/bandwidth, over the mean time of
    # a task. 0: edges carry no data.
    ccr: float = 1.0
    # coefficient of variation of a task's work around its weight, 0 to ``MAX_COV``; None: the run's variation
    cov: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ccr", real(f"graph {self.name}: ccr", self.ccr, 0.0, MAX_CCR))
        if self.cov is not None:
            object.__setattr__(self, "cov", real(f"graph {self.name}: cov", self.cov, 0.0, MAX_COV))

    def model(
        self,
        make: Callable[..., int],
        params: Sequence[float],
        n_tasks: Callable[[int, int], tuple[int, int]],
        variation: float,
    ) -> GraphModel:
        """The model of this rule with this cov or the run's."""
        cov = variation if self.cov is None else self.cov
        return GraphModel(self.name, make, np.array(params, np.float64), n_tasks, ccr=self.ccr, cov=cov)
