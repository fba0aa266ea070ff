"""The columns of outages of hosts."""

from bls.engine.codes import NEVER
from traces.algorithms.event_heap import Heap
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class OutageState(State, dim="outages"):
    """V lists of outages of H hosts, and a row for each list; empty if no host goes down."""

    goes_on: int = 0  # 1 if the lists can be continued
    first: Ints  # (V + 1,): lists of outages, of host h at h (failures), H + h (planned), 2·H + h (drains)
    down_ns: Ints  # their begins
    up_ns: Ints  # their ends
    down_until_ns: Ints = column()  # end of the present outage; 0 if the host is up
    next_outage: Ints = column()  # the next or present one in the list
    next_down_ns: Ints = column(fill=NEVER)  # begin of the next one
    events: Heap = column("outages")  # next event of each list: key v is a repair, V + v an outage
