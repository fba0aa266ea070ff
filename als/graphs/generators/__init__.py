"""The generators of task graphs, and their common parts: parameters, the size of a graph, equal weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from als.graphs.contract import MAX_CCR, GraphDraft, GraphModel
from als.lengths.contract import MAX_COV
from als.parameters import Checked, RealNumber
from traces.compiled import compiled


def wanted_tasks(own: int, n_tasks: int, n_cores: int) -> int:
    """Return the wanted number of tasks: the generator's ``own`` number, else the job's, else one per core (0: not given)."""
    if own > 0:
        return own
    return n_tasks if n_tasks > 0 else n_cores


_wanted = compiled(inner=True)(wanted_tasks)


@compiled(inner=True)
def wanted(own: int, draft: GraphDraft) -> int:
    """Return :func:`wanted_tasks` for a rule."""
    return int(_wanted(own, draft.n_tasks, draft.n_cores))


@compiled(inner=True)
def fits(draft: GraphDraft, n: int, n_edges: int) -> bool:
    """Write the size of the graph; return whether there is room for it."""
    draft.size[0], draft.size[1] = n, n_edges
    return n <= draft.gflop.size and n_edges <= draft.source.size


@compiled(inner=True)
def equal_weights(draft: GraphDraft, n: int, n_edges: int) -> None:
    """Give all tasks the same weight, and all edges."""
    draft.gflop[:n] = 1.0
    draft.bytes[:n_edges] = 1.0


@dataclass(frozen=True, kw_only=True)
class Weights(Checked):
    """Parameters of all generators."""

    noun = "graph"
    name: ClassVar[str]
    # ratio of communication to computation: mean over edges of bytes/bandwidth, over the mean time of
    # a task. 0: edges carry no data.
    ccr: Annotated[float, RealNumber(0.0, MAX_CCR)] = 1.0
    # coefficient of variation of a task's work around its weight; None: the run's variation
    cov: Annotated[float | None, RealNumber(0.0, MAX_COV)] = None

    def model(
        self,
        make: Callable[..., int],
        params: Sequence[float],
        n_tasks: Callable[[int, int], tuple[int, int]],
        variation: float,
    ) -> GraphModel:
        """Return the model of this rule with its own cov or the run's."""
        cov = variation if self.cov is None else self.cov
        return GraphModel(self.name, make, np.array(params, np.float64), n_tasks, ccr=self.ccr, cov=cov)
