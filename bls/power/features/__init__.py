"""Features computed from the power of a run, each in its folder."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bls.power.costs import FinishedPower


class WithPower:
    """A finished run whose power may be known."""

    @property
    def finished_power(self) -> "FinishedPower":
        """The power of the machine and its jobs, from which features are computed. Raises InputError if it is not known."""
        raise NotImplementedError
