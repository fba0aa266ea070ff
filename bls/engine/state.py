"""State of the batch engine, and its codes."""

from bls.allocators.contract import PlacementRequest
from bls.engine import codes
from bls.engine.cores import CoreProfile, Offer, OtherAmounts, Pool, Slices
from bls.engine.features.commands.state import CommandState
from bls.engine.features.decisions.state import DecisionState
from bls.engine.features.dependencies.state import DependencyState
from bls.engine.features.directions.state import DirectionState
from bls.engine.features.domains.state import PartState
from bls.engine.features.draws.state import DomainState, PowerState
from bls.engine.features.gpus.state import GpuState
from bls.engine.features.hints.state import HintState
from bls.engine.features.hold.state import HoldState
from bls.engine.features.other_events.state import OtherEvents
from bls.engine.features.outages.state import OutageState
from bls.engine.features.prediction.state import PredictionState
from bls.engine.features.python.state import ChoiceState
from bls.engine.features.releases.state import ReleaseState
from bls.engine.features.requests.state import RequestState
from bls.engine.features.scores.state import ScoreState
from bls.engine.features.sleep.state import SleepState
from bls.engine.features.stops.state import StopState
from bls.engine.features.widths.state import WidthState
from bls.engine.jobs import Jobs
from bls.engine.settings import Settings
from traces.algorithms.event_heap import Heap
from traces.kernels.signatures import Ints, Ints2, Ints3
from traces.kernels.state import State, column
from traces.lifecycle import Ending, Reason

NEVER, ALWAYS = codes.NEVER, 2**62 + 1  #: an instant that never comes, and one after every possible begin of a slot

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
ASKED_FOR, GIVEN, SCALED, ENDED_BY, HINTED = map(int, codes.RunningCommand)
HELD_BACK, TAKEN, OUTSIDE, IN_WINDOW, OUT_OF_WINDOW, BROKEN_UNIT, SHARED_HOST, *_rest = map(int, codes.PlacementRefusal)
NO_RESOURCE, NO_LICENCE, TOO_FEW, TOO_MANY, SWITCHES, NO_POWER, NO_PARTS = _rest
BY_HEAD, BY_BACKFILL, BY_RESERVATION, BY_PRESET, NEVER_STARTED = map(int, Reason)
COMPLETED, KILLED, CANCELLED, FAILED, REQUEUED, TURNED_AWAY = map(int, Ending)

# From this key on, an entry of the heap of releases is the next request of a job for cores, after all releases of cores.
WIDTH_REQUEST_KEY = 2**62

# From this key on, an entry of the heap of later arrivals is the wake-up of a job.
WAKE_UP_KEY = 2**62

# An entry of BatchState.log is 4 · row + one of these.
LOG_ARRIVED, LOG_STARTED, LOG_LEFT = 0, 1, 2

#: Dimensions with an entry for each row of ``Jobs``.
BY_ROW = frozenset(
    {"rows", "numbered", "needed", "scaling", "requested_widths", "predicted", "holding", "molding", "losing", "gpus"}
    | {"job_commands", "job_hints", "job_releases", "job_widths"}
)

#: Other dimensions that depend on the jobs of a run, not on its machine.
OF_JOBS = frozenset({"jobs", "queue_words", "running", "expected", "arriving", "slices", "kept", "log", "groups"})

UNBOUNDED = 2**62  #: an unlimited number of reservations

# Places in BatchState.functions.
PLACE_AT, SCORE_AT, ACCOUNT_AT, CLOCK_AT, DECIDE_AT = range(5)
FUNCTIONS = 5


