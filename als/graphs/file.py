"""A graph from a file, the same for every job: ``file:PATH``. Its work is scaled to the job's work and its bytes by the same
factor (``scale=yes``), or both are kept (``scale=no``)."""

import functools
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from als.graphs.contract import IMPOSSIBLE, GraphDraft, GraphModel, check_size, graph_kernel
from als.lengths.contract import MAX_COV
from als.parameters import Checked, RealNumber
from traces.base.errors import InputError


@graph_kernel
def _make(draft: GraphDraft) -> int:
    return IMPOSSIBLE  # never called: the graph is copied


def _size(size: tuple[int, int], tasks: int, cores: int) -> tuple[int, int]:
    return size


@dataclass(frozen=True)
class GraphFile(Checked):
    """The file and how to use it: ``file:PATH,scale=no``."""

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
        return GraphModel(
            self.name,
            _make,
            np.empty(0),
            functools.partial(_size, check_size(self.path, len(graph.gflop), len(graph.source))),
            ccr=None,
            cov=self.cov,
            source=graph,
            scale=self.scale,
        )
