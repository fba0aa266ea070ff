"""The state of the batch engine, and the codes in it."""

from __future__ import annotations

from bls.allocators.contract import PlacementRequest
from bls.availability.count_profile import PROFILE_NEVER
from bls.engine import codes
from bls.engine.jobs import Jobs
from bls.engine.settings import Settings
from traces.base.scale import WHOLE
from traces.kernels.signatures import Floats, Floats2, Ints, Ints2, Ints3
from traces.kernels.state import State, column
from traces.lifecycle import Ending, Reason

#: The instant that never comes.
NEVER = PROFILE_NEVER

# The codes, as integers for kernels:
STATIC, SCORED, DECIDED, REJECTED = map(int, codes.Order)
BY_ITSELF, BY_OTHERS, FOR_GOOD = map(int, codes.Cut)
NO_RELEASES, BY_CORE, BY_HOST, BY_DRAIN = map(int, codes.Release)
NO_RESIZE, EXPAND, SHRINK, EXPAND_SHRINK, EQUAL, EVOLVE, AS_DECIDED = map(int, codes.Resize)
SCALES, CUTS, SLOWS = map(int, codes.Directs)
UNPOWERED, HOLD, FIXED, LEVELS = map(int, codes.Power)
TOGETHER, FEWEST, WIDEST_FIRST, NARROWEST_FIRST, LATEST, EARLIEST, LEAST_SENSITIVE = map(int, codes.SlowOrder)
UP, OUT, SHUTTING, OFF, BOOTING = map(int, codes.HostState)
ASKED_FOR, GIVEN, SCALED, ENDED_BY, HINTED = map(int, codes.Telling)
HELD_BACK, TAKEN, OUTSIDE, IN_WINDOW, OUT_OF_WINDOW, BROKEN_UNIT, SHARED_HOST = list(map(int, codes.Refusal))[:7]
NO_RESOURCE, NO_LICENCE, TOO_FEW, TOO_MANY, SWITCHES, NO_POWER, NO_POWER_THERE = list(map(int, codes.Refusal))[7:]
BY_HEAD, BY_BACKFILL, BY_RESERVATION, BY_PRESET, NEVER_STARTED = map(int, Reason)
COMPLETED, KILLED, CANCELLED, FAILED, REQUEUED, TURNED_AWAY = map(int, Ending)

# A key of the heap of releases from here on is that of a job, and no core's: it wishes then, behind all releases.
WISH_KEY = 2**62

# An entry of BatchState.log is 4 · row + one of these.
LOG_ARRIVED, LOG_STARTED, LOG_LEFT = 0, 1, 2

#: A depth of reservations without bound.
UNBOUNDED = 2**62

# ---- places in BatchState.functions ----
PLACE_AT, SCORE_AT, ACCOUNT_AT, CLOCK_AT, DECIDE_AT = range(5)
FUNCTIONS = 5


class Pool(State, dim="pool"):
    """Allocations, as intervals of cores; the intervals of one job follow each other.

    The pool is a state of its own because it grows most often, and growing copies all columns of a state.
    """

    lo: Ints = column()  # the first core
    hi: Ints = column()  # one past the last core


class Told(State, dim="told"):
    """What running jobs were told, and when."""

    job: Ints = column()
    at_ns: Ints = column()
    core: Ints = column()  # -1: all cores, or the end of the job; with HINTED the row that waits, -1 nobody any more
    what: Ints = column(codes=codes.Telling)
    value: Ints = column()  # the scale, the state of a job that is ended; with HINTED for how many cores it waits
    wanted: Ints = column()  # with HINTED, how many of them are the job's own


class Directed(State, dim="directed"):
    """What a policy has decided about running jobs in the pass under way, job by job.

    First what it hints: ``core`` is one that is wanted, -1 none, ``value`` the row that waits, -1 none.
    """

    job: Ints = column()
    what: Ints = column(codes=codes.Telling)
    core: Ints = column()  # -1: all
    value: Ints = column()  # the scale, or the state


