"""Which jobs' owners allow that they are slowed to save power."""

from __future__ import annotations

import os
import re
from decimal import Decimal

import numpy as np

from bls.constraints.request_file import read_request_file
from bls.options import ALLOWED
from bls.workloads.workload import Workload
from traces.base.errors import InputError, shown
from traces.compiled import Array

#: Names the stream that the jobs of a share are drawn from.
_STREAM = 0x616C6C6F776564
_SHARE = re.compile(r"[0-9]*\.?[0-9]+(e-?[0-9]+)?", re.IGNORECASE)
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%")
_USERS = re.compile(r"users:([0-9]{1,18}(?:\s+[0-9]{1,18})*)")
_COLUMN = "allowed"


def allowed_jobs(said: str | os.PathLike[str], workload: Workload, known: Array, seed: int) -> Array:
    """Of which jobs it is allowed: bool (n,).

    - ``said``: ``none``; ``all``; a share of the jobs from 0 to 1, or as ``75%``, drawn so that those of a smaller
      share are among those of a greater one; ``users:3 17``, all of these users; or a CSV file with the columns
      ``job_id`` and ``allowed``, 1 or 0, where jobs that it does not name are not
    - ``known``, int64: job numbers that a file may name beside the workload's
    - ``seed``: of the stream that a share is drawn from

    Raises InputError if it is none of these, or the file cannot be used.
    """
    text = os.fspath(said)
    n = len(workload)
    if text in ("none", "all"):
        return np.full(n, text == "all")
    percent = _PERCENT.fullmatch(text)
    if percent or _SHARE.fullmatch(text):
        share = float(Decimal(percent[1]) / 100) if percent else float(text)
        if share > 1:
            raise InputError(f"{ALLOWED}: {shown(text)}; allowed: a share from 0 to 1, or from 0% to 100%")
        drawn: Array = _drawn(workload, seed) < share
        return drawn
    if text.startswith("users:"):
        return np.isin(workload.user, np.array(_users(text), np.int64))
    if isinstance(said, str) and not os.path.exists(text):
        raise InputError(
            f"{ALLOWED}: {shown(text)}: no such file; allowed: none, all, a share as 0.75 or 75%, users:3 17, "
            "or a CSV file"
        )
    column = read_request_file(text, workload, (_COLUMN,), known).get(_COLUMN)
    if column is None:
        raise InputError(f"{text}: column {_COLUMN}: missing")
    if len(wrong := np.flatnonzero(column > 1)):
        row = wrong[0]
        raise InputError(f"{text}: job {workload.job_id[row]}: {_COLUMN}: {column[row]}; allowed: 0 or 1")
    said_so: Array = column == 1
    return said_so


def unknown_users(said: str | os.PathLike[str], workload: Workload) -> list[int]:
    """Users that ``users:…`` names and no job is of, ascending; arguments as of :func:`allowed_jobs`."""
    text = os.fspath(said)
    named = set(_users(text)) if text.startswith("users:") else set()
    return sorted(named - set(workload.user.tolist())) if named else []


def _users(text: str) -> list[int]:
    match = _USERS.fullmatch(text)
    if match is None:
        raise InputError(f"{ALLOWED}: {shown(text)}; allowed: numbers of users, separated by spaces, as users:3 17")
    return [int(number) for number in match[1].split()]


def _drawn(workload: Workload, seed: int) -> Array:
    # A number from 0 to 1 for each job, of its own number: it does not depend on which others there are.
    with np.errstate(over="ignore"):
        start = _mix(np.array([seed % 2**64], np.uint64) ^ np.uint64(_STREAM))
        found: Array = (_mix(start ^ workload.job_id.astype(np.uint64)) >> np.uint64(11)) * 2.0**-53
    return found


def _mix(z: Array) -> Array:
    """splitmix64 (Steele, Lea and Flood, OOPSLA 2014, doi:10.1145/2660193.2660195), modulo 2**64."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Array = z ^ (z >> np.uint64(31))
    return found
