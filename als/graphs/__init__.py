"""Task graphs: the generators, one per file, named as the literature names them, and the source of a job's graph.

To add a generator: a file in ``generators`` and a line in :data:`GENERATORS`. Other packages add generators under the
entry-point group ``twolevel.graphs``; a run can take one from a file, ``graph my.py:MY``. File readers are in ``readers``.
"""

import functools
from typing import Annotated, ClassVar

import numpy as np

from als.graphs.contract import IMPOSSIBLE, NO_ROOM, GraphDraft, GraphGenerator, GraphModel, check_size, graph_kernel
from als.lengths.contract import MAX_COV
from als.options import VARIATION
from als.parameters import Checked, RealNumber
from traces.base.errors import InputError
from traces.base.plugins import Registry, at_its_place, parameterised

__all__ = ["GENERATORS", "NO_ROOM", "GraphModel", "graph_kernel", "graph_model", "takes_variation"]

GENERATORS = Registry[GraphGenerator](
    {
        "layered": "als.graphs.generators.layered:Layered",
        "fork-join": "als.graphs.generators.regular:ForkJoin",
        "chain": "als.graphs.generators.regular:Chain",
        "cholesky": "als.graphs.generators.tiled:Cholesky",
        "lu": "als.graphs.generators.tiled:LU",
        "stencil": "als.graphs.generators.regular:Stencil",
        "tree": "als.graphs.generators.regular:TreeParameters",
    }
)


@graph_kernel
def _never_made(draft: GraphDraft) -> int:
    return IMPOSSIBLE  # the graph is copied


def _size(size: tuple[int, int], tasks: int, cores: int) -> tuple[int, int]:
    return size


class GraphFile(Checked):
    """A graph from a file, the same for every job, and how to use it: ``file:PATH,scale=no``. Its work is scaled to the job's
    work and its bytes by the same factor (``scale=yes``), or both are kept."""

    noun = "graph"
    name: ClassVar[str] = "file"
    path: str = ""  # the file; required
    format: str = ""  # a format of :func:`als.graphs.readers.read_graph`; empty: recognised from the text
    scale: bool = True  # whether work and bytes are scaled to the job
    # coefficient of variation of a task's work around the file's value, whatever the run's variation
    cov: Annotated[float, RealNumber(0.0, MAX_COV)] = 0.0

    def graph(self, variation: float) -> GraphModel:
        """Read the file and return the model, whatever the run's variation."""
        if not self.path:
            raise InputError("graph file: no file; allowed: file:PATH, optionally followed by ,scale=no")
        from als.graphs.readers import read_graph  # slow to import, and generators do not need it

        graph = read_graph(self.path, format=self.format)
        if self.scale and not graph.gflop.any():
            raise InputError(
                f"{self.path}: all tasks have work 0, which cannot be scaled to a job's; allowed: work above 0, or scale=no"
            )
        size = functools.partial(_size, check_size(self.path, graph.n_tasks, graph.n_edges))
        return GraphModel(
            self.name, _never_made, np.empty(0), size, ccr=None, cov=self.cov, source=graph, scale=self.scale
        )


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
