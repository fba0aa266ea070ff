from .application import ApplicationSimulator as ApplicationSimulator
from .bounds import earliest_end_ns as earliest_end_ns
from .engine.dag.parts import Edges as Edges, GraphPart as GraphPart
from .graphs import GraphModel as GraphModel, graph_kernel as graph_kernel, graph_model as graph_model
from .graphs.readers import read_graph as read_graph
from .graphs.task_graph import TaskGraph as TaskGraph
from .lengths import LengthModel as LengthModel, length_kernel as length_kernel
from .network import NetworkModel as NetworkModel, network_model as network_model, network_state as network_state
from .planners import Planner as Planner, planner as planner, planner_kernel as planner_kernel
from .programs.program import Graph as Graph, Loop as Loop, Program as Program, Serial as Serial
from .programs.tasks import TaskModel as TaskModel
from .summaries import application_metrics as application_metrics
from .techniques import (
    Selection as Selection,
    Technique as Technique,
    technique as technique,
    technique_kernel as technique_kernel,
)
from .techniques.python_technique import PythonTechnique as PythonTechnique
