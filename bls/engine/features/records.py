"""The kinds of events of running jobs that features record, and the delay of starts."""

from typing import Final

from bls.engine.features import order
from traces.records.events import JobEvents, StartDelay

EVENTS: Final[tuple[type[JobEvents], ...]] = tuple(order.declared(where, "records") for where in order.EVENTS)

#: Why a job that has its cores may start later.
START_DELAY: Final[StartDelay] = order.declared(order.START_DELAY, "records")
