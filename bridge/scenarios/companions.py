"""Options that change nothing without another one. They are refused if no run of an experiment has a use for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from als.options import RESIZE_COST, SPEEDS
from bls.options import BACKFILL, BLS, CONSERVATIVE, FAILURES, MAX_ATTEMPTS, ON_FAILURE, RESIZE, SLACK, WINDOWS
from bls.policies import POLICIES, WRITTEN, reads_deadlines
from bridge.options.declared import ALS_COMMAND
from traces.base.errors import InputError
from traces.base.options import Option

#: What a run is given, by the names of options without dashes, as ``on_failure``.
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Companion:
    """An option that needs another one."""

    option: Option[Any]  # the option that changes nothing alone
    used: Callable[[Values], bool]  # whether a run has a use for it
    # what is wrong, of runs that have none: the text that follows the option and its value
    instead: Callable[[list[Values]], str]
    default_counts: bool = False  # whether its default is something given, and only None is not


def _loses(run: Values) -> bool:
    # A policy or applications from outside may cut jobs; hosts fail, leave for a maintenance, or have a speed of 0 at last.
    bls = run["bls"]
    ours = isinstance(bls, str) and bls.partition(":")[0] in (*POLICIES, *WRITTEN)
    return not ours or any(run.get(name) for name in ("failures", "windows", "speeds", "als_command"))


def _names(runs: list[Values]) -> str:
    return ", ".join(dict.fromkeys(bls if isinstance(bls := run["bls"], str) else bls.name for run in runs))


def _needs(text: str) -> Callable[[list[Values]], str]:
    return lambda _: f"needs {text}"


_LOSS = _needs(f"{FAILURES}; no job loses its cores without that, {WINDOWS}, {SPEEDS} or {ALS_COMMAND}")

COMPANIONS = (
    Companion(
        CONSERVATIVE,
        lambda run: run["backfill"] == "conservative",
        _needs(f"{BACKFILL:conservative}"),
        default_counts=True,
    ),
    Companion(
        SLACK,
        lambda run: reads_deadlines(run["bls"]),
        lambda runs: f"{BLS:{_names(runs)}} reads no deadlines; allowed: edf",
    ),
    Companion(ON_FAILURE, _loses, _LOSS),
    Companion(MAX_ATTEMPTS, _loses, _LOSS),
    Companion(
        RESIZE_COST,
        # Scenario refuses it without --malleable.
        lambda run: run["malleable"] is None or run["resize"] not in ("none", "mold"),
        _needs(f"a {RESIZE} that changes the width of running jobs; allowed: all but none, mold"),
    ),
)


def check_used(runs: Iterable[Values]) -> None:
    """Check that each option is of use to some run of an experiment that has it.

    Parameters
    ----------
    runs : iterable of mapping
        What each run is given. An option that is not there is not checked; its default is as not given.

    Raises
    ------
    InputError
        If an option is of use to none.
    """
    of_runs = list(runs)
    for one in COMPANIONS:
        name = one.option.name.replace("-", "_")
        ungiven = (None,) if one.default_counts else (None, one.option.default)
        given = [run for run in of_runs if run.get(name) not in ungiven]
        if given and not any(map(one.used, given)):
            value = given[0][name]
            shown = f"{value:g}" if isinstance(value, float) else f"{value}"
            if one.option.unit == "ns":
                shown = ""  # it was given with a unit of its own
            raise InputError(f"{one.option:{shown}}: {one.instead(given)}")