class Scaling(State, dim="rows"):
    """Of rows of jobs, where speeds are scaled or jobs are ended; scales in parts per billion."""

    scale: Ints = column()  # of all cores, told last; 0 none
    apart: Ints = column()  # 1 where some have been told another one since
    cut_at: Ints = column()  # 1 + the instant at which the job is ended for its policy; 0 never
    cut_state: Ints = column(codes=Ending)  # the state that it has then
    # Of those that are only replayed, what was left to run at scale 1:
    left_ns: Ints = column()
    left_parts: Ints = column()  # parts per billion of a ns
    left_since: Ints = column()  # 1 + the instant of that
    runs_until_ns: Ints = column()  # when it ends by that; 0 as recorded
    power_state: Ints = column()  # where power is limited


class Wishing(State, dim="rows"):
    """Of rows of jobs, where they wish for cores, or a policy says how wide they are."""

    wish: Ints = column()  # how many cores it wished for last, or its policy wants it to have; 0: as many as it has
    wished: Ints = column()  # 1 + the place of its latest wish, of all that it is told to make from its start on
    first: Ints = column()  # where in the table of wishes those are that it is still to make
    count: Ints = column()


class Wishes(State, dim="wishes"):
    """Wishes of running jobs for cores that are still to come."""

    job: Ints = column()  # -1 of one that was taken back
    at_ns: Ints = column()
    cores: Ints = column()
    place: Ints = column()  # among all wishes that the job is told to make


class Releases(State, dim="releases"):
    """Cores that running jobs have said to release."""

    job: Ints = column()
    core: Ints = column()
    at_ns: Ints = column()


class Resizing(State, dim="resizing"):
    """Work space, where widths change: keys in order, and what they are of; a job, and its narrowest and widest width."""

    key: Ints = column()
    what: Ints = column()
    job: Ints = column()
    least: Ints = column()
    most: Ints = column()


class CoreScale(State, dim="scaled"):
    """Of each core whose job has scales of its own for some."""

    row: Ints = column()  # 1 + the row of the job that it is of
    scale: Ints = column()  # parts per billion


class Decisions(State, dim="decisions"):
    """A row for each pass."""

    at_ns: Ints = column()
    waiting: Ints = column()
    started: Ints = column()
    wall_ns: Ints = column()
    unplaced: Ints = column()  # how many of those that a policy had chosen had no place


