"""The columns of parts of the machine with their own power limits."""

from bls.engine.codes import NEVER
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class DomainState(State):
    """The machine and parts with their own power limits: D domains; P partitions."""

    # (D + 1,) and three of one length: domain d has the intervals ``first[d]:first[d + 1]``, each of whole hosts of a group
    first: Ints
    lo: Ints
    hi: Ints
    group: Ints
    idle_mw: Ints  # (D,): draw of its idle hosts
    limit_mw: Ints = column("domains", fill=NEVER)  # lowest known limit in force
    level: Ints = column("domains")  # shared level of its jobs
    covers: Ints2  # (P, D): 1: the domain has all cores of the partition
    # (hosts + 1,) and (·,): besides the machine, host h is in the domains ``of_host[of_first[h]:of_first[h + 1]]``
    of_first: Ints
    of_host: Ints
    room: Ints = column("domains", saved=False)  # work space
