"""Reads tables of jobs with a map of their columns: CSV and the like, JSON and Parquet, plain or compressed.

A map (:mod:`bls.workloads.readers.tables.column_map`) says which column means what, in which unit. Those of published logs are
in ``maps``, and recognised by the table's columns. docs/how-to/my-log.md shows how to write one.
:mod:`bls.workloads.readers.tables.reader` reads a table as a whole or in blocks; only it and what it needs import pyarrow.
"""
