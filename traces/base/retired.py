"""Retired options: the name of each, and what replaces it.

Every surface reads this one table: the command line, study files and keywords in Python.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from traces.base.errors import InputError, Mention, mentioned, one_of

#: Name on the command line, without dashes → what an error says after it; it may mention options.
RETIRED: Final[Mapping[str, str]] = {
    "charge-decisions": f"is now {Mention('decision-cost', 'decision_cost_ns', said='measured')}",
    "conservative": f"is now a value of {Mention('backfill', 'backfill')}: conservative or conservative:rebuild",
    "als-timeout": f"is now {Mention('timeout', 'timeout_s')}",
    "bls-timeout": f"is now {Mention('timeout', 'timeout_s')}",
    "power-of": f"is now a value of {Mention('power', 'power')}: held or working",
    "report-only": f"is now {Mention('report', 'report', said='only')}",
    "model": f"is now {Mention('like', 'like', said='lublin')}",
    "reaction": f"is now the column reaction of {Mention('limits', 'limits')}",
    "notice": f"is now the column notice of {Mention('limits', 'limits')}",
    "socket": "is no longer an option of commands; Python has Execution(socket=…)",
    "output": f"is now {Mention('out', 'folder')}",
    "format": f"is now {Mention('trace', 'trace')}",
    "detail": f"is now {Mention('trace-detail', 'trace_detail')}",
    "window": f"is now {Mention('trace-window', 'trace_window')}",
    "pue": "is no longer an option of a run; twolevel power computes the power of the facility from its result",
    "fair-start": "is no longer an option of a run; twolevel metrics computes fair start times from its result",
    "stretch-walltime": "was retired; nothing replaces it",
    "no-trace": f"is now {Mention('trace', 'trace', said='none')}",
}

#: The same for keys of studies and keywords in Python that were no options of commands.
_KEYS: Final = {"on": f"is now {Mention('power', 'power', said='held')} or 'working'"}

_UNITS: Final = ("_ns", "_s")  #: units at the end of a keyword in Python, which are not part of the option's name


def retired(name: str, available: Collection[str] | None = None) -> str:
    """Return what an error says after the name of a retired option, as on the command line or in Python; else nothing, also if
    its replacement is none of the ``available`` options."""
    names = (name, *(name.removesuffix(unit) for unit in _UNITS))
    known = {**RETIRED, **_KEYS}
    said = next((known[one] for each in names if (one := each.replace("_", "-")) in known), "")
    return "" if available is not None and not mentioned(said) <= {*available} else said


def unknown(kind: str, name: str, known: Iterable[str], where: str) -> InputError:
    """Return the error for an option that does not exist: its replacement if it is retired, else the known ones, nearest first.

    ``where`` is the place that the message begins with, which ends with the name if that is a key of a file.
    """
    if said := retired(name):
        place = f"{where}: " if where and not where.endswith(name) else where.removesuffix(name)
        return InputError(f"{place}{name} {said}")
    return one_of(kind, name, known, where)
