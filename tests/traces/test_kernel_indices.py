"""No kernel of ours counts from the end of an array, which its machine code could not; a user's may."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator

import numpy as np

from traces.compiled import compiled
from traces.kernels.catalogue import kernel_modules
from traces.kernels.declared import OURS, Kernel
from traces.kernels.signatures import Ints


def _negative(kernel: Kernel) -> Iterator[str]:
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kernel.py_func)))):
        if isinstance(node, ast.Subscript):
            places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if any(isinstance(place, ast.UnaryOp) and isinstance(place.op, ast.USub) for place in places):
                yield ast.unparse(node)


def test_no_kernel_of_ours_counts_from_the_end() -> None:
    assert kernel_modules()  # which imports them, and so those whose kernels are others' alone
    ours = [module for name, module in tuple(sys.modules.items()) if name.partition(".")[0] in OURS]
    kernels = {one for module in ours for one in vars(module).values() if isinstance(one, Kernel)}
    assert len(kernels) > 400
    assert {repr(one): found for one in kernels if (found := list(_negative(one)))} == {}


@compiled()
def _from_the_end(values: Ints, k: int) -> int:
    return int(values[-1] + values[-k])


def test_a_kernel_of_a_user_may_count_from_the_end() -> None:
    assert _from_the_end(np.array([1, 20, 300]), 2) == 320
