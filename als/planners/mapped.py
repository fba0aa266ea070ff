"""Mapped: every task where its graph says, on a host or on one of its cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Mapped:
    """No scheduler: a graph's tasks have hosts of their own, or cores.

    A task that has a host waits there, once its data are there, for the first core of that host; the tasks of a core follow
    one another in their order. (A workflow that was planned elsewhere, or a run that is to be simulated again.)
    """

    name: str = "mapped"
    only_cores: ClassVar[None] = None  # for whoever asks it of a technique as well


MAPPED = Mapped()
