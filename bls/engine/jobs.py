"""The table of jobs in the state of the batch engine."""

from bls.engine.codes import NEVER, Cut
from traces.compiled import compiled
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column
from traces.lifecycle import Ending, Reason


class Jobs(State, dim="rows"):
    """A row for each job, in workload order (ascending submit), then one for each later attempt.

    Times are instants in ns; estimate, run, walltime, stretch and wait are durations. -1: not known yet.
    """

    # Inputs:
    submit_ns: Ints = column(constant=True)  # submit
    estimate_ns: Ints = column()  # the scheduler's estimate of the run time, from the arrival on
    cores: Ints = column()  # requested cores
    run_ns: Ints = column()  # run time at full width and speed; -1: from the application level
    number: Ints = column(constant=True)  # number in the workload
    # Place in the order of a static policy; for other policies in the order of (tier, submit, row)
    rank: Ints = column(constant=True)
    origin: Ints = column(constant=True)  # row of the first attempt
    attempt: Ints = column(constant=True)  # number of this attempt, from 0
    depends_on: Ints = column(fill=-1)  # row of the job that must end first
    cancel_ns: Ints = column(fill=NEVER)  # cancellation by its user
    preset: Ints = column(constant=True)  # 1: runs from the start
    partition: Ints = column(constant=True)  # number of its partition
    user: Ints = column(constant=True)  # dense number
    unit_cores: Ints = column(fill=1, constant=True)  # cores per unit
    window: Ints = column(fill=-1, constant=True)  # its advance reservation
    walltime_ns: Ints = column()  # requested run time
    begin_ns: Ints = column(constant=True)  # earliest arrival in the queue

    # Results:
    eligible_ns: Ints = column(fill=-1)  # arrival in the queue
    start_ns: Ints = column(fill=-1)  # start
    late_ns: Ints = column()  # time by which it starts later than its cores are held
    end_ns: Ints = column(fill=-1)  # end
    stop_ns: Ints = column(fill=NEVER)  # latest end: it is cut then
    stop_state: Ints = column(codes=Ending)  # state if it is cut then
    promise_ns: Ints = column(fill=-1)  # earliest end promised by its application
    expected_end_ns: Ints = column()  # end expected by the scheduler: start + estimate, corrected
    held_first: Ints = column()  # first interval of its cores in the pool
    held_count: Ints = column()  # number of these intervals
    held_cores: Ints = column()  # cores that it holds
    why: Ints = column(fill=-1, codes=Reason)  # reason of its start
    state: Ints = column(fill=-1, codes=Ending)  # final state
    reserved: Ints = column()  # 1 after it has had a reservation
    slot_ns: Ints = column(fill=NEVER)  # start of its kept reservation
    plan_first: Ints = column()  # first interval of the reserved cores in BatchState.kept
    plan_count: Ints = column()  # number of these intervals
    overdue: Ints = column()  # 1 while it runs beyond expected_end_ns
    cut: Ints = column(fill=Cut.BY_ITSELF)  # cause of its end
    corrections: Ints = column()  # corrections of its expected end
    stretch_ns: Ints = column()  # extension of its walltime after changes of width


@compiled(inner=True)
def copy_given(jobs: Jobs, source: int, target: int) -> None:
    """Copy the inputs of a row to another."""
    times = (jobs.submit_ns, jobs.begin_ns, jobs.estimate_ns, jobs.walltime_ns, jobs.cancel_ns)
    names = (jobs.number, jobs.rank, jobs.origin, jobs.attempt, jobs.depends_on, jobs.partition, jobs.user, jobs.window)
    others = (jobs.run_ns, jobs.cores, jobs.unit_cores, jobs.preset)
    for values in times + names + others:
        values[target] = values[source]
