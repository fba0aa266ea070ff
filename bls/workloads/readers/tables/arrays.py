"""Columns of a table, as Arrow arrays, to numbers, instants, durations and words: numpy arrays with a state for each cell.

Text is binary, so that bytes that are not UTF-8 are no obstacle. A number of floating point is read as its whole part and its
fraction in billionths, rounded half to even.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bls.workloads.readers import sacct_columns
from bls.workloads.readers.lines import number
from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.cells import (
    ABSENT,
    FIRST_YEAR,
    LAST_YEAR,
    READ,
    SKIPPED_HOUR,
    WRONG,
    read_dates,
    read_numbers,
)
from bls.workloads.readers.tables.zones import since_1970
from traces.base.errors import InputError, shown_name
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

_BILLION = 10**9
_EXACT = 2.0**62


class Amounts(NamedTuple):
    """Numbers of cells: ``whole + nano / 10**9``, both with the number's sign."""

    state: Array  # int64 (n,): READ, ABSENT, WRONG or SKIPPED_HOUR
    whole: Array  # int64 (n,), within ±2**62; 0 where there is none
    nano: Array  # int64 (n,), within ±(10**9 - 1)


class CellValues(NamedTuple):
    """Values of cells as whole numbers: instants and durations in ns."""

    state: Array
    value: Array  # int64 (n,); 0 where there is none


def plain(array: Any, name: str, source: str) -> Any:
    """The column as an array that can be read: binary text, numbers, or instants. Raises InputError for other types, as nested
    ones: lists need ``take``."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_string(kind) or pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.binary())
    if pa.types.is_large_string(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_decimal(kind):
        return array.cast(pa.string()).cast(pa.binary())
    if pa.types.is_boolean(kind):
        return array.cast(pa.int8())
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.binary())
    if pa.types.is_float16(kind):
        return array.cast(pa.float64())
    readable = (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_timestamp,
        pa.types.is_date,
        pa.types.is_duration,
    )
    if any(test(kind) for test in readable):
        return array
    nested = "; allowed with take: a list of numbers or texts" if pa.types.is_nested(kind) else ""
    raise InputError(f"{source}: column {shown_name(name)} is of type {kind}{nested}")


def taken(array: Any, take: str, name: str, source: str) -> Any:
    """Take a part of each list of a column, as its first element or its sum; missing where a list is missing or, except for
    count, empty. Sums and means are computed in floating point."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.int64())
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise InputError(f"{source}: column {shown_name(name)} is of type {array.type}; allowed with take: a list")
    if take == "count":
        return pc.list_value_length(array)
    inner = array.type.value_type
    is_number = pa.types.is_integer(inner) or pa.types.is_floating(inner)
    if pa.types.is_nested(inner) or not (is_number or take in ("first", "last")):
        what = f"is a list of {inner}; allowed with take {take}: a list of numbers"
        raise InputError(f"{source}: column {shown_name(name)} {what}")
    lengths = np.asarray(pc.fill_null(pc.list_value_length(array), 0)).astype(np.int64)
    values = array.flatten()
    first = np.concatenate([[0], np.cumsum(lengths)])
    there = lengths > 0
    if take in ("first", "last"):
        place = pa.array(np.where(there, first[:-1] if take == "first" else first[1:] - 1, 0), mask=~there)
        return values.take(place)
    plain_values = np.asarray(pc.fill_null(values, 0)).astype(np.float64)
    found = np.zeros(len(array))
    if len(plain_values):
        operate = np.maximum if take == "max" else np.add
        found[there] = operate.reduceat(plain_values, first[:-1][there])
    if take == "mean":
        found = found / np.maximum(lengths, 1)
    return pa.array(found, mask=~there)


def _text(array: Any) -> tuple[Array, Array]:
    # The bytes of a binary array, and the beginning of each cell, with the end of the last.
    large = pa.types.is_large_binary(array.type)
    _, first, data = array.buffers()
    starts = np.frombuffer(first, np.int64 if large else np.int32)[array.offset : array.offset + len(array) + 1]
    text = np.zeros(0, np.int8) if data is None else np.frombuffer(data, np.int8)
    return text, starts.astype(np.int64)


def _absent(array: Any) -> Array:
    return np.asarray(pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False))


def is_text(array: Any) -> bool:
    """Whether the cells of the array are text."""
    return bool(pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type))


def is_word(array: Any, words: Sequence[str]) -> Array:
    """Whether each cell is one of some words, without blanks at its ends; bool, shape (n,)."""
    if not words:
        return np.zeros(len(array), bool)
    if is_text(array):
        known = pa.array([word.encode() for word in words], array.type)
        return np.asarray(pc.is_in(array, known).to_numpy(zero_copy_only=False))
    numbers = [value for word in words if (value := number(word)) is not None]
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        values = np.asarray(pc.fill_null(array, 0))
        return np.isin(values, np.array([float(value) for value in numbers])) & ~_absent(array)
    return np.zeros(len(array), bool)


