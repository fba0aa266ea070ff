"""Static policies in runs in which a job's estimate is known only when it arrives: the same order, found in every pass.

A static policy is asked for all its keys before the simulation begins. Where run times are predicted from jobs that have ended,
those of the policies below are not known then, and so they are scored instead. Policies of others are not: their keys are
made of the requests.
"""

from __future__ import annotations

from functools import partial

from bls.expression import Program, parse
from bls.policies.contract import AnyPolicy, ScorePolicy
from bls.policies.expr import StaticExpression, prepared, score_expression
from bls.policies.f1 import F1
from bls.policies.f2 import F2
from bls.policies.f3 import F3
from bls.policies.f4 import F4
from bls.policies.ljf import Ljf
from bls.policies.saf import Saf
from bls.policies.sjf import Sjf

__all__ = ["by_prediction"]


def by_prediction(policy: AnyPolicy) -> AnyPolicy:
    """The policy as one that scores, if it is a static one whose keys are made of estimates; else itself."""
    program: Program | None = None
    if isinstance(policy, StaticExpression):
        program = policy.program
    elif isinstance(policy, F1 | F2 | F3 | F4):
        program = parse(f"-({policy.score.text})")
    elif isinstance(policy, Sjf | Ljf | Saf):
        program = parse({"sjf": "-t", "ljf": "t", "saf": "-t * n"}[type(policy).__name__.lower()])
    if program is None:
        return policy
    return ScorePolicy(policy.name, score_expression, prepare=partial(prepared, program))
