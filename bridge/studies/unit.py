"""What is done for a cell and seed: one run, its metrics, and what is kept of it."""

from __future__ import annotations

import math
import re
import tempfile
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from als.metrics.graphs import GRAPH_METRICS
from als.metrics.loops import distributions
from bls.machine.platform import Platform
from bls.workloads.workload import Workload
from bridge.runs.directory import CELL, fresh_directory, write_record
from bridge.runs.record import write_run
from bridge.runs.result import Result
from bridge.runs.shared_outcomes import all_completed, same_anywhere
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from bridge.studies.executors.executor import Prepared, Unit, UnitOutcome
from traces.base.errors import RAISED_BY_PLUGINS, TwolevelError, one_of
from traces.base.written_file import is_full_disk
from traces.kernels.units import spent_s, working_s

if TYPE_CHECKING:
    from bridge.replay.chosen import SlurmChoice
    from bridge.replay.run import Replay

#: How the folders begin in which Slurm's files are while a cell is replayed of which nothing is kept.
SCRATCH = ".slurm-"

#: The names of folders that killed processes leave, with the eight characters that tempfile chooses: no other is removed.
_PARTIAL, _SCRATCH = re.compile(r"\.seed-[0-9]+\.partial-[a-z0-9_]{8}"), re.compile(r"\.slurm-[a-z0-9_]{8}")


class NoRoomError(TwolevelError):
    """The disk is full. What was finished before is kept."""

    exit_code = 2


class LikeRuns:
    """The latest runs, at most ``most``, from which other units of their group can take their applications."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._held: OrderedDict[tuple[int, str], Result] = OrderedDict()

    def of(self, unit: Unit) -> Result | None:
        """A run that differs from a unit's in its batch level only."""
        return self._held.get((unit.prepared, unit.group))

    def hold(self, unit: Unit, result: Result) -> None:
        """Hold the run of a unit, if the applications of others are as in it."""
        if same_anywhere(result.scenario) and all_completed(result):
            self._held[unit.prepared, unit.group] = result
            while len(self._held) > self._most:
                self._held.popitem(last=False)


