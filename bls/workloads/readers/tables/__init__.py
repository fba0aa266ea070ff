"""Reads tables of jobs with a map of their columns: CSV and the like, JSON and Parquet, plain or compressed.

A map (:mod:`bls.workloads.readers.tables.column_map`) says which column means what, in which unit. Those of published logs are
in ``maps``, and recognised by the table's columns. docs/how-to/my-log.md shows how to write one.
"""

from bls.workloads.readers.tables.reader import read_table as read_table
from bls.workloads.readers.tables.reader import table_blocks as table_blocks


def is_recognised(beginning: str, line: str) -> bool:
    """Whether a map of the project recognises a table, by the text at its beginning and its first line."""
    import csv
    import re

    from bls.workloads.readers.tables.named import recognised

    if line.lstrip().startswith(("{", "[")):
        return recognised(re.findall(r'"([^"\\]*)"\s*:', beginning)) is not None
    separator = max(",\t;|", key=line.count)
    return recognised(name.strip() for name in next(csv.reader([line], delimiter=separator), [])) is not None
