"""Task graphs: the generators, one per file, named as the literature names them, and the source of a job's graph.

To add a generator: a file in ``generators`` and a line in :data:`GENERATORS`. Other packages add generators under the
entry-point group ``twolevel.graphs``; a run can take one from a file, ``graph my.py:MY``. File readers are in ``readers``.
"""

from als.graphs.contract import NO_ROOM, GraphGenerator, GraphModel, graph_kernel
from als.graphs.file import GraphFile
from als.graphs.generators.layered import Layered
from als.graphs.generators.regular import Chain, ForkJoin, Stencil, TreeParameters
from als.graphs.generators.tiled import LU, Cholesky
from als.options import VARIATION
from traces.base.plugins import at_its_place, parameterised

__all__ = ["GENERATORS", "NO_ROOM", "GraphModel", "graph_kernel", "graph_model", "takes_variation"]

GENERATORS: dict[str, GraphGenerator] = {
    "layered": Layered(),
    "fork-join": ForkJoin(),
    "chain": Chain(),
    "cholesky": Cholesky(),
    "lu": LU(),
    "stencil": Stencil(),
    "tree": TreeParameters(),
}


def graph_model(spec: str, where: str = "graph", *, variation: float = VARIATION.default) -> GraphModel:
    """Return the kind of graph with this name.

    Parameters
    ----------
    spec : str
        As for ``twolevel graph`` (docs/reference/graph-generators.md), or ``file:PATH``, optionally with ``,key=value``.
    where : str
        The option that gave it, for errors.
    variation : float
        Coefficient of variation of tasks' work, 0 to ``MAX_COV``, unless ``spec`` gives another.

    Raises
    ------
    InputError
        If there is no such graph, a parameter is invalid, or the file holds no graph.
    PluginError
        If it cannot be loaded, or is not a generator.
    """
    variation = VARIATION.check(variation)
    with at_its_place(where):
        found, is_ours = parameterised(
            "graph",
            spec,
            GENERATORS,
            "twolevel.graphs",
            GraphGenerator,
            where,
            from_file=GraphFile,
            made=GraphModel,
            noun="graph",
            also=("file:PATH",),
        )
        model = found.graph(variation)
    if is_ours:
        return model
    from als.graphs.trial import try_out  # compiles, which built-in generators do not need

    return try_out(model)


def takes_variation(spec: str, where: str = "graph") -> bool:
    """Return whether the run's variation changes the work of tasks of this kind of graph. Raises as :func:`graph_model`."""
    if spec.startswith("file:"):
        return False  # without reading the file again
    return graph_model(spec, where, variation=0.1).cov != graph_model(spec, where).cov
