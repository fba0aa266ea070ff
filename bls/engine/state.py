"""The state of the batch engine, and the codes in it."""

from bls.allocators.contract import PlacementRequest
from bls.availability.count_profile import PROFILE_NEVER
from bls.engine import codes
from bls.engine.cores import CoreProfile, Offer, Pool, Slices
from bls.engine.features.hold.state import HoldState
from bls.engine.features.power.state import DomainState, PowerState, StopState
from bls.engine.features.running.state import CoreScale, Directed, Releases, Resizing, Scaling, Told, Wishes, Wishing
from bls.engine.features.sleep.state import SleepState
from bls.engine.heaps import Heap
from bls.engine.jobs import Jobs
from bls.engine.settings import Settings
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, Ints3
from traces.kernels.state import State, column
from traces.lifecycle import Ending, Reason

#: The instant that never comes; and one after every instant at which a slot may begin.
NEVER, ALWAYS = PROFILE_NEVER, 2**62 + 1

# The codes, as integers for kernels:
STATIC, SCORED, DECIDED, REJECTED = map(int, codes.QueueOrder)
BY_ITSELF, BY_OTHERS, FOR_GOOD = map(int, codes.Cut)
NO_RELEASES, BY_CORE, BY_HOST, BY_DRAIN = map(int, codes.Release)
NO_RESIZE, EXPAND, SHRINK, EXPAND_SHRINK, EQUAL, EVOLVE, AS_DECIDED = map(int, codes.Resize)
NO_HINTS, OF_HEAD, BY_POLICY = map(int, codes.Hints)
SCALES, CUTS, SLOWS = map(int, codes.Directs)
UNPOWERED, HOLD, FIXED, LEVELS = map(int, codes.PowerRule)
TOGETHER, FEWEST, LEAST_SENSITIVE = map(int, codes.SlowOrder)
UP, OUT, SHUTTING, OFF, BOOTING = map(int, codes.HostState)
ASKED_FOR, GIVEN, SCALED, ENDED_BY, HINTED = map(int, codes.Telling)
HELD_BACK, TAKEN, OUTSIDE, IN_WINDOW, OUT_OF_WINDOW, BROKEN_UNIT, SHARED_HOST = list(map(int, codes.PlacementRefusal))[
    :7
]
NO_RESOURCE, NO_LICENCE, TOO_FEW, TOO_MANY, SWITCHES, NO_POWER = list(map(int, codes.PlacementRefusal))[7:]
BY_HEAD, BY_BACKFILL, BY_RESERVATION, BY_PRESET, NEVER_STARTED = map(int, Reason)
COMPLETED, KILLED, CANCELLED, FAILED, REQUEUED, TURNED_AWAY = map(int, Ending)

# A key of the heap of releases from here on is that of a job, and no core's: it wishes then, behind all releases.
WISH_KEY = 2**62

# An entry of BatchState.log is 4 · row + one of these.
LOG_ARRIVED, LOG_STARTED, LOG_LEFT = 0, 1, 2

#: Dimensions of columns that have an entry for each row of ``Jobs``.
BY_ROW = frozenset({"rows", "numbered", "needed", "scaling", "wishing", "predicted", "holding"})

#: Dimensions of other columns that are about the jobs of a run, and not about its machine.
OF_JOBS = frozenset({"jobs", "queue_words", "running", "expected", "arriving", "slices", "kept", "log", "groups"})

#: A depth of reservations without bound.
UNBOUNDED = 2**62

# ---- places in BatchState.functions ----
PLACE_AT, SCORE_AT, ACCOUNT_AT, CLOCK_AT, DECIDE_AT = range(5)
FUNCTIONS = 5


class Decisions(State, dim="decisions"):
    """A row for each pass."""

    at_ns: Ints = column()  # its instant
    waiting: Ints = column()  # jobs in the queue as it began
    started: Ints = column()  # jobs that it started
    wall_ns: Ints = column()  # wall time that it took
    unplaced: Ints = column()  # how many of those that a policy had chosen had no place


