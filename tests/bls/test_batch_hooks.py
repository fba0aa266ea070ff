"""Features of the batch level are hooks: a plain run fills no slot, and a run that does something fills the slots of it."""

from __future__ import annotations

from bls.engine import hooks as h

#: Slots that are filled together, because they are one feature.
BY_CORES = {h.HOLD_POOL, h.HOLD_KEPT, h.HOLD_HOST, h.MOVE_PROFILE, h.EARLIEST, h.ROOM}
HOSTS = {h.HOST_EVENTS, h.OUTAGES_SHORT, h.AGAIN}
OTHERS = {h.OTHERS, h.NEXT_OTHER}
