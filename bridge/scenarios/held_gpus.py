"""Programs whose devices are the GPUs that jobs hold: kinds of ``workers`` without a ``count``.

A job's work counts the GPUs that it requests, not those that it gets, so that it is the same under every policy: the number
that its cores can drive, of the slowest kind that it accepts.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from als.programs.program import Loop, Program
from bls.constraints.job_constraints import JobConstraints
from bls.machine.platform import Platform, accepts_kind
from bls.workloads.workload import Workload
from traces.base.errors import InputError, one_of
from traces.compiled import Array
from traces.records.gpus import WHOLE_GPU


def with_held_gpus(
    applications: Sequence[Program],
    place: Array,
    workload: Workload,
    platform: Platform,
    constraints: JobConstraints,
    where: str = "applications",
) -> tuple[tuple[Program, ...], Array, Array]:
    """Replace programs that have kinds of workers without a ``count`` by programs with numbers of devices.

    Returns the given and the new programs; the program of each job, int64 (n,), instead of ``place``; and by program and kind
    of ``Platform.gpu_kinds``, int64 (programs, kinds): 1 + its place in ``Program.workers``, 0 if GPUs of this kind are not
    used, -1 if the devices are by ``count``. ``where``: source of the programs, for errors. Raises InputError if no job
    requests GPUs, or no host has GPUs of a kind."""
    programs, found = list(applications), place.copy()
    rows = [_rows(program, platform, f"{where}: {program.name}.workers") for program in applications]
    held = [at for at, of_kinds in enumerate(rows) if of_kinds[0] >= 0]
    requests = constraints.requests
    asked = None if requests is None else requests.gpus
    if requests is None or asked is None or not asked.any.any():
        kind = f"{applications[held[0]].name}.workers.{applications[held[0]].workers[0].name}"
        allowed = "count, or jobs that request GPUs of hosts"
        raise InputError(f"{where}: {kind}: no count, and no job requests GPUs; allowed: {allowed}")
    units = workload.cores // requests.unit_cores
    hosts = -(-workload.cores // max(group.cores for group in platform.hosts))  # as few as possible
    columns = asked.parts(units, hosts), asked.milli, asked.kinds
    for at in held:
        program, variants = applications[at], dict[tuple[int, ...], int]()
        for job in np.flatnonzero(place == at).tolist():
            parts, milli, kinds = (int(column[job]) for column in columns)
            accepted = [row - 1 for k, row in enumerate(rows[at]) if row > 0 and accepts_kind(kinds, k)]
            slowest = min(accepted, key=lambda k: (program.workers[k].speed, k), default=0)
            driven = {k: min(parts, (int(workload.cores[job]) - 1) // program.workers[k].streams) for k in accepted}
            key = (driven[slowest], slowest, milli) if any(driven.values()) else ()
            if key not in variants:
                variants[key] = len(programs)
                programs.append(_variant(program, *key) if key else _on_cores(program))
                rows.append(rows[at] if key else [-1] * len(rows[at]))
            found[job] = variants[key]
    return tuple(programs), found, np.array(rows, np.int64)


def _rows(program: Program, platform: Platform, where: str) -> list[int]:
    kinds, names = platform.gpu_kinds or ("",), [kind.name for kind in program.workers]
    if not names or program.workers[0].count is not None:
        return [-1] * len(kinds)
    if kinds == ("",):  # GPUs without a kind are of any
        if len(names) > 1:
            raise InputError(f"{where}.{names[1]}: the GPUs of the platform have no kinds; allowed: one kind")
        return [1]
    for name in names:
        if name not in kinds:
            raise one_of("kind", name, kinds, where)
    return [names.index(kind) + 1 if kind in names else 0 for kind in kinds]


def _on_cores(program: Program) -> Program:
    phases = tuple(replace(one, on="") if isinstance(one, Loop) else one for one in program.phases)
    return replace(program, phases=phases, workers=())


def _variant(program: Program, n: int, slowest: int, milli: int) -> Program:
    workers = [
        replace(kind, count=n if k == slowest else 0, speed=kind.speed * milli / WHOLE_GPU)
        for k, kind in enumerate(program.workers)
    ]
    return replace(program, workers=tuple(workers))
