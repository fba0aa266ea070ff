"""Task graphs: the generators, one a file, named as the literature names them, and what a job takes its graph from.

To add a generator: a file in ``generators``, a line in :data:`GENERATORS`. Outside packages add theirs under the entry-point
group ``twolevel.graphs``; a single run can take one from a file, ``graph my.py:MY``. The readers of files are in ``readers``.
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
    """The kind of graph of this name.

    Parameters
    ----------
    spec : str
        A name in :data:`GENERATORS`, one that an installed package adds, or ``FILE.py:NAME``, each perhaps with
        ``:key=value,key=value`` behind it; or ``file:PATH``, perhaps with ``,key=value``.
    where : str
        The option it was given in, for the error.
    variation : float
        The run's coefficient of variation, 0 to ``MAX_COV``, which the work of tasks has where no other is given.

    Raises
    ------
    InputError
        If there is none, a parameter cannot be, or the file holds no graph.
    PluginError
        If it cannot be loaded, or is no generator.
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
    from als.graphs.trial import try_out  # it compiles, which asking for a name of ours should not wait for

    return try_out(model)


def takes_variation(spec: str, where: str = "graph") -> bool:
    """Whether a kind of graph has tasks of other work with a run's variation than without. Raises InputError,
    PluginError as :func:`graph_model`."""
    if spec.startswith("file:"):
        return False  # without reading it twice
    return graph_model(spec, where, variation=0.1).cov != graph_model(spec, where).cov
