"""Reads tables of jobs with a map of their columns: CSV and the like, JSON and Parquet, plain or compressed.

A map (:mod:`bls.workloads.readers.tables.column_map`) says which column means what, in which unit. Those of published logs are
in ``maps``, and recognised by the table's columns. docs/how-to/my-log.md shows how to write one.
"""

import re

from bls.workloads.readers.tables.named import recognised
from bls.workloads.readers.tables.reader import read_table as read_table
from bls.workloads.readers.tables.reader import table_blocks as table_blocks
from bls.workloads.readers.tables.sources import header_names, separator_of
from traces.base.errors import InputError

_KEY = re.compile(r'"([^"\\]*)"\s*:')


def is_recognised(beginning: str, line: str) -> bool:
    """Whether a map of the project recognises a table, by the text at its beginning and its first line."""
    if line.lstrip().startswith(("{", "[")):
        return recognised(_KEY.findall(beginning)) is not None
    try:
        return recognised(header_names(line, separator_of(line), "")) is not None
    except InputError:
        return False
