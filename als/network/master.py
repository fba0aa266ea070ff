"""Where an application's master is, which gives its cores their chunks: on the host of its first core."""

from __future__ import annotations

from typing import Any

from traces.compiled import compiled


def message_ns(host: Any, first_host: Any, latency_ns: int) -> Any:
    """Time of a message between a core, or several, and the master, one way, ns: 0 on the host of the master. The master is
    on the host of the application's first core; ``latency_ns`` is the time between two hosts."""
    return latency_ns * (host != first_host)


message_ns_in_kernels = compiled(merged=True)(message_ns)
