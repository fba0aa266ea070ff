"""A Dask cluster that can be reached."""

from __future__ import annotations

from typing import Any, NamedTuple


class Cluster(NamedTuple):
    """A cluster that can be reached."""

    address: str  # of its scheduler
    name: str  # what the user calls it, for messages
    security: Any = None  # what its processes are known by
    connect_s: float = 30.0  # how long it may take to answer
    withdraw_s: float = 5.0  # how long to wait for tasks to be withdrawn from it; 0: it ends with the study
