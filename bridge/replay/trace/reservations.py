"""Reservations and maintenance as Slurm has them: made before anything else, in whole seconds of the date."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.machine.platform import Platform
from bls.options import WINDOWS
from bridge.replay.host_names import compressed
from traces.base.errors import InputError
from traces.base.time import NS_PER_S


def reservation_name(place: int) -> str:
    """What Slurm calls a window."""
    return f"window{place}"


def reservation_lines(windows: Windows, platform: Platform, nodes: Sequence[str], origin_ns: int) -> list[list[str]]:
    """The fields of the requests that make the windows (``native/requests.c``).

    Jobs of all users may name a reservation: who is in which is said by the windows. Raises InputError if a reservation
    has some cores of several hosts, and not equally many of each.
    """
    # Everybody but a user who submits nothing.
    nobody = next(user.pw_name for user in pwd.getpwall() if user.pw_uid != os.geteuid())
    lines = []
    for w, window in enumerate(windows.windows):
        cores = np.zeros(platform.n_cores, bool)
        for k in range(windows.core_first[w], windows.core_first[w + 1]):
            cores[windows.core_lo[k] : windows.core_hi[k]] = True
        counts = np.add.reduceat(cores.astype(np.int64), platform.first_core[:-1])
        hosts = np.flatnonzero(counts)
        whole = bool((counts[hosts] == np.diff(platform.first_core)[hosts]).all())
        if not whole and len(hosts) > 1:
            raise InputError(
                f"{WINDOWS}: {window}: has parts of {len(hosts)} hosts; for Slurm, allowed: whole hosts, or cores of one"
            )
        begin_s = (int(windows.begin_ns[w]) + origin_ns) // NS_PER_S
        end_s = -(-(int(windows.end_ns[w]) + origin_ns) // NS_PER_S)
        names = compressed([nodes[host] for host in hosts.tolist()])
        part = "-" if whole else str(int(counts[hosts[0]]))
        maintenance = "0" if windows.is_reservation[w] else "1"
        lines.append(["reserve", reservation_name(w), str(begin_s), str(end_s), names, part, f"-{nobody}", maintenance])
    return lines
