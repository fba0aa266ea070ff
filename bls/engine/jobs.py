"""The table of jobs in the state of the batch engine: what is given of each, and what becomes of it."""

from bls.availability.count_profile import PROFILE_NEVER as NEVER
from bls.engine.codes import Cut
from traces.compiled import compiled
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column
from traces.lifecycle import Ending, Reason


class Jobs(State, dim="rows"):
    """A row for each job, in workload order (ascending submit), then one for each later attempt.

    Times are instants in ns, or durations in ns where the name says so; -1 where an instant is not known yet.
    """

    # What is given:
    submit_ns: Ints = column(constant=True)  # when it is submitted
    estimate_ns: Ints = column()  # the run time that is planned with, once it has arrived
    cores: Ints = column()  # how many it asks for
    run_ns: Ints = column()  # run time at full width and speed; -1 where the application level decides
    number: Ints = column(constant=True)  # the job's number in the workload
    # Place in the order of a static policy; of others in the order of (tier, submit, row)
    rank: Ints = column(constant=True)
    origin: Ints = column(constant=True)  # row of the job's first attempt
    attempt: Ints = column(constant=True)  # number of this attempt, from 0
    depends_on: Ints = column(fill=-1)  # row of the job that must end first
    think_ns: Ints = column(constant=True)  # duration from that end to the arrival
    cancel_ns: Ints = column(fill=NEVER)  # when its user withdraws it
    preset: Ints = column(constant=True)  # 1 where it runs from the start
    partition: Ints = column(constant=True)  # number of its partition
    user: Ints = column(constant=True)  # dense number of its user
    unit_cores: Ints = column(fill=1, constant=True)  # cores of one unit
    switch_limit: Ints = column(constant=True)  # most leaf switches, 0 any number
    window: Ints = column(fill=-1, constant=True)  # the reservation that it runs in
    walltime_ns: Ints = column()  # requested run time, after which it is killed, if at all
    begin_ns: Ints = column(constant=True)  # from when on it may join the queue: its submit, or later

    # What becomes of it:
    eligible_ns: Ints = column(fill=-1)  # when it joins the queue
    start_ns: Ints = column(fill=-1)  # when it starts
    end_ns: Ints = column(fill=-1)  # when it ends
    stop_ns: Ints = column(fill=NEVER)  # it is cut then at the latest
    stop_state: Ints = column(codes=Ending)  # the state that it has if it is cut then
    promise_ns: Ints = column(fill=-1)  # it does not end before, by what its application has promised
    expected_end_ns: Ints = column()  # when the scheduler expects its end: start + estimate, and corrections of that
    held_first: Ints = column()  # its cores: the intervals held_first … held_first + held_count - 1 of the pool
    held_count: Ints = column()  # how many intervals these are
    held_cores: Ints = column()  # how many cores it holds
    why: Ints = column(fill=-1, codes=Reason)  # why it started
    state: Ints = column(fill=-1, codes=Ending)  # what became of it
    reserved: Ints = column()  # 1 once it was given a reservation
    slot_ns: Ints = column(fill=NEVER)  # begin of its reservation that is kept
    plan_first: Ints = column()  # the cores of that: intervals of BatchState.kept
    plan_count: Ints = column()  # how many intervals these are
    overdue: Ints = column()  # 1 while it runs beyond expected_end_ns
    cut: Ints = column(fill=Cut.BY_ITSELF)  # how its end came about
    corrections: Ints = column()  # how often it has run longer than was expected then
    released: Ints = column()  # of the cores that it asked for, how many it has released
    released_held: Ints = column()  # of those that it was given; held_cores are the others while it runs
    last_lost: Ints = column()  # 1 + the core that it lost last, where that ended it; -1 where its cores came and went
    tellings: Ints = column()  # how often it was told that others wait for its cores, or that it is to have others
    to_release: Ints = column()  # cores that it was told to release, and has not yet
    wanted: Ints = column()  # for how many of its cores it was last told that another job waits

    # Where running jobs are given cores, or asked for some:
    min_cores: Ints = column()  # in the first attempt's row, the fewest cores that it has; 0 where its width is fixed
    max_cores: Ints = column()  # likewise the most
    asked: Ints = column()  # cores that it was asked for, and still holds
    stretch_ns: Ints = column()  # duration by which it may run beyond its walltime, as its width has changed
    told_first: Ints = column()  # where its latest change is in the table of what was told
    told_count: Ints = column()  # how many columns of it that is
    given_first: Ints = column()  # its cores at its start, where they have changed since
    given_count: Ints = column()  # 0 where they have not
    needs_no_more: Ints = column()  # 1 once it has released a core that it was not asked for

    # Where jobs may start with another width than they ask for, what one that did had asked for; else 0
    was_cores: Ints = column()
    was_estimate_ns: Ints = column()
    was_walltime_ns: Ints = column()

    boot_wait_ns: Ints = column()  # for how long it holds its cores and waits for their hosts to boot before it starts


@compiled(inner=True)
def copy_given(jobs: Jobs, source: int, target: int) -> None:
    """Let a row be given the same as another."""
    times = (jobs.submit_ns, jobs.begin_ns, jobs.estimate_ns, jobs.walltime_ns, jobs.think_ns, jobs.cancel_ns)
    names = (jobs.number, jobs.rank, jobs.origin, jobs.attempt, jobs.depends_on, jobs.partition, jobs.user, jobs.window)
    others = (jobs.run_ns, jobs.cores, jobs.unit_cores, jobs.switch_limit, jobs.preset)
    for values in times + names + others:
        values[target] = values[source]
