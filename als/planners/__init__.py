"""The planners, which assign each task of a graph to a core before any runs: one family per file, named as in the literature.

To add one: a file here and a line in :data:`PLANNERS`. Other packages add planners under the entry-point group
``twolevel.planners``; a run can take one from a file, ``als my.py:MY``.
"""

from als.options import ALS
from als.planners.contract import PLAN, Planner, PlanningProblem, first_fault, planner_kernel
from traces.base.errors import at
from traces.base.plugins import Registry, resolve

__all__ = ["PLAN", "PLANNERS", "Planner", "PlanningProblem", "first_fault", "planner", "planner_kernel"]

PLANNERS = Registry[Planner](
    {
        "heft": "als.planners.heft:HEFT",
        "peft": "als.planners.peft:PEFT",
        "min-min": "als.planners.min_min:MIN_MIN",
        "max-min": "als.planners.min_min:MAX_MIN",
        "critical-path": "als.planners.critical_path:CRITICAL_PATH",
        "dmda": "als.planners.dmda:DMDA",
    }
)


def planner(name: str, where: str = "") -> Planner:
    """Return the planner with this name.

    Parameters
    ----------
    name : str
        A key of :data:`PLANNERS`, one that an installed package adds, or ``FILE.py:NAME``.
    where : str
        The option that gave it, for errors.

    Raises
    ------
    InputError
        If there is none; the message lists the known names, nearest first.
    PluginError
        If a file or a package gives something other than a planner, or the planner fails on its first small graph.
    """
    where = at(where or str(ALS), name)
    found = resolve("planner", name, PLANNERS, "twolevel.planners", Planner, where)
    if name in PLANNERS:
        return found
    from als.planners.trial import try_out  # compiles, which built-in planners do not need

    return try_out(found)
