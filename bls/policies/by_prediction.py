"""Static policies in runs in which a job's estimate is known only when it arrives: the same order, found in every pass.

A static policy is asked for all its keys before the simulation begins. Where run times are predicted from jobs that have ended,
those of a policy that goes by them are not known then. Such a policy of ours says what scores instead, ``predicted()``. A
policy that does not has keys that are made of the requests; so has ``multifactor``, as Slurm's are of time limits, and so have
deadlines.
"""

from __future__ import annotations

from bls.policies.contract import AnyPolicy, PredictedPolicy

__all__ = ["by_prediction"]


def by_prediction(policy: AnyPolicy) -> AnyPolicy:
    """The policy as one that scores, if it is a static one whose keys are made of estimates; else itself."""
    return policy.predicted() if isinstance(policy, PredictedPolicy) else policy
