"""The generators of task graphs, and their common parts: parameters, the size of a graph, equal weights."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np

from als.graphs.contract import MAX_CCR, GraphDraft, GraphModel, check_size
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


class Weights(Checked, kw_only=True):
    """Parameters of all generators; ``class Chain(Weights, name="chain", make=_make_chain)`` declares the name and the rule."""

    noun = "graph"
    name: ClassVar[str]
    make: ClassVar[Callable[..., int]]
    # ratio of communication to computation: mean over edges of bytes/bandwidth, over the mean time of
    # a task. 0: edges carry no data.
    ccr: Annotated[float, RealNumber(0.0, MAX_CCR)] = 1.0
    # coefficient of variation of a task's work around its weight; None: the run's variation
    cov: Annotated[float | None, RealNumber(0.0, MAX_COV)] = None

    def __init_subclass__(cls, **declared: Any) -> None:
        super().__init_subclass__()
        for name, value in declared.items():
            setattr(cls, name, value)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(f"graph {self.name}", *self.size(0, 1))

    def size(self, tasks: int, cores: int) -> tuple[int, int]:
        """Return the numbers of tasks and edges for about ``tasks`` tasks (0: as the parameters say) and ``cores`` cores."""
        raise NotImplementedError

    def params(self) -> tuple[float, ...]:
        """Return the parameters for the rule: by default those of the generator, without ``ccr`` and ``cov``."""
        return self.numbers()[2:]

    def graph(self, variation: float) -> GraphModel:
        """Return the model of the rule with its own cov or the run's."""
        cov, params = variation if self.cov is None else self.cov, np.array(self.params(), np.float64)
        return GraphModel(self.name, type(self).make, params, self.size, ccr=self.ccr, cov=cov)
