"""What users are given whose jobs may be slowed, for running and waiting longer: a function of both indexes of a comparison.

S. Matsui et al. (ISGC 2021) leave the function open. Here it is linear, and nobody pays for what became better: for each
core-hour that an allowed job runs longer in B so much, and so much for each that it waits longer. Cores are those that it asks
for.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bls.metrics.exact import exact_product_sum
from traces.base.errors import InputError, shown
from traces.compiled import Array

if TYPE_CHECKING:
    import pandas as pd

_NUMBER: Final = re.compile(r"[0-9]{1,7}(?:\.[0-9]{1,6})?")
_MOST: Final = 10**6
_NS_PER_HOUR: Final = 3600 * 10**9


class Rates(NamedTuple):
    """For a core-hour that a job runs longer, and for one that it waits longer."""

    run: Fraction
    wait: Fraction


class Rewards(NamedTuple):
    """What is given: in all, and to how many of the allowed jobs that are compared; and what is saved beyond that, where energy
    has a price: by how much less B costs than A, less what is given."""

    rates: Rates
    total: Fraction
    jobs: int
    allowed_jobs: int
    saved: float | None

    def record(self) -> dict[str, Any]:
        """The same as plain values, for ``comparison.json``."""
        return {
            "run_rate": float(self.rates.run),
            "wait_rate": float(self.rates.wait),
            "total": float(self.total),
            "jobs": self.jobs,
            "allowed_jobs": self.allowed_jobs,
            "saved": self.saved,
        }


def parse_rates(text: str) -> Rates:
    """Rates as they are written, ``0.02:0.005``.

    Raises
    ------
    InputError
        If they are none.
    """
    words = text.split(":")
    if len(words) != 2 or not all(_NUMBER.fullmatch(word) and Fraction(word) <= _MOST for word in words):
        raise InputError(
            f"--reward: {shown(text)}; allowed: for a core-hour of running longer, and of waiting longer, 0 to {_MOST}, as "
            "0.02:0.005"
        )
    return Rates(Fraction(words[0]), Fraction(words[1]))


def rewards(
    rates: Rates,
    jobs: tuple[pd.DataFrame, pd.DataFrame],
    rows: tuple[Array, Array],
    costs: tuple[float | None, float | None],
) -> Rewards:
    """What is given.

    Parameters
    ----------
    rates : Rates
    jobs, rows
        As of ``bridge.compare.power_indexes.indexes_of``; without a column ``allowed`` all jobs of B are.
    costs : (float or None, float or None)
        The metric ``cost`` of either run.
    """
    allowed = np.ones(len(rows[1]), np.bool_)
    if "allowed" in jobs[1].columns:
        allowed = jobs[1]["allowed"].to_numpy()[rows[1]] == 1
    before, after = (frame.iloc[row[allowed]] for frame, row in zip(jobs, rows, strict=True))
    columns = [
        {name: one[name].to_numpy() for name in ("start_ns", "end_ns", "eligible_ns")} for one in (before, after)
    ]
    run = [one["end_ns"] - one["start_ns"] for one in columns]
    wait = [one["start_ns"] - one["eligible_ns"] for one in columns]
    longer = [np.maximum(second - first, 0) for first, second in (run, wait)]
    cores = after["cores"].to_numpy()
    hours = [Fraction(exact_product_sum(cores, one), _NS_PER_HOUR) if len(one) else Fraction(0) for one in longer]
    total = rates.run * hours[0] + rates.wait * hours[1]
    some = ((longer[0] > 0) & (rates.run > 0)) | ((longer[1] > 0) & (rates.wait > 0))
    saved = None if costs[0] is None or costs[1] is None else costs[0] - costs[1] - float(total)
    return Rewards(rates, total, int(some.sum()), int(allowed.sum()), saved)


def reward_row(found: Rewards) -> tuple[str, str]:
    """What a person looks at: a row of a table."""
    saved = "" if found.saved is None else f"; {found.saved:,.2f} of cost saved beyond that"
    return "rewards", f"{float(found.total):,.2f} to {found.jobs} of {found.allowed_jobs} allowed jobs{saved}"
