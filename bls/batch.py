"""The batch level as the user declares it: policy, allocator, rules, constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bls import options as o
from bls.scheduler_options import ConstraintOptions, Rules
from traces.base.options import holds, knows_its_keywords

if TYPE_CHECKING:
    from bls.allocators import Allocator
    from bls.policies import AnyPolicy


@knows_its_keywords
@dataclass(frozen=True, kw_only=True)
class Batch(Rules, ConstraintOptions):
    """The policy and the rules of the batch level, and the constraints of its jobs. Raises InputError as :class:`Rules`."""

    #: A batch policy, or the class of one that decides: ``fcfs``, ``sjf``, ``wfp3``, ``expr:w/t``, ``FILE.py:NAME`` or
    #: an installed one (``bls.policies``). None: ``fcfs``, or the program of ``bls_command``.
    policy: str | AnyPolicy | None = holds(o.BLS, None, recorded="decides")
    slack: float = holds(o.SLACK)  #: EDF's deadline is submit + slack × estimate
    #: ``first-fit``, ``best-fit`` …, ``given``, ``FILE.py:NAME`` or an installed one (``bls.allocators``).
    allocator: str | Allocator = holds(o.ALLOCATOR)

    @property
    def decides(self) -> str | AnyPolicy:
        """The policy; the default one if ``policy`` is None."""
        return o.BLS.default if self.policy is None else self.policy