def _of_text(array: Any) -> Amounts:
    text, first = _text(array)
    found = np.empty((3, len(array)), np.int64)
    read_numbers(text, first, found)
    return Amounts(found[0], found[1], found[2])


def amounts(array: Any, name: str, source: str, missing: Sequence[str]) -> Amounts:
    """The numbers of a column. Raises InputError if its type holds none."""
    n = len(array)
    if is_text(array):
        found = _of_text(array)
        _mark_absent(found.state, array, missing)
        return _without(found, missing)
    state = np.where(_absent(array), ABSENT, READ).astype(np.int64)
    zero = np.zeros(n, np.int64)
    if pa.types.is_integer(array.type):
        values = np.asarray(pc.fill_null(array, 0))
        too_large = (values > MAX_NS) | (values < -MAX_NS) if values.dtype.itemsize == 8 else np.zeros(n, bool)
        state[too_large & (state == READ)] = WRONG
        return _without(Amounts(state, np.where(too_large, 0, values).astype(np.int64), zero), missing)
    if pa.types.is_floating(array.type):
        values = np.asarray(pc.fill_null(array, 0.0)).astype(np.float64)
        wrong = (state == READ) & ~(np.abs(values) < _EXACT)
        state[wrong] = WRONG
        values = np.where(state == READ, values, 0.0)
        whole = np.trunc(values)
        nano = np.rint((values - whole) * 1e9).astype(np.int64)
        over = np.abs(nano) == _BILLION
        found = Amounts(state, whole.astype(np.int64) + np.where(over, np.sign(nano), 0), np.where(over, 0, nano))
        return _without(found, missing)
    raise InputError(f"{source}: column {shown_name(name)} is of type {array.type}; allowed: numbers")


def _without(found: Amounts, missing: Sequence[str]) -> Amounts:
    """Mark numbers that mean a missing value, as 0 may."""
    for word in missing[len(cm.MISSING) :]:
        if (value := number(word)) is not None and value.copy_abs() <= MAX_NS:
            whole, nano = int(value), int((value - int(value)).scaleb(9))
            found.state[(found.whole == whole) & (found.nano == nano) & (found.state == READ)] = ABSENT
    return found


def _mark_absent(state: Array, array: Any, missing: Sequence[str]) -> None:
    """Mark the cells that cannot be read, and are missing or hold a word for a missing value."""
    if array.null_count:
        state[_absent(array)] = ABSENT
    wrong = np.flatnonzero(state == WRONG)
    if len(wrong):
        there = array.take(pa.array(wrong))
        state[wrong[is_word(trimmed(there), missing)]] = ABSENT


def is_empty(array: Any) -> Array:
    """Whether each cell of a text column is empty, but not missing; bool, shape (n,)."""
    return np.asarray(pc.fill_null(pc.equal(pc.binary_length(array), 0), False).to_numpy(zero_copy_only=False))


def joined(several: Sequence[Any]) -> Any:
    """The cells of several columns, as one."""
    return pa.chunked_array(several).combine_chunks()


def at_rows(array: Any, rows: Array) -> Any:
    """The cells at some rows; missing where a row is negative."""
    return array.take(pa.array(np.maximum(rows, 0), mask=rows < 0))


def texts(words: Sequence[str]) -> Any:
    """A text column."""
    return pa.array([word.encode() for word in words], pa.binary())


def trimmed(array: Any) -> Any:
    """A text column without blanks at the ends of its cells; few cells or distinct ones, as it is done in Python."""
    if not is_text(array):
        return array
    return pa.array([None if cell is None else cell.strip() for cell in array.to_pylist()], array.type)


