"""Static policies in runs in which a job's estimate is known only when it arrives: the same order, found in every pass.

A static policy is asked for all its keys before the simulation begins. Where run times are predicted from jobs that have ended,
those of the policies below are not known then, and so they are scored instead. Policies of others are not: their keys are
made of the requests. So are those of ``multifactor``, as Slurm's are of time limits, and deadlines.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bls.policies.contract import AnyPolicy, KnownJobs, ScorePolicy, score_kernel
from bls.policies.expr import StaticExpression, prepared, score_expression
from bls.policies.expression import parse
from bls.policies.f1 import F1
from bls.policies.f2 import F2
from bls.policies.f3 import F3
from bls.policies.f4 import F4
from bls.policies.ljf import Ljf
from bls.policies.saf import Saf
from bls.policies.sjf import Sjf
from traces.base.errors import InputError
from traces.compiled import Array

__all__ = ["by_prediction"]

_LARGEST = 2**63 - 1


def by_prediction(policy: AnyPolicy) -> AnyPolicy:
    """The policy as one that scores, if it is a static one whose keys are made of estimates; else itself."""
    if isinstance(policy, StaticExpression) and "t" in policy.program.names:
        prepare = partial(prepared, policy.program)
        return ScorePolicy(policy.name, score_expression, prepare=prepare, blame=InputError)
    if isinstance(policy, F1 | F2 | F3 | F4):
        program = parse(f"-({policy.score.text})")
        return ScorePolicy(policy.name, score_expression, prepare=partial(prepared, program))
    if isinstance(policy, Sjf | Ljf | Saf):
        memory = (-1.0 if isinstance(policy, Ljf) else 1.0, 1.0 if isinstance(policy, Saf) else 0.0)
        return ScorePolicy(policy.name, score_length, prepare=partial(_with_memory, memory))
    return policy


def _with_memory(memory: tuple[float, ...], jobs: KnownJobs) -> tuple[Array, Array]:
    return np.empty((0, len(jobs.job_id))), np.array(memory)


@score_kernel
def score_length(
    now_ns: int,
    waiting: Array,
    n_waiting: int,
    eligible_ns: Array,
    submit_ns: Array,
    estimate_ns: Array,
    cores: Array,
    numbers: Array,
    memory: Array,
    key: Array,
) -> int:
    """Key: estimate, in ns, or where ``memory[1]`` is 1 estimate × cores, multiplied exactly; ``memory[0]`` is its sign."""
    for k in range(n_waiting):
        row = waiting[k]
        length, n = estimate_ns[row], 1 if memory[1] == 0.0 else cores[row]
        area = float(length * n) if length <= _LARGEST // n else float(length) * n
        key[k] = memory[0] * area
    return 0
