"""Two levels, one clock: the bridge between the batch and the application level, studies, and the command line.

``result = bridge.simulate("log.swf.gz", bls="sjf", als="gss", variation=0.25, seed=1)`` runs both levels;
``result.jobs`` and ``result.tasks`` are frames, ``result.metrics`` is a mapping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.couplings import PeerOptions
    from bridge.runs.result import Result
    from bridge.runs.simulation import run, simulate
    from bridge.scenarios.application_level import ApplicationLevel
    from bridge.scenarios.application_map import ApplicationMap, load_application_map
    from bridge.scenarios.scenario import Options, Scenario
    from bridge.single.graph_options import GraphOptions
    from bridge.single.graph_run import GraphResult, simulate_graph
    from bridge.studies.grid import Grid, run_grid
    from bridge.studies.input.study_file import load_study
    from bridge.studies.run_study import Report, run_study
    from bridge.studies.study import Study

__all__ = [
    "ApplicationLevel",
    "ApplicationMap",
    "GraphOptions",
    "GraphResult",
    "Grid",
    "Options",
    "PeerOptions",
    "Report",
    "Result",
    "Scenario",
    "Study",
    "load_application_map",
    "load_study",
    "run",
    "run_grid",
    "run_study",
    "simulate",
    "simulate_graph",
]

_HOMES = {
    "ApplicationLevel": "bridge.scenarios.application_level",
    "ApplicationMap": "bridge.scenarios.application_map",
    "GraphOptions": "bridge.single.graph_options",
    "GraphResult": "bridge.single.graph_run",
    "Grid": "bridge.studies.grid",
    "Options": "bridge.scenarios.scenario",
    "PeerOptions": "bridge.couplings",
    "Report": "bridge.studies.run_study",
    "Result": "bridge.runs.result",
    "Scenario": "bridge.scenarios.scenario",
    "Study": "bridge.studies.study",
    "load_application_map": "bridge.scenarios.application_map",
    "load_study": "bridge.studies.input.study_file",
    "run": "bridge.runs.simulation",
    "run_grid": "bridge.studies.grid",
    "run_study": "bridge.studies.run_study",
    "simulate": "bridge.runs.simulation",
    "simulate_graph": "bridge.single.graph_run",
}


def __getattr__(name: str) -> Any:
    # Imported here: where another package is called ``traces``, ``twolevel doctor`` must still be able to say so.
    from traces.base.lazy import lazy_names

    return lazy_names(__name__, _HOMES)[0](name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
