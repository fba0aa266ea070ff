"""Check that no kernel of the project uses a negative index, since compiled code does not count from the end.

    XDG_CACHE_HOME=DIR python -m tools.negative_indices compare tests/digests.json

Like ``python -m tools.digests``, but with kernels that report every negative index on stderr, one line each time, and then
continue as numpy does. Their machine code must not be cached where runs find it, so name an empty folder.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from llvmlite import ir
from numba.core import types

from tools import digests
from traces.kernels import numba_types


def _checked(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    if not (kind.signed and builder.function.name.startswith(numba_types._OUR_NAMES)):
        return numba_types._index_of_numba(context, builder, kind, index, size)
    index = context.cast(builder, index, kind, types.intp)
    with builder.if_then(builder.icmp_signed("<", index, ir.Constant(index.type, 0)), likely=False):
        text = context.insert_const_string(builder.module, f"a negative index in {builder.function.name}")
        shape = ir.FunctionType(ir.VoidType(), [text.type])
        says = builder.module.globals.get("perror") or ir.Function(builder.module, shape, "perror")
        builder.call(says, [text])
    return numba_types._index_of_numba(context, builder, types.intp, index, size)


def main() -> int:
    """Run the digests; return the exit code."""
    if not os.environ.get("XDG_CACHE_HOME"):
        print("XDG_CACHE_HOME: allowed: a folder of its own, for kernels that no run should use", file=sys.stderr)
        return 2
    numba_types.numba_arrays.fix_integer_index = _checked
    return digests.main()


if __name__ == "__main__":
    sys.exit(main())
