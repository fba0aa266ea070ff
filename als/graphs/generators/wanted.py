"""How large a graph is whose parameters leave it to the job."""

from __future__ import annotations

from traces.compiled import compiled

__all__ = ["wanted", "wanted_tasks"]


def wanted_tasks(own: int, n_tasks: int, n_cores: int) -> int:
    """How many tasks are wanted: the generator's ``own`` number, else the job's, else one a core; 0 stands for none given."""
    if own > 0:
        return own
    return n_tasks if n_tasks > 0 else n_cores


#: The same, for kernels.
wanted = compiled(inner=True)(wanted_tasks)