def flat_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return every metric as one number by name; distributions and spans become several."""
    found: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, list | tuple):  # a span of time
            stem = name.removesuffix("_ns")
            found |= {f"{stem}_begin_ns": _plain(value[0]), f"{stem}_end_ns": _plain(value[1])}
            continue
        if not isinstance(value, Mapping):
            found[name] = _plain(value)
            continue
        for measure, statistics in value.items():  # the distribution of a measure of applications
            for statistic, one in statistics.items():
                found.setdefault(f"{statistic}_{measure}", _plain(one))
    return found


def _plain(value: Any) -> Any:
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and math.isnan(number) else number


def all_metrics(result: Result) -> dict[str, int | float | None]:
    """Every metric of a run by a name of its own; None is what a run does not have. Of what ``run.json`` has a
    distribution, each statistic stands by itself: ``p90_efficiency``."""
    return flat_metrics(result.metrics)


def _wanted(result: Result, names: tuple[str, ...] | None) -> dict[str, Any]:
    if names is None:
        return all_metrics(result)
    quick = flat_metrics(result.main_metrics)  # without a walk through time
    if all(name in quick for name in names):
        return {name: quick[name] for name in names}
    found = all_metrics(result)
    return {name: found.get(name) for name in names}  # a run without graphs has none of theirs


def _replay(unit: Unit, scenario: ReadyScenario, choice: SlurmChoice) -> tuple[dict[str, Any], float]:
    # Slurm decides, at a phase of the seed's.
    from bridge.replay.run import write_replay  # which other studies need not load

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
            write_record(folder / CELL, {"key": unit.key, "seed": seed})
            write_replay(
                replayed,
                folder,
                {**(unit.record or {}), **choice.names(scenario.platform, seed)},
                tasks="tasks" in unit.keep and scenario.technique is not None,
                trace="trace" in unit.keep,
                nodes="nodes" in unit.keep,
            )
    return _wanted(replayed.result, unit.metrics), float(replayed.cost["replay_s"])


def _run(unit: Unit, prepared: Prepared, like_runs: LikeRuns) -> tuple[dict[str, Any], float]:
    scenario = ReadyScenario.of(prepared.workload, prepared.platform, unit.options, known_jobs=prepared.known_jobs)
    if unit.slurm is not None:
        return _replay(unit, scenario, unit.slurm)
    keep_tasks = "tasks" in unit.keep or "trace" in unit.keep
    alone = keep_tasks or unit.fair_start or unit.options.execution.coupling != "inline"
    like = None if alone or not same_anywhere(scenario) else like_runs.of(unit)
    keep_tasks = keep_tasks and scenario.technique is not None
    result = run(scenario, keep_tasks=keep_tasks, fair_start=unit.fair_start, like=like)
    if not alone and like is None:
        like_runs.hold(unit, result)
    metrics = _wanted(result, unit.metrics)
    if unit.folder is not None:
        with fresh_directory(unit.folder, force=True, shared=True) as folder:
            write_record(folder / CELL, {"key": unit.key, "seed": unit.options.seed})
            write_run(
                result,
                folder,
                unit.record or {},
                tasks="tasks" in unit.keep and scenario.technique is not None,
                trace="trace" in unit.keep,
                nodes="nodes" in unit.keep,
            )
    return metrics, float(result.coupling["simulation_s"])


def _smallest() -> Result:
    workload = Workload.from_jobs([(1, 0, 1, 1, 1)])
    return run(ReadyScenario.of(workload, Platform(), Scenario()), keep_tasks=False)


def warm_up() -> None:
    """Simulate a job of a second, so that the first cell of a process is not charged with loading the kernels."""
    all_metrics(_smallest())


def check_metrics(names: Sequence[str], where: str) -> None:
    """Check that some run has metrics of these names. Raises InputError if one is unknown."""
    from bls.power import words as p  # which most runs need not load

    known = list(all_metrics(_smallest()))
    no_values = np.empty((len(GRAPH_METRICS), 0))
    of_graphs = {"graphs": distributions(GRAPH_METRICS, no_values)}
    of_power = (*p.METRICS, *p.LIMIT_METRICS, *p.PREDICTION_METRICS)
    of_facility = (*p.SIGNAL_METRICS, *p.FACILITY_METRICS, *p.SLEEP_METRICS)
    known += [name for name in (*flat_metrics(of_graphs), *of_power, *of_facility) if name not in known]
    for name in names:
        if name not in known:
            raise one_of("metric", name, known, where)


def do_unit(unit: Unit, prepared: Prepared, like_runs: LikeRuns, worker: str = "") -> UnitOutcome:
    """Run a unit; whatever goes wrong is an outcome, too, but for an interrupt."""
    # Nobody is charged with what is compiled for the first cell that needs it: no estimate of what is left to do counts it.
    compiled_s, began = spent_s(), working_s()
    metrics, simulation_s, error, code, no_room = None, 0.0, "", 0, False
    try:
        metrics, simulation_s = _run(unit, prepared, like_runs)
    except TwolevelError as fault:
        error, code = fault.text, fault.exit_code
    except MemoryError:
        error, code = "there is not enough memory", 1
    except RAISED_BY_PLUGINS as fault:  # a plug-in may raise anything, and the other cells go on
        error, code, no_room = f"{type(fault).__name__}: {fault}", 1, is_full_disk(fault)
    if metrics is None:
        error = " ".join(error.split()) or "failed without a word"
    took = {"wall_s": working_s() - began, "compiled_s": spent_s() - compiled_s, "simulation_s": simulation_s}
    jobs = len(prepared.workload)
    return UnitOutcome(unit.place, metrics, error=error, code=code, no_room=no_room, jobs=jobs, worker=worker, **took)


def remove_partial(folder: Path) -> None:
    """Remove what killed workers have left half written in a folder of cells."""
    _remove(folder.glob("*/.seed-*"), _PARTIAL)


def remove_scratch(folder: Path) -> None:
    """Remove what killed replays have left in a study's folder."""
    _remove(folder.glob(f"{SCRATCH}*"), _SCRATCH)


def _remove(entries: Iterable[Path], pattern: re.Pattern[str]) -> None:
    import shutil

    for entry in entries:
        if pattern.fullmatch(entry.name):
            shutil.rmtree(entry, ignore_errors=True)
