"""The options of hosts that fall asleep, and what these conflict with."""

from dataclasses import dataclass
from typing import Any, Final

from bls.engine.features.core_choices import REPEATS
from bls.engine.features.limits.options import FALLBACK, LIMITED, LIMITS, STOPPING, UNSTOPPED
from bls.engine.features.other_events.options import RESERVES, WINDOWS
from bls.engine.features.outages.options import DRAINS, UNDRAINED
from bls.engine.features.widths.options import ALL_MALLEABLE, CHANGES, RESIZE, resize_text
from traces.base.errors import whole
from traces.base.options import Conflict, Option, Panel, Whole, has, holds, needs

SLEEP_AFTER = Option[str | None](
    name="sleep-after", python="sleep_after_ns", panel=Panel.POWER, default=None, metavar="TIME",
    help="Shut down hosts that have been idle for this time; they boot when a job is placed on them")
KEEP_AWAKE = Whole(
    name="keep-awake", panel=Panel.POWER, default=0, lowest=0, highest=10**9, metavar="N",
    help="Number of idle hosts that stay awake")


@dataclass(frozen=True, kw_only=True)
class SleepRules:
    """When idle hosts fall asleep. Raises InputError if a value is not allowed."""

    #: The idle time, in ns or as ``10min``, after which a host shuts down until a job is given it; None: never.
    sleep_after_ns: int | None = holds(SLEEP_AFTER)
    keep_awake: int = holds(KEEP_AWAKE)  #: the number of idle hosts that are kept awake

    def __post_init__(self) -> None:
        from traces.base.time import MAX_NS, parse_duration_ns

        after: object = self.sleep_after_ns
        if after is not None:
            after = parse_duration_ns(after, str(SLEEP_AFTER)) if isinstance(after, str) else after
            object.__setattr__(self, "sleep_after_ns", whole(str(SLEEP_AFTER), after, 0, MAX_NS))


def sleeps(power: Any) -> bool:
    """Whether hosts fall asleep in a run with this plan of power, or None."""
    return power is not None and power.options.sleep_after_ns is not None


_SLEEP_AFTER: Final = has(str(SLEEP_AFTER), lambda power: power.sleep_after_ns is not None, sleep_after_ns=5)
SLEEPS: Final = has(str(SLEEP_AFTER), lambda run: sleeps(run.power), sleep_after_ns=5)

POWER: Final[tuple[Conflict, ...]] = (
    needs(
        has(str(KEEP_AWAKE), lambda power: power.keep_awake, keep_awake=1),
        SLEEP_AFTER, lambda power: power.sleep_after_ns is None, ", the idle time after which hosts sleep"),
    Conflict(_SLEEP_AFTER, STOPPING, "which shuts down and boots hosts itself", UNSTOPPED),
)

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(DRAINS, SLEEPS, reason=UNDRAINED, allowed="state down"),
    Conflict(SLEEPS, RESERVES, "as the wait for booting hosts could delay a job into a window", f"no {WINDOWS}"),
    Conflict(SLEEPS, has(
        f"{RESIZE:mold} and {LIMITS} with a {FALLBACK}",
        lambda run: run.limits is not None and run.rules.molds, lambda run: f"{resize_text(run)} and {LIMITS}",
        **LIMITED, **ALL_MALLEABLE, fallback="hold", resize="mold",
    ), "as no width is found on sleeping hosts under a limit", f"one of them, or {FALLBACK:none}"),
    Conflict(
        SLEEPS, CHANGES, "as running jobs get cores at once, which a sleeping host cannot give",
        f"{RESIZE:none} or mold"),
)

REPEATED: Final = (Conflict(REPEATS, SLEEPS, "as it is unknown which hosts would sleep", "without it"),)
