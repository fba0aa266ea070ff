"""Reads tables of jobs with a map of their columns: CSV and the like, JSON and Parquet, plain or compressed.

A map (:mod:`bls.workloads.readers.tables.column_map`) states the meaning and unit of each column. Maps of published logs are in
``maps``; a log is recognised by its columns. docs/how-to/my-log.md explains how to write a map.
:mod:`bls.workloads.readers.tables.reader` reads a table as a whole or in blocks. It needs pyarrow, so other readers do
not import it.
"""
