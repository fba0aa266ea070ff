"""The options of hosts that fall asleep.

No large module is imported at the top, since the help of the command line is made from these fields.
"""

from dataclasses import dataclass

from bls.engine.features.sleep import options as o
from traces.base.errors import whole
from traces.base.options import holds


@dataclass(frozen=True, kw_only=True)
class SleepRules:
    """When idle hosts fall asleep. Raises InputError if a value is not allowed."""

    #: The idle time, in ns or as ``10min``, after which a host shuts down until a job is given it; None: never.
    sleep_after_ns: int | None = holds(o.SLEEP_AFTER)
    keep_awake: int = holds(o.KEEP_AWAKE)  #: the number of idle hosts that are kept awake

    def __post_init__(self) -> None:
        from traces.base.time import MAX_NS, parse_duration_ns

        after: object = self.sleep_after_ns
        if after is not None:
            after = parse_duration_ns(after, str(o.SLEEP_AFTER)) if isinstance(after, str) else after
            object.__setattr__(self, "sleep_after_ns", whole(str(o.SLEEP_AFTER), after, 0, MAX_NS))
