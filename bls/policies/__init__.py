"""The batch policies, one a file, named as the literature names them.

To add one: a file here, a line in :data:`POLICIES`. Outside packages add theirs under the entry-point group
``twolevel.policies``; a single run can take one from a file, ``--bls my.py:MyPolicy``.
"""

from __future__ import annotations

from bls.policies.contract import KnownJobs, Policy, ranks
from bls.policies.edf import Edf
from bls.policies.fcfs import Fcfs
from bls.policies.sjf import Sjf
from traces.plugins import resolve

__all__ = ["POLICIES", "KnownJobs", "Policy", "policy", "ranks"]

POLICIES: dict[str, Policy] = {
    "fcfs": Fcfs(),
    "edf": Edf(),
    "sjf": Sjf(),
}


def policy(name: str, *, where: str = "--bls") -> Policy:
    """The policy of this name: one of :data:`POLICIES`, an installed package's, or ``FILE.py:NAME``.

    Raises
    ------
    InputError
        If there is none; the message lists the known ones, nearest first.
    """
    return resolve("batch policy", name, POLICIES, "twolevel.policies", Policy, where)
