"""Common parts of tests of a replay: whether Slurm is installed, small workloads, and a replay in this process."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.replay.configuration import Configuration, of_machine
from bridge.replay.installed import PACKAGES, installed_slurm
from bridge.replay.run import Replay, ReplayOptions, replay
from bridge.scenarios.ready import ReadyScenario

_HERE = shutil.which("slurmctld", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"]))

needs_slurm = pytest.mark.skipif(_HERE is None, reason=f"no slurmctld; Debian's packages are {PACKAGES}")


def machine(hosts: int, cores: int) -> Platform:
    return Platform((HostGroup(hosts, cores, 46.875 * cores),))


def replayed(
    jobs: Sequence[tuple[int, ...]] | Workload,
    platform: Platform,
    folder: Path,
    *,
    keys: dict[str, str] | None = None,
    found: Configuration | None = None,
    settle_ns: int = 0,
    rate: float = 0.0,
    cleanup_ns: int = 0,
    recorded_priorities: bool = False,
    **options: object,
) -> Replay:
    """A replay of (number, submit s, run s, cores, estimate s), by default as recorded; its own checks are made."""
    from traces.checks.ledger import check_ledger

    workload = jobs if isinstance(jobs, Workload) else Workload.from_jobs(jobs)
    folder.mkdir(parents=True)
    chosen = ReplayOptions.flat(**{"als": "recorded"} | options)  # type: ignore[arg-type]
    scenario = ReadyScenario.of(workload, platform, chosen)
    found = found or of_machine(keys or {}, platform)
    keep = scenario.technique is not None
    times = {"settle_ns": settle_ns, "rate": rate, "cleanup_ns": cleanup_ns}
    how = {"recorded_priorities": recorded_priorities, "keep_tasks": keep, "watch": lambda ended, now_ns: None}
    done = replay(scenario, found, installed_slurm(), folder, **times, **how)
    check_ledger(done.result.ledger)
    return done
