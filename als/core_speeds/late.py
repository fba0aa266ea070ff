"""Cores that come late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from als.core_speeds.contract import Component, chosen_cores, instant_ns, of_pieces
from traces.base.errors import InputError


@dataclass(frozen=True)
class Late:
    """``late:cores=5-7,at=100s``: the cores are not there before this instant."""

    name: ClassVar[str] = "late"
    cores: str = ""  # which cores; must be given
    at: str = ""  # when they come, since time 0; with 0 they are never missed

    def component(self, n_cores: int, where: str) -> Component | None:
        if not self.cores.strip():
            raise InputError(f"{where}:cores: is missing; allowed: core numbers, as 0-3 8")
        cores = chosen_cores(self.cores, n_cores, f"{where}:cores")
        at_ns = instant_ns(self.at, f"{where}:at")
        return of_pieces(cores, [(0, 0.0), (at_ns, 1.0)]) if at_ns else None
