"""Two levels, one clock: the bridge between the batch and the application level, studies, and the command line.

``result = bridge.simulate("log.swf.gz", bls="sjf", als="gss", variation=0.25, seed=1)`` runs both levels;
``result.jobs`` and ``result.tasks`` are frames, ``result.metrics`` is a mapping.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.application_level import ApplicationLevel
    from bridge.application_map import ApplicationMap, load_application_map
    from bridge.couplings import PeerOptions
    from bridge.graph_options import GraphOptions
    from bridge.graph_run import GraphResult, simulate_graph
    from bridge.grid import Grid, run_grid
    from bridge.result import Result
    from bridge.scenario import Options, Scenario
    from bridge.simulation import run, simulate
    from bridge.studies.run_study import Report, run_study
    from bridge.studies.study import Study
    from bridge.studies.study_file import load_study

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
    "ApplicationLevel": "bridge.application_level",
    "ApplicationMap": "bridge.application_map",
    "GraphOptions": "bridge.graph_options",
    "GraphResult": "bridge.graph_run",
    "Grid": "bridge.grid",
    "Options": "bridge.scenario",
    "PeerOptions": "bridge.couplings",
    "Report": "bridge.studies.run_study",
    "Result": "bridge.result",
    "Scenario": "bridge.scenario",
    "Study": "bridge.studies.study",
    "load_application_map": "bridge.application_map",
    "load_study": "bridge.studies.study_file",
    "run": "bridge.simulation",
    "run_grid": "bridge.grid",
    "run_study": "bridge.studies.run_study",
    "simulate": "bridge.simulation",
    "simulate_graph": "bridge.graph_run",
}


def __getattr__(name: str) -> Any:
    # Imported here: where another package is called ``traces``, ``twolevel doctor`` must still be able to say so.
    from traces.lazy import lazy_names

    return lazy_names(__name__, _HOMES)[0](name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
