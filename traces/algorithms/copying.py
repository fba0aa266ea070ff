"""Copying within kernels: an assignment of slices makes an array in between, in case that they overlap."""

from traces.compiled import Array, compiled


@compiled(inner=True)
def copy_first(target: Array, source: Array, n: int) -> None:
    """Copy the first ``n`` numbers of a column; the two do not overlap."""
    for k in range(n):
        target[k] = source[k]
