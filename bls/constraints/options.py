"""Options about the jobs and hosts of a run besides the workload and the platform.

No heavy module is imported at the top, since the command line's help is made from these fields.
"""

import os
import re
from dataclasses import dataclass
from typing import Any

from bls import options as o
from traces.base.errors import InputError, shown
from traces.base.options import holds, knows_its_keywords, recorded


@knows_its_keywords
@dataclass(frozen=True, kw_only=True)
class ConstraintOptions:
    """Constraints of jobs in the user's form: the command line's options under the same names.

    Attributes
    ----------
    memory : {"none", "swf"}
        Source of the memory that a core of a job requests.
    requests : path or None
        A CSV file of the requests of the jobs' units.
    windows : path or None
        A TOML file of reservations and maintenance.
    failures : str or None
        A CSV file of outages, or a model such as ``mtbf:30d,mttr:4h``.
    dependencies : bool
        Whether a job arrives only when its preceding job has ended and the think time has passed.
    switches : str or None
        Largest number of leaf switches that every job accepts, as ``1``, and the time for which it waits for that, as ``1@2h``.
    malleable : str, path or None
        Jobs whose width may change while they run: a share of the jobs, as ``0.5``, or with the smallest and the largest factor
        of the requested cores, as ``0.5:0.25:2``; or a CSV file (``bls.constraints.widths``).
    """

    memory: str = holds(o.MEMORY)
    requests: str | os.PathLike[str] | None = holds(o.REQUESTS)
    windows: str | os.PathLike[str] | None = holds(o.WINDOWS)
    failures: str | None = holds(o.FAILURES)
    dependencies: bool = holds(o.DEPENDENCIES)
    switches: str | None = holds(o.SWITCHES)
    malleable: str | os.PathLike[str] | None = holds(o.MALLEABLE)

    def __post_init__(self) -> None:
        if self.switches is not None:
            switch_limit(self.switches)
        if isinstance(self.malleable, str):
            from bls.constraints.widths import share_of

            share_of(self.malleable)

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run."""
        return recorded(self)


def switch_limit(text: str) -> tuple[int, int | None]:
    """``1@2h`` as the number of leaf switches and the time in ns for which a job waits for them; None is no limit. Raises
    InputError for any other text."""
    number, at, wait = str(text).partition("@")
    if not re.fullmatch("[0-9]{1,18}", number) or not 0 < int(number) < 2**24 or bool(at) != bool(wait):
        raise InputError(
            f"{o.SWITCHES}: {shown(text)}; allowed: a number of switches from 1, as 1, or with a time, as 1@2h"
        )
    from traces.base.time import parse_duration_ns

    return int(number), parse_duration_ns(wait, str(o.SWITCHES)) if at else None
