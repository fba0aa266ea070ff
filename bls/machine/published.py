"""The machines of papers, by the words that name them where a platform is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bls.machine.host_power import HostPower
from bls.machine.platform import HostGroup, Platform


def demand_response() -> Platform:
    """151 hosts of 14 cores that draw 66 W idle and 240 W at work: 139.5 kW and 507.4 kW together.

    S. Matsui et al., *Architecture of Job Scheduling Simulator for Demand Response Based Resource Provisioning*, ISGC 2021. It
    gives neither speeds, which here are 1 GFLOP/s a core, nor the slower state of its cores, here 0.75 of that at 180 W.
    """
    power = HostPower(idle_w=66, states=[(1, 240), (0.75, 180)])
    return Platform((HostGroup(151, 14, 14.0, power=power),), name="demand response")


#: By name; ``paper`` is the two-level paper's.
PUBLISHED: Final[dict[str, Callable[[], Platform]]] = {"paper": Platform, "demand-response": demand_response}
