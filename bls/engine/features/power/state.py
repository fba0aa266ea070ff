"""The columns of power limits: draws of cores, known limits, and stopped hosts."""

from bls.engine.codes import NEVER, HostState, SlowOrder
from traces.algorithms.event_heap import Heap
from traces.base.scale import WHOLE
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class Slowing(State, dim="slowing"):
    """Work space for slowing running jobs, one entry per job."""

    job: Ints = column()  # row
    state: Ints = column()  # new power state
    saves: Ints = column()  # saving in its slowest state, mW
    loses: Ints = column()  # loss of speed there
    heap: Ints = column()  # entries


class PowerState(State):
    """Draws of cores of G groups in S states, of K classes of jobs, and known power limits, which change at B instants."""

    ns: Ints  # (B,): changes of the known limits, ascending
    known: Ints2  # (D, B), D domains: lowest known limit in force from then on, mW, or ``NEVER``
    # (D, B + 1) and (3, ·): future limits known then: until ``stairs[0, k]``, ``stairs[1, k]`` mW less than full power,
    # for k from ``first[d, i]`` to ``first[d, i + 1]``. If ``noticed``: limits that become known then, from ``stairs[2, k]`` on
    first: Ints2
    stairs: Ints2
    more_mw: Ints2  # (K · S, G): draw of a core above idle in each state, class by class
    speed: Ints2  # (K · S, G): speed, parts per billion
    first_core: Ints  # (G + 1,): group g has the cores ``first_core[g]:first_core[g + 1]``
    planned: Ints  # planned power state by row of the first attempt; empty: full speed
    drawn: Ints = column("drawn", saved=False)  # work space, by state
    ends: Heap = column("ends", saved=False)  # work space: jobs by expected end
    slowing: Slowing = column(saved=False)  # work space
    # In the present pass: 1 + its number, counted starts, power left, mW
    room: Ints = column("room")
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
