"""The work for one cell and seed: one run, its metrics, and its kept tables."""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from als.metrics import GRAPH_METRICS
from als.metrics.loops import distributions
from bls.machine.platform import Platform
from bls.policies.contract import OtherProgram, directs
from bls.policies.orders import Reject
from bls.workloads.workload import Workload
from bridge.runs.afterwards import QUANTITIES
from bridge.runs.directory import CELL, fresh_directory, write_record
from bridge.runs.record import write_run
from bridge.runs.result import Result
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from bridge.studies.executors.executor import Prepared, Unit, UnitOutcome
from traces.base.errors import RAISED_BY_PLUGINS, InputError, TwolevelError, one_of
from traces.base.written_file import is_full_disk
from traces.kernels.units import spent_s, working_s

if TYPE_CHECKING:
    from bridge.replay.chosen import SlurmChoice
    from bridge.replay.run import Replay

#: Beginning of the names of folders with Slurm's files during the replay of a cell without kept tables.
SCRATCH = ".slurm-"

#: Names of folders that killed processes leave, with eight characters chosen by tempfile; only these are removed.
_REMAINS = re.compile(r"\.(seed-[0-9]+\.partial|slurm)-[a-z0-9_]{8}")


class NoRoomError(TwolevelError):
    """The disk is full. Finished cells are kept."""

    exit_code = 2


