"""Figures of one run, from its tables (docs/reference/results.md).

``first_core`` and ``host_names`` are those of ``traces.ledger.MachineShape``; ``releases`` and ``widths`` are the tables of
cores that jobs released before their ends, and got after their starts; ``jobs`` and ``cores`` are half-open intervals of
job numbers and global core numbers, None is all. All functions raise InputError if a column is missing, or there is nothing
to draw.
"""
