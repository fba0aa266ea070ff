"""Application-level schedulers by name: a technique, a choice among techniques, a planner, or a mapping."""

from typing import Any

from als.options import ALS
from als.planners import PLANNERS, Planner, planner
from als.planners.contract import MAPPED, Mapped
from als.techniques import TECHNIQUES, AnyTechnique, Selection, Technique, technique
from traces.base.errors import InputError, at, shown
from traces.base.plugins import entry_points, resolve, split_parameters

AnyScheduler = Technique | Selection | Planner | Mapped  #: the scheduler of a phase's tasks


def scheduler(name: str, *, where: str = "", also: tuple[str, ...] = ()) -> AnyScheduler:
    """Return the application-level scheduler with this name: a technique as for ``als.techniques.technique``, a planner's name
    in ``als.planners.PLANNERS``, in a file or a package, or ``mapped``. Errors also list the names ``also``. Raises InputError
    if there is none, or its parameters are invalid; PluginError if a file or a package gives something else."""
    if name in TECHNIQUES:
        return TECHNIQUES[name]
    where = at(where or str(ALS), name)
    plain, parameters = split_parameters(name)
    if parameters and plain in (MAPPED.name, *PLANNERS):
        raise InputError(f"{where}: {shown(name)}; allowed: {plain}, which has no parameters")
    if plain == MAPPED.name:
        return MAPPED
    if plain in TECHNIQUES or name.startswith("select:"):
        return technique(name, where=where)
    in_file = ".py:" in plain
    if plain in PLANNERS or (not in_file and any(one.name == plain for one in entry_points("twolevel.planners"))):
        return planner(name, where)
    if in_file:
        found: Any = resolve("application-level scheduler", plain, {}, "twolevel.planners", object, where)
        if isinstance(found, Planner):
            return planner(name, where)
    return technique(name, where=where, also=(*PLANNERS, MAPPED.name, *also))


def loop_technique(name: str, where: str = "") -> AnyTechnique:
    """Return the technique, or choice among techniques, with this name, for a plain loop. Raises InputError if there is none,
    or the name is for graphs only; PluginError as :func:`scheduler`."""
    where = at(where or str(ALS), name)
    is_for_graphs = split_parameters(name)[0] in (*PLANNERS, MAPPED.name)
    found = scheduler(name, where=where) if is_for_graphs else technique(name, where=where)
    if isinstance(found, Planner | Mapped):
        raise InputError(f"{where}: {found.name} is for graphs (twolevel graph); allowed with a loop: a technique")
    return found


def scheduler_name(given: AnyScheduler) -> str | None:
    """Return the name by which :func:`scheduler` finds it, whatever the folder; None if it is an object of this process."""
    if given is MAPPED:
        return MAPPED.name
    known: AnyScheduler | None = TECHNIQUES.get(given.name) or PLANNERS.get(given.name)
    return given.name if known is given else None
