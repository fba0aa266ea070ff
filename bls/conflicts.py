"""The table of features of the batch level that exclude each other, each pair once (``traces.base.options``).

Rows of features of the engine are in ``options.py`` in their folders, in tables with the names of these here.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from bls import options as o
from bls.engine.features import core_choices as core
from bls.engine.features.order import having
from traces.base.options import Conflict, has, said

_FEATURES: Final = [import_module(f"bls.engine.features.{folder}.options") for folder in having("options.py")]


def _of_features(table: str) -> tuple[Any, ...]:
    # The rows in tables of this name.
    return tuple(row for module in _FEATURES for row in getattr(module, table, ()))


# Tables are set by hand: features, each with an example, and rows of two features and the reason.

_BACKFILLS: Final = has(
    f"{o.BACKFILL} except none", lambda one: one.rules.depth > 0, said(o.BACKFILL, lambda one: one.rules.backfill),
    backfill="easy")

BATCH: Final[tuple[Conflict, ...]] = _of_features("BATCH")  #: options; checked for a :class:`bls.Batch`

#: Options; checked for a :class:`bls.power.options.Power`.
POWER: Final[tuple[Conflict, ...]] = (
    Conflict(
        has(f"{o.POWER:none}", lambda power: power.of == o.POWER.default, power="none"),
        has("another option about power", lambda power: next(power.others, None),
            lambda power: str(next(power.others)), limits=[(0, None, 1000)]),
        "which needs power", "held, working"),
    *_of_features("POWER"),
)

#: Properties of a policy, and rules that conflict with them; checked for a ``bls.inputs.Chosen``.
POLICY: Final[tuple[Conflict, ...]] = (
    Conflict(_BACKFILLS, core.REJECTS, reason="{second} starts no job", allowed="none"),
    Conflict(_BACKFILLS, core.DECIDES, reason="{second} decides itself which jobs start", allowed="none"),
    *_of_features("POLICY"),
)

#: Features of a run: its jobs, its allocator and its power; checked for a ``bls.inputs.Run``.
RUN: Final[tuple[Conflict, ...]] = (
    Conflict(
        has(f"a {o.BLS} that goes by prices or emissions", lambda run: run.lacking_signal, core.bls_text, bls="PRICED"),
        has(f"no {o.SIGNALS} with its columns", lambda _: True, lambda run: run.lacking_signal),
        "as it goes by them", f"{o.SIGNALS} with that column", reason="{second}"),
    *_of_features("RUN"),
)

#: Features of a plan of power; checked for a ``bls.power.plan.PlannedLimits``.
PLAN: Final[tuple[Conflict, ...]] = _of_features("PLAN")


def _unaware_requests(what: str, words: str, **example: Any) -> tuple[str, Conflict]:
    return core.unaware(what, has(
        f"{o.REQUESTS} of {words}", lambda run: run.asks(what), lambda run: f"job {run.first_asking(what)} requests {words}",
        **example,
    ), "cores and resources of hosts")


#: Features that a policy may not support (its ``unaware_of``), and the conflict with a run that has it.
UNAWARE: Final[Mapping[str, Conflict]] = dict((
    core.unaware("allocator", has(
        f"{o.ALLOCATOR} except first-fit", lambda run: run.allocator.name not in ("first-fit", "lowest"), core.allocator_text,
        allocator="best-fit",
    ), "first-fit, as the policy places jobs itself"),
    core.unaware(
        "partitions", has("partitions and their limits", lambda run: run.divided, divided=True),
        "one partition of all hosts, without limits"),
    _unaware_requests("licences", "licences", requests="licences.csv"),
    _unaware_requests("switches", "few switches", switches="1", allocator="topology"),
    *_of_features("UNAWARE"),
))

#: Properties of a policy, and rules, with which no part of a run can be repeated; checked for a ``bls.inputs.Chosen``.
FAIR_START: Final[tuple[Conflict, ...]] = (
    Conflict(
        core.REPEATS, core.DECIDES, allowed="policies with keys or scores",
        reason="{second} decides in Python and may keep state, so parts of a run cannot be repeated"),
    Conflict(core.REPEATS, core.REJECTS, reason="{second} starts no job", allowed="policies that start jobs"),
    *_of_features("FAIR_START"),
)

#: Features with which no part of a run can be repeated; checked for an object with ``constraints`` and ``power``.
REPEATED: Final[tuple[Conflict, ...]] = _of_features("REPEATED")

#: Features that need all jobs at once; checked for a ``bls.stream.StreamedRun``.
STREAM: Final[tuple[Conflict, ...]] = (
    Conflict(core.STREAMED, has(
        str(o.BLS_COMMAND), lambda one: one.other_program, said(o.BLS_COMMAND, lambda one: one.policy.name), bls_command="true",
    ), reason="{second}: a scheduler needs all jobs", allowed=str(o.BLS)),
    Conflict(
        core.STREAMED, has(f"a {o.BLS} with finish()", lambda one: one.follows, core.bls_text, bls="FOLLOWS"),
        reason="{second}: finish() needs all jobs", allowed="a policy without it"),
    Conflict(
        core.STREAMED, has(core.DIRECTS.name, lambda one: one.directs, core.bls_text, bls="DIRECTS"),
        reason="{second}: directs: running jobs cannot be directed", allowed="a policy that only starts jobs"),
    Conflict(
        core.STREAMED, has(f"a {o.BLS} that keeps accounts", lambda one: one.accounts, core.bls_text, bls="multifactor"),
        reason="{second}: it keeps accounts of all users, known only after the whole log is read"),
    *_of_features("STREAM"),
)
