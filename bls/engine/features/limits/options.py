"""The options of power limits; what limits, slowed jobs and stopped hosts conflict with."""

from collections.abc import Mapping
from typing import Any, Final

from bls.engine.features.core_choices import DECIDES, REPEATS, policy_name, unaware
from bls.engine.features.decisions.options import CHARGES
from bls.engine.features.outages.options import DRAINS, UNDRAINED
from bls.engine.features.widths.options import ALL_MALLEABLE, CHANGES, RESIZE, resize_text
from bls.options import BLS
from traces.base.options import Choice, Conflict, Option, Panel, has, needs, said

LIMITS = Option[str | None](
    name="limits", panel=Panel.LIMITS, default=None, metavar="FILE",
    help="Power limits of the machine or of parts of it, and when they are known: CSV, from,to,limit_w[,where,reaction,notice]")
FALLBACK = Option(
    name="fallback", panel=Panel.LIMITS, default="none", metavar="HOW",
    help="How a power limit is kept: none (ignored); hold (jobs wait for power); submit:state=1 (jobs submitted under a "
    "limit run slower); dvfs (running jobs are slowed; dvfs:slow=fewest: as few as needed); stop:idle or stop:off (hosts stop)")
ALLOWED = Option(
    name="allowed", panel=Panel.LIMITS, default="all", metavar="JOBS",
    help="Jobs that may be slowed: none, all, a share such as 0.75 or 75%, users:3 17, or a CSV file")
POWER_ESTIMATES = Choice(
    name="power-estimates", panel=Panel.LIMITS, default="exact", choices=("exact", "platform", "last-two"),
    what="estimates of power", metavar="NAME",
    help="Job power that the scheduler plans with: exact, platform (typical power of the platform), or last-two (mean of the "
    "user's last two jobs)")

#: Limits of the example machine, one host of two cores with known power.
LIMITED: Final[Mapping[str, Any]] = {"limits": [(0, None, 1000)]}
_BY_DVFS: Final = {**LIMITED, "fallback": "dvfs"}
_NOTICED_LIMIT: Final = [(0, None, 1000, "", 0, 5)]
fallback_text: Final = said(FALLBACK, lambda run: run.limits.options.fallback)
STOPPING: Final = has(
    f"{FALLBACK:stop:idle} or stop:off", lambda power: power.fallback_of[0].startswith("stop:"),
    lambda power: f"{FALLBACK:{power.fallback_of[0]}}", **LIMITED, fallback="stop:off")
UNSTOPPED: Final = f"{FALLBACK:none}, hold, submit:state=1 or dvfs"
NO_FALLBACK: Final = f"{FALLBACK:none}"
_LIMITS_JOBS: Final = has(
    f"{LIMITS} with a {FALLBACK}", lambda run: run.limits, "a limit to power", **LIMITED, fallback="hold")
_MAY_SLOW: Final = has(
    f"{LIMITS} with a {FALLBACK}", lambda run: run.power is not None and run.power.limits_jobs, str(FALLBACK), **LIMITED,
    fallback="hold")
_DVFS: Final = has(f"{FALLBACK:dvfs}", lambda run: run.limits and run.limits.fallback == "dvfs", fallback_text, **_BY_DVFS)
_NOTICED: Final = has(
    f"a notice of {LIMITS}, with a {FALLBACK}", lambda run: run.limits and run.limits.limits.noticed,
    lambda run: f"{fallback_text(run)} with a notice of limits", limits=_NOTICED_LIMIT, fallback="hold")


def _unlimited(option: Option[Any], field: str, example: Any) -> Conflict:
    # For an option that determines what happens under limits, and has another value than its default.
    def found(power: Any) -> bool:
        value = power.fallback_of[0] if field == "fallback" else getattr(power, field)
        return value not in (option.default, 0, False)

    feature = has(str(option), found, **{option.keyword: example})
    return needs(feature, LIMITS, lambda power: power.limits is None, ", the power limits of the machine or its parts")


POWER: Final[tuple[Conflict, ...]] = (
    _unlimited(FALLBACK, "fallback", "hold"),
    _unlimited(ALLOWED, "allowed", "none"),
    _unlimited(POWER_ESTIMATES, "estimates", "platform"),
)

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(DRAINS, _LIMITS_JOBS, reason=UNDRAINED, allowed="state down"),
    Conflict(
        _DVFS, CHARGES, "as levels are set after passes, and no pass ends while the scheduler decides",
        f"{FALLBACK:none}, hold, submit:state=1, stop:idle or stop:off"),
    Conflict(
        has(
            f"{FALLBACK:hold}, submit or dvfs", lambda run: run.limits and not run.limits.stops, fallback_text,
            **LIMITED, fallback="hold"),
        has(
            f"{RESIZE:mold} with several reservations, a notice of limits, or cores of different power",
            lambda run: run.rules.molds and not run.counts_power,
            lambda run: f"{resize_text(run)} with several reservations, a notice of limits, or cores of different power",
            **ALL_MALLEABLE, resize="mold", backfill="conservative"),
        "as widths then do not depend on the limit", f"{FALLBACK:none}, stop:idle or stop:off"),
    Conflict(_NOTICED, CHANGES, "as running jobs get cores according to the current limit", NO_FALLBACK),
    Conflict(_NOTICED, DECIDES, "as it receives only the current limit", NO_FALLBACK),
    Conflict(
        has(
            f"{FALLBACK:submit} or dvfs, where a job may be slowed", lambda run: run.limits and run.limits.slows,
            fallback_text, **_BY_DVFS),
        has(f"a {BLS} that directs speeds", lambda run: "speeds" in run.directs, policy_name, bls="DIRECTS"),
        "which scales the speeds of running jobs itself",
        f"{FALLBACK:none}, hold, stop:idle or stop:off, under which no job is slowed"),
)

UNAWARE: Final = (unaware("power", _LIMITS_JOBS, f"no {LIMITS}, or {FALLBACK:none}"),)
REPEATED: Final = (Conflict(REPEATS, _MAY_SLOW, "as slowed jobs have other run times", NO_FALLBACK),)

PLAN: Final[tuple[Conflict, ...]] = (
    Conflict(
        has(f"a notice of {LIMITS}", lambda plan: plan.noticed, limits=_NOTICED_LIMIT), STOPPING,
        "as hosts leave the service when a limit begins", UNSTOPPED, example={"limits": _NOTICED_LIMIT}),
)
