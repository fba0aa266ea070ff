"""Runs that differ only in their batch level: reuse the simulated applications where a new simulation would be the same.

The run time of a job depends on its tasks, its technique and its cores. It does not depend on which cores these are or when
the job starts if all cores of a machine are alike and keep their speed, nothing is sent between hosts, no job is cut and no
core is released. After one run, another run with a different batch policy, backfilling or allocator then needs only the batch
level: each job has the same run time. The result is bit-identical, as a test checks.
"""

from dataclasses import replace

from bls.policies.contract import OtherProgram, directs
from bls.policies.orders import Reject
from bls.workloads.workload import Workload
from bridge.couplings import Applications
from bridge.runs.result import Result
from bridge.scenarios.ready import ReadyScenario


def same_anywhere(scenario: ReadyScenario) -> bool:
    """Whether the outcome of each application depends neither on the cores that its job gets nor on when it starts."""
    options, workload, speeds = scenario.options, scenario.workload, scenario.platform.core_speed_gflops
    return (
        scenario.technique is not None
        and not isinstance(scenario.policy, Reject)
        and not isinstance(
            scenario.policy, OtherProgram
        )  # such a program states only in its hello whether it directs running jobs
        and not directs(scenario.policy)
        and bool((speeds == speeds[0]).all())
        and not options.application.speeds
        and options.application.latency_ns == 0
        and not scenario.sends
        and not options.batch.kill_at_walltime
        and not options.batch.releases  # releases are requested when a job starts
        and not (options.batch.resizing or options.batch.molds)
        and options.batch.estimates in ("requested", "application")  # others may read recorded run times
        and (scenario.power is None or not scenario.power.slows)
        and options.batch.failures is None
        and options.batch.windows is None
        and not bool(workload.run_unknown.any())
        and not bool((workload.cancel_ns >= 0).any())
        and not bool(workload.preset.any())
    )


def all_completed(result: Result) -> bool:
    """Whether every job ran exactly once, to its end: only then are all run times known."""
    jobs = result.ledger.jobs
    return len(jobs) == len(result.scenario.workload) and not bool(jobs.state.any())


def lasting_as_in(workload: Workload, result: Result) -> Workload:
    """The workload with the run times of its jobs in a result."""
    jobs = result.ledger.jobs
    return replace(workload, run_ns=jobs.end_ns - jobs.start_ns)


def outcomes_of(result: Result) -> Applications:
    """The outcomes of the applications of a result, as its coupling returned them; without records of tasks."""
    jobs, notes = result.ledger.jobs, result.application_notes
    return Applications(
        jobs.tasks,
        jobs.chunks,
        jobs.length_gflop,
        notes.loops,
        None if notes.chosen is None else notes.chosen[1],
        notes.ahead_chunks,
        None,
        graphs=notes.graphs,
    )
