"""What does not change in a run of the batch engine."""

from bls.availability.count_profile import PROFILE_NEVER as NEVER
from bls.engine import codes
from traces.kernels.state import State


class Settings(State):
    """Rules and sizes of a run; of what is either so or not, 1 where it is."""

    # Queue and plan:
    order: int = codes.QueueOrder.STATIC  # in which order jobs wait
    max_reservations: int = 0  # the most reservations at once
    keeps_reservations: int = 0  # reservations are kept from pass to pass
    plans: int = 0  # jobs are planned with their expected ends
    profiled: int = 0  # a profile of free cores over time is kept
    steps: int = 0  # by how many changes of amounts beside jobs the profile may grow at one instant
    limited: int = 0  # a partition has limits
    accounts: int = 0  # the policy is told of starts and ends
    may_not_fit: int = 0  # a job that a policy has chosen, and that has no place, waits
    switch_wait_ns: int = NEVER  # for so long a job waits for fewer switches

    # Time:
    charges_decisions: int = 0  # deciding takes simulated time
    decision_cost_ns: int = -1  # -1: as measured
    shortest_ns: int = 0  # no prediction is shorter, unless the job asks for less

    # Cores and hosts:
    by_cores: int = 0  # it matters which cores are free
    by_hosts: int = 0  # the free cores of each host are counted
    whole_hosts: int = 0  # hosts are not shared
    n_resources: int = 0  # resources of each host
    n_licences: int = 0  # kinds of licences
    widest: int = 0  # cores of the widest job
    more_outages: int = 0  # a host's list of outages may be continued; 0 once its model ends

    # Ends of jobs:
    kills: int = 0  # jobs are killed at their walltime
    requeues: int = 0  # what a host's failure cuts is tried again
    max_attempts: int = 0  # a job that is cut more often is an error
    loses: int = 0  # running jobs may lose all their cores
    promises: int = 0  # a running job is planned with the end that its application promises

    # What running jobs do, and are told:
    logs: int = 0  # somebody is told who arrived, started and left
    releases: int = codes.Release.NO_RELEASES  # how jobs release cores
    resizing: int = codes.Resize.NO_RESIZE  # when widths change
    molds: int = 0  # jobs may start with another width than they ask for
    directs: int = 0  # the sum of codes.Directs
    hints: int = codes.Hints.NO_HINTS  # who says for which of their cores others wait
    tellers: int = 0  # how many features find out after a pass what running jobs are told
    max_told: int = 0  # so much may be told then

    # Where power is limited:
    powered: int = codes.PowerRule.UNPOWERED  # what a limit to power does
    host_log_room: int = 0  # so much may become of hosts at one instant

    # Where hosts that idle fall asleep:
    sleeps: int = 0  # they do
    max_boot_wait_ns: int = 0  # the most that a job waits for its hosts
