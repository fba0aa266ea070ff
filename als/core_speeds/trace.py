"""Recorded speeds: a file of factors, each constant until the core's next line."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import ClassVar

import numpy as np

from als.core_speeds.kinds import MAX_FACTOR, PIECES, Component, period
from traces.base.errors import InputError, parse_real, shown, shown_path
from traces.base.time import MAX_NS, NS_PER_S

#: The first line of a file.
COLUMNS = ("time_s", "core", "factor")


@dataclass(frozen=True)
class Trace:
    """``trace:FILE.csv,periodic=24h``. The file has the columns ``time_s`` (seconds since time 0, rounded to ns half to even),
    ``core`` (global number) and ``factor`` (0 to ``MAX_FACTOR``; 0: the core is absent). A factor holds until the time of the
    core's next line; before its first line it is 1. The times of each core must ascend."""

    name: ClassVar[str] = "trace"
    file: str = ""  # path
    # period after which the file is repeated; all times must be below it. 0: not repeated.
    periodic_ns: int = 0

    def component(self, n_cores: int, where: str) -> Component | None:
        if not self.file:
            raise InputError(f"{where}: the file is missing; allowed: trace:FILE.csv")
        period_ns = period(self.periodic_ns, f"{where}:periodic") if self.periodic_ns else 0
        found: dict[int, list[tuple[int, float]]] = {}
        for place, fields in _lines(self.file, where):
            at_ns = _time_ns(fields[0], place)
            if period_ns and at_ns >= period_ns:
                raise InputError(f"{place}: time_s: {shown(fields[0])}; allowed: below periodic, {period_ns} ns")
            core = _core(fields[1], n_cores, place)
            factor = _factor(fields[2], place)
            pieces = found.setdefault(core, [])
            if pieces and at_ns <= pieces[-1][0]:
                raise InputError(f"{place}: time_s: {shown(fields[0])} is not after core {core}'s line before it")
            pieces.append((at_ns, factor))
        if not found:
            raise InputError(f"{where}: {self.file}: no lines below the header; allowed: at least one")
        cores = sorted(found)
        stop = np.cumsum([len(found[core]) for core in cores])
        flat = [piece for core in cores for piece in found[core]]
        return Component(
            PIECES,
            np.array(cores, np.int64),
            max(1.0, *(factor for _, factor in flat)),
            period_ns,
            piece_begin=np.concatenate([[0], stop[:-1]]).astype(np.int64),
            piece_stop=stop.astype(np.int64),
            piece_ns=np.array([at for at, _ in flat], np.int64),
            piece_factor=np.array([factor for _, factor in flat], np.float64),
        )


def _lines(file: str, where: str) -> Iterator[tuple[str, list[str]]]:
    # Yield each line after the header that is not blank: its place, for errors, and its fields.
    try:
        text = Path(file).read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the name
        reason = getattr(error, "strerror", None) or ("is not UTF-8" if isinstance(error, UnicodeError) else error)
        raise InputError(f"{where}: {shown_path(file)}: cannot be read: {reason}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    while True:
        try:
            fields = [value.strip() for value in next(reader)]
        except StopIteration:
            break
        except csv.Error as error:
            raise InputError(f"{where}: {file}: line {reader.line_num}: not CSV: {error}") from None
        place = f"{where}: {file}: line {reader.line_num}"
        if not any(fields):
            continue
        if not header:
            if tuple(fields) != COLUMNS:
                raise InputError(f"{place}: {shown(','.join(fields))}; allowed as the header: {','.join(COLUMNS)}")
            header = fields
            continue
        if len(fields) != len(COLUMNS):
            raise InputError(f"{place}: {len(fields)} fields; allowed: {len(COLUMNS)}, {','.join(COLUMNS)}")
        yield place, fields
    if not header:
        raise InputError(f"{where}: {file}: is empty; its header must be {','.join(COLUMNS)}")


def _plain(text: str) -> bool:
    # Python accepts more spellings of numbers than other programs do.
    return text.isascii() and "_" not in text


def _time_ns(text: str, place: str) -> int:
    try:
        seconds = Decimal(text if _plain(text) else "nan")
    except InvalidOperation:
        seconds = Decimal("nan")
    if not (seconds.is_finite() and 0 <= seconds <= MAX_NS // NS_PER_S):
        raise InputError(f"{place}: time_s: {shown(text)}; allowed: seconds, 0 to {MAX_NS // NS_PER_S}")
    return round(seconds * NS_PER_S)


def _core(text: str, n_cores: int, place: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) < n_cores):
        raise InputError(f"{place}: core: {shown(text)}; allowed: 0 to {n_cores - 1}")
    return int(text)


def _factor(text: str, place: str) -> float:
    try:
        factor = parse_real(text)
    except ValueError:
        factor = float("nan")
    if not 0.0 <= factor <= MAX_FACTOR:
        raise InputError(f"{place}: factor: {shown(text)}; allowed: 0 to {MAX_FACTOR:g}")
    return factor + 0.0  # -0 is 0
