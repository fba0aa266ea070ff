"""Hooks for optional features: events and queries to which features subscribe, and roles that a feature plays.

All hooks take ``(state, job, begin, stop, sign)`` and may ignore some of these. A run has the hooks of its own features only
(``bls.engine.feature``). An event without subscribers costs two loads and a comparison. Subscribers of one event are called in
the order of ``bls.engine.features.order``. They return 0, or a ``BatchStatus`` with which the engine stops.

=============  =============================================================================================================
event          published when
=============  =============================================================================================================
INSTANT        the ends of the instant ``begin`` are handled; its arrivals follow
HOST           the host ``job`` goes down (``sign`` -1) or has come back (1) at ``begin``
ARRIVED        ``job`` is about to join the queue
BEFORE_PASS    a pass follows; untimed: tables get room, and Python policies decide
TAKEN          ``job`` has ``stop`` cores more since ``begin``; ``sign`` 1: it starts on them, or is placed on trial; 0: it runs
PASSED         a pass has taken ``begin`` ns; ``stop`` jobs had waited; the first ``sign`` jobs of ``started`` are presets
STARTED        ``job`` starts at ``begin`` on ``stop`` cores; a subscriber may change ``start_ns``
END_KNOWN      the end of the running ``job`` has just become known
AFTER_PASS     the jobs of a pass have started: features find the commands to running jobs
FREED          ``job`` has given back cores at ``begin``: ``stop`` (at most 0) is the change of its number of working cores;
               ``sign`` -1: at its end, 0: before
ENDED          ``job`` has left and will not run any more; its ``state`` is set
STOP_SET       the latest end of ``job`` is set; a subscriber may set an earlier ``stop_ns``, and its ``stop_state``
=============  =============================================================================================================

Subscribers to a query answer it: ``NEXT``, the next instant of an event other than ends and arrivals (``sign`` 0: without
outages and wake-ups); ``BLOCKED``, 1 if ``job`` must not start now, whichever cores are free; and ``BUSY``, 1 if no pass may
follow the arrivals of the instant ``begin``.

A role is a strategy with one interface. At most one feature of a run plays it; otherwise the engine does nothing
(:func:`play`), or the same in its own way (:func:`is_played`): by counts of cores that are all alike. That way is not in the
table, so that a plain run compiles no kernels for roles, and the compiler can inline it where it is used.
"""

from bls.engine.state import BatchState
from traces.compiled import Hooks, caller, compiled, types
from traces.kernels.signatures import StateKind

HOOK = types.int64(StateKind(BatchState), types.int64, types.int64, types.int64, types.int64)

call_hook = caller(HOOK)  #: ``call_hook(state.roles[ROLE], (state, job, begin, stop, sign))``

INSTANT, HOST, ARRIVED, BEFORE_PASS, TAKEN, PASSED, STARTED, END_KNOWN, AFTER_PASS, FREED, ENDED, STOP_SET = range(12)
NEXT, BLOCKED, BUSY = range(12, 15)
EVENTS = 15  #: events and queries

# Roles, each played by at most one feature of a run.
PLAN, DROP_PLAN, ORDER, WIDTH = range(4)  # a pass
MOVE_PROFILE, HOLD_POOL, HOLD_KEPT, HOLD_HOST, EARLIEST = range(4, 9)  # free cores over time
PLACE_NOW, SLOT_NOW = range(9, 11)  # cores for a start
OFFER, GIVE_BACK = range(11, 13)
MAY_RETRY, RETRY = range(13, 15)  # later attempts of cut jobs
HOST_ROOM, CHOOSE_PARTS, OTHER_AMOUNTS, PLACE_UNITS = range(15, 19)  # parts of hosts besides cores and amounts

# Strategies of several roles. A feature plays all roles of a strategy or none, so its first role stands for the strategy.
PROFILE, PLACEMENT, ATTEMPTS, PARTS = MOVE_PROFILE, PLACE_NOW, MAY_RETRY, HOST_ROOM
STRATEGIES = {
    PROFILE: range(PROFILE, 9), PLACEMENT: range(PLACEMENT, 11), ATTEMPTS: range(ATTEMPTS, 15), PARTS: range(PARTS, 19),
}  # fmt: skip

