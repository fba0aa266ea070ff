"""Converts columns of a table, Arrow arrays, to numbers, instants, durations and words: numpy arrays, with a state per cell.

Text is binary, so that bytes that are not UTF-8 are no obstacle. A number of floating point is read as its whole part and its
fraction in billionths, rounded half to even.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bls.workloads.readers import sacct_columns
from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.cells import ABSENT, READ, SKIPPED_HOUR, WRONG, read_dates, read_numbers
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


_TYPES: tuple[tuple[Callable[[Any], bool], Any], ...] = (
    (pa.types.is_string, pa.binary()),
    (pa.types.is_string_view, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
    (pa.types.is_large_string, pa.large_binary()),
    (pa.types.is_null, pa.binary()),
    (pa.types.is_boolean, pa.int8()),
    (pa.types.is_float16, pa.float64()),
)  # types that are converted


def plain(array: Any, name: str, source: str) -> Any:
    """The column as an array that can be read: binary text without missing cells, numbers, or instants. Raises InputError for
    other types, as nested ones: lists need ``take``."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_fixed_size_binary(array.type):  # as of UUIDs
        array = pa.array([None if cell is None else cell.hex() for cell in array.to_pylist()], pa.string())
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())
    for test, kind in _TYPES:
        if test(array.type):
            array = array.cast(kind)
    if is_text(array):
        return array.fill_null(b"") if array.null_count else array
    if is_number(array.type) or any(str(array.type).startswith(kind) for kind in ("timestamp", "date", "duration")):
        return array
    allowed = ""
    if pa.types.is_struct(array.type):
        allowed = f"; allowed: its fields, as {shown_name(name)}.NAME"
    elif pa.types.is_nested(array.type):
        allowed = "; allowed with take: a list of numbers or texts"
    raise InputError(f"{source}: column {shown_name(name)} is of type {array.type}{allowed}")


def taken(array: Any, take: str, name: str, source: str) -> Any:
    """Take a part of each list of a column, as its first element or its sum; missing where a list is missing or, except for
    count, empty. Missing elements do not count."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.int64())
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type)):
        raise InputError(f"{source}: column {shown_name(name)} is of type {array.type}; allowed with take: a list")
    if take == "count":
        return pc.list_value_length(array)
    inner = array.type.value_type
    if pa.types.is_nested(inner) or not (is_number(inner) or take in ("first", "last")):
        what = f"is a list of {inner}; allowed with take {take}: a list of numbers"
        raise InputError(f"{source}: column {shown_name(name)} {what}")
    elements = pa.table({"row": pc.list_parent_indices(array), "value": pc.list_flatten(array)})
    found = elements.group_by("row", use_threads=False).aggregate([("value", take)])
    place = np.full(len(array), -1)
    place[found["row"].to_numpy()] = np.arange(len(found))
    return at_rows(found[f"value_{take}"].combine_chunks(), place)


def is_number(kind: Any) -> bool:
    """Whether a type is of numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _text(array: Any) -> tuple[Array, Array]:
    # The bytes of a binary array; the beginning of each cell and the end of the last.
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


def holds(array: Any, words: Container[str]) -> Array:
    """Whether each cell is one of some words, without blanks at its ends; bool, shape (n,)."""
    place, distinct = distinct_words(array)
    return np.array([word in words for word in distinct])[place]


def _numbers(array: Any, name: str, source: str) -> Amounts:
    """The numbers of a column; words for missing values are WRONG."""
    if is_text(array):
        text, first = _text(array)
        found = np.empty((3, len(array)), np.int64)
        read_numbers(text, first, found)
        return Amounts(*found)
    if not is_number(array.type):
        raise InputError(f"{source}: column {shown_name(name)} is of type {array.type}; allowed: numbers")
    values = np.asarray(pc.fill_null(array, 0))
    if pa.types.is_integer(array.type):
        fits = (values <= MAX_NS) & (values >= -MAX_NS)
        whole, nano = np.where(fits, values, 0).astype(np.int64), np.zeros(len(values), np.int64)
    else:
        values = values.astype(np.float64)
        fits = np.abs(values) < _EXACT
        values = np.where(fits, values, 0.0)
        whole = np.trunc(values).astype(np.int64)
        nano = np.rint((values - whole) * 1e9).astype(np.int64)
        is_one = np.abs(nano) == _BILLION
        whole, nano = whole + np.where(is_one, np.sign(nano), 0), np.where(is_one, 0, nano)
    return Amounts(np.where(_absent(array), ABSENT, np.where(fits, READ, WRONG)), whole, nano)


def amounts(array: Any, spec: cm.SourceColumn, source: str) -> Amounts:
    """The numbers of a column. Raises InputError if its type holds none."""
    found = _numbers(array, spec.column, source)
    _mark_absent(found.state, array, spec.missing)
    return found


