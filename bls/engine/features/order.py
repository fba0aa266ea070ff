"""All features of the batch engine, in the order in which the subscribers of one event are called."""

from bls.engine.features.hold import feature as hold
from bls.engine.features.hosts import feature as hosts
from bls.engine.features.planning import feature as planning
from bls.engine.features.power import feature as power
from bls.engine.features.queue import feature as queue
from bls.engine.features.running import feature as running
from bls.engine.features.sleep import feature as sleep

FEATURES = (
    *(planning.RECORDS, planning.CHARGES),
    *(hosts.OUTAGES, power.LIMITS, power.STOPS, sleep.SLEEPS, hosts.DRAINS, hosts.RETRIES),
    *(running.HOLDERS, running.RELEASES, running.REQUESTS, running.PROMISES),
    *(running.WIDTHS, running.HINTS, running.HINTS_AS_DECIDED, running.DIRECTS, power.SLOWS),
    *(running.TOGETHER, running.COMMANDS, planning.BY_CORES, planning.PLANS_AHEAD, power.EASY, power.PARTS),
    *(planning.SCORES, planning.ACCOUNTS, planning.MOLDS, planning.MOLDS_WITH_PLANS, planning.TURNS_AWAY),
    *(queue.PARTITION_LIMITS, queue.OTHERS, queue.DEPENDENCIES, queue.SWITCHES, queue.PREDICTS, queue.PRESETS),
    *(planning.DECIDES, hold.HOLDS),
)
