"""Constants of a run of the batch engine."""

from bls.engine import codes
from bls.engine.codes import NEVER
from traces.kernels.state import State


class Settings(State):
    """Rules and sizes of a run; 1 means yes."""

    # Queue and plan:
    order: int = codes.QueueOrder.STATIC  # order of the queue
    max_reservations: int = 0  # most reservations at once
    keeps_reservations: int = 0  # reservations last from pass to pass
    plans: int = 0  # the scheduler uses expected ends
    profiled: int = 0  # there is a profile of free cores over time
    steps: int = 0  # most changes of amounts at one instant besides those of jobs
    limited: int = 0  # a partition has limits
    accounts: int = 0  # the policy's account function receives starts and ends
    switch_wait_ns: int = NEVER  # longest wait for fewer switches

    # Cores and hosts:
    by_cores: int = 0  # cores are distinguished
    by_hosts: int = 0  # free cores are counted per host
    by_units: int = 0  # the allocator places unit by unit, and chooses parts of hosts
    whole_hosts: int = 0  # hosts are not shared
    n_resources: int = 0  # resources per host
    n_licences: int = 0  # kinds of licences
    others_per_core: int = 0  # most entries of ``BatchState.others`` per core; 0: jobs request no parts of hosts
    widest: int = 0  # cores of the widest job

    # Ends of jobs:
    kills: int = 0  # jobs are killed at their walltime
    requeues: int = 0  # jobs cut by a host failure start again
    max_attempts: int = 0  # more attempts are an error
    loses: int = 0  # running jobs may lose all their cores
    promises: int = 0  # the scheduler uses the promised ends of running jobs

    # Commands to running jobs:
    logs: int = 0  # arrivals, starts and departures are logged
    releases: int = codes.Release.NO_RELEASES  # how jobs release cores
    resizing: int = codes.Resize.NO_RESIZE  # when widths change
    directs: int = 0  # sum of codes.Directs
    hints: int = codes.Hints.NO_HINTS  # source of hints
    command_sources: int = 0  # features that send commands after a pass
    max_commands: int = 0  # most commands after one pass

    # Limited power:
    powered: int = codes.PowerRule.UNPOWERED  # effect of a power limit
    host_log_room: int = 0  # most changes of host states at one instant
