"""Predictions from jobs that have ended: the user's last two, and jobs of the same kind."""

from __future__ import annotations

from dataclasses import replace

from bls.estimates.contract import HistoryEstimator
from traces.base.errors import InputError, shown

#: The mean of the run times of the last two jobs of the same user that have ended, once there are two.
#: D. Tsafrir, Y. Etsion and D. Feitelson, "Backfilling using system-generated predictions rather than user runtime
#: estimates", IEEE TPDS 18(6) 2007, doi:10.1109/TPDS.2007.70606.
LAST_TWO = HistoryEstimator("last-two", (("user",),), mean_of=2, least=2)

#: The last run time of a job with the same profile. A user who submits the same again mostly gets the same again: the same
#: application from the same queue, of the same width, with the same request; else without the request, without the width,
#: and then the application alone. Where the log names no applications, these levels tell nothing and what remains is the
#: user's last job from the same queue that was as wide and asked for as much, or as wide.
#: C. Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017 (LNCS 10710): their heuristic goes
#: by user, job name and queue; a log in SWF has the application's number for a name.
PROFILE = HistoryEstimator(
    "profile",
    (
        ("user", "application", "queue", "cores", "estimate_ns"),
        ("user", "application", "queue", "cores"),
        ("user", "application", "queue"),
        ("user", "application"),
        ("user", "queue", "cores", "estimate_ns"),
        ("user", "cores", "estimate_ns"),
        ("user", "cores"),
    ),
)

#: The run time of the last job that has ended of the same user with the same profile: name, queue, resources and request. Else
#: with a name that differs in a number at its end only; with other resources, then both; with the name alone, then with
#: what it begins with. A log that names no jobs tells nothing, and :data:`PROFILE` goes by what it does tell.
#: C. Galleguillos et al., "Data-driven job dispatching in HPC systems", MOD 2017 (LNCS 10710), as PCP'20 takes it.
DATA_DRIVEN = HistoryEstimator(
    "data-driven",
    (
        ("user", "queues", "name", "resources", "estimate_ns"),
        ("user", "queues", "name_prefix", "resources", "estimate_ns"),
        ("user", "queues", "name", "estimate_ns"),
        ("user", "queues", "name_prefix", "estimate_ns"),
        ("user", "name"),
        ("user", "name_prefix"),
    ),
)


def last_two(text: str, where: str) -> HistoryEstimator:
    """``last-two:least=N``: :data:`LAST_TWO` once so many jobs of the user have ended, 1 or 2; the mean of one is its
    run time. Raises InputError if it is something else."""
    key, _, value = text.partition("=")
    if key.strip() != "least" or value.strip() not in ("1", "2"):
        raise InputError(f"{where}: last-two:{shown(text)[1:-1]}; allowed: least=1, least=2")
    return LAST_TWO if value.strip() == "2" else replace(LAST_TWO, name="last-two:least=1", least=1)
