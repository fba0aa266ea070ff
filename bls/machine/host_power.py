"""Power of the hosts of a group: idle, in each state of their cores and GPUs, and during shutdown and boot; in whole
milliwatts."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from traces.base.errors import InputError, shown
from traces.base.scale import WHOLE, scale_of
from traces.base.time import given_duration_ns

MAX_W: Final = 10**9  #: largest power of a core or host, W
_MW = 1000
_MOST_STATES = 64


def milliwatts(name: str, value: Any, *, most_w: int = MAX_W) -> int:
    """A number of watts in mW. Raises InputError if it is not a multiple of a milliwatt from 0 to ``most_w`` W."""
    said = f"{name}: {shown(value)}; allowed: W, 0 to {most_w}, up to three places"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(said)
    try:
        found = Decimal(str(value)) * _MW  # by its decimal text: 0.1 is a tenth
    except InvalidOperation:
        raise InputError(said) from None
    if not found.is_finite() or found != found.to_integral_value() or not 0 <= found <= most_w * _MW:
        raise InputError(said)
    return int(found)


@dataclass(frozen=True)
class HostPower:
    """Power of one host of a group, in whole mW. Raises InputError, which begins with the name, if a value is not allowed."""

    idle_w: float  #: power of a core without a job, W; 0 to 1e9, as all powers here
    #: (speed, W) of a core at work, fastest first. The speed is relative to the core's full speed and 1 in the first
    #: state; both values fall from state to state, and no state has less power than an idle core.
    states: Sequence[Sequence[float]]
    base_w: float = 0  #: power of the host besides its cores while it is up, W
    #: power of a core that is held by a job but in no task, W, if the two are distinguished (``power='working'``);
    #: default: idle
    waiting_w: float | None = None
    off_w: float = 0  #: power of a host that is off or down, W
    #: (duration, W) of the transitions to off and to up; by default they take no time
    shutdown: Sequence[Any] | None = None
    boot: Sequence[Any] | None = None
    gpu_idle_w: float = 0  #: power of a GPU without a job, whole W, so that a thousandth of it has whole mW
    #: (speed, whole W) of a GPU that a job holds, as ``states``; by default GPUs draw nothing besides ``base_w``
    gpu_states: Sequence[Sequence[float]] = ()

    def __post_init__(self) -> None:
        idle = milliwatts("idle_w", self.idle_w)
        object.__setattr__(self, "states", _states("", self.states, idle))
        self._check_gpus()
        milliwatts("base_w", self.base_w)
        milliwatts("off_w", self.off_w)
        if self.waiting_w is not None and not idle <= milliwatts("waiting_w", self.waiting_w) <= self.states_mw[0][1]:
            raise InputError(
                f"waiting_w: {shown(self.waiting_w)}; allowed: from idle_w, {self.idle_w}, to that of the first state"
            )
        for name in ("shutdown", "boot"):
            given = getattr(self, name)
            if given is None:
                continue
            if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
                raise InputError(f'{name}: {shown(given)}; allowed: a duration and W, as ["60s", 100]')
            given_duration_ns(given[0], name)
            milliwatts(name, given[1])
            object.__setattr__(self, name, (given[0], given[1]))

    def _check_gpus(self) -> None:
        idle = milliwatts("gpu_idle_w", self.gpu_idle_w)
        if idle and not self.gpu_states:
            raise InputError(f"gpu_idle_w: {shown(self.gpu_idle_w)}: gpu_states is missing; allowed: both, or none")
        if self.gpu_states != ():
            object.__setattr__(self, "gpu_states", _states("gpu_", self.gpu_states, idle))
        places = ((f"gpu_states[{place}]", state[1]) for place, state in enumerate(self.gpu_states))
        for where, watts in (("gpu_idle_w", self.gpu_idle_w), *places):
            if milliwatts(where, watts) % _MW:
                raise InputError(f"{where}: {shown(watts)}; allowed: whole W, as a share of a GPU draws a part of it")

    @property
    def states_mw(self) -> list[tuple[int, int]]:
        """Speed (parts per billion) and mW of each state."""
        return [(scale_of(speed), milliwatts("states", watts)) for speed, watts in self.states]

    @property
    def gpu_states_w(self) -> list[tuple[int, int]]:
        """Speed (parts per billion) and W of each state of a GPU; empty if its power is unknown."""
        return [(scale_of(speed), int(watts)) for speed, watts in self.gpu_states]

    def passage(self, name: str) -> tuple[int, int]:
        """Duration (ns) and power (mW) of ``shutdown`` or ``boot``."""
        given = getattr(self, name)
        return (0, 0) if given is None else (given_duration_ns(given[0], name), milliwatts(name, given[1]))

    def as_dict(self) -> dict[str, Any]:
        """The same in the form of the TOML file, without defaults."""

        def plain(value: Any) -> Any:
            return [plain(one) for one in value] if isinstance(value, tuple) else value

        given = ((entry, getattr(self, entry.name)) for entry in fields(self))
        return {entry.name: plain(value) for entry, value in given if value != entry.default}


def _states(of: str, given: Any, idle_mw: int) -> tuple[tuple[float, float], ...]:
    allowed = "allowed: pairs of a speed and W, as [[1, 240], [0.75, 180]], the first speed 1, both falling"
    if isinstance(given, str) or not isinstance(given, Sequence) or not 1 <= len(given) <= _MOST_STATES:
        raise InputError(f"{of}states: {shown(given)}; {allowed}")
    before = None
    for place, state in enumerate(given):
        where = f"{of}states[{place}]"
        if isinstance(state, str) or not isinstance(state, Sequence) or len(state) != 2:
            raise InputError(f"{where}: {shown(state)}; {allowed}")
        try:
            now = scale_of(state[0]), milliwatts(where, state[1])
        except InputError as error:
            raise InputError(error.text if error.text.startswith(where) else f"{where}: {error.text}") from None
        if before is None:
            is_next = now[0] == WHOLE
        else:
            is_next = now[0] < before[0] and now[1] < before[1]
        if not is_next:
            raise InputError(f"{where}: {shown(list(state))}; {allowed}")
        if now[1] < idle_mw:
            what = "an idle GPU" if of else "an idle core"
            raise InputError(f"{where}: {shown(list(state))}: less than {what}; allowed: W from {of}idle_w on")
        before = now
    return tuple((state[0], state[1]) for state in given)
