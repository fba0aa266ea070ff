"""What only some batch simulations do: the slots of the batch engine's table of hooks, a feature a line."""

from __future__ import annotations

from bls.engine.state import BatchState
from traces.compiled import caller, types
from traces.hooks import Hooks
from traces.kernels.signatures import StateKind

#: ``hook(state, job, begin, stop, sign)``, of which each takes what it needs.
HOOK = types.int64(StateKind(BatchState), types.int64, types.int64, types.int64, types.int64)

#: ``call_hook(state.hooks[SLOT], (state, job, begin, stop, sign))``
call_hook = caller(HOOK)

HOLD_POOL, HOLD_KEPT, HOLD_HOST, MOVE_PROFILE, EARLIEST, ROOM, OTHERS, NEXT_OTHER, HOST_EVENTS = range(9)
OUTAGES_SHORT, AGAIN, PREDICT, LEARN, PLAN, ORDER, PRESETS, CHOSEN, TURN_AWAY, TAKE_UP, GIVE_UP, RELEASE = range(9, 21)
HEAR, HINT, RESIZE, MOLD, MOLD_BESIDE, WISH, DIRECT, HINT_AS_DECIDED, LIMITS, STOP_HOSTS, TOGETHER = range(21, 32)
POWER_PLAN, SET_STATES, HOSTS_SLEEP, PLACE_AWAKE, SLOT_AWAKE, BOOT_HOSTS, DOMAIN_OFFER, DRAIN = range(32, 40)

#: By its place in the table, what each slot is for, and its kernel.
HOOKS = Hooks(
    "batch engine",
    HOOK,
    {
        HOLD_POOL: ("cores of running jobs in the profile", "bls.engine.features.planning.by_cores:hold_pool_cores"),
        HOLD_KEPT: ("cores of reservations in the profile", "bls.engine.features.planning.by_cores:hold_kept_cores"),
        HOLD_HOST: ("cores of hosts in the profile", "bls.engine.features.planning.by_cores:hold_host_cores"),
        MOVE_PROFILE: ("the profile of cores", "bls.engine.core_profile:move_profile"),
        EARLIEST: ("slots by cores", "bls.engine.placement_search:earliest_place"),
        ROOM: ("room in the profile of cores", "bls.engine.features.planning.by_cores:room"),
        OTHERS: ("events beside ends and arrivals", "bls.engine.features.queue.other_events:others"),
        NEXT_OTHER: ("the next of these events", "bls.engine.features.queue.other_events:next_other"),
        HOST_EVENTS: ("hosts that go down and come back", "bls.engine.features.hosts.host_events:handle_host_events"),
        OUTAGES_SHORT: ("outages without end", "bls.engine.features.hosts.host_events:outages_short"),
        AGAIN: ("another attempt", "bls.engine.features.hosts.host_events:again"),
        PREDICT: ("predicted estimates", "bls.engine.features.queue.prediction:predict"),
        LEARN: ("what predictions are made of", "bls.engine.features.queue.prediction:learn"),
        PLAN: ("plans of several reservations", "bls.engine.features.planning.plan_ahead:plan"),
        ORDER: ("an order that changes", "bls.engine.features.planning.scored_order:put_in_order"),
        PRESETS: ("jobs that run from the start", "bls.engine.features.queue.presets:start_presets"),
        CHOSEN: ("decisions in Python", "bls.engine.features.planning.decided:start_chosen"),
        TURN_AWAY: ("rejecting", "bls.engine.features.planning.turning_away:turn_away"),
        TAKE_UP: ("who holds which core", "bls.engine.features.running.releases:take_up"),
        GIVE_UP: ("cores that jobs still hold as they end", "bls.engine.features.running.releases:give_up"),
        RELEASE: ("cores that running jobs release", "bls.engine.features.running.releases:handle_releases"),
        HEAR: ("what running applications promise", "bls.engine.features.running.promised_ends:hear"),
        HINT: ("what the head of the queue waits for", "bls.engine.features.running.hints:hint_running"),
        RESIZE: ("running jobs whose width changes", "bls.engine.features.running.widths:resize_running"),
        MOLD: ("the width with which a job starts", "bls.engine.features.planning.molding:mold"),
        MOLD_BESIDE: ("the width beside several reservations", "bls.engine.features.planning.molding:mold_beside"),
        WISH: ("cores that running jobs wish for", "bls.engine.features.running.wishes:hear_wish"),
        DIRECT: ("what a policy does to running jobs", "bls.engine.features.running.directed:direct_running"),
        HINT_AS_DECIDED: ("what a policy tells running jobs", "bls.engine.features.running.hints:hint_as_decided"),
        LIMITS: ("limits to power", "bls.engine.features.power.limits:change_limits"),
        STOP_HOSTS: ("hosts that are stopped under a limit", "bls.engine.features.power.stops:stop_hosts"),
        TOGETHER: ("running jobs that are told several things", "bls.engine.features.running.together:tell_together"),
        POWER_PLAN: ("passes by counts under a limit to power", "bls.engine.features.power.easy:plan_with_power"),
        SET_STATES: ("jobs that are slowed under a limit", "bls.engine.features.power.slowing:set_states"),
        HOSTS_SLEEP: ("hosts that fall asleep", "bls.engine.features.sleep.hosts:let_sleep"),
        PLACE_AWAKE: ("cores of hosts that are awake before others", "bls.engine.features.sleep.places:place_awake"),
        SLOT_AWAKE: ("slots on hosts that have to boot", "bls.engine.features.sleep.places:slot_awake"),
        BOOT_HOSTS: ("hosts that boot for a job", "bls.engine.features.sleep.hosts:boot_hosts"),
        DOMAIN_OFFER: ("cores of parts that are limited", "bls.engine.features.power.domains:offer_of_domains"),
        DRAIN: ("hosts that are drained", "bls.engine.features.hosts.drains:move_cores"),
    },
)
