"""The table of features of the batch level that exclude each other, each pair once (``traces.base.options``).

Rows of an option of a feature of the engine are next to it, in ``options.py`` in the folder of the feature.
:data:`POWER` concerns options alone, :data:`POLICY` the policy and the rules, :data:`FAIR_START` and :data:`REPEATED` runs
that are repeated in part, and :data:`STREAM` logs that are never in memory as a whole. :data:`UNAWARE`, :data:`RUN` and
:data:`PLAN` concern all features of a run: its jobs, its allocator and its power.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from bls import options as o
from bls.engine.features.core_choices import DECIDES, DIRECTS, REJECTS, allocator_text
from bls.engine.features.decisions import options as decisions
from bls.engine.features.dependencies.options import DEPENDENCIES
from bls.engine.features.domains import options as domains
from bls.engine.features.limits import options as limits
from bls.engine.features.other_events import options as other_events
from bls.engine.features.outages import options as outages
from bls.engine.features.prediction import options as prediction
from bls.engine.features.releases import options as releases
from bls.engine.features.sleep import options as sleep
from bls.engine.features.widths import options as widths
from traces.base.options import ChosenFeature, Conflict, has, said

# Tables are set by hand: features, each with an example, and rows of two features and the reason.

_bls: Final = said(o.BLS, lambda one: one.policy.name)
_BACKFILLS: Final = has(
    f"{o.BACKFILL} except none", lambda one: one.rules.depth > 0, lambda one: f"{o.BACKFILL:{one.rules.backfill}}",
    backfill="easy")

#: Options; checked for a :class:`bls.power.options.Power`.
POWER: Final[tuple[Conflict, ...]] = (
    Conflict(
        has(f"{o.POWER:none}", lambda power: power.of == o.POWER.default, power="none"),
        has("another option about power", lambda power: next(power.others, None),
            lambda power: str(next(power.others)), **limits.LIMITED),
        "which needs power", "held, working"),
    *sleep.POWER,
    *limits.POWER,
)

#: Properties of a policy, and rules that conflict with them; checked for a ``bls.inputs.Chosen``.
POLICY: Final[tuple[Conflict, ...]] = (
    Conflict(_BACKFILLS, REJECTS, reason="{second} starts no job", allowed="none"),
    Conflict(_BACKFILLS, DECIDES, reason="{second} decides itself which jobs start", allowed="none"),
    *widths.POLICY,
    *releases.POLICY,
)

#: Features of a run; checked for a ``bls.inputs.Run``.
RUN: Final[tuple[Conflict, ...]] = (
    *outages.RUN, *sleep.RUN, *domains.RUN, *limits.RUN, *decisions.RUN, *prediction.RUN, *widths.RUN, outages.COORDINATED,
    *releases.RUN)

PLAN: Final = (*domains.PLAN, *limits.PLAN)  #: features of a plan of power; checked for a ``bls.power.plan.PlannedLimits``


def _unaware(what: str, other: ChosenFeature, allowed: str) -> tuple[str, Conflict]:
    first = has(f"a {o.BLS} that is unaware of {what}", lambda run: what in run.unaware, _bls, bls=f"UNAWARE:{what}")
    return what, Conflict(first, other, reason="{second}: the policy does not support it", allowed=allowed)


def _unaware_requests(what: str, words: str, **example: Any) -> tuple[str, Conflict]:
    return _unaware(what, has(
        f"{o.REQUESTS} of {words}", lambda run: run.asks(what), lambda run: f"job {run.first_asking(what)} requests {words}",
        **example,
    ), "cores and resources of hosts")


#: Features that a policy may not support (its ``unaware_of``), and the conflict with a run that has it.
UNAWARE: Final[Mapping[str, Conflict]] = dict((
    _unaware("allocator", has(
        f"{o.ALLOCATOR} except first-fit", lambda run: run.allocator.name not in ("first-fit", "lowest"), allocator_text,
        allocator="best-fit",
    ), "first-fit, as the policy places jobs itself"),
    _unaware(
        "partitions", has("partitions and their limits", lambda run: run.divided, divided=True),
        "one partition of all hosts, without limits"),
    _unaware("windows", has(
        str(other_events.WINDOWS), lambda run: run.windows, "reservations and maintenance", windows="windows.toml",
    ), "no reservations and no maintenance"),
    _unaware_requests("licences", "licences", requests="licences.csv"),
    _unaware_requests("switches", "few switches", switches="1", allocator="topology"),
    _unaware("power", has(
        f"{limits.LIMITS} with a {limits.FALLBACK}", lambda run: run.limits, "a limit to power", **limits.LIMITED,
        fallback="hold",
    ), f"no {limits.LIMITS}, or {limits.FALLBACK:none}"),
    _unaware("dependencies", has(
        str(DEPENDENCIES), lambda run: run.waiting >= 0, lambda run: f"job {run.waiting} waits for another", dependencies=True,
        several=True,
    ), f"no {DEPENDENCIES}"),
    _unaware("failures", has(
        str(outages.FAILURES), lambda run: run.constraints.outages is not None, "hosts that fail", failures="fails.csv",
    ), f"no {outages.FAILURES}"),
    _unaware("coordination", releases.RELEASES, f"{releases.COORDINATION:none}"),
    _unaware("estimates", has(
        f"{prediction.ESTIMATES} except requested", lambda run: run.rules.estimates_differ, str(prediction.ESTIMATES),
        estimates="exact",
    ), f"{prediction.ESTIMATES:requested}"),
    _unaware("decision costs", decisions.CHARGES, f"no {decisions.DECISION_COST}"),
))


_REPEATS: Final = has(str(o.FAIR_START), lambda _: True, fair_start=True)


def _again(other: ChosenFeature, reason: str, allowed: str = "") -> Conflict:
    return Conflict(_REPEATS, other, reason=reason, allowed=allowed)


#: Properties of a policy, and rules, with which no part of a run can be repeated; checked for a ``bls.inputs.Chosen``.
FAIR_START: Final[tuple[Conflict, ...]] = (
    _again(
        DECIDES,
        "{second} decides in Python and may keep state, so parts of a run cannot be repeated",
        "policies with keys or scores"),
    _again(REJECTS, "{second} starts no job", "policies that start jobs"),
    _again(widths.RESIZES, "with {second} the widths of jobs at other instants are unknown", f"{widths.RESIZE:none}"),
    _again(
        releases.RELEASES, "with {second} the cores that jobs would release at other instants are unknown",
        f"{releases.COORDINATION:none}"),
    _again(has(
        f"{decisions.DECISION_COST:measured}", lambda one: one.rules.decision_cost_ns == "measured",
        decision_cost_ns="measured",
    ), f"with {{second}} no run can be repeated; give a time, as {decisions.DECISION_COST:50ms}"),
)

#: Features with which no part of a run can be repeated; checked for an object with ``constraints`` and ``power``.
REPEATED: Final[tuple[Conflict, ...]] = (
    Conflict(_REPEATS, has(
        f"{DEPENDENCIES} on several jobs",
        lambda run: run.constraints.dependencies is not None and run.constraints.dependencies.several,
        "jobs that wait for several others", dependencies=True, several=True,
    ), "as a repeated part of a run keeps one preceding job only", "one preceding job each"),
    Conflict(_REPEATS, has(
        f"{limits.LIMITS} with a {limits.FALLBACK}", lambda run: run.power is not None and run.power.limits_jobs,
        str(limits.FALLBACK), fallback="hold", **limits.LIMITED,
    ), "as slowed jobs have other run times", f"{limits.FALLBACK:none}"),
    Conflict(_REPEATS, sleep.SLEEPS, "as it is unknown which hosts would sleep", "without it"),
)

STREAMED: Final = has(str(o.STREAM), lambda _: True)


def _in_stream(
    name: str, found: Callable[[Any], object], given: str | Callable[[Any], str], why: str, allowed: str, **example: Any
) -> Conflict:
    return Conflict(STREAMED, has(name, found, given, **example), reason=f"{{second}}: {why}", allowed=allowed)


#: Features that need all jobs at once; checked for a ``bls.stream.StreamedRun``.
STREAM: Final[tuple[Conflict, ...]] = (
    _in_stream(
        str(o.BLS_COMMAND), lambda one: one.other_program, lambda one: f"{o.BLS_COMMAND:{one.policy.name}}",
        "a scheduler needs all jobs", str(o.BLS), bls_command="true"),
    _in_stream(
        f"a {o.BLS} with finish()", lambda one: one.follows, _bls, "finish() needs all jobs", "a policy without it",
        bls="FOLLOWS"),
    _in_stream(
        DIRECTS.name, lambda one: one.directs, _bls, "directs: running jobs cannot be directed",
        "a policy that only starts jobs", bls="DIRECTS"),
    _in_stream(
        f"{outages.FAILURES}, and {DECIDES.name}", lambda one: one.decides and one.constraints.outages is not None,
        lambda one: f"{outages.FAILURES} with {_bls(one)}", "it decides in Python", "a compiled policy", bls="DECIDES",
        failures="fails.csv"),
    _in_stream(
        f"a {o.BLS} that keeps accounts", lambda one: one.accounts, _bls,
        "it keeps accounts of all users, known only after the whole log is read", "", bls="multifactor"),
    _in_stream(
        str(decisions.DECISIONS), lambda one: one.rules.keep_decisions, str(decisions.DECISIONS),
        "the table of all passes is in memory", "", keep_decisions=True),
    _in_stream(
        outages.DRAINS.name, lambda one: one.constraints.drains, str(outages.FAILURES), "hosts cannot be drained", "state down",
        failures="drains.csv"),
    _in_stream(
        f"{prediction.ESTIMATES} of a history", lambda one: one.rules.predicted, str(prediction.ESTIMATES),
        "predictions need all jobs that have ended", "estimates without a history", estimates="last-two"),
)

#: All conflicts of the batch level.
TABLE: Final = (*POLICY, *POWER, *PLAN, *RUN, *UNAWARE.values(), *FAIR_START, *REPEATED, *STREAM)
