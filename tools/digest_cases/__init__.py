"""The matrix of ``tools.digests``: small runs that together use every feature, and pairs of features."""

from __future__ import annotations

from tools.digest_cases.alone import alone_cases
from tools.digest_cases.applications import application_cases
from tools.digest_cases.batch import batch_cases
from tools.digest_cases.case import Case
from tools.digest_cases.files import files, write_files
from tools.digest_cases.pairs import pair_cases

__all__ = ["Case", "all_cases", "files", "write_files"]


def all_cases() -> list[Case]:
    """Every case, in the order of running."""
    return [*batch_cases(), *application_cases(), *pair_cases(), *alone_cases()]
