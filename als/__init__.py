"""The application level: programs, task lengths and graphs, loop-scheduling techniques, planners, the network between hosts,
and the engine that gives tasks to cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.base.lazy import lazy_names

if TYPE_CHECKING:
    from als.application import Application
    from als.bounds import earliest_end_ns
    from als.engine.dag.parts import Edges, GraphPart
    from als.engine.metrics import application_metrics
    from als.graphs import GraphModel, graph_kernel, graph_model
    from als.graphs.readers import read_graph
    from als.graphs.task_graph import TaskGraph
    from als.lengths import LengthModel, length_kernel
    from als.network import NetworkModel, network_model, network_state
    from als.planners import Planner, planner, planner_kernel
    from als.programs.program import Graph, Loop, Program, Serial
    from als.programs.tasks import TaskModel
    from als.techniques import Selection, Technique, technique, technique_kernel
    from als.techniques.python_technique import PythonTechnique

__all__ = [
    "Application",
    "Edges",
    "Graph",
    "GraphModel",
    "GraphPart",
    "LengthModel",
    "Loop",
    "NetworkModel",
    "Planner",
    "Program",
    "PythonTechnique",
    "Selection",
    "Serial",
    "TaskGraph",
    "TaskModel",
    "Technique",
    "application_metrics",
    "earliest_end_ns",
    "graph_kernel",
    "graph_model",
    "length_kernel",
    "network_model",
    "network_state",
    "planner",
    "planner_kernel",
    "read_graph",
    "technique",
    "technique_kernel",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Application": "als.application",
        "Edges": "als.engine.dag.parts",
        "Graph": "als.programs.program",
        "GraphModel": "als.graphs",
        "GraphPart": "als.engine.dag.parts",
        "LengthModel": "als.lengths",
        "Loop": "als.programs.program",
        "NetworkModel": "als.network",
        "Planner": "als.planners",
        "Program": "als.programs.program",
        "PythonTechnique": "als.techniques.python_technique",
        "Selection": "als.techniques",
        "Serial": "als.programs.program",
        "TaskGraph": "als.graphs.task_graph",
        "TaskModel": "als.programs.tasks",
        "Technique": "als.techniques",
        "application_metrics": "als.engine.metrics",
        "earliest_end_ns": "als.bounds",
        "graph_kernel": "als.graphs",
        "graph_model": "als.graphs",
        "length_kernel": "als.lengths",
        "network_model": "als.network",
        "network_state": "als.network",
        "planner": "als.planners",
        "planner_kernel": "als.planners",
        "read_graph": "als.graphs.readers",
        "technique": "als.techniques",
        "technique_kernel": "als.techniques",
    },
)
