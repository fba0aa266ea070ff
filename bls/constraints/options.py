"""Options about the jobs and hosts of a run; without heavy imports, since help is made of them."""

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
    """Constraints of jobs in the user's form; ``bls.options`` declares them."""

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
    """``1@2h`` as a number of switches and the longest wait for them, ns (None: no limit). Raises InputError otherwise."""
    number, at, wait = str(text).partition("@")
    if not re.fullmatch("[0-9]{1,18}", number) or not 0 < int(number) < 2**24 or bool(at) != bool(wait):
        allowed = "a number of switches from 1, as 1, or with a time, as 1@2h"
        raise InputError(f"{o.SWITCHES}: {shown(text)}; allowed: {allowed}")
    from traces.base.time import parse_duration_ns

    return int(number), parse_duration_ns(wait, str(o.SWITCHES)) if at else None
