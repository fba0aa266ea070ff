"""The options of power and power limits.

No large module is imported at the top, since the help of the command line is made from these fields.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bls import options as o
from bls.conflicts import POWER
from bls.engine.codes import SlowOrder
from bls.engine.features.limits.options import ALLOWED, FALLBACK, LIMITS, POWER_ESTIMATES
from bls.engine.features.sleep.options import SleepRules
from traces.base.errors import InputError, at, one_of, real, shown
from traces.base.options import Implied, Option, check, check_fields, holds, knows_its_keywords, places, plain

FALLBACKS: Final = ("none", "hold", "submit", "dvfs", "stop:idle", "stop:off")  #: how a limit is kept

#: Orders in which ``dvfs:slow=`` slows running jobs one by one.
SLOW: Final = {"fewest": int(SlowOrder.FEWEST), "least-sensitive": int(SlowOrder.LEAST_SENSITIVE)}

_SUBMIT: Final = re.compile(r"submit:state=([0-9]{1,9})")
_SLOW: Final = "dvfs:slow="

#: The allowed values, for errors.
_FORMS: Final = {"submit": ("submit", "submit:state=1"), "dvfs": ("dvfs", "dvfs:slow=…")}
_SHOWN: Final = tuple(form for name in FALLBACKS for form in _FORMS.get(name, (name,)))


@knows_its_keywords
@dataclass(frozen=True)
class Power(SleepRules):
    """Power and power limits of a run; by default power is not computed. Raises InputError if a value is not allowed."""

    #: the active cores: none, held by jobs (also True), or working on a task; if not given, held with another option here
    of: str = holds(o.POWER, Implied(o.POWER.default))
    #: Rows (from_ns, to_ns, W), optionally followed by where, reaction_ns, notice_ns, or a CSV file (``bls.power.limits``);
    #: ``to_ns`` None is for ever. ``where``: the domain (``bls.power.domains``), by default the machine.
    limits: str | os.PathLike[str] | Sequence[Sequence[float | str | None]] | None = holds(LIMITS)
    fallback: str = holds(FALLBACK)
    #: Jobs that may be slowed (``bls.power.job_power``); a number is a share of them, 0 to 1.
    allowed: str | os.PathLike[str] | float = holds(ALLOWED)
    #: The power of jobs, and the share of their time that is independent of speed (``bls.power.job_power``): a CSV
    #: file, or its columns, ``job_id`` and ``power`` or ``memory_bound`` or both; also a DataFrame of them.
    job_power: str | os.PathLike[str] | Mapping[str, Sequence[float | None]] | None = holds(o.JOB_POWER)
    #: The scheduler's prediction of the power of jobs: the actual power; that of the platform; or the mean of the
    #: latest two ended jobs of the same user (that of the platform until there are two).
    estimates: str = holds(POWER_ESTIMATES)
    signals: str | os.PathLike[str] | None = holds(o.SIGNALS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", o.POWER.named(self.of))
        check_fields(self)
        super().__post_init__()
        if not isinstance(self.allowed, str | os.PathLike):
            object.__setattr__(self, "allowed", repr(real(str(ALLOWED), self.allowed, 0, 1)))
        if not isinstance(self.job_power, str | os.PathLike | None):
            from bls.power.job_power import given_columns

            object.__setattr__(self, "job_power", given_columns(self.job_power))
        self.fallback_of  # noqa: B018 - an error here, not later
        if self.limits is not None and not isinstance(self.limits, str | os.PathLike):
            from bls.power.limits import given_limits

            given_limits(self.limits)
            object.__setattr__(self, "limits", tuple(map(tuple, self.limits)))
        if isinstance(self.of, Implied):  # also in a copy with other values
            object.__setattr__(self, "of", Implied(o.POWER.bare if next(self.others, None) else o.POWER.default))
        check(POWER, self)

    @property
    def asked(self) -> bool:
        """Whether power is computed."""
        return self.of != o.POWER.default

    @property
    def others(self) -> Iterator[Option[Any]]:
        """The options about power that are not as by default, without the first one."""
        return (place.option for place in places(Power)[1:] if getattr(self, place.path[0]) != place.default)

    @property
    def jobs_allowed(self) -> str | os.PathLike[str]:
        """The jobs that may be slowed, as given on the command line."""
        assert isinstance(self.allowed, str | os.PathLike)
        return self.allowed

    @property
    def fallback_of(self) -> tuple[str, int]:
        """The fallback's name, and the state in which jobs run with ``submit``."""
        given, allowed = self.fallback, _SHOWN
        if isinstance(given, str):
            if given in FALLBACKS:
                return given, 1
            if given.removeprefix(_SLOW) in SLOW and given.startswith(_SLOW):
                return "dvfs", 1
            if match := _SUBMIT.fullmatch(given):
                return "submit", int(match[1])
            if given.startswith(_SLOW):
                allowed = tuple(_SLOW + rule for rule in SLOW)
            elif given.partition(":")[0] != "submit":
                raise one_of("fallback", given, _SHOWN, at(str(FALLBACK), given))
        raise InputError(f"{FALLBACK}: {shown(given)}; allowed: {', '.join(allowed)}")

    @property
    def slow_order(self) -> int:
        """The order in which ``dvfs`` slows jobs, a number of ``SlowOrder``."""
        return SLOW.get(self.fallback.removeprefix(_SLOW), int(SlowOrder.TOGETHER))

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run; empty if power is not computed."""
        if not self.asked:
            return {}
        return {place.option.keyword.lower(): plain(getattr(self, place.path[0])) for place in places(Power)}
