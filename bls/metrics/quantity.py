"""Numbers that are computed from a finished run if a command or a study asks for them.

Commands read the declarations for their help, so these name what computes the numbers, and load it only when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from traces.base.options import Option, named

if TYPE_CHECKING:
    from bls.power.costs import FinishedPower
    from traces.compiled import Array

    #: Metrics, and columns with a value for each row of the table of jobs.
    Computed: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Array]]


@dataclass(frozen=True)
class Quantity:
    """The declaration of such numbers."""

    option: Option[Any]  # of the commands; its name is also the key in ``[results]`` of a study
    # of the run: its power, that its batch level can be repeated, or that jobs can request GPUs
    needs: Literal["power", "repetition", "gpus"]
    names: str  # where the names of its metrics are, ``MODULE:TUPLE``
    reader: str  # the function that reads the value of the option, ``MODULE:FUNCTION``; it raises InputError
    compute: Callable[[Any, Any], Computed]  # from the run and the value that was read
    rows: str = ""  # the function that shows its metrics as (name, text), ``MODULE:FUNCTION``; empty: none does
    compared: str = ""  # the metrics that comparisons show, with words and a format, ``MODULE:MAPPING``; empty: none

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of its metrics."""
        return tuple(named(self.names))


class WithPower:
    """A finished run whose power may be known."""

    @property
    def finished_power(self) -> FinishedPower:
        """The power of the machine and its jobs, from which costs are computed. Raises InputError if it is not known."""
        raise NotImplementedError
