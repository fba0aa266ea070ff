"""The application level: programs, task lengths and graphs, loop-scheduling techniques, planners, the network between hosts,
and the engine that gives tasks to cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.lazy import lazy_names

if TYPE_CHECKING:
    from als.application import Application
    from als.bounds import earliest_end_ns
    from als.graph_application import Edges, GraphPart
    from als.graphs import GraphModel, graph_kernel, graph_model
    from als.graphs.readers import read_graph
    from als.graphs.task_graph import TaskGraph
    from als.lengths import LengthModel, length_kernel
    from als.metrics import application_metrics
    from als.network import NetworkModel, network_model, network_state
    from als.planners import Planner, planner, planner_kernel
    from als.program import Graph, Loop, Program, Serial
    from als.python_technique import PythonTechnique
    from als.tasks import TaskModel
    from als.techniques import Selection, Technique, technique, technique_kernel

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
        "Edges": "als.graph_application",
        "Graph": "als.program",
        "GraphModel": "als.graphs",
        "GraphPart": "als.graph_application",
        "LengthModel": "als.lengths",
        "Loop": "als.program",
        "NetworkModel": "als.network",
        "Planner": "als.planners",
        "Program": "als.program",
        "PythonTechnique": "als.python_technique",
        "Selection": "als.techniques",
        "Serial": "als.program",
        "TaskGraph": "als.graphs.task_graph",
        "TaskModel": "als.tasks",
        "Technique": "als.techniques",
        "application_metrics": "als.metrics",
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
