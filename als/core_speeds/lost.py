"""Cores that are lost, for good or for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.core_speeds.contract import Component, chosen_cores, instant_ns, of_pieces
from traces.base.errors import InputError, shown


@dataclass(frozen=True)
class Lost:
    """``lost:cores=5,at=100s``: the cores are not there from this instant on."""

    name: ClassVar[str] = "lost"
    cores: str = ""  # which cores; must be given
    at: str = ""  # when they go, since time 0
    until: str = ""  # when they are back, after ``at``; empty: never

    def component(self, n_cores: int, where: str) -> Component | None:
        if not self.cores.strip():
            raise InputError(f"{where}:cores: is missing; allowed: core numbers, as 0-3 8")
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores")
        pieces = [(instant_ns(self.at, f"{where}:at"), 0.0)]
        if self.until.strip():
            until_ns = instant_ns(self.until, f"{where}:until")
            if until_ns <= pieces[0][0]:
                raise InputError(f"{where}:until: {shown(self.until)}; allowed: after at, {shown(self.at)}")
            pieces.append((until_ns, 1.0))
        return of_pieces(cores, pieces)
