from .application import ApplicationSimulator as ApplicationSimulator
from .application_parts import GraphPart as GraphPart
from .engine.dag.state import Edges as Edges
from .graphs import GraphModel as GraphModel, graph_kernel as graph_kernel, graph_model as graph_model
from .graphs.readers import read_graph as read_graph
from .graphs.task_graph import TaskGraph as TaskGraph
from .lengths.draw import earliest_end_ns as earliest_end_ns
from .lengths import LengthModel as LengthModel, TaskModel as TaskModel, length_kernel as length_kernel
from .metrics.loops import application_metrics as application_metrics
from .network import NetworkModel as NetworkModel, network_model as network_model, network_state as network_state
from .planners import Planner as Planner, planner as planner, planner_kernel as planner_kernel
from .programs.program import Graph as Graph, Loop as Loop, Program as Program, Serial as Serial
from .techniques import (
    Selection as Selection,
    Technique as Technique,
    technique as technique,
    technique_kernel as technique_kernel,
)
from .techniques.python_technique import PythonTechnique as PythonTechnique
from .workers import WorkerKind as WorkerKind, WorkerSlots as WorkerSlots, with_devices as with_devices
