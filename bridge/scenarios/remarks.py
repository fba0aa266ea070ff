"""Remarks about a run for people to read: its machine, its log, its applications and its power."""

from collections.abc import Iterable, Iterator

import numpy as np

from als.options import APPLICATIONS, TASKS_PER_CORE
from bls import options as b
from bls.engine.features.limits.options import ALLOWED, FALLBACK, LIMITS, POWER_ESTIMATES
from bls.engine.features.prediction.options import ESTIMATES
from bls.engine.features.widths.options import RESIZE
from bls.estimates import recommended
from bls.machine.platform import GPU_COLUMNS, Platform
from bls.policies import policy
from bls.policies.contract import goes_by_estimates
from bls.workloads.header import named_machine
from bls.workloads.workload import TOO_WIDE, Workload
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.errors import listed


def remarks_of_run(scenario: ReadyScenario) -> Iterator[str]:
    """All remarks about a run, one line each."""
    options, jobs, machine = scenario.options, scenario.workload, scenario.platform
    yield from machine_words(jobs, machine, options.machine.platform, replayed=scenario.technique is None)
    yield from log_words(jobs, machine, [options])
    about_applications = wish_words(scenario), unmatched_words(scenario)
    yield from filter(None, (time_limit_words(jobs, [options]), balance_words([options]), *about_applications))
    yield from power_words(scenario)


_FEW = 0.01  #: share of jobs that are too wide, above which the remark gives advice


def machine_words(jobs: Workload, machine: Platform, platform: object, *, replayed: bool) -> list[str]:
    """Lines about the machine: its name, if the user gave no ``platform``, and whether it is too small for the jobs."""
    paper, named = Platform(), named_machine(jobs)
    size = f"{machine.n_cores:,} cores"
    words = []
    if platform is None and named is None:
        words.append(
            f"machine: {size}, since the log describes none; {b.PLATFORM} FILE describes another (twolevel platform)"
        )
    elif platform is None and named is not None and named != paper:
        if replayed:
            hosts = f"{machine.n_hosts:,} host{'s' * (machine.n_hosts > 1)}"
            words.append(f"machine: {size} on {hosts}, as in the log; {b.PLATFORM:paper}: {paper.n_cores} cores")
        else:
            why = "the two-level paper's, since applications are simulated task by task"
            words.append(f"machine: {size}, {why}; {b.PLATFORM:log}: the log's {named.n_cores:,} cores")
    wide = jobs.rejects[TOO_WIDE]
    valid = jobs.n_lines - sum(jobs.rejects.values()) + wide
    if wide > _FEW * valid:
        larger = f"{b.PLATFORM} FILE describes a larger machine (twolevel platform > FILE)"
        if named is not None and named.n_cores > machine.n_cores:
            larger = f"{b.PLATFORM:log} has the log's {named.n_cores:,}"
        wider = f"{wide:,} of {valid:,} jobs are wider than {size} and omitted"
        words.append(f"warning: {wider}: {larger}, {b.OVERSIZE:clamp} gives each of them all cores")
    return words


def log_words(jobs: Workload, platform: Platform | None = None, options: Iterable[Scenario] = ()) -> Iterator[str]:
    """Lines about held jobs, uncounted GPUs and unknown memory; without ``platform`` and ``options`` of a log alone."""
    options = list(options)
    with_gpus = 0
    if jobs.extras:
        from bls.constraints.gpu_requests import gpus_of_log  # many logs have no further columns

        with_gpus = 0 if (gpus := gpus_of_log(jobs)) is None else int(np.count_nonzero(gpus))
    held = held_words(int(np.count_nonzero(jobs.held)))
    yield from filter(None, (held, gpu_words(with_gpus, jobs, platform, options), kind_words(jobs, platform)))
    if any(one.batch.memory == "swf" for one in options) and not np.any(jobs.memory_kb > 0):
        yield f"{b.MEMORY:swf}: the log records no memory requests, so memory limits no job"


def gpu_words(jobs: int, log: Workload, platform: Platform | None, options: Iterable[Scenario]) -> str:
    """A line about the number of jobs of a log that requested GPUs, if these are not counted; else empty."""
    options, named = list(options), () if platform is None else platform.resource_names
    counted = any("gpu" in name.lower() for name in named) and options and all(one.batch.requests for one in options)
    if not jobs or counted or (platform is not None and platform.n_gpus):
        return ""
    what = f"{_jobs(jobs)} requested GPUs. They are not simulated, so too many such jobs may run at once"
    advice = f"{what}; declare those of the platform's hosts (gpus)"
    return advice if named_machine(log) is None else f"{advice}, as twolevel platform --like LOG does"


def kind_words(log: Workload, platform: Platform | None) -> str:
    """A line about kinds of GPUs that a log names and no host has; empty if there are none."""
    known = () if platform is None else platform.gpu_kinds
    if not any(known) or not (kinds := log.labels.get(GPU_COLUMNS[-1])):
        return ""
    unknown = sorted({kind for names in kinds.values() for kind in names.split("|")}.difference(known))
    if not unknown:
        return ""
    return f"no host has GPUs of these kinds in the log: {listed(unknown)}; jobs that accept no other kind are omitted"


