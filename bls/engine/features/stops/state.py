"""The columns of hosts that a power limit stops."""

from bls.engine.codes import NEVER, HostState
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class StopHosts(State, dim="hosts"):
    """Hosts that a power limit may stop."""

    state: Ints = column(fill=HostState.UP)  # present state
    due_ns: Ints = column(fill=NEVER)  # end of that state
    until_ns: Ints = column()  # planned return, 0: none


class StopState(State):
    """Hosts stopped by a power limit; H hosts, or none."""

    # (B + 1,) and (2, ·): limits known from each of the B instants of ``PowerState.ns`` on: until ``stairs[0, k]`` at most
    # ``stairs[1, k]`` mW, ascending in both, for k from ``first[i]`` to ``first[i + 1]``
    first: Ints
    stairs: Ints2
    saves_mw: Ints  # (H,): saving of a stopped host, compared with a fully busy one
    down_saves_mw: Ints  # (H,): the same for a host that is down
    passages: Ints2  # (2, H): duration of shutdown and boot, ns; 0 if hosts stay idle
    host: StopHosts = column()  # states of hosts
    shuts_down: int = 0  # 1: hosts are shut down
    max_mw: int = 0  # power if all hosts in service work at full speed, and the others rest
    n_stopped: int = 0  # hosts out of service that are not returning
    next_passage_ns: int = NEVER  # next end of a shutdown or boot
    again: int = 0  # 1 if hosts failed or returned, so that others may have to be stopped
