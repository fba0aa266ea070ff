"""A square wave: full speed and another speed in turn, as of a core that something else uses from time to time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.core_speeds.contract import MAX_FACTOR, SQUARE, Component, chosen_cores, instant_ns, period
from traces.base.errors import InputError, real
from traces.compiled import compiled


@dataclass(frozen=True)
class Square:
    """``square:period=60s,low=0.5,duty=0.5,offset=0s,cores=0-3``.

    With T the period and d = ``duty``·T, rounded to ns, the factor is 1 in [offset + kT, offset + kT + d) and ``low`` in
    [offset + kT + d, offset + (k+1)T), for every whole k, those before the offset too.
    """

    name: ClassVar[str] = "square"
    period_ns: int = 0  # T, 2 ns to ``MAX_PERIOD_NS``
    # the other factor, 0 to ``MAX_FACTOR``. With 0 the core is not there in that part of every period.
    low: float = 0.5
    duty: float = 0.5  # share of the period at full speed, above 0 and below 1
    offset: str = "0s"  # an instant at which a period begins
    cores: str = ""  # which cores; empty: all

    def component(self, n_cores: int, where: str) -> Component | None:
        period_ns = period(self.period_ns, f"{where}:period")
        low = real(f"{where}:low", self.low, 0.0, MAX_FACTOR)
        high_ns = round(real(f"{where}:duty", self.duty, 0.0, 1.0) * period_ns)
        if not 0 < high_ns < period_ns:
            raise InputError(
                f"{where}:duty: {self.duty:g} of {period_ns} ns; allowed: above 0 and below 1, of whole ns"
            )
        offset_ns = instant_ns(self.offset, f"{where}:offset") % period_ns
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores")
        if low == 1.0:
            return None
        return Component(SQUARE, cores, max(1.0, low), period_ns, offset_ns, high_ns, low)


@compiled(inner=True)
def square_factor(period_ns: int, offset_ns: int, high_ns: int, low: float, t_ns: int) -> float:
    """The wave's factor at an instant."""
    return 1.0 if (t_ns - offset_ns) % period_ns < high_ns else low


@compiled(inner=True)
def square_next_ns(period_ns: int, offset_ns: int, high_ns: int, t_ns: int) -> int:
    """The first instant after ``t_ns`` at which the wave changes."""
    within = (t_ns - offset_ns) % period_ns
    return t_ns + (high_ns if within < high_ns else period_ns) - within
