"""Invariants of hosts that fall asleep when idle."""

from __future__ import annotations

import numpy as np

from bls.engine import state as b
from bls.engine.validation import BatchChecks, bits


def check_sleep(checks: BatchChecks) -> None:
    """Check which hosts sleep, boot and idle."""
    if not checks.settings.sleeps:
        return
    state, sleep, n_hosts, host_of = checks.state, checks.state.sleep, checks.n_hosts, checks.state.host_of
    what, sleepy = sleep.host.state, sleep.sleepy.entries()[1]
    away, boots, idles = what != b.UP, what == b.BOOTING, sleep.host.idle_since_ns != b.NEVER
    down = np.asarray((state.host_status.down_until_ns > 0).reshape(-1, n_hosts).any(axis=0))
    used = np.isin(np.arange(n_hosts), host_of[checks.holder >= 0])
    queued = np.isin(n_hosts - 1 - np.arange(n_hosts), sleepy)
    checks.count("hosts that are asleep or booting", state.n_away, int(away.sum()))
    checks.count("hosts that idle", state.n_idle, int(idles.sum()))
    checks.count("hosts that may fall asleep", len(sleepy), int(queued.sum()))
    of_away, of_booting = (bits(words)[: checks.n_cores] for words in (sleep.away, sleep.booting))
    idle_wrong = (idles != ~(down | used | (what == b.OFF))) & (state.in_pass == 0)
    for wrong, said, one, where in (
        (of_away != away[host_of], of_away, "core", "said to be of a host that is asleep or booting"),
        (of_booting != boots[host_of], of_booting, "core", "said to be of a host that boots"),
        (idle_wrong, idles, "host", "said to be awake and idle"),
        (queued != (sleep.host.is_sleepy == 1), queued, "host", "among those that may fall asleep"),
        (idles & ~queued, queued, "host", "among those that may fall asleep"),
        (away & down, down, "host", "down, and asleep or booting"),
    ):
        for k in np.flatnonzero(wrong)[:1].tolist():
            checks.fault(f"{one} {k} is {'' if said[k] else 'not '}{where}")
    if not np.array_equal(np.sort(sleep.boots.entries()[1]), np.flatnonzero(boots)):
        checks.fault("other hosts boot than those in the heap of them")
