"""Where an application's master is, which gives its cores their chunks: on the host of its first core."""

from __future__ import annotations

from typing import Any

from traces.compiled import compiled

__all__ = ["message_ns", "message_ns_in_kernels"]


def message_ns(host: Any, first_host: Any, latency_ns: int) -> Any:
    """What a message between a core and the master takes, one way, ns: nothing on the master's host.

    Parameters
    ----------
    host : int or int64 array
        That of the core, or those of several.
    first_host : int
        That of the application's first core.
    latency_ns : int
        Between two hosts.
    """
    return latency_ns * (host != first_host)


message_ns_in_kernels = compiled(merged=True)(message_ns)
