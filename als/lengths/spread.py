"""What distributions are given that take the run's variation where no other is said."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from als.lengths.contract import MAX_COV, LengthModel
from als.lengths.equal import equal_lengths
from traces.base.errors import real


@dataclass(frozen=True)
class Spread:
    """Parameters of a distribution with a standard deviation of its own."""

    name: ClassVar[str]
    max_cov: ClassVar[float] = MAX_COV
    # standard deviation over mean, 0 to ``max_cov``; None: the run's variation. 0: equal lengths.
    cov: float | None = None

    def __post_init__(self) -> None:
        if self.cov is not None:
            object.__setattr__(self, "cov", self._checked(self.cov))

    def _checked(self, cov: float) -> float:
        return real(f"lengths {self.name}: cov", cov, 0.0, self.max_cov)

    def lengths(self, variation: float) -> LengthModel:
        """The model with this cov or the run's."""
        cov = self._checked(variation) if self.cov is None else self.cov
        return self.model(cov) if cov else equal_lengths(self.name)

    @abstractmethod
    def model(self, cov: float) -> LengthModel:
        """The model with this cov, above 0."""
