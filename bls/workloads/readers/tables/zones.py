"""Local time: dates without an offset become instants by the rules of their time zone.

When clocks go back, an hour is repeated: a date in it means the *first* of both instants, or the *second*. When clocks go
forward, an hour is skipped: a date in it does not exist, and is refused, or moved *forward* by the skipped time.
"""

from zoneinfo import ZoneInfo

import numpy as np

from bls.workloads.header import offsets
from traces.compiled import Array

_DAY_S = 86_400


def since_1970(local_s: Array, zone: ZoneInfo, repeated: str = "first") -> tuple[Array, Array]:
    """Return the instants of dates of a zone, in seconds since 1970, and whether each date is in a skipped hour.

    - ``local_s``: the dates as if they were UTC, int64 (n,), at least one
    - ``repeated``: first or second, the instant of dates in a repeated hour
    - a date in a skipped hour is moved forward by the skipped time
    """
    first_day, last_day = int(local_s.min()) // _DAY_S - 2, int(local_s.max()) // _DAY_S + 2
    starts, offset = offsets(zone, first_day, last_day)
    if len(offset) == 1:
        return np.asarray(local_s - offset[0]), np.zeros(len(local_s), bool)
    before, after = starts[1:] + offset[:-1], starts[1:] + offset[1:]  # of each change, in local time
    latest = np.maximum(before, after)
    changes = np.minimum(latest, after) if repeated == "second" else latest
    known = np.searchsorted(changes, local_s, side="right")
    is_gap = after > before
    gap_first, gap_stop = before[is_gap], after[is_gap]
    place = np.searchsorted(gap_first, local_s, side="right") - 1
    skipped = np.zeros(len(local_s), bool)
    if len(gap_first):
        skipped = (place >= 0) & (local_s < gap_stop[place])
    return np.asarray(local_s - offset[known]), np.asarray(skipped)
