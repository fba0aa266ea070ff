"""``expr:EXPRESSION``: the job with the largest score first, as in CQSim; see :mod:`bls.policies.expression` for what can be
written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from bls.options import BLS
from bls.policies.contract import KnownJobs, Policy
from bls.policies.expression import POWERED, ExpressionCode, evaluate, parse
from bls.policies.score_policy import ScorePolicy, same_memory, score_kernel
from traces.base.errors import InputError, shown
from traces.compiled import Array, own


@score_kernel
def score_expression(
    now_ns: int, waiting: Array, n_waiting: int, eligible_ns: Array, submit_ns: Array, estimate_ns: Array, cores: Array,
    numbers: Array, memory: Array, key: Array,
) -> int:  # fmt: skip
    """Key: -score; the program is in ``memory``."""
    unscored = evaluate(memory, now_ns, waiting, n_waiting, submit_ns, estimate_ns, cores, numbers, key)
    for k in range(n_waiting):
        key[k] = -key[k]
    return unscored


def values(program: ExpressionCode, jobs: KnownJobs) -> Array:
    """What an expression that does not change with time is worth for every job, float64 (n,). Raises InputError if it
    has no finite value for a job."""
    n = len(jobs.job_id)
    found = np.empty(n)
    submit_ns, estimate_ns, cores = (own(column, np.int64) for column in (jobs.submit_ns, jobs.estimate_ns, jobs.cores))
    with np.errstate(all="ignore"):  # for the kernel when it is not compiled
        numbers, memory = prepared(program, jobs)
        failed = evaluate(memory, 0, np.arange(n), n, submit_ns, estimate_ns, cores, numbers, found)
    if failed:
        text, job_id = shown(program.text)[1:-1], jobs.job_id[failed - 1]
        raise InputError(f"expr:{text}: no finite value for job {job_id} (as by a division by zero)")
    return found


@dataclass(frozen=True)
class StaticExpression:
    """Key: -score, of an expression that does not change with time."""

    program: ExpressionCode

    @property
    def name(self) -> str:
        """``expr:`` and the text."""
        return f"expr:{self.program.text}"

    def keys(self, jobs: KnownJobs) -> Array:
        """Scores, negative."""
        return np.negative(values(self.program, jobs))

    def predicted(self) -> StaticExpression | ScorePolicy:
        """The same order, scored in every pass where it goes by estimates."""
        return _scored(self.program) if self.program.by_estimates else self


def expression(text: str, where: str = "") -> Policy | ScorePolicy:
    """The policy of an expression: a static one if it has neither w nor l in it. Raises InputError as
    :func:`bls.policies.expression.parse`."""
    where = where or str(BLS)
    program = parse(text, f"{where}: expr")
    if not program.dynamic:
        return StaticExpression(program)
    return _scored(program)


def _scored(program: ExpressionCode) -> ScorePolicy:
    return ScorePolicy(
        f"expr:{program.text}",
        score_expression,
        prepare=partial(prepared, program),
        blame=InputError,
        by_estimates=program.by_estimates,
    )


def prepared(program: ExpressionCode, jobs: KnownJobs) -> tuple[Array, Array]:
    """What :func:`score_expression` needs of a run: what jobs draw, W, if it is asked for, and the program. Raises
    InputError if what jobs draw is asked for and not known."""
    numbers, memory = same_memory(program.memory(jobs.n_cores), jobs)
    if program.names.isdisjoint(POWERED):
        return numbers, memory
    if (jobs.core_mw < 0).any():
        name = min(program.names & POWERED)
        raise InputError(
            f"expr:{shown(program.text)[1:-1]}: {name}: the platform does not say what its hosts draw; allowed: one whose "
            "hosts have all [hosts.power] (docs/reference/power.md)"
        )
    return (jobs.cores * jobs.core_mw / 1000)[None], memory
