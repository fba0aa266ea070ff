"""Workloads that a function of the seed makes, ``FILE.py:NAME``, so that an experiment may draw the jobs themselves."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Protocol, runtime_checkable

from bls.options import CANCELLED
from bls.workloads import read_workload
from bls.workloads.workload import Workload
from traces.base.errors import InputError, PluginError, blamed_on, shown
from traces.base.plugins import resolve


@runtime_checkable
class SeededWorkload(Protocol):
    """Makes jobs."""

    def __call__(self, seed: int, /) -> Workload:
        """The jobs of a seed, 0 to 2**64 - 1: the same ones for the same seed, whenever and in whichever process it is asked.
        Their ``source`` becomes the name under which the function was given."""
        ...


def is_seeded(given: str | os.PathLike[str]) -> bool:
    """Whether this names a function that makes jobs, ``FILE.py:NAME``, and no file of jobs."""
    file, colon, name = os.fspath(given).rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier()


def given_workload(given: str | os.PathLike[str], seed: int, *, cancelled: bool = False) -> Workload:
    """The workload that a user names: a file, ``sample``, or ``FILE.py:NAME``, a function that makes it of the run's seed.

    ``seed``: what the function is given. ``cancelled``: of a file: whether jobs that were cancelled before their start
    are jobs, too. Raises InputError if there is no such file or function, or the file cannot be used. Raises
    PluginError if the function fails, or gives something else.
    """
    if not is_seeded(given):
        return read_workload(given, cancelled=cancelled)
    name = os.fspath(given)
    if cancelled:
        raise InputError(
            f"{CANCELLED}: {shown(name)} makes its jobs; allowed: with a file, which says who was cancelled"
        )
    make = resolve("workload", name, {}, "", SeededWorkload, "workload")
    with blamed_on(f"workload: {name}({seed}) failed"):
        found: object = make(seed)
    if not isinstance(found, Workload):
        raise PluginError(f"workload: {name}({seed}) gave a {type(found).__name__}; allowed: a bls.Workload")
    return replace(found, source=name)
