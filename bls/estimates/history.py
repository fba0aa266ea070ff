"""Predictions from jobs that have ended: the user's last two, and jobs of the same kind."""

from __future__ import annotations

from bls.estimates.contract import HistoryEstimator

__all__ = ["LAST_TWO", "PROFILE"]

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