class Partitions(State, dim="partitions"):
    """Limits of partitions, and their running jobs."""

    tier: Ints = column(constant=True)  # tier of its jobs in the queue
    max_running_jobs: Ints = column(fill=NEVER // 2, constant=True)  # jobs that may run at once
    max_running_cores: Ints = column(fill=NEVER // 2, constant=True)  # cores that they may hold
    max_user_jobs: Ints = column(fill=NEVER // 2, constant=True)  # jobs of one user that may run at once
    max_user_cores: Ints = column(fill=NEVER // 2, constant=True)  # cores that they may hold
    masked: Ints = column(constant=True)  # 1 if it does not have all cores
    running_jobs: Ints = column()  # running jobs
    running_cores: Ints = column()  # cores that they hold
    blocked: Ints = column()  # jobs blocked in the present pass
    waits: Ints = column()  # 1 if a job waits in the present pass


class WindowColumns(State, dim="windows"):
    """Advance reservations and maintenance windows."""

    begin_ns: Ints = column()  # begin
    end_ns: Ints = column()  # end


class HostLog(State, dim="host_log"):
    """Changes of the states of hosts that are stopped to save power."""

    at_ns: Ints = column()  # instant
    host: Ints = column()  # host
    state: Ints = column(fill=codes.HostState.UP)  # its state from then on


class BatchState(State):
    """State of a batch simulation: rows for n jobs and their later attempts, M cores on H hosts."""

    settings: Settings  # constants of the run
    jobs: Jobs = column()  # input and outcome of each job

    # Instants and progress:
    now_ns: int = 0  # the present instant
    next_arrival: int = 0  # place in arrivals
    wake_ns: int = NEVER  # a pass is due then
    observe_after_ns: int = NEVER  # observers are called before the first event after this instant
    last_pass_ns: int = 0  # instant of the latest pass
    # The present instant and its pass:
    in_pass: int = 0  # 1 while the pass of this instant is due
    changed: int = 0  # 1 if more than one arrival happened at this instant
    arrived_job: int = -1  # last job that arrived at this instant
    due_job: int = -1  # job of the present status
    gained: int = 0  # 1 if capacity was gained since the latest pass
    lost: int = 0  # 1 if capacity was lost since the latest pass
    late_ns: int = 0  # while a job is placed: the time by which it starts later than its cores are held
    hull_ns: int = 0  # capacity gained since kept reservations were last moved lies before this instant
    idle_passes: int = 0  # passes in a row without a start while only outages and wake-ups are to come
    # The latest pass, and all passes:
    blocked_head: int = -1  # queue head that blocked the latest pass
    shadow_ns: int = 0  # begin of its reservation
    extra_cores: int = 0  # free cores then, without its own
    passes: int = 0  # number of passes
    decide_ns: int = 0  # wall time of all passes
    max_decide_ns: int = 0  # wall time of the longest pass
    policy_ns: int = 0  # wall time of a Python policy in the present pass

    # Counts:
    n_rows: int = 0  # rows in use: jobs and their later attempts
    n_ended: int = 0  # jobs that have ended for good
    n_waiting: int = 0  # jobs in the queue
    presets_left: int = 0  # jobs running at the start that are not placed yet
    n_started: int = 0  # jobs started in the latest pass that await an answer
    n_answered: int = 0  # answered jobs among these
    n_chosen: int = -1  # jobs chosen or rejected by a Python policy; -1 before its decision
    n_log: int = 0  # entries of the log in use
    free_cores: int = 0  # free cores on hosts that are up
    overdue_cores: int = 0  # cores of overdue jobs
    n_down: int = 0  # hosts that are down
    pool_used: int = 0  # intervals in the allocation pool
    n_placed: int = 0  # intervals of cores that the hook EARLIEST has found
    kept_used: int = 0  # intervals of kept reservations
    n_interrupted: int = 0  # running jobs with commands of the latest pass
    n_host_log: int = 0  # columns of the table of states of hosts in use

    by_rank: Ints = column("jobs")  # row that now has each rank
    arrivals: Ints  # rows that arrive at their submit, in order
    running: Heap = column("running")  # running jobs by end or promise
    expected: Heap = column("expected")  # running jobs by the instant at which they become overdue
    queue_words: Ints = column("queue_words")  # ranks of waiting jobs (``bls.engine.job_lifecycle``)
    queue_starts: Ints  # first word of each level
    free_words: Ints = column("free_words")  # free cores on hosts that are up (``bls.availability.free_cores``)
    free_starts: Ints  # first word of each level
    pool: Pool = column(saved=False)  # allocations, in the order in which jobs started
    wanted_first: Ints  # (n + 1,): job k requests the intervals of cores wanted_first[k] … wanted_first[k + 1] - 1
    wanted_lo: Ints  # first core of each
    wanted_hi: Ints  # one past its last core
    started: Ints = column("running", used=("n_started",))  # the jobs of the latest pass that await an answer
    profile: Slices = column()  # expected free cores over time, after kept reservations
    plan: Slices = column("plan_slices", saved=False)  # the same while a plan is rebuilt
    cores_profile: CoreProfile = column()  # used instead if it matters which cores are free
    later: Offer = column(saved=False)  # capacity in a later slice, while a job is tried there
    offered: Offer = column(saved=False)  # capacity for the allocator, if not all free capacity
    others: OtherAmounts = column("other_amounts", saved=False)  # amounts of a job's parts of hosts
    passing_amounts: Ints = column("amounts", saved=False)  # amounts slice by slice
    masks: Ints2  # (partitions + windows, words): the cores of each partition, then of each window
    needs: Ints2 = column("needs", "needed", constant=True)  # of rows: amounts of a unit on its host, then licences
    switch_limit: Ints  # of rows of first attempts: most leaf switches of each job, 0: no limit; empty if none has one
    corrections_ns: Ints  # additions to the estimate of a job that exceeds it for the first, second … time
    kept: Pool = column("kept", used=("kept_used",))  # cores of kept reservations
    host_first: Ints  # (H + 1,): host h has the cores ``host_first[h]:host_first[h + 1]``
    host_free: Ints = column("hosts")  # free cores of each host, for allocators that need them
    host_of: Ints  # (M,): the host of each core
    windows: WindowColumns = column()  # advance reservations and maintenance
    boundaries: Ints  # begins and ends of windows, ascending
    partitions: Partitions = column()  # limits and running jobs
    user_tally: Ints3 = column("partitions", "users", 2)  # running jobs of each user, and their cores
    order: Ints = column("scored", saved=False)  # waiting jobs in the order of their scores
    log: Ints = column("log", used=("n_log",))  # arrivals, starts and ends, for Python policies and observers
    wall_time: Ints = column(2, saved=False)  # latest reading of the wall clock: s, ns
    placement: PlacementRequest = column()  # request to the allocator
    interrupted: Ints = column("interrupted", used=("n_interrupted",))  # running jobs with commands of the latest pass
    totals: Ints = column("amounts")  # capacity of other resources, power and licences, as in ``Offer.amounts``
    host_log: HostLog = column(used=("n_host_log",))  # states of hosts that are stopped to save power
    functions: Ints  # (FUNCTIONS,): the allocator, a policy's score and account, the clock, a decision
    features: Ints  # (F,): 1 if the run has that feature of ``bls.engine.features.order``
    roles: Ints  # (ROLES,): kernel of each role (``bls.engine.hooks``)
    played: Ints  # (ROLES,): 1 if a feature plays it
    first_subscriber: Ints  # (EVENTS + 1,): event e calls subscribers[first_subscriber[e]:first_subscriber[e + 1]]
    subscribers: Ints  # their kernels
    # Of single features, empty without them (``state.py`` in their folders):
    prediction: PredictionState = column()  # run times from which estimates are predicted
    other_events: OtherEvents = column()  # cancellations, windows, dependent arrivals and wake-ups
    dependencies: DependencyState = column()  # jobs that wait for others
    outages: OutageState = column()  # lists of outages, and progress in them
    scores: ScoreState = column()  # numbers, memory and scores of a scoring policy
    choice: ChoiceState = column()  # decision of a policy in Python
    decisions: DecisionState = column()  # records of passes, and the time that they take
    releases: ReleaseState = column()  # cores that running jobs hold and release
    hints: HintState = column()  # hints that running jobs have received
    commands: CommandState = column()  # commands to running jobs
    widths: WidthState = column()  # cores given to running jobs, or asked back
    requests: RequestState = column()  # requests of running jobs for cores
    directions: DirectionState = column()  # commands of a policy to running jobs
    holds: HoldState = column("holding")  # of rows: when a policy held them; empty if none can
    power: PowerState = column()  # empty if power is not limited
    domains: DomainState = column()  # empty if limits do not decide which jobs may start
    parts: PartState = column()  # empty if no part of the machine has a limit
    stops: StopState = column()  # empty if no host is stopped to save power
    sleep: SleepState = column()  # empty if no host sleeps
    gpus: GpuState = column()  # empty if no job requests numbered GPUs
