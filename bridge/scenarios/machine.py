"""Which machine is simulated: that of a file, the one that the log names, or the two-level paper's; and what is said of it."""

import os
import warnings
from pathlib import Path

from bls.machine.platform import PUBLISHED, Platform, load_platform
from bls.options import PLATFORM
from bls.workloads.header import named_machine
from bls.workloads.workload import Workload
from traces.base.errors import InputError, shown

#: The machine of the two-level paper, and that which the log names. A file that is called so, or as that of another paper, is
#: ``./paper``, ``./log``.
_PAPER, _LOG = "paper", "log"


def is_word(platform: object) -> bool:
    """Whether it says which machine without naming a file."""
    return platform in (*PUBLISHED, _LOG)


def given_platform(platform: Platform | str | Path | None) -> Platform | None:
    """A given platform, published one (``paper``), or file; None if it depends on the log. Raises InputError."""
    if platform is None or platform == _LOG:
        return None
    if isinstance(platform, Platform):
        return platform
    if not isinstance(platform, str | os.PathLike):
        raise InputError(f"{PLATFORM}: {shown(platform)}; allowed: a Platform, a file, {_LOG}, {', '.join(PUBLISHED)}")
    published = PUBLISHED.get(str(platform)) if is_word(platform) else None
    return load_platform(platform) if published is None else published()


def platform_for(platform: Platform | str | Path | None, log: Workload, *, replayed: bool) -> Platform:
    """The machine for a log: the given one, or with ``log``, or None and replayed jobs, the one that the log names; else the
    paper's. Raises InputError if a file cannot be used, or with ``log`` the log names none."""
    if (given := given_platform(platform)) is not None:
        return given
    named = named_machine(log) if replayed or platform == _LOG else None
    if named is None and platform == _LOG:
        what = f"{PLATFORM:{_LOG}}: {log.source} names no machine (MaxProcs in its header)"
        raise InputError(f"{what}; allowed: {_PAPER}, or a file, as twolevel platform > FILE begins one")
    return named or Platform()


def warn_of_paper_machine(jobs: Workload, machine: Platform) -> None:
    """Warn a caller from Python who took the two-level paper's machine by default for a log that names another one."""
    named = named_machine(jobs)
    if machine == Platform() and named is not None and named != machine:
        warnings.warn(
            f"{machine.n_cores} cores, the two-level paper's machine; {jobs.source} names {named.n_cores:,}: "
            f'platform="{_LOG}" takes them, platform="{_PAPER}" takes {machine.n_cores} without this warning',
            stacklevel=4,
        )
