"""Copying within kernels, without the temporary array that an assignment of slices makes in case they overlap."""

from traces.compiled import Array, compiled


@compiled(inner=True)
def copy_first(target: Array, source: Array, n: int) -> None:
    """Copy the first ``n`` numbers of a column to another column."""
    for k in range(n):
        target[k] = source[k]
