"""Slurm's multifactor priority (https://slurm.schedmd.com/priority_multifactor.html): the highest priority first.

::

    priority = site + age·A + assoc·a + fairshare·F + size·J + partition·p + qos·q + cpu·T_cpu + node·T_node + gpu·T_gpu
               - nice

docs/reference/batch-orders.md ("Multifactor priority") defines the factors, and states the differences from Slurm. The key of a
job is -priority in float64: equal priorities are ordered by submit, then by place in the workload.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bls.options import BLS
from bls.policies.contract import KnownJobs, ScorePolicy, account_kernel, score_kernel
from bls.policies.multifactor.fair_share import CLASSIC, FAIR_TREE, OWN, charge, factor, new_memory
from bls.policies.multifactor.settings import Multifactor, PartitionPart, Qos
from traces.base.errors import InputError
from traces.base.time import NS_PER_S
from traces.compiled import Array

_WEIGHT_AGE, _MAX_AGE_NS, _WEIGHT_FAIRSHARE, _PER_CORE, _PER_GPU_MILLI = range(OWN, OWN + 5)
_NODE, _STATIC, _HELD_GPUS, _CHARGED_GPUS = range(4)


def multifactor(text: str = "", where: str = "") -> ScorePolicy:
    """The policy that ``multifactor:TEXT`` names. Raises InputError as :meth:`Multifactor.from_text`."""
    return score_policy(Multifactor.from_text(text, f"{where or BLS}: multifactor"))


def score_policy(settings: Multifactor) -> ScorePolicy:
    """The policy of these settings."""
    held_gpus = _HELD_GPUS if settings.billing.gpus else -1
    return ScorePolicy("multifactor", _score, _account, partial(prepare, settings), held_gpus=held_gpus)


def prepare(settings: Multifactor, jobs: KnownJobs) -> tuple[Array, Array]:
    """The table of the jobs and the initial memory of a run.

    Returns ``numbers``, float64 (2, n): the node of the job's user, and the part of the priority that does not change; if GPUs
    are billed, (4, n): also the thousandths of GPUs that the job holds, and those for which its user is charged;
    ``memory``, float64: as in :mod:`bls.policies.multifactor.fair_share`. Raises InputError if a job's user is not in
    the tree and the tree has no account for others, or if sizes have a weight and the machine's cores are not known.
    """
    if jobs.n_cores < 1 and (settings.size or settings.cpu or settings.node):
        raise InputError(f"{settings.source}: size, cpu, node: they are parts of a machine, whose cores are not known")
    try:
        nodes = settings.tree.nodes(jobs.user)
    except InputError as error:
        raise InputError(f"{settings.source}: {error.text}") from None
    by_number = np.argsort(nodes.users, kind="stable")
    user = by_number[np.searchsorted(nodes.users, jobs.user, sorter=by_number)]
    numbers = np.zeros((4 if settings.billing.gpus else 2, len(jobs.user)))
    numbers[_NODE] = nodes.n_accounts + user
    static = nodes.extra[user] + settings.assoc * nodes.priority[user]
    if settings.size > 0.0:
        static += settings.size * size_factor(settings, jobs.cores, jobs.estimate_ns, jobs.n_cores)
    static += settings.partition * _looked_up(jobs.partition, _factors(settings.partitions), 0.0)
    static += settings.qos * _looked_up(jobs.qos, _factors(settings.qos_levels), 0.0)
    if settings.cpu > 0.0 or settings.node > 0.0:
        sizes = {row.number: float(row.cores) for row in settings.partitions if row.cores is not None}
        room = _looked_up(jobs.partition, sizes, jobs.n_cores)
        per_node = settings.cores_per_node
        static += settings.cpu * np.minimum(1.0, jobs.cores / room)
        static += settings.node * np.minimum(1.0, -(-jobs.cores // per_node) / np.ceil(room / per_node))
    if settings.gpu > 0.0:
        sizes = {row.number: float(row.gpus) for row in settings.partitions if row.gpus is not None}
        room = np.maximum(_looked_up(jobs.partition, sizes, jobs.n_gpus), 1.0)  # without GPUs, no job requests any
        static += settings.gpu * np.minimum(1.0, jobs.gpus / 1000 / room)
    numbers[_STATIC] = static
    memory = new_memory(
        *(nodes.parent, nodes.shares, nodes.n_accounts),
        rule=CLASSIC if settings.algorithm == "classic" else FAIR_TREE,
        period_ns=settings.calc_period_ns,
        half_life_ns=settings.half_life_ns,
        reset_periods=settings.reset_ns // settings.calc_period_ns,
        dampening=settings.dampening,
        own=(settings.age, settings.max_age_ns, settings.fairshare, *settings.billing.whole()),
    )
    return numbers, memory


def size_factor(settings: Multifactor, cores: Array, estimate_ns: Array, n_cores: int) -> Array:
    """The size factor J of jobs with these cores and estimates on a machine of ``n_cores``: float64, of the jobs' shape."""
    nodes = -(-cores // settings.cores_per_node)
    n_nodes = -(-n_cores // settings.cores_per_node)
    if settings.small_relative_to_time:
        minute_ns = 60 * NS_PER_S
        minutes = np.maximum(1, estimate_ns // minute_ns + (estimate_ns % minute_ns > 0))
        found = np.maximum(nodes * (n_cores / n_nodes), cores) / minutes / n_cores
        found = 1.0 - found if settings.favor_small else found
    elif settings.favor_small:
        found = ((n_nodes - nodes) / n_nodes + (n_cores - cores) / n_cores) / 2.0
    else:
        found = (nodes / n_nodes + cores / n_cores) / 2.0
    return np.asarray(np.clip(found, 0.0, 1.0))


def _looked_up(numbers: Array, table: Mapping[int, float], missing: float) -> Array:
    """The value of every number in the table: float64 (n,)."""
    known, place = np.unique(numbers, return_inverse=True)
    return np.asarray(np.array([table.get(number, missing) for number in known.tolist()], np.float64)[place])


def _factors(rows: Iterable[PartitionPart | Qos]) -> dict[int, float]:
    """Priority / highest priority by number."""
    priorities = {row.number: row.priority for row in rows}
    highest = max(1, *priorities.values()) if priorities else 1
    return {number: priority / highest for number, priority in priorities.items()}


@score_kernel
def _score(
    now_ns: int, waiting: Any, n_waiting: int, eligible_ns: Any, submit_ns: Any, estimate_ns: Any, cores: Any,
    numbers: Any, memory: Any, key: Any,
) -> int:  # fmt: skip
    weight_age, max_age_ns, weight_fairshare = memory[_WEIGHT_AGE], memory[_MAX_AGE_NS], memory[_WEIGHT_FAIRSHARE]
    for place in range(n_waiting):
        row = waiting[place]
        age = min(1.0, max(0, now_ns - eligible_ns[row]) / max_age_ns)
        key[place] = 0.0 - (numbers[_STATIC, row] + weight_age * age)  # not -0.0
    if weight_fairshare > 0.0 and n_waiting > 0:
        factors = factor(memory, now_ns)
        for place in range(n_waiting):
            key[place] -= weight_fairshare * factors[int(numbers[_NODE, waiting[place]])]
    return 0


@account_kernel
def _account(now_ns: int, row: int, cores: int, change: int, numbers: Any, memory: Any) -> int:
    """Begin to charge the user for the cores and GPUs of a job that starts; stop for those that it gives back."""
    if memory[_WEIGHT_FAIRSHARE] > 0.0:
        amount = memory[_PER_CORE] * (cores * change)
        if memory[_PER_GPU_MILLI] > 0.0:
            amount += memory[_PER_GPU_MILLI] * (numbers[_HELD_GPUS, row] - numbers[_CHARGED_GPUS, row])
            numbers[_CHARGED_GPUS, row] = numbers[_HELD_GPUS, row]
        charge(memory, int(numbers[_NODE, row]), now_ns, amount)
    return 0


MULTIFACTOR = multifactor()
