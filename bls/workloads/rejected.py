"""The lines of a log that are no jobs: how many there are for each reason, and where the first ones are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from traces.base.errors import shown

#: Lines of each reason that are kept with what is wrong in them.
KEPT = 10


class RejectedLine(NamedTuple):
    """A line that is no job."""

    reason: str  # under which it is counted
    line: int  # its number in the file, from 1
    field: str = ""  # the field, column or key that decided it, as ``field 5``; empty if it is the whole line
    word: str = ""  # what stands there; empty if it is missing
    source: str = ""  # the file, where several logs were merged; else empty

    @property
    def place(self) -> str:
        """Where it is and what is wrong, as ``line 7: field 5, '4x'``."""
        of = f"{self.source} " if self.source else ""
        what = f"{self.field}, {shown(self.word)}" if self.word else self.field and f"{self.field} is missing"
        return f"{of}line {self.line}" + (f": {what}" if what else "")


def first_rejects(rejected: Iterable[RejectedLine]) -> tuple[RejectedLine, ...]:
    """The first :data:`KEPT` of each reason, by reason in the order of their first appearance."""
    found: dict[str, list[RejectedLine]] = {}
    for one in rejected:
        kept = found.setdefault(one.reason, [])
        if len(kept) < KEPT:
            kept.append(one)
    return tuple(one for kept in found.values() for one in kept)


def rejects_text(rejects: Mapping[str, int], rejected: Iterable[RejectedLine] = ()) -> str:
    """The reasons that occurred, as ``malformed 3 (line 7: field 5, '4x'), no run time 1``, or ``no rejects``. The first line
    of a reason is named where it is known which field is wrong in what way."""
    first = {one.reason: one for one in reversed([*rejected]) if one.reason == "malformed"}
    texts = [
        f"{reason} {count}" + (f" ({first[reason].place})" if reason in first else "")
        for reason, count in rejects.items()
        if count
    ]
    return ", ".join(texts) or "no rejects"
