"""The names of the metrics of power, energy and carbon; and texts of powers, energies and masses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from bls.power.facts import FACTS
from bls.power.over_time import REASONS
from traces.base.time import format_ns

if TYPE_CHECKING:
    from bls.power.report import PowerReport

#: The metrics of a run whose power is known.
METRICS: Final = (
    "energy_j", "energy_jobs_j", "energy_idle_j", "mean_power_w", "peak_power_w", "peak_limited_w", "above_limit_ns",
    "above_limit_j",
)  # fmt: skip

#: Metrics with limits: their differences to a run without a fallback are the paper's indexes.
LIMIT_METRICS: Final = (
    "mean_power_in_limits_w", "mean_run_ns", "mean_run_allowed_ns", "mean_run_disallowed_ns", "mean_wait_allowed_ns",
    "mean_wait_disallowed_ns",
)  # fmt: skip

PREDICTION_METRICS: Final = ("mean_power_error",)  #: metrics with predictions of the power of jobs


def summary_of(report: PowerReport) -> list[tuple[str, str]]:
    """The most important results, as (name, text)."""
    found, above = report.metrics, report.excesses
    mean = "–" if found["mean_power_w"] is None else watts_text(found["mean_power_w"])
    peak = found["peak_limited_w"]
    limited = "" if peak is None else f", {watts_text(peak)} under a limit"
    rows = [
        (
            "energy",
            f"{joules_text(found['energy_j'])}, {joules_text(found['energy_jobs_j'])} of it by jobs",
        ),
        ("power", f"mean {mean}, at most {watts_text(found['peak_power_w'])}{limited}"),
    ]
    rows += [row for one in FACTS for row in one.rows(report)]
    if not report.plan.limited:
        return rows
    plan = report.plan
    n, of = sum(len(one.limits.limits) for one in plan.domains), "".join(one.domain_words(plan) for one in FACTS)
    rows.append(("limits", f"{n}{of}, fallback {plan.options.fallback}"))
    if plan.fallback in ("submit", "dvfs"):
        rows.append(("may be slowed", f"{plan.allowed.sum()} of {len(plan.allowed)} jobs"))
    for where in (one.name for one in plan.domains):
        why: dict[str, int] = {}
        for one in above:
            if one.where == where:
                why[one.reason] = why.get(one.reason, 0) + one.end_ns - one.begin_ns
        words = "; ".join(f"{format_ns(lasts)} as {REASONS[reason]}" for reason, lasts in why.items())
        rows.append((f"above a limit{' of ' if where else ''}{where}", words or "never"))
    return rows


def cost_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Costs and emissions, if ``found`` has these metrics, as (name, text)."""
    rows = list[tuple[str, str]]()
    if "cost" in found:
        rows.append(("cost", f"{found['cost']:,.2f}, {found['cost_jobs']:,.2f} of it by jobs"))
    if "co2e_g" in found:
        jobs = grams_text(found["co2e_jobs_g"])
        rows.append(("carbon", f"{grams_text(found['co2e_g'])} CO2e, {jobs} of it by jobs"))
    return rows


def watts_text(watts: float) -> str:
    """Power as a text: ``407 kW``."""
    return _with_prefix(watts, "W")


def joules_text(joules: float) -> str:
    """Energy as a text: ``1.234 GJ``."""
    return _with_prefix(joules, "J")


def grams_text(grams: float) -> str:
    """A mass as a text: ``1.234 t``."""
    return f"{grams / 1e6:.4g} t" if grams >= 1e6 else _with_prefix(grams, "g")


#: The metrics of costs that comparisons show: their words and their format.
COMPARED_COSTS: Final = {"cost": ("cost", "{:,.2f}".format), "co2e_g": ("carbon", grams_text)}

_PREFIXES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def _with_prefix(value: float, unit: str) -> str:
    size, prefix = next((one for one in _PREFIXES if abs(value) >= one[0]), (1.0, ""))
    return f"{value / size:.4g} {prefix}{unit}"