#: The roles, with their parameters and results. The error for a role that no feature plays shows this text.
ROLES = Hooks(
    "batch engine",
    HOOK,
    {
        PLAN: ("making a pass: begin, the jobs in ``state.order``, where scores order them; returns a BatchStatus", ""),
        DROP_PLAN: ("giving up the reservations that last from pass to pass", ""),
        ORDER: ("ordering the queue into ``state.order``; returns how many jobs, -1 where a score is no number", ""),
        WIDTH: ("setting the width with which ``job`` starts: begin, 1 if the plan is a copy; stop, its slot at the requested "
                "width; returns the end of the reservation that it gives up, 0 without one", ""),
        MOVE_PROFILE: ("bringing the profile of cores to the instant begin", ""),
        HOLD_POOL: ("taking (sign -1) cores of running ``job`` from that profile for [begin, stop), or giving them back", ""),
        HOLD_KEPT: ("the same with the cores of its reservation", ""),
        HOLD_HOST: ("the same with the cores of host ``job``", ""),
        EARLIEST: ("finding the slot of ``job`` before stop, its cores in ``n_placed`` intervals; returns it or NEVER", ""),
        PLACE_NOW: ("placing ``job`` now, instead of on any free cores: begin, the head's slot; stop, extra cores; "
                    "returns the number of intervals, -1 if it would delay the head", ""),
        SLOT_NOW: ("checking a slot of now and placing ``job`` in it: stop, as of EARLIEST; sign, 1 if the plan is a copy; "
                   "returns the slot, with its cores in ``n_placed`` intervals if it is now", ""),
        OFFER: ("checking ``stop`` intervals; returns 1, 0 to choose again from a smaller offer, -1 if none fits", ""),
        GIVE_BACK: ("freeing the cores that ``job`` still holds as it ends; returns the number on which it computed", ""),
        MAY_RETRY: ("whether the cut ``job`` gets another attempt; returns RUNNING, 0 if not, or another BatchStatus", ""),
        RETRY: ("another attempt of ``job`` at the instant begin", ""),
        HOST_ROOM: ("the units of ``job``, at most stop, for which the offered parts of host begin suffice; of host -1: 0 if "
                    "the job requests any, else stop", ""),
        CHOOSE_PARTS: ("choosing parts of hosts for ``job`` on the stop intervals at the end of the pool", ""),
        OTHER_AMOUNTS: ("listing the amounts of ``job``'s parts of hosts in ``state.others``; returns their number", ""),
        PLACE_UNITS: ("placing ``job`` unit by unit, with its parts of hosts, on up to begin switches (0: any); returns the "
                      "number of intervals, 0 if none fit", ""),
    },
)  # fmt: skip


@compiled(merged=True)
def is_played(state: BatchState, role: int) -> bool:
    """Whether a feature of this run plays a role, or all roles of a strategy."""
    return bool(state.played[role] == 1)


@compiled(merged=True)
def play(state: BatchState, role: int, job: int, begin: int, stop: int, sign: int) -> int:
    """Call the kernel of a role; returns 0 if no feature plays it."""
    if state.played[role] == 1:
        return int(call_hook(state.roles[role], (state, job, begin, stop, sign)))
    return 0


@compiled(merged=True)
def publish(state: BatchState, event: int, job: int, begin: int, stop: int, sign: int) -> int:
    """Call the subscribers of an event in the order of the features; returns 0, or the status with which one stops."""
    for k in range(state.first_subscriber[event], state.first_subscriber[event + 1]):
        status = call_hook(state.subscribers[k], (state, job, begin, stop, sign))
        if status != 0:
            return int(status)
    return 0


@compiled(merged=True)
def next_of(state: BatchState, before: int, sign: int) -> int:
    """Return the earliest instant that a subscriber of ``NEXT`` names, ``before`` at the latest."""
    for k in range(state.first_subscriber[NEXT], state.first_subscriber[NEXT + 1]):
        before = min(before, call_hook(state.subscribers[k], (state, -1, before, before, sign)))
    return before
