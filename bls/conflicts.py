"""Features of the batch level that exclude each other, each pair once (``traces.base.options``).

:data:`POWER` concerns options alone, :data:`POLICY` the policy and the rules, :data:`FAIR_START` runs that are repeated in
part, and :data:`STREAM` logs that are never in memory as a whole. :data:`UNAWARE`, :data:`RUN` and :data:`PLAN` concern all
features of a run: its jobs, its allocator and its power.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from bls import options as o
from traces.base.options import ChosenFeature, Conflict, Option, has, needs

# Tables are formatted by hand: features, each with an example, and rows of two features and the reason.
# fmt: off

#: Limits of the machine of the examples, one host of two cores with known power.
_LIMITED: Final[Mapping[str, Any]] = {"limits": [(0, None, 1000)]}
_NOTICED_LIMIT: Final = [(0, None, 1000, "", 0, 5)]


def _policy(one: Any) -> str:
    return f"batch policy {one.policy.name}"


def _said(option: Option[Any], value: Callable[[Any], object]) -> Callable[[Any], str]:
    # The text of an option with its chosen value.
    return lambda chosen: f"{option:{value(chosen)}}"


_bls: Final = _said(o.BLS, lambda one: one.policy.name)
_resize: Final = _said(o.RESIZE, lambda one: one.rules.resized)
_coordination: Final = _said(o.COORDINATION, lambda one: one.rules.coordination)
_allocator: Final = _said(o.ALLOCATOR, lambda run: run.allocator.name)
_fallback: Final = _said(o.FALLBACK, lambda run: run.limits.options.fallback)

# Options; checked for a :class:`bls.power.options.Power`.

_STOPPING: Final = has(
    f"{o.FALLBACK:stop:idle} or stop:off", lambda power: power.fallback_of[0].startswith("stop:"),
    lambda power: f"{o.FALLBACK:{power.fallback_of[0]}}", **_LIMITED, fallback="stop:off")
_UNSTOPPED: Final = f"{o.FALLBACK:none}, hold, submit:state=1 or dvfs"
_SLEEP_AFTER: Final = has(str(o.SLEEP_AFTER), lambda power: power.sleep_after_ns is not None, sleep_after_ns=5)


def _unlimited(option: Option[Any], field: str, example: Any) -> Conflict:
    # For an option that determines what happens under limits, and has another value than its default.
    def found(power: Any) -> bool:
        value = power.fallback_of[0] if field == "fallback" else getattr(power, field)
        return value not in (option.default, 0, False)

    feature = has(str(option), found, **{option.keyword: example})
    return needs(feature, o.LIMITS, lambda power: power.limits is None, ", the power limits of the machine or its parts")


POWER: Final[tuple[Conflict, ...]] = (
    Conflict(
        has(f"{o.POWER:none}", lambda power: power.of == o.POWER.default, power="none"),
        has("another option about power", lambda power: next(power.others, None),
            lambda power: str(next(power.others)), **_LIMITED),
        "which needs power", "held, working"),
    needs(
        has(str(o.KEEP_AWAKE), lambda power: power.keep_awake, keep_awake=1),
        o.SLEEP_AFTER, lambda power: power.sleep_after_ns is None, ", the idle time after which hosts sleep"),
    Conflict(_SLEEP_AFTER, _STOPPING, "which shuts down and boots hosts itself", _UNSTOPPED),
    _unlimited(o.FALLBACK, "fallback", "hold"),
    _unlimited(o.ALLOWED, "allowed", "none"),
    _unlimited(o.POWER_ESTIMATES, "estimates", "platform"),
)

# Properties of a policy, and rules that conflict with them; checked for a ``bls.inputs.Chosen``.

_MALLEABLE: Final[Mapping[str, Any]] = {"malleable": "1"}
_BACKFILLS: Final = has(
    f"{o.BACKFILL} except none", lambda one: one.rules.depth > 0, lambda one: f"{o.BACKFILL:{one.rules.backfill}}",
    backfill="easy")
_REJECTS: Final = has(f"{o.BLS:reject}", lambda one: one.rejects, _policy, bls="reject")
_STARTS: Final = f"a {o.BLS} that decides itself which jobs start"
_DECIDES: Final = has(_STARTS, lambda one: one.decides, _policy, bls="DECIDES")
_DIRECTS: Final = has(f"a {o.BLS} that directs running jobs", lambda one: one.directs, _policy, bls="DIRECTS")
_CHANGES: Final = has(
    f"a {o.RESIZE} that changes the width of running jobs", lambda one: one.rules.resizing, _resize, **_MALLEABLE,
    resize="shrink")
_MOLDS: Final = has(f"{o.RESIZE:mold}", lambda one: one.rules.molds, _resize, **_MALLEABLE, resize="mold")
_RESIZES: Final = has(
    f"{o.RESIZE} except none", lambda one: one.rules.resizing or one.rules.molds, _resize, **_MALLEABLE, resize="expand")
_PROMISED: Final = has(f"{o.ESTIMATES:application}", lambda one: one.rules.promised, estimates="application")
_HINTS: Final = has(
    f"{o.COORDINATION:hint}, hint:core or hint:host", lambda one: one.rules.hints, _coordination, coordination="hint")
_RELEASES: Final = has(
    f"{o.COORDINATION} except none", lambda one: one.rules.releases, _coordination, coordination="release")
_CHARGES: Final = has(str(o.DECISION_COST), lambda one: one.rules.charges_decisions, decision_cost_ns="measured")
_NO_RELEASES: Final = "none, release, release:core, release:host"
_NO_HEAD: Final = "{second} decides itself which jobs start, and its queue has no head"


def _headless(directs: str, further: str) -> ChosenFeature:
    # A policy whose queue has no head that could start, and that does not direct this itself.
    name = f"{_STARTS}, or starts none{further}"
    return has(name, lambda one: (one.decides or one.rejects) and directs not in one.may_direct, _policy, bls="reject")


_EXPANDS: Final = has(
    f"{o.RESIZE} except none and decide", lambda one: one.rules.resized not in ("none", "decide"), _resize, **_MALLEABLE,
    resize="shrink")

POLICY: Final[tuple[Conflict, ...]] = (
    Conflict(_BACKFILLS, _REJECTS, reason="{second} starts no job", allowed="none"),
    Conflict(_BACKFILLS, _DECIDES, reason="{second} decides itself which jobs start", allowed="none"),
    Conflict(_CHANGES, has(
        f"{o.COORDINATION:release:host} or hint:host", lambda one: one.rules.by_hosts, _coordination,
        coordination="release:host",
    ), "as widths change core by core", "none, release, release:core, hint, hint:core"),
    Conflict(_CHANGES, _PROMISED, "as a change of width invalidates what the job has promised", "other estimates"),
    Conflict(
        has(f"{o.RESIZE:decide}", lambda one: one.rules.resized == "decide", _resize, **_MALLEABLE, resize="decide"),
        has(f"a {o.BLS} that directs no widths", lambda one: "widths" not in one.may_direct, _policy),
        reason="{second} does not set the widths of jobs",
        allowed="a policy in Python whose directs has 'widths', or a scheduler whose hello's directs has it"),
    Conflict(_EXPANDS, _headless("widths", ""), reason=_NO_HEAD, allowed="none"),
    Conflict(_EXPANDS, has(
        f"a {o.BLS} that directs widths", lambda one: one.decides and "widths" in one.may_direct, _policy,
        bls="WIDTHS",
    ), reason=_NO_HEAD, allowed="decide, none"),
    Conflict(_HINTS, _PROMISED, "as a hint invalidates what the job has promised", _NO_RELEASES),
    Conflict(
        _HINTS, _headless("hints", ", and directs no hints"), reason=_NO_HEAD,
        allowed=f"{_NO_RELEASES}; or a policy or a scheduler that directs 'hints'"),
)

# Features of a run; checked for a ``bls.inputs.Run``.

_DRAINS: Final = has(
    f"{o.FAILURES} with drained hosts", lambda run: run.constraints.drains, str(o.FAILURES), failures="drains.csv")
_SLEEPS: Final = has(str(o.SLEEP_AFTER), lambda run: run.sleeps, sleep_after_ns=5)
_WINDOWS: Final = has(str(o.WINDOWS), lambda run: run.windows, windows="windows.toml")
_LICENCES: Final = has(
    f"{o.REQUESTS} of licences", lambda run: run.asks("licences"), "licences", requests="licences.csv")
_BY_DVFS: Final = {**_LIMITED, "fallback": "dvfs"}
_DVFS: Final = has(f"{o.FALLBACK:dvfs}", lambda run: run.limits and run.limits.fallback == "dvfs", _fallback, **_BY_DVFS)
_NOTICED: Final = has(
    f"a notice of {o.LIMITS}, with a {o.FALLBACK}", lambda run: run.limits and run.limits.limits.noticed,
    lambda run: f"{_fallback(run)} with a notice of limits", limits=_NOTICED_LIMIT, fallback="hold")
_NO_FALLBACK: Final = f"{o.FALLBACK:none}"
_BESIDE: Final = "hosts cannot be drained with {second}"


def _unaware(
    what: str, allowed: str, name: str, found: Callable[[Any], object], given: str | Callable[[Any], str], **example: Any
) -> tuple[str, Conflict]:
    first = has(f"a {o.BLS} that is unaware of {what}", lambda run: what in run.unaware, _bls, bls=f"UNAWARE:{what}")
    reason = "{second}: the policy does not support it"
    return what, Conflict(first, has(name, found, given, **example), reason=reason, allowed=allowed)


def _unaware_requests(what: str, words: str, **example: Any) -> tuple[str, Conflict]:
    return _unaware(
        what, "cores and resources of hosts", f"{o.REQUESTS} of {words}", lambda run: run.asks(what),
        lambda run: f"job {run.first_asking(what)} requests {words}", **example)


#: Features that a policy may not support (its ``unaware_of``), and the conflict with a run that has it.
UNAWARE: Final[Mapping[str, Conflict]] = dict((
    _unaware(
        "allocator", "first-fit, as the policy places jobs itself", f"{o.ALLOCATOR} except first-fit",
        lambda run: run.allocator.name not in ("first-fit", "lowest"), _allocator, allocator="best-fit"),
    _unaware(
        "partitions", "one partition of all hosts, without limits", "partitions and their limits",
        lambda run: run.divided, "partitions and their limits", divided=True),
    _unaware(
        "windows", "no reservations and no maintenance", str(o.WINDOWS), lambda run: run.windows,
        "reservations and maintenance", windows="windows.toml"),
    _unaware_requests("licences", "licences", requests="licences.csv"),
    _unaware_requests("switches", "few switches", switches="1", allocator="topology"),
    _unaware(
        "power", f"no {o.LIMITS}, or {o.FALLBACK:none}", f"{o.LIMITS} with a {o.FALLBACK}", lambda run: run.limits,
        "a limit to power", **_LIMITED, fallback="hold"),
    _unaware(
        "dependencies", f"no {o.DEPENDENCIES}", str(o.DEPENDENCIES), lambda run: run.waiting >= 0,
        lambda run: f"job {run.waiting} waits for another", dependencies=True, several=True),
    _unaware(
        "failures", f"no {o.FAILURES}", str(o.FAILURES), lambda run: run.constraints.outages is not None,
        "hosts that fail", failures="fails.csv"),
    _unaware(
        "coordination", f"{o.COORDINATION:none}", _RELEASES.name, _RELEASES.found, _RELEASES.text, **_RELEASES.example),
    _unaware(
        "estimates", f"{o.ESTIMATES:requested}", f"{o.ESTIMATES} except requested", lambda run: run.rules.estimates_differ,
        str(o.ESTIMATES), estimates="exact"),
    _unaware("decision costs", f"no {o.DECISION_COST}", _CHARGES.name, _CHARGES.found, _CHARGES.text, **_CHARGES.example),
))


_UNIT_WORDS: Final = "units of several cores, or amounts of their hosts"
_COUNTED: Final = "as widths at the start are chosen by numbers of free cores"


def _no_widths(other: ChosenFeature, why: str, *, first: ChosenFeature = _RESIZES) -> Conflict:
    # Running jobs get and lose single cores with their resources; ``mold`` has further conflicts.
    return Conflict(first, other, why, "none")


RUN: Final[tuple[Conflict, ...]] = (
    Conflict(_DRAINS, has(
        f"{o.LIMITS} with a {o.FALLBACK}, or {o.SLEEP_AFTER}", lambda run: run.limits is not None or run.sleeps,
        "limits to power, or hosts that sleep", sleep_after_ns=5,
    ), reason=_BESIDE, allowed="state down"),
    # An overdue job with cores only on such a host would be planned to return its licences.
    Conflict(_DRAINS, _LICENCES, reason=_BESIDE, allowed="state down"),
    Conflict(_SLEEPS, _WINDOWS, "as the wait for booting hosts could delay a job into a window", f"no {o.WINDOWS}"),
    Conflict(_SLEEPS, has(
        f"{o.RESIZE:mold} and {o.LIMITS} with a {o.FALLBACK}",
        lambda run: run.limits is not None and run.rules.molds, lambda run: f"{_resize(run)} and {o.LIMITS}",
        **_LIMITED, **_MALLEABLE, fallback="hold", resize="mold",
    ), "as no width is found on sleeping hosts under a limit", f"one of them, or {o.FALLBACK:none}"),
    Conflict(
        _SLEEPS, _CHANGES, "as running jobs get cores at once, which a sleeping host cannot give",
        f"{o.RESIZE:none} or mold"),
    Conflict(
        _DVFS, _CHARGES, "as levels are set after passes, and no pass ends while the scheduler decides",
        f"{o.FALLBACK:none}, hold, submit:state=1, stop:idle or stop:off"),
    Conflict(has(
        f"{o.LIMITS} to parts of the machine, with a {o.FALLBACK}", lambda run: run.limits and run.limits.domains,
        lambda run: f"{_fallback(run)} with limits to parts of the machine ({run.limits.domains[0].name})",
        limits=[(0, None, 500, "hosts:0")], fallback="hold",
    ), _RESIZES, "as widths depend on the limit of the whole machine only", _NO_FALLBACK),
    Conflict(
        has(
            f"{o.FALLBACK:hold}, submit or dvfs", lambda run: run.limits and not run.limits.stops, _fallback,
            **_LIMITED, fallback="hold"),
        has(
            f"{o.RESIZE:mold} with several reservations, a notice of limits, or cores of different power",
            lambda run: run.rules.molds and not run.counts_power,
            lambda run: f"{_resize(run)} with several reservations, a notice of limits, or cores of different power",
            **_MALLEABLE, resize="mold", backfill="conservative"),
        "as widths then do not depend on the limit", f"{o.FALLBACK:none}, stop:idle or stop:off"),
    Conflict(_NOTICED, _CHANGES, "as running jobs get cores according to the current limit", _NO_FALLBACK),
    Conflict(_NOTICED, _DECIDES, "as it receives only the current limit", _NO_FALLBACK),
    Conflict(
        has(
            f"{o.FALLBACK:submit} or dvfs, where a job may be slowed", lambda run: run.limits and run.limits.slows,
            _fallback, **_BY_DVFS),
        has(f"a {o.BLS} that directs speeds", lambda run: "speeds" in run.directs, _policy, bls="DIRECTS"),
        "which scales the speeds of running jobs itself",
        f"{o.FALLBACK:none}, hold, stop:idle or stop:off, under which no job is slowed"),
    Conflict(
        _CHARGES, _DIRECTS, reason="{second} directs running jobs, which takes no time",
        allowed="policies that only start jobs"),
    Conflict(
        _PROMISED, _DIRECTS, reason="{second} directs running jobs, which invalidates what they have promised",
        allowed="other estimates"),
    needs(
        _RESIZES, o.MALLEABLE, lambda run: run.constraints.widths is None, ", the jobs whose width may change",
        example={"malleable": None}),
    _no_widths(
        has("recorded run times", lambda run: run.recorded, als="recorded"),
        "as a recorded run time does not depend on the width"),
    _no_widths(
        has(f"{o.ALLOCATOR} of whole hosts", lambda run: run.allocator.whole_hosts, _allocator, allocator="whole-host"),
        "as a job has more cores of a host than it computes on"),
    _no_widths(
        has(f"{o.ALLOCATOR:given}", lambda run: run.allocator.name == "given", allocator="given", requested={1: "0-1"}),
        "as jobs request cores by number"),
    _no_widths(has(
        f"{o.REQUESTS} of units of several cores", lambda run: run.asks("unit_cores", 1),
        "jobs of units of several cores", requests="units.csv",
    ), "as a core could be released without the others of its unit"),
    _no_widths(has(
        f"{o.SWITCHES}, or {o.REQUESTS} of few switches", lambda run: run.asks("switches"),
        "jobs that request few switches", switches="1", allocator="topology",
    ), "as the number of switches for other widths is not specified"),
    _no_widths(has(
        f"{o.REQUESTS} of more than cores",
        lambda run: run.constraints.requests is not None and not run.constraints.requests.plain,
        "jobs that request more than cores", requests="licences.csv",
    ), _COUNTED, first=_MOLDS),
    _no_widths(_WINDOWS, _COUNTED, first=_MOLDS),
    _no_widths(has(
        f"{o.ALLOCATOR} or partitions to which cores are not all alike", lambda run: not run.countable,
        lambda run: f"{_allocator(run)} and these partitions", allocator="contiguous",
    ), _COUNTED, first=_MOLDS),
    Conflict(_DRAINS, has(
        f"{_CHANGES.name}, or {o.COORDINATION} except none", lambda run: run.rules.resizing or run.rules.releases,
        lambda run: _resize(run) if run.rules.resizing else _coordination(run), coordination="release",
    ), reason=_BESIDE, allowed="state down"),
    Conflict(
        has(f"{o.COORDINATION} of cores", lambda run: run.releases_cores, _coordination, coordination="release"),
        has(
            f"{o.ALLOCATOR} of whole hosts, or {o.REQUESTS} of units of several cores or of amounts of their hosts",
            lambda run: run.allocator.whole_hosts or run.asks("per_unit") or run.asks("unit_cores", 1),
            lambda run: "hosts that are not shared" if run.allocator.whole_hosts else _UNIT_WORDS,
            allocator="whole-host"),
        "which cannot be released core by core", "none, release:host, hint:host"),
)

# Features of a plan of power; checked for a ``bls.power.plan.PlannedLimits``.

PLAN: Final[tuple[Conflict, ...]] = (
    Conflict(_STOPPING, has(
        f"{o.LIMITS} to parts of the machine", lambda plan: plan.domains,
        lambda plan: f"limits to parts of the machine ({plan.domains[0].name})", limits=[(0, None, 500, "hosts:0")],
    ), "as hosts are stopped according to the power of the whole machine", _UNSTOPPED),
    Conflict(
        has(f"a notice of {o.LIMITS}", lambda plan: plan.noticed, limits=_NOTICED_LIMIT), _STOPPING,
        "as hosts leave the service when a limit begins", _UNSTOPPED, example={"limits": _NOTICED_LIMIT}),
)


def _again(other: ChosenFeature, reason: str, allowed: str = "") -> Conflict:
    asked = has(str(o.FAIR_START), lambda _: True, fair_start=True)
    return Conflict(asked, other, reason=reason, allowed=allowed)


#: Properties of a policy, and rules, with which no part of a run can be repeated; checked for a ``bls.inputs.Chosen``.
FAIR_START: Final[tuple[Conflict, ...]] = (
    _again(
        _DECIDES,
        "{second} decides in Python and may keep state, so parts of a run cannot be repeated",
        "policies with keys or scores"),
    _again(_REJECTS, "{second} starts no job", "policies that start jobs"),
    _again(_RESIZES, "with {second} the widths of jobs at other instants are unknown", f"{o.RESIZE:none}"),
    _again(
        _RELEASES, "with {second} the cores that jobs would release at other instants are unknown",
        f"{o.COORDINATION:none}"),
    _again(has(
        f"{o.DECISION_COST:measured}", lambda one: one.rules.decision_cost_ns == "measured",
        decision_cost_ns="measured",
    ), f"with {{second}} no run can be repeated; give a time, as {o.DECISION_COST:50ms}"),
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
        _DIRECTS.name, lambda one: one.directs, _bls, "directs: running jobs cannot be directed",
        "a policy that only starts jobs", bls="DIRECTS"),
    _in_stream(
        f"{o.FAILURES}, and {_DECIDES.name}", lambda one: one.decides and one.constraints.outages is not None,
        lambda one: f"{o.FAILURES} with {_bls(one)}", "it decides in Python", "a compiled policy", bls="DECIDES",
        failures="fails.csv"),
    _in_stream(
        f"a {o.BLS} that keeps accounts", lambda one: one.accounts, _bls,
        "it keeps accounts of all users, known only after the whole log is read", "", bls="multifactor"),
    _in_stream(
        str(o.DECISIONS), lambda one: one.rules.keep_decisions, str(o.DECISIONS), "the table of all passes is in memory", "",
        keep_decisions=True),
    _in_stream(
        _DRAINS.name, lambda one: one.constraints.drains, str(o.FAILURES), "hosts cannot be drained", "state down",
        failures="drains.csv"),
    _in_stream(
        f"{o.ESTIMATES} of a history", lambda one: one.rules.predicted, str(o.ESTIMATES),
        "predictions need all jobs that have ended", "estimates without a history", estimates="last-two"),
)
