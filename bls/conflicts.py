"""The features of the batch level that do not go together, each pair once (``traces.base.options``).

:data:`RULES` and :data:`POWER` are of the options alone, :data:`POLICY` is of the policy that is to follow the rules,
:data:`FAIR_START` of runs that are made again in part, and :data:`RUN` of all that a run has: its jobs, its allocator and what
it knows of power.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from bls import options as o
from traces.base.options import Conflict, Option

Row: TypeAlias = Conflict[Any]

_POLICY: Final = f"a {o.BLS} "
_DECIDES: Final = f"{_POLICY}that decides itself which jobs start"
_CHANGES: Final = f"a {o.RESIZE} that changes the width of running jobs"
_HINTS: Final = f"{o.COORDINATION:hint}, hint:core or hint:host"
_UNSTOPPED: Final = f"{o.FALLBACK:none}, hold, submit:state=1 or dvfs"
_STOPS: Final = f"{o.FALLBACK:stop:idle} or stop:off"

#: Of one host of two cores that says what it draws; examples need its limits, if any.
_LIMITED: Final[Mapping[str, Any]] = {"limits": [(0, None, 1000)]}
_MALLEABLE: Final[Mapping[str, Any]] = {"malleable": "1"}

#: Options of :class:`bls.scheduler_options.Rules`.
RULES: Final[tuple[Row, ...]] = (
    Conflict(
        first=str(o.DECISION_COST),
        second=f"no {o.CHARGE_DECISIONS}",
        given=f"{o.DECISION_COST}: ",
        reason=f"needs {o.CHARGE_DECISIONS}",
        found=lambda rules: rules.decision_cost_ns is not None and not rules.charge_decisions,
        example={"decision_cost_ns": 5},
    ),
)


def _unlimited(option: Option[Any], field: str, example: Any) -> Row:
    # Of an option that says what is done under limits, and is not as by default.
    def found(power: Any) -> bool:
        value = power.fallback_of[0] if field == "fallback" else getattr(power, field)
        return power.limits is None and value not in (option.default, 0, False)

    return Conflict(
        first=str(option),
        second=f"no {o.LIMITS}",
        given=f"{option}: ",
        reason=f"needs {o.LIMITS}, the limits to the machine's power",
        found=found,
        example={option.keyword: example},
    )


#: Options of :class:`bls.power.options.Power`.
POWER: Final[tuple[Row, ...]] = (
    Conflict(
        first=str(o.KEEP_AWAKE),
        second=f"no {o.SLEEP_AFTER}",
        given=f"{o.KEEP_AWAKE}: ",
        reason=f"needs {o.SLEEP_AFTER}, after which hosts that idle fall asleep",
        found=lambda power: power.keep_awake and power.sleep_after_ns is None,
        example={"keep_awake": 1},
    ),
    Conflict(
        first=str(o.SLEEP_AFTER),
        second=_STOPS,
        given=f"{o.SLEEP_AFTER}: ",
        reason="not with {fallback}, which has hosts shut down and boot itself",
        allowed=_UNSTOPPED,
        found=lambda power: power.sleep_after_ns is not None and power.fallback_of[0].startswith("stop:"),
        example={**_LIMITED, "sleep_after_ns": 5, "fallback": "stop:off"},
    ),
    Conflict(
        first=str(o.NOTICE),
        second=str(o.REACTION),
        given=f"{o.NOTICE}: ",
        reason=f"not with {o.REACTION}; a limit is known before its begin, or after it",
        found=lambda power: power.reaction_ns and power.notice_ns,
        example={**_LIMITED, "notice_ns": 5, "reaction_ns": 5},
    ),
    Conflict(
        first=str(o.NOTICE),
        second=_STOPS,
        given=f"{o.NOTICE}: ",
        reason="not with {fallback}, as hosts leave the service when a limit begins",
        allowed=_UNSTOPPED,
        found=lambda power: power.notice_ns and power.fallback_of[0].startswith("stop:"),
        example={**_LIMITED, "notice_ns": 5, "fallback": "stop:idle"},
    ),
    _unlimited(o.REACTION, "reaction_ns", 5),
    _unlimited(o.NOTICE, "notice_ns", 5),
    _unlimited(o.FALLBACK, "fallback", "hold"),
    _unlimited(o.ALLOWED, "allowed", "none"),
    _unlimited(o.STRETCH_WALLTIME, "stretch_walltime", True),
    _unlimited(o.POWER_ESTIMATES, "estimates", "platform"),
)

#: What a policy does, and rules that need it otherwise; of ``bls.inputs.Chosen``.
POLICY: Final[tuple[Row, ...]] = (
    Conflict(
        first=f"{o.BACKFILL} but none",
        second=f"{o.BLS:reject}",
        given="{backfill}: ",
        reason="{policy} starts no job",
        allowed="none",
        found=lambda one: one.rules.depth > 0 and one.rejects,
        example={"bls": "reject", "backfill": "easy"},
    ),
    Conflict(
        first=f"{o.BACKFILL} but none",
        second=_DECIDES,
        given="{backfill}: ",
        reason="{policy} decides itself which jobs start",
        allowed="none",
        found=lambda one: one.rules.depth > 0 and one.decides,
        example={"bls": "DECIDES", "backfill": "easy"},
    ),
    Conflict(
        first=_CHANGES,
        second=f"{o.COORDINATION:release:host} or hint:host",
        given="{resize}: ",
        reason="not with {coordination}",
        allowed="none, release, release:core, hint, hint:core",
        found=lambda one: one.rules.resizing and one.rules.by_hosts,
        example={**_MALLEABLE, "resize": "shrink", "coordination": "release:host"},
    ),
    Conflict(
        first=_CHANGES,
        second=f"{o.ESTIMATES:application}",
        given="{resize}: ",
        reason=f"not with {o.ESTIMATES:application}, as what a job whose width changes has promised is void",
        allowed="other estimates",
        found=lambda one: one.rules.resizing and one.rules.promised,
        example={**_MALLEABLE, "resize": "shrink", "estimates": "application"},
    ),
    Conflict(
        first=f"{o.RESIZE:decide}",
        second=f"{_POLICY}that directs no widths",
        given="{resize}: ",
        reason="{policy} does not say how wide jobs are",
        allowed="a policy in Python whose directs has 'widths', or a scheduler whose hello's directs has it",
        found=lambda one: one.rules.resized == "decide" and "widths" not in one.may_direct,
        example={**_MALLEABLE, "resize": "decide"},
    ),
    Conflict(
        first=f"{o.RESIZE} but none, decide",
        second=f"{_DECIDES}, or starts none",
        given="{resize}: ",
        reason="{policy} decides itself which jobs start, and its queue has no head",
        allowed="{widths}",
        found=lambda one: one.rules.resized not in ("none", "decide") and (one.decides or one.rejects),
        example={**_MALLEABLE, "resize": "shrink", "bls": "reject"},
    ),
    Conflict(
        first=_HINTS,
        second=f"{o.ESTIMATES:application}",
        given="{coordination}: ",
        reason=f"not with {o.ESTIMATES:application}, as a hint invalidates what the job has promised",
        allowed="none, release, release:core, release:host",
        found=lambda one: one.rules.hints and one.rules.promised,
        example={"coordination": "hint", "estimates": "application"},
    ),
    Conflict(
        first=_HINTS,
        second=f"{_DECIDES}, or starts none, and directs no hints",
        given="{coordination}: ",
        reason="{policy} decides itself which jobs start, and its queue has no head",
        allowed="none, release, release:core, release:host; or a policy or a scheduler that directs 'hints'",
        found=lambda one: one.rules.hints and (one.decides or one.rejects) and "hints" not in one.may_direct,
        example={"coordination": "hint", "bls": "reject"},
    ),
)


def _instead(states: str) -> str:
    return f"{o.FALLBACK:{states}}"


_UNSLOWED: Final = _instead("none, hold, stop:idle or stop:off, under which nobody is slowed")


def _no_widths(second: str, reason: str, found: Callable[[Any], object], **example: Any) -> Row:
    # What comes to jobs that run, or goes from them, are single cores with their amounts; ``mold`` has more needs.
    return Conflict(
        first=f"{o.RESIZE:mold}" if "resize" in example else f"{o.RESIZE} but none",
        second=second,
        given="{resize}: ",
        reason=f"not with {reason}",
        allowed="none",
        found=lambda run: run.resizes and found(run),
        example={**_MALLEABLE, "resize": "expand", **example},
    )


#: What a run has: of ``bls.inputs.Run``.
RUN: Final[tuple[Row, ...]] = (
    Conflict(
        first=f"{o.FAILURES} with drained hosts",
        second=f"{o.LIMITS} with a {o.FALLBACK}, or {o.SLEEP_AFTER}",
        given=f"{o.FAILURES}: ",
        reason="drained hosts cannot be beside limits to power, or hosts that sleep",
        allowed="state down",
        found=lambda run: run.constraints.drains and (run.limits is not None or run.sleeps),
        example={"failures": "drains.csv", "sleep_after_ns": 5},
    ),
    Conflict(
        first=f"{o.FAILURES} with drained hosts",
        second=f"{o.REQUESTS} of licences",
        given=f"{o.FAILURES}: ",
        # A job that outlasts its estimate, and has no core but on such a host, would be planned to give them back.
        reason="drained hosts cannot be beside licences",
        allowed="state down",
        found=lambda run: run.constraints.drains and run.asks("licences"),
        example={"failures": "drains.csv", "requests": "licences.csv"},
    ),
    Conflict(
        first=str(o.SLEEP_AFTER),
        second=str(o.WINDOWS),
        given=f"{o.SLEEP_AFTER}: ",
        reason=f"not with {o.WINDOWS}, as a job that waits for its hosts to boot would be late for one",
        allowed=f"no {o.WINDOWS}",
        found=lambda run: run.sleeps and run.windows,
        example={"sleep_after_ns": 5, "windows": "windows.toml"},
    ),
    Conflict(
        first=str(o.SLEEP_AFTER),
        second=f"{o.RESIZE:mold} and {o.LIMITS} with a {o.FALLBACK}",
        given=f"{o.SLEEP_AFTER}: ",
        reason="not with {resize} and "
        f"{o.LIMITS}, as a width would have to be found on hosts that sleep, under a limit",
        allowed=f"one of them, or {o.FALLBACK:none}",
        found=lambda run: run.sleeps and run.limits is not None and run.rules.molds,
        example={**_LIMITED, **_MALLEABLE, "sleep_after_ns": 5, "fallback": "hold", "resize": "mold"},
    ),
    Conflict(
        first=str(o.SLEEP_AFTER),
        second=_CHANGES,
        given=f"{o.SLEEP_AFTER}: ",
        reason="not with {resize}, as cores come to running jobs at once, and those of a host that sleeps cannot",
        allowed=f"{o.RESIZE:none} or mold",
        found=lambda run: run.sleeps and run.rules.resizing,
        example={**_MALLEABLE, "sleep_after_ns": 5, "resize": "expand"},
    ),
    Conflict(
        first=str(o.STRETCH_WALLTIME),
        second=f"no {o.KILL_AT_WALLTIME}",
        given=f"{o.STRETCH_WALLTIME}: ",
        reason=f"needs {o.KILL_AT_WALLTIME}, as no job is killed without it",
        found=lambda run: run.limits and run.limits.options.stretch_walltime and not run.rules.kill_at_walltime,
        example={**_LIMITED, "fallback": "dvfs", "stretch_walltime": True},
    ),
    Conflict(
        first=f"{o.FALLBACK:dvfs}",
        second=str(o.CHARGE_DECISIONS),
        given="{fallback}: ",
        reason=f"not with {o.CHARGE_DECISIONS}, as levels are set after passes, and the scheduler makes none while it decides",
        allowed=_instead("none, hold, submit:state=1, stop:idle or stop:off"),
        found=lambda run: run.limits and run.limits.fallback == "dvfs" and run.rules.charge_decisions,
        example={**_LIMITED, "fallback": "dvfs", "charge_decisions": True},
    ),
    Conflict(
        first=f"{o.LIMITS} to parts of the machine, with a {o.FALLBACK}",
        second=f"{o.RESIZE} but none",
        given="{fallback}: ",
        reason="not with {resize} and limits to parts of the machine ({domain}), as widths are chosen by the machine's limit "
        "only",
        allowed=_instead("none"),
        found=lambda run: run.limits and run.limits.domains and (run.rules.molds or run.rules.resizing),
        example={**_MALLEABLE, "limits": [(0, None, 500, "hosts:0")], "fallback": "hold", "resize": "expand"},
    ),
    Conflict(
        first=f"{o.FALLBACK:hold}, submit or dvfs",
        second=f"{o.RESIZE:mold} with several reservations, with {o.NOTICE}, or where cores draw differently",
        given="{fallback}: ",
        reason="not with {resize} and several reservations, "
        f"{o.NOTICE}, or cores that draw differently, as no width is chosen by the limit there",
        allowed=_instead("none, stop:idle or stop:off"),
        found=lambda run: run.limits and run.rules.molds and not run.limits.stops and not run.counts_power,
        example={**_LIMITED, **_MALLEABLE, "fallback": "hold", "resize": "mold", "backfill": "conservative"},
    ),
    Conflict(
        first=f"{o.NOTICE} with a {o.FALLBACK}",
        second=_CHANGES,
        given="{fallback}: ",
        reason="not with {resize} and " f"{o.NOTICE}, as cores come to running jobs by the limit of now",
        allowed=_instead("none"),
        found=lambda run: run.limits and run.limits.limits.notice_ns > 0 and run.rules.resizing,
        example={**_LIMITED, **_MALLEABLE, "fallback": "hold", "resize": "expand", "notice_ns": 5},
    ),
    Conflict(
        first=f"{o.NOTICE} with a {o.FALLBACK}",
        second=_DECIDES,
        given="{fallback}: ",
        reason="not with {policy} and " f"{o.NOTICE}, as one that decides is told the limit of now only",
        allowed=_instead("none"),
        found=lambda run: run.limits and run.limits.limits.notice_ns > 0 and run.decides,
        example={**_LIMITED, "bls": "DECIDES", "fallback": "hold", "notice_ns": 5},
    ),
    Conflict(
        first=f"{o.FALLBACK:submit} or dvfs, where a job may be slowed",
        second=f"{_POLICY}that directs speeds",
        given="{fallback}: ",
        reason="not with {policy}, which scales the speeds of running jobs itself",
        allowed=_UNSLOWED,
        found=lambda run: run.limits and run.limits.slows and "speeds" in run.directs,
        example={**_LIMITED, "bls": "DIRECTS", "fallback": "dvfs"},
    ),
    Conflict(
        first=str(o.CHARGE_DECISIONS),
        second=f"{_POLICY}that directs running jobs",
        given=f"{o.CHARGE_DECISIONS}: ",
        reason="{policy} directs running jobs, which takes no time",
        allowed="policies that only start jobs",
        found=lambda run: run.directs and run.rules.charge_decisions,
        example={"bls": "DIRECTS", "charge_decisions": True},
    ),
    Conflict(
        first=f"{o.ESTIMATES:application}",
        second=f"{_POLICY}that directs running jobs",
        given=f"{o.ESTIMATES:application}: ",
        reason="{policy} directs running jobs, and what these have promised is void",
        allowed="other estimates",
        found=lambda run: run.directs and run.rules.promised,
        example={"bls": "DIRECTS", "estimates": "application"},
    ),
    Conflict(
        first=f"{o.RESIZE} but none",
        second=f"no {o.MALLEABLE}",
        given="{resize}: ",
        reason=f"needs {o.MALLEABLE}, the jobs whose width may change",
        found=lambda run: run.resizes and run.constraints.widths is None,
        example={"resize": "expand"},
    ),
    _no_widths(
        "recorded run times",
        "recorded run times, which no width changes",
        lambda run: run.recorded,
        als="recorded",
    ),
    _no_widths(
        f"{o.ALLOCATOR} of whole hosts",
        "{allocator}, as a job has more cores of a host than it computes on",
        lambda run: run.allocator.whole_hosts,
        allocator="whole-host",
    ),
    _no_widths(
        f"{o.ALLOCATOR:given}",
        f"{o.ALLOCATOR:given}, as jobs ask for cores by number",
        lambda run: run.allocator.name == "given",
        allocator="given",
        requested={1: "0-1"},
    ),
    _no_widths(
        f"{o.REQUESTS} of units of several cores",
        "jobs of units of several cores, of which one could leave without the others",
        lambda run: run.asks("unit_cores", 1),
        requests="units.csv",
    ),
    _no_widths(
        f"{o.SWITCHES}, or {o.REQUESTS} of few switches",
        "jobs that ask for few switches, as the number of switches for other widths is not specified",
        lambda run: run.asks("switches"),
        switches="1",
        allocator="topology",
    ),
    _no_widths(
        f"{o.REQUESTS} of more than cores",
        "jobs that ask for more than cores",
        lambda run: run.rules.molds and run.constraints.requests is not None and not run.constraints.requests.plain,
        resize="mold",
        requests="licences.csv",
    ),
    _no_widths(
        str(o.WINDOWS),
        str(o.WINDOWS),
        lambda run: run.rules.molds and run.windows,
        resize="mold",
        windows="windows.toml",
    ),
    _no_widths(
        f"{o.ALLOCATOR} and partitions to which cores are not all alike",
        "{allocator} and these partitions, to which cores are not all alike",
        lambda run: run.rules.molds and not run.countable,
        resize="mold",
        allocator="contiguous",
    ),
    Conflict(
        first=f"{o.FAILURES} with drained hosts",
        second=f"{_CHANGES}, or {o.COORDINATION} but none",
        given=f"{o.FAILURES}: ",
        reason="drained hosts cannot be beside {reaches}",
        allowed="state down",
        found=lambda run: run.constraints.drains and (run.rules.resizing or run.rules.releases),
        example={"failures": "drains.csv", "coordination": "release"},
    ),
    Conflict(
        first=f"{o.COORDINATION} of cores",
        second=f"{o.ALLOCATOR} of whole hosts, or {o.REQUESTS} of units of several cores or of amounts of their hosts",
        given="{coordination}: ",
        reason="jobs have {parts}",
        allowed="none, release:host, hint:host",
        found=lambda run: run.releases_cores
        and (run.allocator.whole_hosts or run.asks("per_unit") or run.asks("unit_cores", 1)),
        example={"coordination": "release", "allocator": "whole-host"},
    ),
)  # fmt: skip

#: What a policy does, and rules, with which no part of a run can be made again; of ``bls.inputs.Chosen``.
FAIR_START: Final[tuple[Row, ...]] = (
    Conflict(
        first=str(o.FAIR_START),
        second=f"a {o.BLS} that decides in Python",
        given=f"{o.FAIR_START}: ",
        reason="{policy} decides in Python and may remember what it has seen, so that parts of a run cannot be made again",
        allowed="policies of keys or scores",
        found=lambda one: one.decides,
        example={"fair_start": True, "bls": "DECIDES"},
    ),
    Conflict(
        first=str(o.FAIR_START),
        second=f"{o.BLS:reject}",
        given=f"{o.FAIR_START}: ",
        reason="{policy} starts no job",
        allowed="policies that do",
        found=lambda one: one.rejects,
        example={"fair_start": True, "bls": "reject"},
    ),
    Conflict(
        first=str(o.FAIR_START),
        second=f"{o.RESIZE} but none",
        given=f"{o.FAIR_START}: ",
        reason="with {resize} it is not known how wide jobs would have been at other instants",
        allowed=f"{o.RESIZE:none}",
        found=lambda one: one.rules.resizing or one.rules.molds,
        example={"fair_start": True, "malleable": "1", "resize": "expand"},
    ),
    Conflict(
        first=str(o.FAIR_START),
        second=f"{o.COORDINATION} but none",
        given=f"{o.FAIR_START}: ",
        reason="with {coordination} it is not known what jobs would have released at other instants",
        allowed=f"{o.COORDINATION:none}",
        found=lambda one: one.rules.releases,
        example={"fair_start": True, "coordination": "release"},
    ),
    Conflict(
        first=str(o.FAIR_START),
        second=f"{o.CHARGE_DECISIONS} without a {o.DECISION_COST}",
        given=f"{o.FAIR_START}: ",
        reason=f"with {o.CHARGE_DECISIONS} as measured no run can be made again; give a {o.DECISION_COST}",
        found=lambda one: one.rules.charge_decisions and one.rules.decision_cost_ns is None,
        example={"fair_start": True, "charge_decisions": True},
    ),
)

#: What names in braces stand for on the page of all conflicts.
IN_GENERAL: Final[Mapping[str, str]] = {
    "policy": "the policy",
    "backfill": str(o.BACKFILL),
    "resize": str(o.RESIZE),
    "coordination": str(o.COORDINATION),
    "allocator": str(o.ALLOCATOR),
    "fallback": str(o.FALLBACK),
    "widths": "none, or decide if the policy directs widths",
    "domain": "their name",
    "reaches": "these",
    "parts": "hosts that are not shared, units of several cores, or amounts of their hosts",
}
