"""What a user says about the jobs and hosts of a run besides the workload and the platform.

Nothing heavy is imported at the top: the help of the command line is made of these fields.
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
    """What constrains the jobs, as a user says it; the command line's options under the same names.

    Attributes
    ----------
    memory : {"none", "swf"}
        Where the memory comes from that a core of a job asks for.
    requests : path or None
        A CSV file of what the units of jobs ask for.
    windows : path or None
        A TOML file of reservations and maintenance.
    failures : str or None
        A CSV file of outages, or a model such as ``mtbf:30d,mttr:4h``.
    dependencies : bool
        Whether a job arrives only when its preceding job has ended and the think time has passed.
    switches : str or None
        How many leaf switches every job accepts, as ``1``, and for how long it waits for that, as ``1@2h``.
    malleable : str, path or None
        Which jobs' widths may change while they run: a share of the jobs, as ``0.5``, or with the least and the most times as
        many cores as they ask for, as ``0.5:0.25:2``; or a CSV file (``bls.constraints.widths``).
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
    """``1@2h`` as the number of leaf switches and the time in ns for which a job waits for them; None is for ever. Raises
    InputError if it is no such thing."""
    number, at, wait = str(text).partition("@")
    if not re.fullmatch("[0-9]{1,18}", number) or not 0 < int(number) < 2**24 or bool(at) != bool(wait):
        raise InputError(
            f"{o.SWITCHES}: {shown(text)}; allowed: a number of switches from 1, as 1, or with a time, as 1@2h"
        )
    from traces.base.time import parse_duration_ns

    return int(number), parse_duration_ns(wait, str(o.SWITCHES)) if at else None
