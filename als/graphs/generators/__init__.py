"""The generators of task graphs, and what they share: parameters, the size of a graph, equal weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from als.graphs.contract import MAX_CCR, GraphDraft, GraphModel
from als.lengths.contract import MAX_COV
from als.parameters import Checked, RealNumber
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
class Weights(Checked):
    """Parameters of any generator."""

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
        """The model of this rule with this cov or the run's."""
        cov = variation if self.cov is None else self.cov
        return GraphModel(self.name, make, np.array(params, np.float64), n_tasks, ccr=self.ccr, cov=cov)