def held_words(jobs: int) -> str:
    """A line about jobs that were held after their submit; empty if there are none."""
    if not jobs:
        return ""
    one = jobs == 1
    was, starts, waits = ("was", "it starts", "its wait counts") if one else ("were", "they start", "their waits count")
    held = f"{_jobs(jobs)} {was} held after the submit (begin, Eligible)"
    return f"{held}: {starts} at that time at the earliest, and {waits} from then"


def _jobs(n: int) -> str:
    return f"{n:,} job{'s' * (n > 1)} of the log"


def time_limit_words(jobs: Workload, options: Iterable[Scenario]) -> str:
    """Policies that plan with the true run times since there are no limits, and an estimator that predicts them; else empty."""
    if np.any(jobs.estimate_ns != jobs.run_ns):
        return ""
    who: dict[str, None] = {}
    for one in options:
        if one.batch.estimates != ESTIMATES.default:
            continue
        order = policy(bls) if isinstance(bls := one.batch.decides, str) else bls
        if goes_by_estimates(order):
            who[order.name] = None
        if one.batch.depth:
            who[f"backfilling {one.batch.backfill}"] = None
    if not who:
        return ""
    plan = f"{'plan' if len(who) > 1 else 'plans'} with the true run times, which no scheduler knows"
    return f"the log has no time limits: {' and '.join(who)} {plan}; {recommended(jobs)}"


def balance_words(options: Iterable[Scenario]) -> str:
    """Remark that techniques cannot balance one task per core; empty with more tasks, or tasks of equal length."""
    for one in (scenario.application for scenario in options):
        if not one.simulated or one.tasks_per_core > 1 or one.map is not None:
            continue
        model = one.task_lengths
        if model.count is not None or model.cov == 0.0:
            continue
        which = f"with one task per core ({TASKS_PER_CORE:1})"
        if model.fills:
            return (
                f"{which} and the paper's draw, a job has as many tasks as cores or a few more: a technique only decides "
                f"which cores compute these, and balances nothing else; {TASKS_PER_CORE:8} gives it a choice"
            )
        what = "no technique can balance tasks of different lengths: a job lasts at least as long as its longest task"
        return f"{which}, {what}; {TASKS_PER_CORE:8} gives techniques a choice"
    return ""


def wish_words(scenario: ReadyScenario) -> str:
    """Remark that requests of running jobs have no effect, or do not occur; empty if neither is the case."""
    wishes = any(any(program.wishes) for program in scenario.applications)
    evolves = scenario.options.batch.resized == "evolve"
    if wishes and not evolves:
        return f"applications request cores without effect: {RESIZE:evolve} grants them"
    if evolves and not wishes:
        return f"{RESIZE:evolve}: no application requests cores"
    return ""


def unmatched_words(scenario: ReadyScenario) -> str:
    """Name the applications of the map that no job has; empty if every application has a job, or there is no map."""
    level = scenario.options.application
    if level.map is None or scenario.programs is None:
        return ""
    from bridge.scenarios.application_map import DEFAULT

    counts = level.map.counts(scenario.application)
    without = [name for name, jobs in counts.items() if not jobs and name != DEFAULT]
    if not without:
        return ""
    every = "; all jobs run the default" if len(without) == len(counts) - 1 else ""
    return f"{APPLICATIONS}: no job matches {listed(without)}{every}"


_MOST = 20  #: largest number of named users


def power_words(scenario: ReadyScenario) -> Iterator[str]:
    """Lines about limits that cannot be kept, users without jobs, and options and features without effect."""
    if (plan := scenario.power) is None:
        return
    from bls.power.facts import FACTS  # not needed by most runs
    from bls.power.job_power import unknown_users

    yield from (line for one in FACTS for line in one.remarks(plan))
    if not plan.limited:
        return
    whole = "with all hosts off the machine draws" if plan.fallback == "stop:off" else "idle the machine draws"
    for part, least_mw in zip(plan.domains, plan.least_mw, strict=True):
        limits = part.limits.limits
        name, draws = (f"{part.name}: ", "idle it draws") if part.name else ("", whole)
        if below := [one.power_mw for one in limits if one.power_mw < least_mw]:
            which = f"{name}{len(below)} of {len(limits)} cannot be kept"
            lowest = f"the lowest is {min(below) / 1000:g} W"
            yield f"{LIMITS}: {which}: {draws} {least_mw / 1000:g} W, and {lowest}"
    options = plan.options
    if plan.stops and options.allowed != ALLOWED.default:
        yield f"{ALLOWED}: no effect, since {FALLBACK:{options.fallback}} slows no job"
    if plan.fallback == "none" and plan.limits.noticed:
        yield f"{LIMITS}: notices have no effect, since {FALLBACK:none} ignores limits"
    if plan.predicts and plan.fallback == "none":
        yield f"{POWER_ESTIMATES}: no effect, since {FALLBACK:none} ignores limits"
    elif plan.predicts and plan.job_power is None:
        yield f"{POWER_ESTIMATES}: no effect, since the power of jobs is not given"
    if unknown := unknown_users(options.jobs_allowed, scenario.workload):
        named = " ".join(map(str, unknown[:_MOST])) + (" …" if len(unknown) > _MOST else "")
        yield f"{ALLOWED}: no job belongs to {'user' if len(unknown) == 1 else 'users'} {named}"
