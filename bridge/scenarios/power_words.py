"""What is to be said before a run of limits to its machine's power."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bls.options import ALLOWED, FALLBACK, LIMITS, NOTICE, POWER_ESTIMATES, STRETCH_WALLTIME
from bls.power.host_accounts import sleep_words
from bls.power.job_power import unknown_users

if TYPE_CHECKING:
    from bridge.scenarios.ready import ReadyScenario

#: So many users are named at most.
_MOST = 20


def power_words(scenario: ReadyScenario) -> Iterator[str]:
    """A line each: that limits are below what the machine draws at least, so that they cannot be kept; that an option is of no
    effect, as nobody is slowed, limits are ignored, or nobody says what jobs draw; that users who allow it have no job; that to
    sleep saves nothing."""
    plan = scenario.power
    if plan is None:
        return
    yield from sleep_words(plan)
    if not plan.limited:
        return
    least_mw, off = plan.least_mw, plan.fallback == "stop:off"
    below = [one for one in plan.limits.limits if one.power_mw < least_mw]
    if below:
        lowest = min(one.power_mw for one in below)
        which = f"{len(below)} of {len(plan.limits.limits)} cannot be kept"
        draws = f"{'with all hosts off' if off else 'idle'} the machine draws {least_mw / 1000:g} W"
        yield f"{LIMITS}: {which}: {draws}, and the lowest is {lowest / 1000:g} W"
    for domain in plan.domains:
        below = [one for one in domain.limits.limits if one.power_mw < domain.idle_mw]
        if below:
            lowest = min(one.power_mw for one in below)
            which = f"{domain.name}: {len(below)} of {len(domain.limits.limits)} cannot be kept"
            yield (
                f"{LIMITS}: {which}: idle it draws {domain.idle_mw / 1000:g} W, and the lowest is {lowest / 1000:g} W"
            )
    options, slows = plan.options, plan.fallback in ("submit", "dvfs")
    nobody = f"of no effect, as {FALLBACK:{options.fallback}} slows nobody"
    if plan.stops and options.allowed != ALLOWED.default:
        yield f"{ALLOWED}: {nobody}"
    if plan.fallback == "none" and options.notice_ns:
        yield f"{NOTICE}: of no effect, as {FALLBACK:none} ignores limits"
    if plan.predicts and plan.fallback == "none":
        yield f"{POWER_ESTIMATES}: of no effect, as {FALLBACK:none} ignores limits"
    elif plan.predicts and plan.job_power is None:
        yield f"{POWER_ESTIMATES}: of no effect, as nobody says what jobs draw"
    if options.stretch_walltime and not slows:
        yield f"{STRETCH_WALLTIME}: {nobody}"
    if unknown := unknown_users(options.jobs_allowed, scenario.workload):
        named = " ".join(map(str, unknown[:_MOST])) + (" …" if len(unknown) > _MOST else "")
        yield f"{ALLOWED}: no job is of {'user' if len(unknown) == 1 else 'users'} {named}"
