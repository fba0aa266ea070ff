"""What the generators share: their parameters, how large a graph is, and what they write alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from als.graphs.contract import MAX_CCR, GraphDraft, GraphModel
from als.lengths.contract import MAX_COV
from traces.base.errors import real
from traces.compiled import compiled


def wanted_tasks(own: int, n_tasks: int, n_cores: int) -> int:
    """How many tasks are wanted: the generator's ``own`` number, else the job's, else one a core; 0 stands for none given."""
    if own > 0:
        return own
    return n_tasks if n_tasks > 0 else n_cores


_wanted = compiled(inner=True)(wanted_tasks)


@compiled(inner=True)
def wanted(own: int, draft: GraphDraft) -> int:
    """As :func:`wanted_tasks`, for a rule."""
    return int(_wanted(own, draft.n_tasks, draft.n_cores))


@compiled(inner=True)
def fits(draft: GraphDraft, n: int, n_edges: int) -> bool:
    """Say the size of the graph; returns whether there is room for it."""
    draft.size[0], draft.size[1] = n, n_edges
    return n <= draft.gflop.size and n_edges <= draft.source.size


@compiled(inner=True)
def equal_weights(draft: GraphDraft, n: int, n_edges: int) -> None:
    """Let all tasks weigh the same, and all edges."""
    draft.gflop[:n] = 1.0
    draft.bytes[:n_edges] = 1.0


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
