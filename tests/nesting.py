"""Invariants of written traces, checked with the OTF2 reader: no core does two things at once, no clock goes back, nothing is
left open; each message is received once, and not before it is sent. Fast enough for the end of a test."""

from collections import defaultdict
from pathlib import Path
from typing import Any

from traces.checks.faults import InvariantError
from traces.exporters.otf2.library import reading


class Messages:
    """The messages of a trace, collected from its events."""

    def __init__(self) -> None:
        self._sent: defaultdict[tuple[str, str, str, int], list[tuple[int, int]]] = defaultdict(list)
        self._received: defaultdict[tuple[str, str, str, int], list[tuple[int, int]]] = defaultdict(list)

    def note(self, where: str, kind: str, event: Any) -> None:
        """Add an event ``MpiSend`` or ``MpiRecv`` of the location of this name, in the order of time of the location."""
        group = event.communicator.group
        if kind == "MpiSend":
            ends, known = (where, group.location(event.receiver).name), self._sent
        else:
            ends, known = (group.location(event.sender).name, where), self._received
        known[(*ends, event.communicator.name, event.msg_tag)].append((event.time, event.msg_length))

    def check(self) -> int:
        """Check that each sent message was received, with the same size and no earlier, and no others; return their number.

        Messages of one sender, receiver, communicator and tag arrive in the order in which they were sent, as with MPI.
        Raises InvariantError for the first pair of locations that breaks a rule.
        """
        for key in {**self._sent, **self._received}:
            sent, received = self._sent.get(key, []), self._received.get(key, [])
            ends = f"{key[0]} to {key[1]}, tag {key[3]}"
            if len(sent) != len(received):
                raise InvariantError(f"{ends}: {len(sent)} messages are sent, {len(received)} received")
            for (sent_ns, size), (arrived_ns, arrived_size) in zip(sent, received, strict=True):
                if arrived_ns < sent_ns:
                    raise InvariantError(f"{ends}: a message is received at {arrived_ns} ns, but sent at {sent_ns} ns")
                if size != arrived_size:
                    raise InvariantError(f"{ends}: a message has {size} bytes, but {arrived_size} when it is received")
        return sum(len(sent) for sent in self._sent.values())


def check_nesting(path: Path) -> int:
    """Check a written trace event by event with the OTF2 reader (tens of µs per event); return the number of Enter/Leave pairs.

    The rules, for each location: times do not decrease, every Leave is of the region entered last, no region is entered
    inside another (a core runs one task at a time, or waits for data), and none is left open; each message is received
    once, and not before it is sent.

    - ``path``: the anchor file, ``traces.otf2``.

    Raises InvariantError for the first location and instant that breaks a rule.
    """
    messages = Messages()
    clock: dict[str, int] = {}
    inside: dict[str, str] = {}
    pairs = 0
    with reading(path) as trace:
        for location, event in trace.events:
            where, kind = location.name, type(event).__name__
            if event.time < clock.get(where, event.time):
                raise InvariantError(f"{where}: an event at {event.time} ns comes after one at {clock[where]} ns")
            clock[where] = event.time
            if kind == "Enter":
                if where in inside:
                    raise InvariantError(
                        f"{where}: {event.region.name} is entered at {event.time} ns inside {inside[where]}"
                    )
                inside[where] = event.region.name
            elif kind == "Leave":
                if inside.pop(where, None) != event.region.name:
                    raise InvariantError(
                        f"{where}: {event.region.name} is left at {event.time} ns, but was not entered"
                    )
                pairs += 1
            elif kind in ("MpiSend", "MpiRecv"):
                messages.note(where, kind, event)
    messages.check()
    for where, region in inside.items():
        raise InvariantError(f"{where}: {region} is never left")
    return pairs
