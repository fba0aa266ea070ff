"""Which machine is simulated: that of a file, the one that the log names, or the two-level paper's; and what is said of it."""

from __future__ import annotations

import warnings
from pathlib import Path

from bls.machine.platform import PUBLISHED, Platform, load_platform
from bls.options import OVERSIZE, PLATFORM
from bls.workloads.header import named_machine
from bls.workloads.workload import TOO_WIDE, Workload
from traces.base.errors import InputError

#: The machine of the two-level paper, and that which the log names. A file that is called so, or as that of another paper, is
#: ``./paper``, ``./log``.
_PAPER, _LOG = "paper", "log"

#: If more of a log's jobs are too wide, it is said what to do.
_FEW = 0.01


def is_word(platform: object) -> bool:
    """Whether it says which machine without naming a file."""
    return platform in (*PUBLISHED, _LOG)


def given_platform(platform: Platform | str | Path | None) -> Platform | None:
    """A platform from what a user gives: a platform, one of ``bls.machine.platform``, as ``paper``, or the path of a file;
    None where it depends on the log.

    Raises
    ------
    InputError
        If the file cannot be used.
    """
    if platform is None or platform == _LOG:
        return None
    if isinstance(platform, Platform):
        return platform
    published = PUBLISHED.get(str(platform)) if is_word(platform) else None
    return load_platform(platform) if published is None else published()


def platform_for(platform: Platform | str | Path | None, log: Workload, *, replayed: bool) -> Platform:
    """The machine that a log is simulated on.

    Parameters
    ----------
    platform : Platform, str, Path or None
        What a user gives (:func:`given_platform`); ``log``: the machine that the log names
        (``bls.workloads.header``). None: the same, if jobs are replayed and it names one; else the two-level paper's.
    log : Workload
    replayed : bool
        Whether all jobs last their recorded run times.

    Raises
    ------
    InputError
        If the file cannot be used, or ``log`` is asked of a log that names no machine.
    """
    given = given_platform(platform)
    if given is not None:
        return given
    named = named_machine(log) if replayed or platform == _LOG else None
    if named is None and platform == _LOG:
        raise InputError(
            f"{PLATFORM:{_LOG}}: {log.source} names no machine (MaxProcs in its header); allowed: {_PAPER}, "
            "or a file, as twolevel platform > FILE begins one"
        )
    return named or Platform()


def machine_words(jobs: Workload, machine: Platform, platform: object, *, replayed: bool) -> list[str]:
    """What a user should know of the machine, a line each: which one it is, if they did not say; and whether it is too small.

    Parameters
    ----------
    jobs : Workload
        Fitted to the machine.
    machine : Platform
    platform : object
        What the user gave, None for nothing.
    replayed : bool
        As of :func:`platform_for`.
    """
    paper, named = Platform(), named_machine(jobs)
    size = f"{machine.n_cores:,} cores"
    words = []
    if platform is None and named is None:
        words.append(f"machine: {size}, since the log names none; {PLATFORM} FILE says which (twolevel platform)")
    elif platform is None and named is not None and named != paper:
        if replayed:
            hosts = f"{machine.n_hosts:,} host{'s' * (machine.n_hosts > 1)}"
            words.append(f"machine: {size} on {hosts}, as the log says; {PLATFORM:{_PAPER}}: {paper.n_cores} cores")
        else:
            words.append(
                f"machine: {size}, the two-level paper's, since applications are simulated task by task; "
                f"{PLATFORM:{_LOG}}: the log's {named.n_cores:,} cores"
            )
    wide = jobs.rejects[TOO_WIDE]
    valid = jobs.n_lines - sum(jobs.rejects.values()) + wide
    if wide > _FEW * valid:
        larger = f"{PLATFORM} FILE describes a larger machine (twolevel platform > FILE)"
        if named is not None and named.n_cores > machine.n_cores:
            larger = f"{PLATFORM:{_LOG}} takes the log's {named.n_cores:,}"
        words.append(
            f"warning: {wide:,} of {valid:,} jobs are wider than {size} and left out: {larger}, "
            f"{OVERSIZE:clamp} gives each of them all cores"
        )
    return words


def warn_of_paper_machine(jobs: Workload, machine: Platform) -> None:
    """Warn a caller from Python who took the two-level paper's machine by default for a log that names another one.

    Parameters
    ----------
    jobs : Workload
    machine : Platform
        The machine that the jobs are simulated on.
    """
    named = named_machine(jobs)
    if machine == Platform() and named is not None and named != machine:
        warnings.warn(
            f"{machine.n_cores} cores, the two-level paper's machine; {jobs.source} names {named.n_cores:,}: "
            f'platform="{_LOG}" takes them, platform="{_PAPER}" takes {machine.n_cores} without this warning',
            stacklevel=4,
        )
