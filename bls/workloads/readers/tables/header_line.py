"""The first line of a text table: its separator, and the names of its columns."""

import csv
import re

from bls.workloads.readers.tables.named import recognised
from traces.base.errors import InputError

_SEPARATORS = ",\t;|"
_KEY = re.compile(r'"([^"\\]*)"\s*:')


def header_names(line: str, separator: str, source: str) -> tuple[str, ...]:
    """The names of columns in the first line of a CSV file. Raises InputError if it is none."""
    try:
        return tuple(name.strip() for name in next(csv.reader([line], delimiter=separator), []))
    except csv.Error as error:
        raise InputError(f"{source}: line 1: not CSV: {error}") from None


def separator_of(line: str) -> str:
    """The usual separator that is most frequent in a line, outside quotation marks; a comma if there is none."""
    outside = "".join(line.split('"')[::2])
    return max(_SEPARATORS, key=outside.count)


def is_recognised(beginning: str, line: str) -> bool:
    """Whether a map of the project recognises a table, by the text at its beginning and its first line."""
    if line.lstrip().startswith(("{", "[")):
        return recognised(_KEY.findall(beginning)) is not None
    try:
        return recognised(header_names(line, separator_of(line), "")) is not None
    except InputError:
        return False
