"""The columns of limits to power: what cores draw, what is known of limits, and hosts that are stopped."""

from bls.availability.count_profile import PROFILE_NEVER as NEVER
from bls.engine.codes import HostState, SlowOrder
from bls.engine.heaps import Heap
from traces.base.scale import WHOLE
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class Slowing(State, dim="slowing"):
    """Work space for slowing running jobs, one entry per job."""

    job: Ints = column()  # its row
    state: Ints = column()  # which it is to be in
    saves: Ints = column()  # what it saves in its slowest one, mW
    loses: Ints = column()  # what its cores lose of speed there
    heap: Ints = column()  # of entries


class PowerState(State):
    """Where the power of the machine is limited: what cores of G groups draw in S states, and what is known of limits.

    What is known changes at B instants. Jobs are of K classes, of which the first one is as the platform says.
    """

    ns: Ints  # (B,): when what is known of limits changes, ascending
    # (D, B), of D domains: the lowest limit that is known and in force from then on, mW; or ``NEVER``
    known: Ints2
    # (D, B + 1) and (3, ·): what is known then of the time to come. Until ``stairs[0, k]`` so much less than full power,
    # ``stairs[1, k]``, for each k from ``first[d, i]`` up to ``first[d, i + 1]``. Where limits are ``noticed``, what comes
    # to be known then, besides what was known before: from ``stairs[2, k]`` on, else 0
    first: Ints2
    stairs: Ints2
    more_mw: Ints2  # (K · S, G): what a core draws beyond an idle one in each state, one class behind the other
    speed: Ints2  # (K · S, G): its speed there, parts per billion
    first_core: Ints  # (G + 1,): group g has the cores ``first_core[g]:first_core[g + 1]``
    # By first attempts' rows, the state that a job is planned with; of size 0 where all are at full speed
    planned: Ints
    drawn: Ints = column("drawn", saved=False)  # work space, of each state
    # Work space: jobs by when they are expected to end, as many as may run at once
    ends: Heap = column("ends", saved=False)
    slowing: Slowing = column(saved=False)  # work space
    # Of the pass under way: its number, plus 1; how many that it has started are counted; what is left for others, mW
    room: Ints = column("room")
    states: int = 0  # S
    amount: int = 0  # place of the machine's power among the amounts; domain d is d places later
    one_speed: int = 0  # 1 where each state has the same speed in all groups
    noticed: int = 0  # 1 where limits are known before they begin
    slow_order: int = SlowOrder.TOGETHER  # where all jobs share a level, which are slowed first
    kind: Ints  # by first attempts' rows, the job's class; of size 0 where all are of the first one
    # By rows, what the job is thought to draw beyond idle cores, by what the platform says of that, parts per billion; of size
    # 0 where it is known what each draws
    predicted: Ints = column("predicted", fill=WHOLE)
    factor: Ints  # by first attempts' rows, what the job draws, likewise; of size 0 where nothing is predicted
    alike: Ints  # likewise, the group of jobs that have ended from which that is predicted, -1 none
    seen: Ints2 = column("alike", 3)  # how many of each group have ended, and what the latest two have drawn


class DomainState(State):
    """The machine, whose power is limited, and parts of it that have limits of their own: D domains; P partitions."""

    # (D + 1,) and three of one length: domain d has the cores of the intervals ``first[d]:first[d + 1]``, all cores of its
    # hosts, and the cores of each interval are of one group
    first: Ints
    lo: Ints
    hi: Ints
    group: Ints
    idle_mw: Ints  # (D,): what its hosts draw if all of their cores are idle
    limit_mw: Ints = column("domains", fill=NEVER)  # the lowest of its limits that is known and in force
    level: Ints = column("domains")  # at which its jobs are that may be slowed, where all of them are at one
    covers: Ints2  # (P, D): 1 where a domain has all cores of a partition
    # (hosts + 1,) and (·,): besides the machine, host h is in the domains ``of_host[of_first[h]:of_first[h + 1]]``
    of_first: Ints
    of_host: Ints
    room: Ints = column("domains", saved=False)  # work space


class StopHosts(State, dim="hosts"):
    """Of each host, where some are stopped."""

    state: Ints = column(fill=HostState.UP)  # the state that it is in
    due_ns: Ints = column(fill=NEVER)  # when it leaves that by itself
    until_ns: Ints = column()  # until when it is planned to be gone, 0 where it is not


class StopState(State):
    """Where hosts are stopped as the power of the machine is limited; H of them, else none."""

    # (B + 1,) and (2, ·): what is known of limits from each of the B instants of ``PowerState.ns`` on. Until ``stairs[0, k]``
    # no more than ``stairs[1, k]`` mW, ascending in both, for each k from ``first[i]`` up to ``first[i + 1]``
    first: Ints
    stairs: Ints2
    # (H,): by how much less a host draws that is out of service, and idle or off, than one whose cores all work, mW
    saves_mw: Ints
    down_saves_mw: Ints  # (H,): and one that is down
    # (2, H): how long a host takes to shut down, and to boot; both 0, and it stays idle, where hosts are not shut down
    passages: Ints2
    host: StopHosts = column()  # each host
    shuts_down: int = 0  # 1 where they are shut down
