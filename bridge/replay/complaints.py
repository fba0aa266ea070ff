"""What slurmctld says in its log of parameters that it does not take: it goes on with others, and nobody would know."""

from __future__ import annotations

import re
from pathlib import Path

from bridge.options.declared import SLURM_SET
from bridge.replay.configuration import Configuration
from traces.base.errors import InputError

#: As "Invalid SchedulerParameters bf_interval: 0", or "ignoring SchedulerParameters: default_queue_depth value of -2".
_COMPLAINT = re.compile(r"^\[[^]]*\] (?:error: |warning: )?((?:invalid|ignoring) \w*Parameters\b.*)$", re.I | re.M)


def complaints(log: str) -> tuple[str, ...]:
    """What a log says of parameters that were not taken, each once, in its order."""
    return tuple(dict.fromkeys(said.strip() for said in _COMPLAINT.findall(log)))


def check_taken(log: Path, found: Configuration) -> tuple[str, ...]:
    """What slurmctld has said so far of a site's parameters that it has not taken, in words: it does so on the machine,
    too. Raises InputError if it has not taken one, and they are no site's: it was given by ``--set``."""
    said = complaints(log.read_text(encoding="utf-8", errors="replace")) if log.is_file() else ()
    if said and not found.site:
        raise InputError(
            f"{SLURM_SET}: slurmctld says: {said[0]}; allowed: what Slurm takes, as it would go on with its default"
        )
    return tuple(f"slurmctld goes on with a default, as it says: {one}" for one in said)
