"""Simulate the scheduling of an HPC cluster at two levels.

Examples
--------
>>> import twolevel as tl
>>> result = tl.simulate("sample", select="first:20", bls="sjf", als="gss", variation=0.25, seed=1)
>>> result.jobs[["job_id", "wait_ns", "run_ns", "user"]].shape
(20, 4)

Each name is loaded when it is first used. ``python -m twolevel`` is the command ``twolevel``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from als import Planner, PythonTechnique, Technique, read_graph
    from bls import Batch, HostGroup, Network, Platform, Policy, Power, Workload, load_platform
    from bridge import (
        Application,
        ApplicationMap,
        Execution,
        JobSelection,
        Machine,
        Scenario,
        Simulation,
        simulate,
        simulate_graph,
    )
    from bridge.front import read, report, study, sweep, table
    from traces import TwolevelError, timedeltas

__all__ = [
    "simulate", "sweep", "study", "read", "report", "table",
    "Workload", "Platform", "HostGroup", "Network", "load_platform",
    "Scenario", "JobSelection", "Machine", "Batch", "Application", "ApplicationMap", "Power", "Execution",
    "Policy", "Technique", "PythonTechnique", "Planner",
    "Simulation", "simulate_graph", "read_graph", "timedeltas", "TwolevelError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in map(import_module, ("bridge.front", "bridge", "bls", "als", "traces")):
            if name in home.__all__:
                return getattr(home, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


if __name__ == "__main__":
    from bridge.cli import command

    command()