class Partitions(State, dim="partitions"):
    """Limits of partitions, and what runs there."""

    tier: Ints = column()
    max_running_jobs: Ints = column(fill=NEVER // 2)
    max_running_cores: Ints = column(fill=NEVER // 2)
    max_user_jobs: Ints = column(fill=NEVER // 2)
    max_user_cores: Ints = column(fill=NEVER // 2)
    masked: Ints = column()  # 1 where it has not all cores
    running_jobs: Ints = column()
    running_cores: Ints = column()
    # Of the pass under way:
    blocked: Ints = column()  # how many jobs are blocked
    waits: Ints = column()  # 1 where one waits


class Windows(State, dim="windows"):
    """Advance reservations and maintenance."""

    begin_ns: Ints = column()
    end_ns: Ints = column()


class HostStatus(State, dim="outages"):
    """Of each list of outages, as ``BatchState.outage_first`` has them."""

    down_until_ns: Ints = column()  # 0 where the host is up
    next_outage: Ints = column()  # the next or present one in the list
    next_down_ns: Ints = column(fill=NEVER)  # when the next begins


class CoreProfile(State):
    """A profile of up to S slices with up to C changes; A amounts of other resources.

    Attributes
    ----------
    ns, free : int64 (S,)
        Begin of each slice, and how many cores are free in it.
    first : int64 (S,)
        One of the changes at its begin, -1 none; always none at that of the first slice.
    lo, hi, amount : int64 (C,)
        The changes (``bls.engine.core_profile``).
    after : int64 (C,)
        Another change at the same begin, -1 none.
    words : int64
        The cores that are free in the first slice, as ``bls.availability.free_cores`` keeps them.
    hosts : int64 (H,) or (0,)
        How many of each host, where that is asked for.
    amounts : int64 (A,)
        What else is left in the first slice: resource r of host h at ``h * R + r``, then the licences.
    """

    n_slices: int = 1  # in use, from 0
    n_changes: int = 0  # in use
    n_ever: int = 0  # changes that have ever been in use, from 0
    spare: int = -1  # one of them that is not, -1 none; those after it follow by ``after``
    ns: Ints = column("slices")
    free: Ints = column("slices")
    first: Ints = column("slices", fill=-1)
    lo: Ints = column("changes")
    hi: Ints = column("changes")
    amount: Ints = column("changes")
    after: Ints = column("changes", fill=-1)
    words: Ints = column("words")
    hosts: Ints = column("hosts")
    amounts: Ints = column("amounts")


class Slowing(State, dim="slowing"):
    """Work space, where jobs are slowed one by one, of each running job."""

    job: Ints = column()
    state: Ints = column()  # which it is to be in
    saves: Ints = column()  # what it saves in its slowest one, mW
    loses: Ints = column()  # what its cores lose of speed there
    key: Ints = column()  # its place by a rule that is a number
    heap: Ints = column()  # of entries


class PowerState(State):
    """Where the power of the machine is limited: what cores of G groups draw in S states, and what is known of limits.

    Attributes
    ----------
    ns, known : int64 (B,)
        When what is known of limits changes, ascending; and the lowest limit that is known and in force from then on, mW,
        ``NEVER`` where there is none.
    first : int64 (B + 1,); stairs : int64 (3, K)
        What is known then of the time to come: until ``stairs[0, k]`` so much less than full power, ``stairs[1, k]``, for
        each k from ``first[i]`` up to ``first[i + 1]``. With ``Settings.noticed`` what comes to be known then, beside what
        was known before: from ``stairs[2, k]`` on, else 0.
    more_mw, speed : int64 (K · S, G)
        What a core draws beyond an idle one in each state, and its speed there, parts per billion: of the jobs of K classes,
        one behind the other. Those of the first one are as the platform says.
    first_core : int64 (G + 1,)
        Group g has the cores ``first_core[g]:first_core[g + 1]``.
    planned : int64 (n,) or (0,)
        By first attempts' rows, the state that a job is planned with; none where all are at full speed.
    drawn : int64 (S,)
        Work space.
    ends : int64 (2, R)
        Work space: a heap of as many jobs as may run at once.
    slowing : Slowing
    room : int64 (3,)
        Of the pass under way: its number, plus 1; how many that it has started are counted; and what is left for others, mW.
    states : int
        S.
    kind : int64 (n,) or (0,)
        By first attempts' rows, the job's class; none where all are of the first one.
    predicted : int64 (rows,) or (0,)
        By rows, what the job is thought to draw beyond idle cores, by what the platform says of that, parts per billion; none
        where it is known what each draws.
    factor, alike : int64 (n,) or (0,)
        By first attempts' rows, what the job draws, likewise, and the group of jobs from which that is predicted, -1 none; none
        where nothing is predicted from those who have ended.
    seen : int64 (U, 3) or (0, 3)
        How many of each of U groups have ended, and what the latest two have drawn.
    """

    ns: Ints
    known: Ints
    first: Ints
    stairs: Ints2
    more_mw: Ints2
    speed: Ints2
    first_core: Ints
    planned: Ints
    drawn: Ints = column("drawn")
    ends: Ints2 = column(2, "ends")
    slowing: Slowing = column()
    room: Ints = column("room")
    states: int = 0
    kind: Ints
    predicted: Ints = column("predicted", fill=WHOLE)
    factor: Ints
    alike: Ints
    seen: Ints2 = column("groups", 3)


class DomainState(State):
    """Parts of the machine whose power is limited by itself, D of them; P partitions, B instants of ``PowerState.ns``.

    Attributes
    ----------
    first : int64 (D + 1,); lo, hi : int64
        Domain d has the cores of the intervals ``first[d]:first[d + 1]``, all cores of its hosts.
    idle_mw : int64 (D,)
        What its hosts draw if all of their cores are idle.
    limit_mw : int64 (D,)
        The lowest of its limits that is known and in force, ``NEVER`` none.
    level : int64 (D,)
        At which its jobs are that may be slowed, where all of them are at one.
    known : int64 (D, B); stair_first : int64 (D, B + 1); stairs : int64 (3, K)
        As ``known``, ``first`` and ``stairs`` of ``PowerState``.
    covers : int64 (P, D)
        1 where a domain has all cores of a partition.
    of_first : int64 (H + 1,); of_host : int64
        Host h is in the domains ``of_host[of_first[h]:of_first[h + 1]]``.
    room : int64 (D,)
        Work space.
    """

    first: Ints
    lo: Ints
    hi: Ints
    idle_mw: Ints
    limit_mw: Ints = column("domains", fill=NEVER)
    level: Ints = column("domains")
    known: Ints2
    stair_first: Ints2
    stairs: Ints2
    covers: Ints2
    of_first: Ints
    of_host: Ints
    room: Ints = column("domains")


class StopHosts(State, dim="hosts"):
    """Of each host, where some are stopped."""

    state: Ints = column(fill=codes.HostState.UP)
    due_ns: Ints = column(fill=NEVER)  # when it leaves that by itself
    until_ns: Ints = column()  # until when it is planned to be gone, 0 where it is not


class HostLog(State, dim="host_log"):
    """What has become of hosts that are stopped, or that fall asleep."""

    at_ns: Ints = column()
    host: Ints = column()
    state: Ints = column(fill=codes.HostState.UP)


class StopState(State):
    """Where hosts are stopped as the power of the machine is limited; H of them, else none.

    Attributes
    ----------
    first : int64 (B + 1,); stairs : int64 (2, K)
        What is known of limits from each instant of ``PowerState.ns`` on: until ``stairs[0, k]`` no more than ``stairs[1, k]``
        mW, ascending in both, for each k from ``first[i]`` up to ``first[i + 1]``.
    saves_mw : int64 (H,)
        By how much less a host draws that is out of service, and idle or off, than one whose cores all work.
    down_saves_mw : int64 (H,)
        And one that is down.
    passages : int64 (2, H)
        How long a host takes to shut down, and to boot; both 0, and it stays idle, where hosts are not shut down.
    host : StopHosts
    log : HostLog
    """

    first: Ints
    stairs: Ints2
    saves_mw: Ints
    down_saves_mw: Ints
    passages: Ints2
    host: StopHosts = column()
    log: HostLog = column()


class SleepHosts(State, dim="hosts"):
    """Of each host, where hosts that idle fall asleep."""

    state: Ints = column(fill=codes.HostState.UP)  # OFF: off or on its way; UP: awake
    due_ns: Ints = column()  # when it is off, or up again
    idle_since_ns: Ints = column()  # NEVER if it does not idle
    is_sleepy: Ints = column(fill=1)  # whether it is in the heap of those that may fall asleep
    slept_at: Ints = column()  # place of its latest sleep in the log
    booted_at: Ints = column()  # and of its latest boot


class SleepState(State):
    """Where hosts that idle fall asleep; H of them, else none. The log is that of ``StopState``.

    Attributes
    ----------
    passages : int64 (2, H)
        How long a host takes to shut down, and to boot.
    host : SleepHosts
    sleepy_ns, sleepy_key : int64 (H,)
        Heap of hosts by when they may fall asleep, or earlier; host h is at H - 1 - h.
    booting_ns, booting_host : int64 (H,)
        Heap of hosts by when they are up.
    away, booting : int64 (words,)
        The cores of hosts that are asleep or booting, and of these that boot, 32 in a word.
    words, hosts : int64
        Work space: cores that are offered to the allocator, as ``free_words``, and how many of each host.
    saved_words, saved_hosts : int64
        Work space: of the first slice of the profile of cores, where there is one.
    """

    passages: Ints2
    host: SleepHosts = column()
    sleepy_ns: Ints = column("hosts")
    sleepy_key: Ints = column("hosts")
    booting_ns: Ints = column("hosts")
    booting_host: Ints = column("hosts")
    away: Ints = column("words")
    booting: Ints = column("words")
    words: Ints = column("words")
    hosts: Ints = column("counted")
    saved_words: Ints = column("saved_words")
    saved_hosts: Ints = column("saved")


class BatchState(State):
    """The whole state of a batch simulation: rows for n jobs (and their later attempts), M cores on H hosts.

    Attributes
    ----------
    settings : Settings
    jobs : Jobs
    by_rank : int64 (n,)
        The row that has a rank now.
    arrivals : int64
        Rows that arrive at their submit, in order.
    running_ns, running_job : int64
        Heap of the running jobs by the instant at which they end or their promise comes due.
    expected_ns, expected_job : int64
        Heap of jobs by the instant at which they become overdue, if they still run.
    arriving_ns, arriving_job : int64
        Heap of jobs that arrive because another has ended, and of wake-ups (``rows`` + row).
    queue_words, queue_starts : int64
        ``bls.engine.queue``.
    free_words, free_starts : int64
        ``bls.availability.free_cores``: cores that no job holds, on hosts that are up.
    pool : Pool
        Allocations, in the order in which jobs started.
    wanted_first : int64 (n + 1,); wanted_lo, wanted_hi : int64
        Cores asked for by number.
    started : int64
        The jobs of the latest pass that await an answer.
    profile_ns, profile_free : int64 (S,)
        ``bls.availability.count_profile``: cores free over time by what is expected, reservations that are kept included.
    plan_ns, plan_free : int64 (S,)
        The same while a plan is made anew.
    cores_profile : CoreProfile
        Instead of them where it matters which cores are free.
    later_words, later_hosts, later_amounts : int64
        What is free in a later slice, while a job is asked about one.
    offered_words : int64
        The cores that are offered to the allocator, where they are not simply those that are free.
    offered_amounts, offered_hosts : int64 (A,), (H,)
        What else each host has for it, and how many of the cores are of use.
    passing_amounts : int64 (A,)
        The amounts of one slice after the other.
    masks : int64 (P + windows, W)
        The cores of each partition, then of each window.
    needs : int64 (R + L, rows)
        Amounts of a unit on its host, then licences of a job.
    history_group : int64 (levels, n)
        Which group's history tells of a job, the closest first; -1 none.
    history_least : int64 (levels,)
        How many of a group must have ended to tell of others.
    history : int64 (groups, 1 + m)
        How many have ended, and the run times of the latest m, the one that ended k-th (from 0) at 1 + k mod m.
    corrections_ns : int64
        By how much a job that runs longer than expected is expected to go on, the first time, the second …
    kept_lo, kept_hi : int64
        Cores of the kept reservations.
    cancel_order : int64
        Rows that are withdrawn, by (instant, row).
    child_first, child_row : int64
        Who depends on whom: the children of row r are ``child_row[child_first[r]:child_first[r + 1]]``.
    unmet : int64 (n,)
        For how many jobs each row still waits; empty where none waits for several.
    host_first : int64 (H + 1,); host_free : int64 (H,); host_of : int64 (M,)
        Cores of the hosts; free cores of each (kept only for allocators that ask); host of each core.
    outage_first : int64 (V + 1,); outage_down, outage_up : int64
        Outages of each host: unplanned ones of host h at h, planned ones at H + h, and if hosts are drained, that at 2·H + h;
        V is 2·H, or 3·H.
    host_ns, host_key : int64 (V,)
        Heap of the next event of each: key v is a repair, V + v an outage.
    windows : int64 (2, windows)
    boundaries : int64
        Instants at which a window begins or ends, ascending.
    user_tally : int64 (P, users, 2)
    numbers : float64 (k, rows); memory : float64; keys : float64; order : int64; sorting : int64 (4, n)
        Of a policy that scores; the last is work space.
    log, chosen : int64
        Who came, started and left, for Python policies and observers; and a policy's answer: rows of jobs that start, and
        -1 - row of those that it rejects.
    chosen_first : int64 (n + 1,) or (0,); chosen_lo, chosen_hi : int64 (M,) or (0,)
        Where ``n_named`` is not 0: the cores that it names for ``chosen[k]`` are the intervals
        ``chosen_first[k]:chosen_first[k + 1]``; where there are none, the allocator chooses.
    wall_time : int64 (2,)
        What the wall clock last said: seconds, nanoseconds.
    placement : PlacementRequest
        What the allocator is shown.
    holder : int64 (M,)
        Where cores are released: the row of the job that holds each, -1 none.
    releasing_ns, releasing_key : int64 (M,), or (2·M,) where jobs wish for cores
        Heap of the releases to come: row · M + core; and of the next wish of each job: ``WISH_KEY`` + row.
    left_lo, left_hi : int64 (M,)
        Work space: what a job still holds.
    hinted : int64 (M,) or (0,)
        Where jobs are told for which of their cores others wait: 1 + the row that was told so of each.
    wanted_of : int64 (M,) or (0,)
        The same while a pass finds it out; otherwise zeros.
    reached : int64 (M,) or (0,)
        The running jobs that the latest pass has something to tell.
    given_at, asked : int64 (M,) or (0,)
        Where widths change, of each core that is held: 1 + the column of ``told`` where it was given, 0 if that was at the
        start; and 1 if it was asked for.
    totals : int64 (A,) or (0,)
        Where widths change: the amounts of the other resources, of which nobody has anything.
    power : PowerState
        Of no group where power is not limited.
    domains : DomainState
        Of none where no part of the machine has limits of its own.
    stops : StopState
        Of no host where none are stopped for that.
    sleep : SleepState
        Of no host where none fall asleep.
    functions : int64 (FUNCTIONS,)
        See the names above.
    hooks : int64
        ``bls.engine.hooks``.
    """

    settings: Settings
    jobs: Jobs = column()

    # Instants, and what has happened:
    now_ns: int = 0
    next_arrival: int = 0  # place in arrivals
    next_cancel: int = 0  # place in cancel_order
    next_boundary: int = 0  # place in boundaries
    wake_ns: int = NEVER  # a pass is made then
    busy_until_ns: int = 0  # the scheduler decides until then
    observe_after_ns: int = NEVER  # an observer looks before the first event after this instant
    last_pass_ns: int = 0
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
    passes: int = 0
    decide_ns: int = 0  # wall time of all passes
    max_decide_ns: int = 0
    policy_ns: int = 0  # wall time that a Python policy took for the pass under way
    # Of cores that a Python policy has named, and that a job cannot have:
    refused: int = 0  # why: HELD_BACK … NO_POWER_THERE; 0 while there are none
    refused_at: int = 0  # which core, host, window, licence … that is about
    refused_of: int = 0  # and which resource of the host, core of the window …
    refused_where: int = 0  # the part of the machine whose power limit does not let the job have them
    did_not_fit: int = 0  # how many jobs that a policy had chosen had no place, in all passes
    # Where power is limited:
    next_power: int = 0  # place in PowerState.ns
    limit_mw: int = NEVER  # the lowest limit that is known and in force
    level: int = 0  # at which running jobs are that may be slowed
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
    n_running: int = 0  # size of the heap of ends and promises
    n_expected: int = 0  # size of the heap of expected ends
    n_arriving: int = 0  # size of the heap of later arrivals and wake-ups
    n_host_events: int = 0  # size of the heap of host events
    n_started: int = 0  # jobs started in the latest pass that await an answer
    n_answered: int = 0  # how many of them have had one
    n_chosen: int = -1  # jobs that a Python policy has chosen or rejected, -1 before it has decided
    n_log: int = 0
    n_decisions: int = 0
    free_cores: int = 0
    overdue_cores: int = 0
    n_down: int = 0  # hosts that are down
    pool_used: int = 0  # intervals in the allocation pool
    n_placed: int = 0  # intervals of cores that the hook EARLIEST has found
    kept_used: int = 0  # intervals of kept reservations
    first_slice: int = 0  # slices of the profile in use: first_slice … end_slice - 1
    end_slice: int = 0
    plan_slices: int = 0  # slices of a plan that is made anew
    n_releasing: int = 0  # size of the heap of releases to come
    n_released: int = 0  # columns of the table of releases in use
    n_named: int = 0  # intervals of cores that a Python policy has named for jobs that it has chosen
    n_reached: int = 0  # running jobs that the latest pass has something to tell
    n_told: int = 0  # columns of the table of what was told in use
    n_hinted: int = 0  # cores of running jobs that are known to be wanted
    n_wishes: int = 0  # columns of the table of wishes in use
    n_directed: int = 0  # columns of what a policy has decided about running jobs in use
    n_stopped: int = 0  # hosts that are out of service and not on their way back
    n_host_log: int = 0  # columns of the table of states of hosts in use
    n_away: int = 0  # hosts that are asleep or booting
    n_idle: int = 0  # hosts that are awake, or booting, and idle
    n_sleepy: int = 0  # size of the heap of hosts that may fall asleep
    n_booting: int = 0  # size of the heap of hosts that boot

    by_rank: Ints = column("jobs")
    arrivals: Ints
    running_ns: Ints = column("running")
    running_job: Ints = column("running")
    expected_ns: Ints = column("expected")
    expected_job: Ints = column("expected")
    arriving_ns: Ints = column("arriving")
    arriving_job: Ints = column("arriving")
    queue_words: Ints = column("queue_words")
    queue_starts: Ints
    free_words: Ints = column("free_words")
    free_starts: Ints
    pool: Pool = column()
    wanted_first: Ints
    wanted_lo: Ints
    wanted_hi: Ints
    started: Ints = column("running")
    profile_ns: Ints = column("slices")
    profile_free: Ints = column("slices")
    plan_ns: Ints = column("plan_slices")
    plan_free: Ints = column("plan_slices")
    cores_profile: CoreProfile = column()
    later_words: Ints = column("offered_words")
    later_hosts: Ints = column("offered_hosts")
    later_amounts: Ints = column("amounts")
    offered_words: Ints = column("offered_words")
    offered_amounts: Ints = column("amounts")
    offered_hosts: Ints = column("offered_hosts")
    passing_amounts: Ints = column("amounts")
    masks: Ints2
    needs: Ints2 = column("needs", "needed")
    history_group: Ints2
    history_least: Ints
    history: Ints2 = column("groups", "history")
    corrections_ns: Ints
    kept_lo: Ints = column("kept")
    kept_hi: Ints = column("kept")
    cancel_order: Ints
    child_first: Ints
    child_row: Ints
    unmet: Ints = column("children")
    host_first: Ints
    host_free: Ints = column("hosts")
    host_of: Ints
    outage_first: Ints
    outage_down: Ints
    outage_up: Ints
    host_ns: Ints = column("outages")
    host_key: Ints = column("outages")
    host_status: HostStatus = column()
    windows: Windows = column()
    boundaries: Ints
    partitions: Partitions = column()
    user_tally: Ints3 = column("partitions", "users", 2)
    numbers: Floats2 = column("numbers", "numbered")
    memory: Floats = column("memory")
    keys: Floats = column("scored")
    order: Ints = column("scored")
    sorting: Ints2 = column(4, "scored")
    log: Ints = column("log")
    chosen: Ints = column("chosen")
    chosen_first: Ints = column("chosen_first")
    chosen_lo: Ints = column("named")
    chosen_hi: Ints = column("named")
    decisions: Decisions = column()
    wall_time: Ints = column(2)
    placement: PlacementRequest = column()
    holder: Ints = column("held", fill=-1)
    releasing_ns: Ints = column("releasing")
    releasing_key: Ints = column("releasing")
    releases: Releases = column()
    left_lo: Ints = column("held")
    left_hi: Ints = column("held")
    hinted: Ints = column("hinted")
    wanted_of: Ints = column("hinted")
    reached: Ints = column("reached")
    told: Told = column()
    given_at: Ints = column("resizing")
    asked: Ints = column("resizing")
    totals: Ints = column("totals")
    resizing: Resizing = column()
    wishes: Wishes = column()
    wishing: Wishing = column()
    directed: Directed = column()
    scaling: Scaling = column()
    core_scale: CoreScale = column()
    power: PowerState = column()
    domains: DomainState = column()
    stops: StopState = column()
    sleep: SleepState = column()
    functions: Ints
    hooks: Ints
