"""The rules of the batch level and the constraints of jobs, as the user declares them.

Rules of a feature of the engine are declared in ``options.py`` in its folder. No large module is imported at the top, since the
help of the command line is made from these fields.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from bls import options as o
from bls.conflicts import BATCH
from bls.engine.features.decisions.options import DecisionRules
from bls.engine.features.dependencies.options import DEPENDENCIES
from bls.engine.features.other_events.options import WINDOWS
from bls.engine.features.outages.options import FAILURES, FailureRules
from bls.engine.features.prediction.options import EstimateRules
from bls.engine.features.releases.options import CoordinationRules
from bls.engine.features.switches.options import SWITCHES, SwitchRules
from bls.engine.features.widths.options import MALLEABLE, ResizeRules
from traces.base.errors import InputError, shown
from traces.base.options import check, check_fields, holds, knows_its_keywords, recorded

#: Kinds of backfilling by their names in the literature, with one reservation or one for each job.
REBUILD = "conservative:rebuild"
BACKFILL = ("none", "easy", "conservative", REBUILD)

_DEEPEST = 10**9


@knows_its_keywords
@dataclass(frozen=True)
class Rules(EstimateRules, SwitchRules, DecisionRules, ResizeRules, CoordinationRules, FailureRules):
    """Rules of the batch level. The defaults are those of the two-level paper: no backfilling, no job is killed. Raises
    InputError if a value is not allowed; the message names the option."""

    backfill: str = holds(o.BACKFILL)
    kill_at_walltime: bool = holds(o.KILL_AT_WALLTIME)

    def __post_init__(self) -> None:
        object.__setattr__(self, "backfill", str(self.backfill))
        self.depth  # noqa: B018 - an error here, not later
        check_fields(self)
        super().__post_init__()
        check(BATCH, self)

    @property
    def depth(self) -> int:
        """Largest number of jobs with a reservation at once."""
        if self.backfill in BACKFILL:
            from bls.engine.state import UNBOUNDED

            return {"none": 0, "easy": 1}.get(self.backfill, UNBOUNDED)
        if re.fullmatch("[0-9]{1,18}", self.backfill) and int(self.backfill) <= _DEEPEST:
            return int(self.backfill)
        allowed = f"{', '.join(BACKFILL)}, or a number of reservations, 0 to {_DEEPEST}"
        raise InputError(f"{o.BACKFILL}: {shown(self.backfill)}; allowed: {allowed}")

    @property
    def keeps(self) -> bool:
        """Whether reservations are kept from pass to pass."""
        return self.backfill == "conservative"

    def names(self) -> dict[str, Any]:
        """The rules as plain values, for a record of the run."""
        return recorded(self)


@knows_its_keywords
@dataclass(frozen=True, kw_only=True)
class ConstraintOptions:
    """Constraints of jobs in the user's form; each is declared with its feature."""

    memory: str = holds(o.MEMORY)
    requests: str | os.PathLike[str] | None = holds(o.REQUESTS)
    windows: str | os.PathLike[str] | None = holds(WINDOWS)
    failures: str | None = holds(FAILURES)
    dependencies: bool = holds(DEPENDENCIES)
    switches: int | str | None = holds(SWITCHES)
    malleable: str | os.PathLike[str] | None = holds(MALLEABLE)

    def __post_init__(self) -> None:
        check_fields(self)

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run."""
        return recorded(self)
