"""OpenMP's loop schedules: ``[modifier:]kind[,chunk]``, as in a ``schedule`` clause or in ``OMP_SCHEDULE``.

Each is converted to the name of a technique with its parameters. Case and spaces are ignored, as in OpenMP.

``dynamic`` is ``ss``, and ``nonmonotonic:dynamic`` is ``static-steal``, as in LLVM's runtime; GCC's ignores the modifier.
``auto`` and ``runtime`` leave the choice to the runtime or the environment, so there is nothing to simulate.

Source: OpenMP API specification 5.2, sections 11.5.3 and 21.2.1; LLVM's OpenMP runtime, ``kmp_dispatch.cpp``.
"""

import re

from traces.base.errors import InputError, shown

#: The kinds that take a chunk size, and the technique of each. A kind without a modifier means the same as with ``monotonic``;
#: only ``nonmonotonic:dynamic`` is another technique.
_KINDS = {"static": "static", "dynamic": "ss", "guided": "guided"}

#: The kinds that do not name a schedule, and what to give instead.
_LEFT_OPEN = {
    "auto": "leaves the schedule to the runtime; give static, as GCC's runtime takes, or guided, as LLVM's does",
    "runtime": "takes the schedule from OMP_SCHEDULE; give the value of that variable",
}

#: LLVM's further kinds, which only ``OMP_SCHEDULE`` may name.
_OF_LLVM = {"static_steal": "static-steal", "trapezoidal": "tss"}

_SCHEDULE = re.compile(
    r"(?:(monotonic|nonmonotonic)\s*:\s*)?(static|dynamic|guided|auto|runtime)\s*(?:,(.*))?", re.DOTALL
)
_CHUNK = re.compile(r"[+-]?[0-9.]+")


def from_openmp(name: str, where: str) -> str:
    """Return the technique's own name for an OpenMP schedule, such as ``dynamic,4``; any other name unchanged.

    Raises InputError if the kind leaves the schedule open, or the chunk size is not a whole number from 1 on.

    >>> from_openmp("GUIDED, 4", "als"), from_openmp("gss:min=2", "als")
    ('guided:chunk=4', 'gss:min=2')
    """
    text = name.strip().lower()
    if text.startswith("schedule(") and text.endswith(")"):
        text = text.removeprefix("schedule(").removesuffix(")").strip()
    match = _SCHEDULE.fullmatch(text)
    if match is None:
        return _OF_LLVM.get(text, name)
    modifier, kind, chunk = match[1], match[2], match[3]
    if kind in _LEFT_OPEN:
        raise InputError(f"{where}: {shown(name)}: OpenMP's {kind} {_LEFT_OPEN[kind]}")
    plain = "static-steal" if (modifier, kind) == ("nonmonotonic", "dynamic") else _KINDS[kind]
    if chunk is None:
        return plain
    size = chunk.strip()
    if not (size.isascii() and size.isdigit() and int(size[:20]) >= 1):
        raise InputError(f"{where}: {shown(name)}: chunk size {shown(size)}; allowed: a whole number, 1 or more")
    return f"{plain}:chunk={size}"


def rejoin_chunks(names: list[str]) -> list[str]:
    """Join chunk sizes with their schedules in a list of names: ``["static", "4", "ss"]`` becomes ``["static,4", "ss"]``."""
    joined: list[str] = []
    for name in names:
        before = _SCHEDULE.fullmatch(joined[-1].lower()) if joined else None
        if before and before[3] is None and _CHUNK.fullmatch(name):
            joined[-1] += f",{name}"
        else:
            joined.append(name)
    return joined
