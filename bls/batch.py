"""The batch level as the user declares it: policy, allocator, rules, constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bls import options as o
from bls.engine.features.switches.options import SWITCHES
from bls.engine.features.widths.options import RESIZE, RESIZED
from bls.scheduler_options import ConstraintOptions, Rules, switch_limit
from traces.base.errors import InputError
from traces.base.options import holds, knows_its_keywords, plain

if TYPE_CHECKING:
    from bls.allocators import Allocator
    from bls.policies import AnyPolicy


@knows_its_keywords
@dataclass(frozen=True)
class Batch(Rules, ConstraintOptions):
    """The policy and the rules of the batch level, and the constraints of its jobs. Raises InputError as :class:`Rules`."""

    #: A batch policy, or the class of one that decides: ``fcfs``, ``sjf``, ``wfp3``, ``expr:w/t``, ``FILE.py:NAME`` or
    #: an installed one (``bls.policies``). None: ``fcfs``, or the program of ``bls_command``.
    policy: str | AnyPolicy | None = holds(o.BLS, None)
    slack: float = holds(o.SLACK)  #: EDF's deadline is submit + slack × estimate
    #: ``first-fit``, ``best-fit`` …, ``given``, ``FILE.py:NAME`` or an installed one (``bls.allocators``).
    allocator: str | Allocator = holds(o.ALLOCATOR)

    def __post_init__(self) -> None:
        Rules.__post_init__(self)
        ConstraintOptions.__post_init__(self)
        if self.switches is not None and self.switch_wait_ns is not None:
            raise InputError(
                f"switch_wait_ns: {self.switch_wait_ns}; allowed: None with {SWITCHES}, which may have a time itself: 1@2h"
            )

    @property
    def waits_for_switches_ns(self) -> int | None:
        """The longest time that a job waits for its requested number of switches; None: without a limit."""
        return self.switch_wait_ns if self.switches is None else switch_limit(self.switches)[1]

    @property
    def resized(self) -> str:
        """When the widths of running jobs change; by default ``expand+shrink`` if jobs are malleable."""
        return self.resize or (RESIZE.default if self.malleable is None else RESIZED)

    @property
    def decides(self) -> str | AnyPolicy:
        """The policy; the default one if ``policy`` is None."""
        return o.BLS.default if self.policy is None else self.policy

    def names(self) -> dict[str, Any]:
        """The options as plain values, for a record of the run."""
        return Rules.names(self) | {"bls": plain(self.decides)}