def _mark_absent(state: Array, array: Any, missing: Sequence[str]) -> None:
    """Mark the cells with a word for a missing value. Only words of the map's own may also be values, as 0."""
    rows = np.flatnonzero(state == WRONG) if set(missing) <= set(cm.MISSING) else np.arange(len(state))
    if len(rows):
        state[rows[holds(array.take(pa.array(rows)), missing)]] = ABSENT


def is_empty(array: Any) -> Array:
    """Whether each cell of a text column is empty, but not missing; bool, shape (n,)."""
    return np.asarray(pc.fill_null(pc.equal(pc.binary_length(array), 0), False).to_numpy(zero_copy_only=False))


def joined(several: Sequence[Any]) -> Any:
    """The cells of several columns, as one."""
    return pa.chunked_array(several).combine_chunks()


def at_rows(array: Any, rows: Array) -> Any:
    """The cells at some rows; missing where a row is negative."""
    return array.take(pa.array(np.maximum(rows, 0), mask=rows < 0))


def appearing(numbers: Array) -> list[int]:
    """The distinct numbers of an array, in order of appearance."""
    return list(pc.unique(pa.array(numbers)).to_pylist())


def texts(words: Sequence[str]) -> Any:
    """A text column."""
    return pa.array([word.encode() for word in words], pa.binary())


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


def instants(array: Any, spec: cm.SourceColumn, zone: str, source: str) -> CellValues:
    """The instants of a column in ns: dates since 1970, numbers since 1970 or the log's own time 0."""
    local = spec.zone or zone
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _timestamps(array, spec, local)
    if spec.unit.startswith("%"):
        place, words = distinct_words(array)
        array = texts([word if word in spec.missing else _iso(word, spec.unit) for word in words]).take(pa.array(place))
    if is_text(array) and spec.unit not in cm.TIME_UNITS:
        text, first = _text(array)
        found = np.empty((4, len(array)), np.int64)
        read_dates(text, first, found)
        values = _in_zone(found[0], found[1], found[2], found[3] == 0, spec, local)
        rows = np.flatnonzero(values.state == WRONG)
        if len(rows) and spec.unit == "auto":
            numbers = _numbers(array.take(pa.array(rows)), spec.column, source)
            values.state[rows], values.value[rows] = times_ns(numbers, spec.unit_ns)
    elif spec.unit == "iso":
        what = f"is of type {array.type}; allowed with unit iso: dates"
        raise InputError(f"{source}: column {shown_name(spec.column)} {what}")
    else:
        values = times_ns(_numbers(array, spec.column, source), spec.unit_ns)
    _mark_absent(values.state, array, spec.missing)
    return values


def _iso(word: str, form: str) -> str:
    """A date in a format of strptime, as read by :func:`read_dates`; a word that is none if it does not fit."""
    try:
        return datetime.strptime(word, form).isoformat()
    except ValueError:
        return "?"


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


_LAST_S = MAX_NS // NS_PER_S + 86_400  # later dates are beyond 2**62 ns in any zone
_UNITS_OF_TYPE = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _timestamps(array: Any, spec: cm.SourceColumn, zone: str) -> CellValues:
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


def durations(array: Any, spec: cm.SourceColumn, source: str) -> CellValues:
    """The durations of a column in ns; an infinite one is ABSENT."""
    n = len(array)
    if pa.types.is_duration(array.type):
        whole = np.asarray(pc.fill_null(array.cast(pa.int64()), 0))
        found = Amounts(np.where(_absent(array), ABSENT, READ), whole, np.zeros(n, np.int64))
        return times_ns(found, _BILLION // _UNITS_OF_TYPE[array.type.unit])
    if spec.unit == "clock":
        values = CellValues(np.full(n, WRONG), np.zeros(n, np.int64))
    else:
        values = times_ns(_numbers(array, spec.column, source), spec.unit_ns)
    rows = np.flatnonzero(values.state == WRONG)
    if len(rows) and (spec.unit == "clock" or (spec.unit == "auto" and is_text(array))):
        place, words = distinct_words(array.take(pa.array(rows)))
        clocks = [clock_ns(word) for word in words]
        values.state[rows] = np.array([WRONG if ns is None else READ for ns in clocks])[place]
        values.value[rows] = np.array([ns or 0 for ns in clocks], np.int64)[place]
    _mark_absent(values.state, array, spec.missing)
    if spec.infinite:
        values.state[holds(array, spec.infinite)] = ABSENT
    return values


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
        return cell.decode("utf-8", "backslashreplace").strip()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def resource_counts(array: Any, spec: cm.SourceColumn) -> Amounts:
    """The sums of the counts of some of Slurm's resources in words such as ``cpu=4,gres/gpu=2``; 0 of a resource that a word
    does not name."""
    place, words = distinct_words(array)
    found = [sum(max(0, sacct_columns.tres_count(word, name)) for name in spec.tres) for word in words]
    states = np.array([ABSENT if word in spec.missing else READ for word in words], np.int64)
    return Amounts(states[place], np.array(found, np.int64)[place], np.zeros(len(place), np.int64))
