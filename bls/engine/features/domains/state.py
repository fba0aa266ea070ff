"""The columns of parts of the machine with their own power limits."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class PartState(State):
    """Parts of the machine, which are the domains 1 to D - 1 of ``DomainState``."""

    # (hosts + 1,) and (·,): host h is in the domains ``of_host[of_first[h]:of_first[h + 1]]``
    of_first: Ints
    of_host: Ints
    room: Ints = column("domains", saved=False)  # work space: power left in each domain
