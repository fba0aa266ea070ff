"""A Dask cluster that can be reached."""

from __future__ import annotations

from typing import Any, NamedTuple


class Cluster(NamedTuple):
    """A cluster that can be reached.

    Attributes
    ----------
    address : str
        Of its scheduler.
    name : str
        What the user calls it, for messages.
    security : distributed.Security or None
        What its processes are known by.
    connect_s : float
        How long it may take to answer.
    withdraw_s : float
        How long to wait for tasks to be withdrawn from it; 0: it ends with the study.
    """

    address: str
    name: str
    security: Any = None
    connect_s: float = 30.0
    withdraw_s: float = 5.0
