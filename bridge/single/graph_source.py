"""The graph of ``twolevel graph``: a file, or a generator with its parameters."""

import os
from dataclasses import dataclass

from als.graphs import GENERATORS, graph_model
from als.graphs.draw import drawn_graph, room
from als.graphs.readers import ENDINGS, format_of, read_graph
from als.graphs.task_graph import TaskGraph
from als.options import VARIATION
from bridge.options.declared import FORMAT, GRAPH_TASKS, MEAN
from bridge.single.graph_options import GraphOptions
from bridge.single.graph_run import check_memory
from traces.base.errors import InputError, one_of, shown
from traces.base.given_file import GivenFile, without_ending
from traces.base.options import CORE_GFLOPS, check_fields, holds
from traces.base.plugins import entry_points, split_parameters

_TIMED = ("wfformat", "dax", "starpu")  #: formats that record run times, measured on a core with a certain speed

# The beginning of a file by which its format is recognised.
_HEAD_BYTES = 2**16


@dataclass(frozen=True)
class GraphSource:
    """The description of a graph; None: not given. Raises InputError if a value is out of range, or has no effect."""

    graph: str  # the name of a generator, perhaps with parameters, or ``FILE.py:NAME``; else the path of a file
    # generators: approximate number of tasks; default: from its parameters, or one per core
    tasks: int | None = holds(GRAPH_TASKS, None)
    mean_gflop: float | None = holds(MEAN, None)  # generators: mean work of tasks
    # generators: coefficient of variation of the tasks' work, if its parameters do not state it; default 0
    variation: float | None = None
    format: str | None = None  # of a file: which it must have, a key of ``als.graphs.readers.READERS``
    # files with run times: speed of the core on which they were measured; default that of ``CORE_GFLOPS``
    core_gflops: float | None = holds(CORE_GFLOPS, None)

    def __post_init__(self) -> None:
        drawing = {str(GRAPH_TASKS): self.tasks, str(MEAN): self.mean_gflop, str(VARIATION): self.variation}
        reading = {str(FORMAT): self.format, str(CORE_GFLOPS): self.core_gflops}
        unused, whose = (reading, "a generator") if self.is_drawn else (drawing, "a file, which defines its tasks")
        for name, value in unused.items():
            if value is not None:
                raise InputError(f"{name}: not with {whose}")
        check_fields(self)

    @property
    def is_drawn(self) -> bool:
        """Whether it is from a generator, not from a file."""
        plain, _ = split_parameters(self.graph)
        known = (*GENERATORS, *(entry.name for entry in entry_points("twolevel.graphs")))
        return plain in known or ".py:" in plain or plain.endswith(".py")

    def names(self) -> dict[str, object]:
        """The given values and the defaults, for a record."""
        mean = MEAN.default if self.mean_gflop is None else self.mean_gflop
        return {
            "graph": self.graph,
            "tasks": self.tasks,
            "mean_gflop": mean if self.is_drawn else None,
            "variation": self.variation or VARIATION.default if self.is_drawn else None,
            "format": self.format,
            "core_gflops": None if self.is_drawn else self.core_gflops or CORE_GFLOPS.default,
        }

    def read(self, options: GraphOptions) -> TaskGraph:
        """Read or generate the graph. Raises InputError, or PluginError if a generator does not return a graph."""
        return self._drawn(options) if self.is_drawn else self._given()

    def _given(self) -> TaskGraph:
        if not os.path.exists(self.graph):
            self._refuse_unknown()
        if self.core_gflops is not None:
            with GivenFile(self.graph, "task graph") as file:
                head = bytearray(_HEAD_BYTES)
                found = format_of(bytes(head[: file.readinto(memoryview(head))]))
            if found and found not in _TIMED:
                raise InputError(f"{CORE_GFLOPS}: not with {self.graph}, which states the work of tasks, not run times")
        return read_graph(self.graph, format=self.format or "", core_gflops=self.core_gflops or CORE_GFLOPS.default)

    def _refuse_unknown(self) -> None:
        # A word that is not the path of a graph's file may be meant as the name of a generator.
        plain, parameters = split_parameters(self.graph)
        if plain.startswith("file:"):
            raise InputError(f"GRAPH: {shown(self.graph)}; allowed: the path of a file alone, without file:")
        ending = without_ending(self.graph.lower()).rpartition(".")[2]
        if not parameters and (os.sep in self.graph or ending in ENDINGS or ending != self.graph.lower()):
            raise InputError(f"{self.graph}: no such file")
        raise InputError(f"GRAPH: no file {shown(self.graph)}, and {one_of('generator', plain, GENERATORS)}")

    def _drawn(self, options: GraphOptions) -> TaskGraph:
        variation = self.variation or VARIATION.default
        model = graph_model(self.graph, "GRAPH", variation=variation)
        if variation and model.cov != variation:
            raise InputError(f"{VARIATION}: not with {self.graph}, which sets its own")
        n_tasks = self.tasks or 0
        if n_tasks and model.has_its_own_size:
            raise InputError(f"{GRAPH_TASKS}: not with {self.graph}, which determines the number of tasks")
        check_memory(model.name, *room(model, n_tasks, options.n_cores), options)
        mean, n = self.mean_gflop or MEAN.default, room(model, n_tasks, options.n_cores)[0]
        while True:
            # The mean is given, the generator needs the sum: generate again if there are fewer tasks than expected.
            made = drawn_graph(model, options.seed, 0, n_tasks, options.n_cores, n * mean, options.bytes_per_gflop)
            if len(made.gflop) == n:
                return TaskGraph(*made, name=self.graph, where=model.name)
            n = len(made.gflop)
            del made
