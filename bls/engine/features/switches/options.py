"""The option of jobs that wait for few switches."""

import re
from dataclasses import dataclass
from typing import Final

from traces.base.errors import InputError, shown, whole
from traces.base.options import Conflict, Option, Panel, has, holds


def switch_limit(text: int | str) -> tuple[int, int | None]:
    """``1@2h`` as a number of switches and the longest wait for them, ns (None: no limit). Raises InputError otherwise."""
    number, at, wait = str(text).partition("@")
    if not re.fullmatch("[0-9]{1,18}", number) or not 0 < int(number) < 2**24 or bool(at) != bool(wait):
        raise InputError(
            f"{SWITCHES}: {shown(text)}; allowed: a number of switches from 1, as 1, or with a time, as 1@2h"
        )
    from traces.base.time import parse_duration_ns
    return int(number), parse_duration_ns(wait, str(SWITCHES)) if at else None


SWITCHES = Option[int | str | None](
    name="switches", panel=Panel.BATCH, default=None, metavar="N[@TIME]", checked=lambda text: switch_limit(text) and text,
    help="Place each job on at most N leaf switches; wait for them at most TIME")


@dataclass(frozen=True, kw_only=True)
class SwitchRules:
    """How long jobs wait for their requested number of switches."""

    #: The longest wait; None: forever. ``switches`` may contain a time.
    switch_wait_ns: int | None = holds(None, None, recorded="waits_for_switches_ns")

    def __post_init__(self) -> None:
        from traces.base.time import MAX_NS
        if self.switch_wait_ns is not None:
            object.__setattr__(self, "switch_wait_ns", whole("switch_wait_ns", self.switch_wait_ns, 0, MAX_NS))

    @property
    def waits_for_switches_ns(self) -> int | None:
        """The longest time that a job waits for its requested number of switches; None: forever."""
        said: int | str | None = getattr(self, "switches", None)  # of ``Batch``
        return self.switch_wait_ns if said is None else switch_limit(said)[1]


#: Of a ``bls.Batch``; ``bls.Rules`` alone have no ``switches``.
BATCH: Final[tuple[Conflict, ...]] = (
    Conflict(
        has("switch_wait_ns (Python)", lambda batch: batch.switch_wait_ns is not None,
            lambda batch: f"switch_wait_ns: {batch.switch_wait_ns}", switch_wait_ns=5),
        has(str(SWITCHES), lambda batch: getattr(batch, "switches", None), switches="1"),
        "which may have a time itself", f"{SWITCHES:1@2h}"),
)
