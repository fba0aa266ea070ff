"""Hooks for optional features: events to which features subscribe, and roles that a feature plays in a scheduling pass.

All hooks take ``(state, job, begin, stop, sign)`` and may ignore some of these. A run has the hooks of its own features only
(``bls.engine.feature``). An event without subscribers costs two loads and a comparison.
"""

from bls.engine.state import BatchState
from traces.compiled import Hooks, caller, compiled, types
from traces.kernels.signatures import StateKind

HOOK = types.int64(StateKind(BatchState), types.int64, types.int64, types.int64, types.int64)

call_hook = caller(HOOK)  #: ``call_hook(state.roles[ROLE], (state, job, begin, stop, sign))``

# Events, in the order of an instant. A subscriber returns 0, or a ``BatchStatus`` with which the engine stops.
NEXT = 0  # query: the next instant of an event other than ends and arrivals; ``sign`` 0: except outages and wake-ups
ENDED = 1  # ``job`` has ended; its ``state`` is set
GONE = 2  # ``job`` will not run any more
FREED = 3  # ``job`` has given back cores, at its end or before
ENDS_DONE = 4  # all ends of the instant ``begin`` are handled
REQUESTED = 5  # the running ``job`` requests another number of cores
INSTANT = 6  # after the ends and before the arrivals of the instant ``begin``
HOST = 7  # the host ``job`` goes down (``sign`` -1) or has come back (1) at ``begin``
ARRIVED = 8  # ``job`` is about to join the queue
BUSY = 9  # query, after the arrivals of the instant ``begin``: a subscriber returns 1 if no pass may follow now
BEFORE_PASS = 10  # before a pass, untimed: tables get room, and Python policies decide
PASS = 11  # a timed pass begins
TAKEN = 12  # ``job`` has taken its cores
PASSED = 13  # a pass has taken ``begin`` ns; ``stop`` jobs had waited; ``sign`` presets come first in ``started``
STARTED = 14  # ``job`` starts at ``begin``; a subscriber may change ``start_ns``
END_KNOWN = 15  # the end of the running ``job`` has just become known
AFTER_PASS = 16  # after a pass: features find the commands to running jobs
BLOCKED = 17  # query: a subscriber returns 1 if ``job`` must not start now, whichever cores are free
COUNTED = 18  # ``sign`` more jobs run, on ``begin`` more cores, as ``job`` starts, ends or changes its width
HELD = 19  # ``job`` has ``stop`` cores from the instant ``begin`` on (``sign`` 1), or no longer (-1)
EVENTS = 20

# Roles, each played by at most one feature of a run.
PLAN, ORDER, WIDTH, EARLIEST, PLACE_NOW, SLOT_NOW, OFFER = range(7)
MOVE_PROFILE, HOLD_POOL, HOLD_KEPT, HOLD_HOST, GIVE_BACK, RETRY = range(7, 13)

#: The roles, with their parameters and results. The error for a role that no feature plays shows this text.
ROLES = Hooks(
    "batch engine",
    HOOK,
    {
        PLAN: ("making a pass: begin, the jobs in ``state.order``, where scores order them; returns a BatchStatus", ""),
        ORDER: ("ordering the queue into ``state.order``; returns how many jobs, -1 where a score is no number", ""),
        WIDTH: ("setting the width with which ``job`` starts: begin, 1 if the plan is a copy; stop, its slot at the requested "
                "width; returns the end of the reservation that it gives up, 0 without one", ""),
        EARLIEST: ("finding the slot of ``job`` before stop, its cores in ``n_placed`` intervals; returns it or NEVER", ""),
        PLACE_NOW: ("placing ``job`` now, instead of on any free cores: begin, the head's slot; stop, extra cores; "
                    "returns the number of intervals, -1 if it would delay the head", ""),
        SLOT_NOW: ("checking a slot of now and placing ``job`` in it: stop, as of EARLIEST; sign, 1 if the plan is a copy; "
                   "returns the slot, with its cores in ``n_placed`` intervals if it is now", ""),
        OFFER: ("checking ``stop`` intervals against the limits of parts; returns 1, 0 to try again, -1 if none fits", ""),
        MOVE_PROFILE: ("bringing the profile of cores to the instant begin", ""),
        HOLD_POOL: ("taking (sign -1) cores of running ``job`` from that profile for [begin, stop), or giving them back", ""),
        HOLD_KEPT: ("the same with the cores of its reservation", ""),
        HOLD_HOST: ("the same with the cores of host ``job``", ""),
        GIVE_BACK: ("freeing the cores that ``job`` still holds as it ends", ""),
        RETRY: ("another attempt of ``job`` at the instant begin", ""),
    },
)  # fmt: skip


@compiled(merged=True)
def is_played(state: BatchState, role: int) -> bool:
    """Whether a feature of this run plays a role."""
    return bool(state.played[role] == 1)


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