def same_anywhere(scenario: ReadyScenario) -> bool:
    """Whether the outcome of each application depends neither on the cores that its job gets nor on when it starts: all cores
    are alike and keep their speed, nothing is sent between hosts, no job is cut and no core is released. Runs that differ only
    in policy, backfilling or allocator then have the same run times."""
    options, workload, speeds = scenario.options, scenario.workload, scenario.platform.core_speed_gflops
    return (
        scenario.technique is not None
        # Another program states only in its hello whether it directs running jobs.
        and not isinstance(scenario.policy, Reject | OtherProgram)
        and not directs(scenario.policy)
        and bool((speeds == speeds[0]).all())
        and not options.application.speeds
        and options.application.latency_ns == 0
        and not scenario.sends
        and not options.batch.kill_at_walltime
        and not options.batch.releases  # releases are requested when a job starts
        and not (options.batch.resizing or options.batch.molds)
        and options.batch.estimates in ("requested", "application")  # other policies may read recorded run times
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


class LikeRuns:
    """The latest two runs whose applications other units of their group can reuse."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, str], Result] = {}  # the oldest first

    def of(self, unit: Unit) -> Result | None:
        """A run that differs from a unit's in its batch level only."""
        return self._held.get((unit.prepared, unit.group))

    def hold(self, unit: Unit, result: Result) -> None:
        """Keep the run of a unit, if other units can reuse its applications."""
        if same_anywhere(result.scenario) and all_completed(result):
            self._held[unit.prepared, unit.group] = result
            if len(self._held) > 2:
                del self._held[next(iter(self._held))]


def flat_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return every metric as one number by name; distributions and spans become several."""
    found: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, list | tuple):  # an interval of time
            stem = name.removesuffix("_ns")
            found |= {f"{stem}_begin_ns": _plain(value[0]), f"{stem}_end_ns": _plain(value[1])}
        elif isinstance(value, Mapping):
            for measure, statistics in value.items():  # the distribution of a measure of applications
                for statistic, one in statistics.items():
                    found.setdefault(f"{statistic}_{measure}", _plain(one))
        else:
            found[name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and math.isnan(number) else number


def all_metrics(result: Result) -> dict[str, int | float | None]:
    """Every metric of a run by a unique name, as ``p90_efficiency`` of a distribution; None if the run does not have it."""
    return flat_metrics(result.metrics)


def _wanted(result: Result, unit: Unit) -> dict[str, Any]:
    names, further = unit.metrics, flat_metrics(unit.afterwards.of(result)[0])
    if names is None:
        return all_metrics(result) | further
    found = flat_metrics(result.main_metrics) | further  # without integrating over time
    if not found.keys() >= set(names):
        found = all_metrics(result) | further
    return {name: found.get(name) for name in names}  # a run without graphs lacks their metrics


def _replay(unit: Unit, scenario: ReadyScenario, choice: SlurmChoice) -> tuple[dict[str, Any], float]:
    # Slurm decides, at the phase of the seed.
    from bridge.replay.run import write_replay  # not needed by other studies

    keep_tasks = scenario.technique is not None and ("tasks" in unit.keep or "trace" in unit.keep)
    seed = unit.options.seed

    def done(own: Path) -> Replay:
        own.mkdir(exist_ok=True)
        return choice.replay(scenario, own, repeat=seed, keep_tasks=keep_tasks, watch=lambda ended, now_ns: None)

    if unit.folder is None:
        with tempfile.TemporaryDirectory(dir=unit.scratch, prefix=SCRATCH) as scratch:
            replayed = done(Path(scratch))
    else:
        with fresh_directory(unit.folder, force=True, shared=True) as folder:
            replayed = done(folder / "slurm")
            _write(unit, write_replay, replayed, folder, choice.names(scenario.platform, seed))
    return _wanted(replayed.result, unit), float(replayed.cost["replay_s"])


def _write(
    unit: Unit, write: Callable[..., object], run: Result | Replay, folder: Path, further: Mapping[str, Any]
) -> None:
    # Writes what is kept of a cell and seed; without an application level there are no tasks.
    write_record(folder / CELL, {"key": unit.key, "seed": unit.options.seed})
    tasks = "tasks" in unit.keep and unit.options.application.simulated
    record = {**(unit.record or {}), **further}
    write(run, folder, record, tasks=tasks, trace="trace" in unit.keep, nodes="nodes" in unit.keep)


def _run(unit: Unit, prepared: Prepared, like_runs: LikeRuns) -> tuple[dict[str, Any], float]:
    scenario = ReadyScenario.of(prepared.workload, prepared.platform, unit.options, known_jobs=prepared.known_jobs)
    if unit.slurm is not None:
        return _replay(unit, scenario, unit.slurm)
    keep_tasks = "tasks" in unit.keep or "trace" in unit.keep
    alone = keep_tasks or unit.options.execution.coupling != "inline"
    like = None if alone or not same_anywhere(scenario) else like_runs.of(unit)
    result = run(scenario, keep_tasks=keep_tasks and scenario.technique is not None, like=like)
    if not alone and like is None:
        like_runs.hold(unit, result)
    metrics = _wanted(result, unit)
    if unit.folder is not None:
        with fresh_directory(unit.folder, force=True, shared=True) as folder:
            _write(unit, write_run, result, folder, {})
    return metrics, float(result.coupling["simulation_s"])


def _smallest() -> Result:
    workload = Workload.from_jobs([(1, 0, 1, 1, 1)])
    return run(ReadyScenario.of(workload, Platform(), Scenario()), keep_tasks=False)


def warm_up() -> None:
    """Simulate a job of one second, so that the first cell of a process does not include the loading of kernels."""
    all_metrics(_smallest())


def check_metrics(names: Sequence[str], where: str, results: Mapping[str, object]) -> None:
    """Raise InputError if no run has a metric of this name, or the study does not compute it (``results``)."""
    from bls.metrics.gpus import METRICS as OF_GPUS
    from bls.power import words as p  # not needed by most runs
    from bls.power.facts import METRICS as OF_FEATURES

    known = list(all_metrics(_smallest()))
    of_graphs = {"graphs": distributions(GRAPH_METRICS, np.empty((len(GRAPH_METRICS), 0)))}
    of_power = (*p.METRICS, *p.LIMIT_METRICS, *p.PREDICTION_METRICS, *OF_FEATURES)
    key_of = {name: key for key, quantity in QUANTITIES.items() for name in quantity.metrics}
    known += [name for name in (*flat_metrics(of_graphs), *OF_GPUS, *of_power, *key_of) if name not in known]
    for name in names:
        if name not in known:
            raise one_of("metric", name, known, where, page="docs/reference/metrics.md")
        if name in key_of and not results.get(key_of[name]):
            raise InputError(f"{where}: {name}: needs {key_of[name]} in [results]")


def do_unit(unit: Unit, prepared: Prepared, like_runs: LikeRuns, worker: str = "") -> UnitOutcome:
    """Run a unit; every error is an outcome, too, except an interrupt."""
    # Compilation for the first cell is measured separately: it must not enter the estimate of the time left.
    compiled_s, began = spent_s(), working_s()
    metrics, simulation_s, error, code, no_room = None, 0.0, "", 0, False
    try:
        metrics, simulation_s = _run(unit, prepared, like_runs)
    except TwolevelError as fault:
        error, code = fault.text, fault.exit_code
    except MemoryError:
        error, code = "there is not enough memory", 1
    except RAISED_BY_PLUGINS as fault:  # a plug-in may raise anything, and the other cells continue
        error, code, no_room = f"{type(fault).__name__}: {fault}", 1, is_full_disk(fault)
    if metrics is None:
        error = " ".join(error.split()) or "failed without a message"
    took = {"wall_s": working_s() - began, "compiled_s": spent_s() - compiled_s, "simulation_s": simulation_s}
    jobs = len(prepared.workload)
    return UnitOutcome(unit.place, metrics, error=error, code=code, no_room=no_room, jobs=jobs, worker=worker, **took)


def remove_remains(folder: Path) -> None:
    """Remove the incomplete results and scratch folders that killed workers and replays have left in a study's folder."""
    for entry in (*folder.glob("cells/*/.seed-*"), *folder.glob(f"{SCRATCH}*")):
        if _REMAINS.fullmatch(entry.name):
            shutil.rmtree(entry, ignore_errors=True)