class Partitions(State, dim="partitions"):
    """Limits of partitions, and what runs there."""

    tier: Ints = column(constant=True)  # of its jobs in the order of the queue
    max_running_jobs: Ints = column(fill=NEVER // 2, constant=True)  # jobs that may run at once
    max_running_cores: Ints = column(fill=NEVER // 2, constant=True)  # cores that they may hold
    max_user_jobs: Ints = column(fill=NEVER // 2, constant=True)  # jobs of one user that may run at once
    max_user_cores: Ints = column(fill=NEVER // 2, constant=True)  # cores that they may hold
    masked: Ints = column(constant=True)  # 1 where it has not all cores
    running_jobs: Ints = column()  # jobs that run
    running_cores: Ints = column()  # cores that they hold
    # Of the pass under way:
    blocked: Ints = column()  # how many jobs are blocked
    waits: Ints = column()  # 1 where one waits


class WindowColumns(State, dim="windows"):
    """Advance reservations and maintenance."""

    begin_ns: Ints = column()  # the instant at which it begins
    end_ns: Ints = column()  # the instant at which it ends


class HostStatus(State, dim="outages"):
    """Of each list of outages, as ``BatchState.outage_first`` has them."""

    down_until_ns: Ints = column()  # 0 where the host is up
    next_outage: Ints = column()  # the next or present one in the list
    next_down_ns: Ints = column(fill=NEVER)  # when the next begins


class HostLog(State, dim="host_log"):
    """What has become of hosts that are stopped, or that fall asleep."""

    at_ns: Ints = column()  # when
    host: Ints = column()  # of which
    state: Ints = column(fill=codes.HostState.UP)  # the state that it is in from then on


class BatchState(State):
    """The whole state of a batch simulation: rows for n jobs (and their later attempts), M cores on H hosts."""

    settings: Settings  # what does not change
    jobs: Jobs = column()  # what is given of each job, and what becomes of it

    # Instants, and what has happened:
    now_ns: int = 0  # the present instant
    next_arrival: int = 0  # place in arrivals
    next_cancel: int = 0  # place in cancel_order
    next_boundary: int = 0  # place in boundaries
    wake_ns: int = NEVER  # a pass is made then
    busy_until_ns: int = 0  # the scheduler decides until then
    observe_after_ns: int = NEVER  # an observer looks before the first event after this instant
    last_pass_ns: int = 0  # instant of the latest pass
    # Of the present instant, and the pass to be made at it:
    in_pass: int = 0  # 1 while the pass of this instant is still to be made
    changed: int = 0  # 1 where something else than one arrival happened at this instant
    arrived_job: int = -1  # the job that arrived last at this instant
    due_job: int = -1  # the job that a status is about
    gained: int = 0  # 1 where capacity was gained since the latest pass
    lost: int = 0  # 1 where capacity was lost since then
    hull_ns: int = 0  # what was gained since kept reservations were last tried earlier lies before this instant
    idle_passes: int = 0  # passes in a row without a start while only outages and wake-ups are to come
    # Of the latest pass, and of all:
    blocked_head: int = -1  # the head that blocked the latest pass
    shadow_ns: int = 0  # its slot
    extra_cores: int = 0  # cores free then beside it
    passes: int = 0  # how many there were
    decide_ns: int = 0  # wall time of all passes
    max_decide_ns: int = 0  # wall time of the longest
    policy_ns: int = 0  # wall time that a Python policy took for the pass under way
    # Of cores that a Python policy has named, and that a job cannot have:
    refused: int = 0  # why: HELD_BACK … NO_POWER; 0 while there are none
    refused_at: int = 0  # which core, host, window, licence … that is about
    refused_of: int = 0  # and which resource of the host, core of the window …
    refused_where: int = 0  # the domain whose power limit does not let the job have them
    did_not_fit: int = 0  # how many jobs that a policy had chosen had no place, in all passes
    # Where power is limited:
    next_power: int = 0  # place in PowerState.ns
    max_mw: int = 0  # what hosts draw if all that are in service work at full speed, and the others rest
    next_passage_ns: int = NEVER  # when the next host is off, or has booted
    power_at_ns: int = NEVER  # when anything of this happens next
    stops_anew: int = 0  # 1 where other hosts may have to be stopped, as some went down or came back
    # Where hosts that idle fall asleep:
    idle_changed_ns: int = 0  # when hosts that are awake last fell idle, were taken, went down or came back
    late_ns: int = 0  # while a job is placed that needs hosts that are not awake: by how much it exceeds its estimate

    # How many, and how much of what is in use:
    n_rows: int = 0  # rows in use: jobs and their later attempts
    n_predicted: int = 0  # rows up to this one have their estimates
    n_ended: int = 0  # jobs that have ended for good
    n_waiting: int = 0  # jobs in the queue
    presets_left: int = 0  # jobs that run from the start and have still to be placed
    n_started: int = 0  # jobs started in the latest pass that await an answer
    n_answered: int = 0  # how many of them have had one
    n_chosen: int = -1  # jobs that a Python policy has chosen or rejected, -1 before it has decided
    n_log: int = 0  # entries of the log in use
    n_decisions: int = 0  # records of passes in use
    free_cores: int = 0  # cores that no job holds, on hosts that are up
    overdue_cores: int = 0  # cores of jobs that are overdue
    n_down: int = 0  # hosts that are down
    pool_used: int = 0  # intervals in the allocation pool
    n_placed: int = 0  # intervals of cores that the hook EARLIEST has found
    kept_used: int = 0  # intervals of kept reservations
    n_released: int = 0  # columns of the table of releases in use
    n_named: int = 0  # intervals of cores that a Python policy has named for jobs that it has chosen
    n_reached: int = 0  # running jobs that the latest pass has something to tell
    n_told: int = 0  # columns of the table of what was told in use
    first_told: int = 0  # how many there were before what the latest pass has to tell
    n_hinted: int = 0  # cores of running jobs that are known to be wanted
    n_wishes: int = 0  # columns of the table of wishes in use
    n_directed: int = 0  # columns of what a policy has decided about running jobs in use
    n_stopped: int = 0  # hosts that are out of service and not on their way back
    n_host_log: int = 0  # columns of the table of states of hosts in use
    n_away: int = 0  # hosts that are asleep or booting
    n_idle: int = 0  # hosts that are awake, or booting, and idle

    by_rank: Ints = column("jobs")  # the row that has a rank now
    arrivals: Ints  # rows that arrive at their submit, in order
    running: Heap = column("running")  # running jobs by the instant at which they end or their promise comes due
    expected: Heap = column("expected")  # jobs by the instant at which they become overdue, if they still run
    arriving: Heap = column("arriving")  # jobs that arrive because another has ended, and wake-ups (``rows`` + row)
    host_events: Heap = column("outages")  # the next event of each list of outages: key v is a repair, V + v an outage
    releasing: Heap = column("releasing")  # releases to come: row · M + core; next wishes of jobs: ``WISH_KEY`` + row
    # The ranks that wait (``bls.engine.queue``)
    queue_words: Ints = column("queue_words")
    queue_starts: Ints
    # Cores that no job holds, on hosts that are up (``bls.availability.free_cores``)
    free_words: Ints = column("free_words")
    free_starts: Ints
    pool: Pool = column(saved=False)  # allocations, in the order in which jobs started
    # (n + 1,) and two of one length: the cores that job k asks for by number, from ``wanted_first[k]`` on
    wanted_first: Ints
    wanted_lo: Ints
    wanted_hi: Ints
    started: Ints = column("running", used=("n_started",))  # the jobs of the latest pass that await an answer
    profile: Slices = column()  # cores free over time by what is expected, kept reservations included
    plan: Slices = column("plan_slices", saved=False)  # the same while a plan is made anew
    cores_profile: CoreProfile = column()  # instead of them where it matters which cores are free
    later: Offer = column(saved=False)  # what is free in a later slice, while a job is asked about one
    # What is offered to the allocator, if not all that is free; of hosts the cores of use
    offered: Offer = column(saved=False)
    passing_amounts: Ints = column("amounts", saved=False)  # the amounts of one slice after the other
    masks: Ints2  # (partitions + windows, words): the cores of each partition, then of each window
    # By rows: amounts of a unit on its host, then licences of a job
    needs: Ints2 = column("needs", "needed", constant=True)
    history_group: Ints2  # (levels, n): which group's history tells of a job, the closest first; -1 none
    history_least: Ints  # (levels,): how many of a group must have ended to tell of others
    # How many of a group have ended, and the run times of the latest m, the one that ended k-th (from 0) at 1 + k mod m
    history: Ints2 = column("groups", "history")
    corrections_ns: Ints  # by how much a job that runs longer than expected will go on, the first time, the second …
    kept: Pool = column("kept", used=("kept_used",))  # cores of the kept reservations
    cancel_order: Ints  # rows that are withdrawn, by (instant, row)
    # (rows + 1,) and (·,): the rows that depend on row r are ``child_row[child_first[r]:child_first[r + 1]]``
    child_first: Ints
    child_row: Ints
    unmet: Ints = column("children")  # for how many jobs each row still waits; of size 0 where none waits for several
    host_first: Ints  # (H + 1,): host h has the cores ``host_first[h]:host_first[h + 1]``
    host_free: Ints = column("hosts")  # free cores of each host, kept only for allocators that ask
    host_of: Ints  # (M,): the host of each core
    # (V + 1,) and two of one length: outages of each host. Unplanned ones of host h at h, planned ones at H + h, and if hosts
    # are drained, that at 2·H + h; V is 2·H, or 3·H
    outage_first: Ints
    outage_down: Ints
    outage_up: Ints
    host_status: HostStatus = column()  # how far each list of outages has come
    windows: WindowColumns = column()  # advance reservations and maintenance
    boundaries: Ints  # instants at which a window begins or ends, ascending
    partitions: Partitions = column()  # their limits, and what runs there
    user_tally: Ints3 = column("partitions", "users", 2)  # the jobs of each user that run there, and their cores
    # Of a policy that scores
    numbers: Floats2 = column("numbers", "numbered")
    memory: Floats = column("memory")
    keys: Floats = column("scored", saved=False)
    order: Ints = column("scored", saved=False)
    sorting: Ints2 = column(4, "scored", saved=False)  # work space
    log: Ints = column("log", used=("n_log",))  # which jobs came, started and left, for Python policies and observers
    # A policy's answer: rows of jobs that start, and -1 - row of those that it rejects
    chosen: Ints = column("chosen", saved=False)
    # Where ``n_named`` is not 0: the cores that it names for ``chosen[k]`` are the intervals
    # ``chosen_first[k]:chosen_first[k + 1]``; where there are none, the allocator chooses
    chosen_first: Ints = column("chosen_first", saved=False)
    chosen_lo: Ints = column("named", saved=False)
    chosen_hi: Ints = column("named", saved=False)
    decisions: Decisions = column(saved=False)  # records of passes, if they are kept
    wall_time: Ints = column(2, saved=False)  # what the wall clock last said: seconds, nanoseconds
    placement: PlacementRequest = column()  # what the allocator is shown
    holder: Ints = column("held", fill=-1)  # where cores are released: the row of the job that holds each, -1 none
    releases: Releases = column(saved=False)  # records of releases
    ordered: Heap = column("held", saved=False)  # work space: running jobs, or their cores, in order
    left: Pool = column("held", saved=False)  # work space: what a job still holds
    # By cores, where jobs are told for which of theirs others wait: 1 + the row that was told so of each
    hinted: Ints = column("hinted")
    wanted_of: Ints = column("hinted")  # the same while a pass finds it out; otherwise zeros
    # The running jobs that the latest pass has something to tell
    reached: Ints = column("reached", used=("n_reached",))
    told: Told = column(saved=False)  # what running jobs were told
    # Where widths change, of each core that is held: 1 + the column of ``told`` where it was given, 0 if that was at the start
    given_at: Ints = column("resizing")
    asked: Ints = column("resizing")  # likewise, 1 if it was asked for
    totals: Ints = column("amounts")  # what there is of other resources, power and licences, as in ``Offer.amounts``
    resizing: Resizing = column(saved=False)  # work space
    wishes: Wishes = column(used=("n_wishes",))  # wishes for cores that are still to come
    wishing: Wishing = column("wishing")  # of rows, what the jobs wish for
    directed: Directed = column(used=("n_directed",))  # what a policy has decided about running jobs
    scaling: Scaling = column("scaling")  # of rows, the scales of speeds, and the ends that a policy sets
    core_scale: CoreScale = column()  # scales of single cores
    holds: HoldState = column("holding")  # of rows, when a policy has held them; of none where none can
    power: PowerState = column()  # of no group where power is not limited
    domains: DomainState = column()  # of none where no part of the machine has limits of its own
    stops: StopState = column()  # of no host where none are stopped for that
    host_log: HostLog = column(used=("n_host_log",))  # what has become of hosts that are stopped, or that fall asleep
    sleep: SleepState = column()  # of no host where none fall asleep
    functions: Ints  # (FUNCTIONS,): the allocator, a policy's score and account, the clock, a decision
    # What only some runs do (``bls.engine.hooks``): (ROLES,), the kernel that plays each role, and 1 where a feature does;
    # (EVENTS + 1,) and (·,): those that subscribe to event e are ``subscribers[first_subscriber[e]:first_subscriber[e + 1]]``
    roles: Ints
    played: Ints
    first_subscriber: Ints
    subscribers: Ints
