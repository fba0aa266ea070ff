from .runs.result import Result as Result
from .runs.simulation import run as run, simulate as simulate
from .runs.stepwise import Simulation as Simulation
from .scenarios.application_map import ApplicationMap as ApplicationMap, load_application_map as load_application_map
from .scenarios.ready import ReadyScenario as ReadyScenario
from .scenarios.scenario import (
    Application as Application,
    Execution as Execution,
    JobSelection as JobSelection,
    Machine as Machine,
    Scenario as Scenario,
)
from .single.graph_options import GraphOptions as GraphOptions
from .single.graph_run import GraphResult as GraphResult, simulate_graph as simulate_graph
from .studies.grid import Grid as Grid, run_grid as run_grid
from .studies.input.study_file import load_study as load_study
from .studies.run_study import Report as Report, run_study as run_study
from .studies.study import Study as Study
