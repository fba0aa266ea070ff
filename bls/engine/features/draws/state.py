"""The columns of power limits: draws of cores and GPUs, known limits, and domains, which have the limits."""

from bls.engine.codes import NEVER, SlowOrder
from bls.engine.features.levels.state import Slowing
from traces.algorithms.event_heap import Heap
from traces.base.scale import WHOLE
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class PowerState(State):
    """Draws of cores and GPUs of G groups in S states, of K classes of jobs, and known limits, which change at B instants."""

    ns: Ints  # (B,): changes of the known limits, ascending
    known: Ints2  # (D, B), D domains: lowest known limit in force from then on, mW, or ``NEVER``
    # (D, B + 1) and (3, ·): future limits known then: until ``stairs[0, k]``, ``stairs[1, k]`` mW less than full power,
    # for k from ``first[d, i]`` to ``first[d, i + 1]``. If ``noticed``: limits that become known then, from ``stairs[2, k]`` on
    first: Ints2
    stairs: Ints2
    more_mw: Ints2  # (K · S, G): draw of a core above idle in each state, class by class
    speed: Ints2  # (K · S, G): speed, parts per billion
    gpu_mw: Ints2  # (K · S, G): draw of a thousandth of a GPU above idle in each state; empty if no job requests GPUs
    gpu_core: Ints  # first core of the host of each GPU; empty with ``gpu_mw``
    first_core: Ints  # (G + 1,): group g has the cores ``first_core[g]:first_core[g + 1]``
    planned: Ints  # planned power state by row of the first attempt; empty: full speed
    drawn: Ints = column("drawn", saved=False)  # work space, by state
    ends: Heap = column("ends", saved=False)  # work space: jobs by expected end
    slowing: Slowing = column(saved=False)  # work space
    # In the present pass: 1 + its number, counted starts, power left, mW
    room: Ints = column("room")
    next: int = 0  # place in ``ns`` of the next change
    next_ns: int = NEVER  # next change of known limits, or end of a shutdown or boot of a stopped host
    states: int = 0  # S
    amount: int = 0  # place of the machine's power among the amounts; domain d is d places later
    one_speed: int = 0  # 1: in each state, all groups have the same speed
    noticed: int = 0  # 1: limits are known before they begin
    slow_order: int = SlowOrder.TOGETHER  # jobs slowed first
    kind: Ints  # class by row of the first attempt; empty: all in the first
    # Predicted draw above idle relative to the platform's value, parts per billion; empty if draws are known
    predicted: Ints = column("predicted", fill=WHOLE)
    factor: Ints  # true draw, in the same unit, by row of the first attempt; empty without predictions
    alike: Ints  # group of ended jobs for the prediction, by row of the first attempt; -1 none
    seen: Ints2 = column("alike", 3)  # number of ended jobs of each group, and the draws of the latest two


class DomainState(State):
    """Domains, which have the limits: D of them, the machine first; P partitions."""

    # (D + 1,) and three of one length: domain d has the intervals ``first[d]:first[d + 1]``, each of whole hosts of a group
    first: Ints
    lo: Ints
    hi: Ints
    group: Ints
    idle_mw: Ints  # (D,): draw of its idle hosts
    limit_mw: Ints = column("domains", fill=NEVER)  # lowest known limit in force
    level: Ints = column("domains")  # shared level of its jobs
    covers: Ints2  # (P, D): 1: the domain has all cores of the partition