def times_ns(found: Amounts, unit_ns: int) -> CellValues:
    """Amounts of a unit in ns, rounded half to even; ±(2**62 + 1) for any that is beyond ±2**62."""
    too_large = np.abs(found.whole) > MAX_NS // unit_ns
    value = np.where(too_large, 0, found.whole) * unit_ns
    if found.nano.any() and unit_ns >= _BILLION:
        value = value + found.nano * (unit_ns // _BILLION)
    elif found.nano.any():
        part, rest = np.divmod(found.nano * unit_ns, _BILLION)
        up = (2 * rest > _BILLION) | ((2 * rest == _BILLION) & ((value + part) % 2 == 1))
        value = value + part + up
    beyond = too_large | (np.abs(value) > MAX_NS)
    return CellValues(found.state, np.where(beyond, np.where(found.whole < 0, -MAX_NS - 1, MAX_NS + 1), value))


def counts(found: Amounts, times: int, of_one: int) -> CellValues:
    """Amounts × ``times`` / ``of_one``, rounded up; WRONG beyond ±2**62."""
    too_large = np.abs(found.whole) > MAX_NS // times
    whole = np.where(too_large, 0, found.whole) * times
    more = np.zeros(len(whole), bool)
    if found.nano.any():
        part, rest = np.divmod(found.nano * times, _BILLION)
        whole, more = whole + part, rest > 0
    if of_one > 1:
        whole, left = np.divmod(whole, of_one)
        more = more | (left > 0)
    value = whole + more
    beyond = too_large | (np.abs(value) > MAX_NS)
    return CellValues(np.where(beyond & (found.state == READ), WRONG, found.state), np.where(beyond, 0, value))


def kilobytes(found: Amounts, unit_kb: int) -> CellValues:
    """Amounts of memory in KB, rounded up; ``unit_kb`` 0: of bytes."""
    return counts(found, 1, 1024) if unit_kb == 0 else counts(found, unit_kb, 1)


def constant(value: str, n: int) -> Amounts:
    """The same number ``n`` times; WRONG if the text is no number."""
    one = amounts(pa.array([value.encode()]), "", "", ())
    return Amounts(*(np.repeat(values, n) for values in one))


def instants(array: Any, spec: cm.SourceColumn, zone: str, source: str) -> CellValues:
    """The instants of a column in ns: dates since 1970, numbers since 1970 or the log's own time 0."""
    name = spec.column
    local = spec.zone or zone
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _timestamps(array, spec, local)
    if spec.unit.startswith("%"):
        return _by_word(array, spec, lambda word: _strptime(word, spec.unit), local)
    if spec.unit == "iso" and not is_text(array):
        raise InputError(f"{source}: column {shown_name(name)} is of type {array.type}; allowed with unit iso: dates")
    if is_text(array) and spec.unit in ("iso", "auto"):
        text, first = _text(array)
        found = np.empty((4, len(array)), np.int64)
        read_dates(text, first, found)
        values = _in_zone(found[0], found[1], found[2], found[3] == 0, spec, local)
        is_number = values.state == WRONG
        if spec.unit == "auto" and is_number.any():
            numbers = times_ns(_without(_of_text(array), spec.missing), spec.unit_ns)
            values = CellValues(
                np.where(is_number, numbers.state, values.state), np.where(is_number, numbers.value, values.value)
            )
        _mark_absent(values.state, array, spec.missing)
        if own := spec.missing[len(cm.MISSING) :]:
            values.state[is_word(trimmed_distinct(array), own)] = ABSENT
        return values
    return times_ns(amounts(array, name, source, spec.missing), spec.unit_ns)


def _in_zone(
    state: Array, seconds: Array, nano: Array, is_local: Array, spec: cm.SourceColumn, zone: str
) -> CellValues:
    """Instants in ns; those that are local have no offset yet."""
    local = np.flatnonzero(is_local & (state == READ)) if zone else np.zeros(0, np.int64)
    if len(local):
        state, seconds = state.copy(), seconds.copy()
        seconds[local], skipped = since_1970(seconds[local], cm.zone_of(zone), spec.repeated)
        if spec.skipped == "reject":
            state[local[skipped]] = SKIPPED_HOUR
        early = local[seconds[local] < 0]
        state[early] = WRONG
    value = np.where(state == READ, seconds * NS_PER_S + nano, 0)
    return CellValues(np.where(value > MAX_NS, WRONG, state), np.where(value > MAX_NS, 0, value))


_LAST_S = int(datetime(LAST_YEAR + 1, 1, 1).timestamp()) + 86_400
_UNITS_OF_TYPE = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _timestamps(array: Any, spec: cm.SourceColumn, zone: str) -> CellValues:
    assert FIRST_YEAR == 1970
    absent = _absent(array)
    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("s"))
    per_s = _UNITS_OF_TYPE[array.type.unit]
    exact = array.type.tz is not None
    ticks = np.asarray(pc.fill_null(array.cast(pa.int64()), 0))
    seconds, rest = np.divmod(ticks, per_s)
    state = np.where(absent, ABSENT, READ).astype(np.int64)
    state[(state == READ) & ((seconds < 0) | (seconds >= _LAST_S))] = WRONG
    seconds = np.where(state == READ, seconds, 0)
    return _in_zone(state, seconds, rest * (_BILLION // per_s), np.full(len(array), not exact), spec, zone)


def _strptime(word: str, form: str) -> tuple[int, int, int, int]:
    """State, seconds since 1970, billionths, and 1 for an exact date, of a word in a format of strptime."""
    try:
        found = datetime.strptime(word, form)
    except ValueError:
        return WRONG, 0, 0, 0
    exact = found.tzinfo is not None
    since = found - datetime(1970, 1, 1, tzinfo=found.tzinfo)
    offset = found.utcoffset()
    seconds = since.days * 86_400 + since.seconds - (int(offset.total_seconds()) if offset else 0)
    fits = FIRST_YEAR <= found.year <= LAST_YEAR and seconds >= 0
    return (READ, seconds, found.microsecond * 1000, int(exact)) if fits else (WRONG, 0, 0, 0)


def _by_word(
    array: Any, spec: cm.SourceColumn, of: Callable[[str], tuple[int, int, int, int]], zone: str
) -> CellValues:
    place, words = distinct_words(array)
    table = np.array([(ABSENT, 0, 0, 0) if word in spec.missing else of(word) for word in words] or [(ABSENT, 0, 0, 0)])
    found = table[place].T
    return _in_zone(found[0], found[1], found[2], found[3] == 0, spec, zone)


def durations(array: Any, spec: cm.SourceColumn, source: str) -> CellValues:
    """The durations of a column in ns; an infinite one is ABSENT."""
    if pa.types.is_duration(array.type):
        per_s = _UNITS_OF_TYPE[array.type.unit]
        whole = np.asarray(pc.fill_null(array.cast(pa.int64()), 0))
        state = np.where(_absent(array), ABSENT, READ).astype(np.int64)
        values = times_ns(Amounts(state, whole, np.zeros(len(whole), np.int64)), _BILLION // per_s)
    elif spec.unit == "clock":
        values = _clocks(array, spec)
    else:
        clocks = spec.unit == "auto" and is_text(array)
        found = _without(_of_text(array), spec.missing) if clocks else amounts(array, spec.column, source, spec.missing)
        values = times_ns(found, spec.unit_ns)
        if clocks and (values.state == WRONG).any():
            other = _clocks(array, spec)
            is_clock = values.state == WRONG
            values = CellValues(
                np.where(is_clock, other.state, values.state), np.where(is_clock, other.value, values.value)
            )
        elif clocks and array.null_count:
            values.state[_absent(array)] = ABSENT
    if spec.infinite:
        infinite = is_word(trimmed_distinct(array), spec.infinite)
        values = CellValues(np.where(infinite, ABSENT, values.state), np.where(infinite, 0, values.value))
    return values


def _clocks(array: Any, spec: cm.SourceColumn) -> CellValues:
    place, words = distinct_words(array)
    found = [clock_ns(word) for word in words]
    states = [
        ABSENT if word in spec.missing else WRONG if ns is None else READ for word, ns in zip(words, found, strict=True)
    ]
    table = np.array([states or [ABSENT], [ns or 0 for ns in found] or [0]], np.int64)
    return CellValues(table[0][place], table[1][place])


def clock_ns(word: str) -> int | None:
    """A duration as ``1-02:03:04``, ``02:03:04``, ``03:04`` or ``1 days 02:03:04`` in ns; None for any other word."""
    days, mark, rest = word.replace(",", "").partition(" day")
    return sacct_columns.timespan_ns(f"{days}-{rest.lstrip('s').strip()}" if mark else word)


def distinct_words(array: Any) -> tuple[Array, list[str]]:
    """The index of each cell's word in the list of distinct words, and these in order of appearance; a missing cell is the word
    "". Whole numbers in floating point have no point."""
    encoded = array.dictionary_encode()
    words = [word_of(cell) for cell in encoded.dictionary.to_pylist()]
    place = np.asarray(pc.fill_null(encoded.indices, len(words))).astype(np.int64)
    return place, [*words, ""]


def word_of(cell: Any) -> str:
    """A cell's content as a word."""
    if cell is None:
        return ""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace").strip()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def trimmed_distinct(array: Any) -> Any:
    """A text column without blanks at the ends of its cells."""
    if not is_text(array):
        return array
    encoded = array.dictionary_encode()
    return trimmed(encoded.dictionary).take(encoded.indices)


def resource_counts(array: Any, names: Sequence[str], missing: Sequence[str]) -> Amounts:
    """The sums of the counts of some of Slurm's resources in words such as ``cpu=4,gres/gpu=2``; 0 of a resource that a word
    does not name."""
    place, words = distinct_words(array)
    found = [sum(max(0, sacct_columns.tres_count(word, name)) for name in names) for word in words]
    states = np.array([ABSENT if word in missing else READ for word in words], np.int64)
    whole = np.array(found, np.int64)[place]
    return Amounts(states[place], whole, np.zeros(len(place), np.int64))
