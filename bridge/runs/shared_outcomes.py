"""Runs that differ in their batch level only: applications are simulated once, where that is the same as anew.

How long a job runs depends on its tasks, its technique and its cores. Where all cores of a machine are alike, nothing changes
their speed, nothing is sent between hosts, nobody is cut and no core is released, it does not depend on which cores those are
or when it starts. So after one run, another one under another batch policy, backfilling or allocator needs the batch level
alone: each job lasts as long as it did. The result is the same to the last bit; a test holds it to that.
"""

from dataclasses import replace

from bls.policies.contract import OtherProgram, directs
from bls.policies.orders import Reject
from bls.workloads.workload import Workload
from bridge.couplings import Applications
from bridge.runs.result import Result
from bridge.scenarios.ready import ReadyScenario


def same_anywhere(scenario: ReadyScenario) -> bool:
    """Whether what becomes of each application depends neither on the cores that its job gets nor on when it starts."""
    options, workload, speeds = scenario.options, scenario.workload, scenario.platform.core_speed_gflops
    return (
        scenario.technique is not None
        and not isinstance(scenario.policy, Reject)
        and not isinstance(
            scenario.policy, OtherProgram
        )  # which says only as it is met whether it directs running jobs
        and not directs(scenario.policy)
        and bool((speeds == speeds[0]).all())
        and not options.application.speeds
        and options.application.latency_ns == 0
        and not scenario.sends
        and not options.batch.kill_at_walltime
        and not options.batch.releases  # which are told when a job starts
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
    """Whether every job ran once, to its end: only then is it known of each how long it runs."""
    jobs = result.ledger.jobs
    return len(jobs) == len(result.scenario.workload) and not bool(jobs.state.any())


def lasting_as_in(workload: Workload, result: Result) -> Workload:
    """The workload, with the run times that its jobs had in a result."""
    jobs = result.ledger.jobs
    return replace(workload, run_ns=jobs.end_ns - jobs.start_ns)


def outcomes_of(result: Result) -> Applications:
    """What became of the applications, as the coupling had it that made the result; without records of tasks."""
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
