"""Whether a kernel of ours ever uses a negative index: they must not, as compiled code does not count from the end.

    XDG_CACHE_HOME=DIR python -m tools.negative_indices compare tests/digests.json

Does what ``python -m tools.digests`` does, with kernels that say so on stderr where an index is negative, a line each time, and
goes on as numpy does. What it compiles must not be kept where runs look for it: name an empty folder.
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
    """Run the digests; returns the exit code."""
    if not os.environ.get("XDG_CACHE_HOME"):
        print("XDG_CACHE_HOME: allowed: a folder of its own, for kernels that no run should use", file=sys.stderr)
        return 2
    numba_types.numba_arrays.fix_integer_index = _checked
    return digests.main()


if __name__ == "__main__":
    sys.exit(main())
