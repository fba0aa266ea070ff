"""Logs of LB4OMP, as its runtime writes them with ``KMP_TIME_LOOPS=FILE``, with chunks if ``KMP_PRINT_CHUNKS`` is set.

A loop's lines: one for each thread, with the time from the loop's begin to the thread's end; the time of the loop; then one for
each chunk, without times. The profile of ``KMP_PROFILE_DATA`` has means in ticks of the processor only.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from bridge.measure.readers.rows import CollectedRows, chosen_region
from traces.base.errors import InputError, shown
from traces.base.time import NS_PER_S

_SECONDS = r"([0-9.]+(?:e[+-]?[0-9]+)?)"
_LINES: Final = {
    "thread": re.compile(
        rf"LoopOccurrence: \d+ Location: (.*) #iterations (\d+) threadID: (\d+) threadTime: {_SECONDS}"
    ),
    "loop": re.compile(rf"Location: (.*) #iterations (\d+) LoopTime: {_SECONDS}"),
    "chunk": re.compile(r"chunkLocation: (.*) lower (-?\d+) upper -?\d+ chunksize (\d+) tid (\d+)"),
    "profile": re.compile(r"(?:Location:? .* )?Mean:? \S+ Sigma:? \S+ #?iterations:? \d+", re.IGNORECASE),
}


@dataclass
class _Instance:
    name: str = ""  # empty: the time of the loop has not been read
    iterations: int = 0
    loop_ns: int = 0
    threads: dict[int, int] = field(default_factory=dict)  # thread → ns from the loop's begin to its end
    chunks: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))  # first, iterations


def reads(source: str, data: bytes, region: str) -> CollectedRows:
    """Return the loops of a log, one after the other; of one location if ``region`` is given. Raises InputError with the line
    that is not valid."""
    rows, found, profiles, now = CollectedRows(source), [_Instance()], 0, 0
    for number, line in enumerate(map(str.strip, data.decode("utf-8", "replace").splitlines()), 1):
        if not line:
            continue
        where = f"{source}: line {number}"
        kind = next((kind for kind, pattern in _LINES.items() if pattern.fullmatch(line)), "")
        match = _LINES[kind].fullmatch(line) if kind else None
        if match is None:
            raise InputError(f"{where}: {shown(line)} is no line of LB4OMP's log; is the file truncated?")
        if kind in ("thread", "loop") and found[-1].name:
            found.append(_Instance())
        one = found[-1]
        if kind == "thread":
            one.threads[int(match[3])] = round(float(match[4]) * NS_PER_S)
        elif kind == "loop":
            one.name, one.iterations, one.loop_ns = _name(match[1]), int(match[2]), round(float(match[3]) * NS_PER_S)
            if one.loop_ns < max(one.threads.values(), default=0):
                raise InputError(f"{where}: the clock goes back: the loop ends before one of its threads")
        elif kind == "profile":
            profiles += 1
        elif one.name != _name(match[1]):
            raise InputError(f"{where}: a chunk without its loop; the lines before it are missing")
        else:
            one.chunks[int(match[4])].append((int(match[2]), int(match[3])))
    if found[-1].threads and not found[-1].name:
        raise InputError(f"{source}: the last loop has no LoopTime; the file is truncated")
    if not found[-1].name:
        how = "KMP_TIME_LOOPS=FILE with KMP_PRINT_CHUNKS=1 records times"
        raise InputError(f"{source}: only means of LB4OMP's profile, in ticks of the processor; {how}")
    if region:
        chosen_region(source, (one.name for one in found), region)
    for one in found:
        if region in ("", one.name):
            _add(rows, one, now)
            now += one.loop_ns
    if profiles:
        rows.remarks[f"{profiles} lines of LB4OMP's profile are left out: they have means in ticks only"] = None
    rows.remarks["the time between loops is unknown: they follow each other without a gap"] = None
    return rows


def _name(location: str) -> str:
    # The compiler's ``;file;function;line;column;;``.
    parts = location.split(";")
    return f"{parts[1]}:{parts[3]}" if len(parts) > 4 and parts[3].isdigit() else location


def _add(rows: CollectedRows, one: _Instance, begin_ns: int) -> None:
    threads = sorted({*one.threads, *one.chunks} or {0})
    end_ns = begin_ns + one.loop_ns
    loop = rows.add_loop(one.name, one.iterations, len(threads), (begin_ns, end_ns))
    chunks = [chunk for of_thread in one.chunks.values() for chunk in of_thread]
    for k, thread in enumerate(threads):
        until = begin_ns + one.threads.get(thread, one.loop_ns)
        if of_thread := one.chunks.get(thread):
            first, size = of_thread[0][0] - min(chunks)[0], sum(size for _, size in of_thread)
            rows.add("chunks", loop, k, first, size, len(of_thread), begin_ns, until)
        if thread in one.threads:
            rows.add("waits", loop, k, until, end_ns)
    seen = sum(size for _, size in chunks)
    if not chunks:
        rows.remarks[f"{one.name}: the log has no chunks; KMP_PRINT_CHUNKS=1 records them"] = None
        return
    if seen != one.iterations:
        rows.remarks[f"{one.name}: {one.iterations} iterations, but chunks of {seen}; is the variable's step 1?"] = None
    rows.remarks["chunks have no times: a row is all those of a thread, from the loop's begin to the thread's end"] = (
        None
    )
