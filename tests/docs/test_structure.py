"""What ``tools.structure`` measures, counted by hand on a few lines."""

from __future__ import annotations

from pathlib import Path

from tools.structure import Module, functions_of, measures

TEXT = '''
@compiled(inner=True)
def kernel(a, b, *, c=1):
    for x in a:
        if x:
            b += 1
        elif c:
            while b:
                b -= 1
    return b


class Thing:
    @score_kernel
    def method(self, first, *rest, **named):
        """Said."""

        def inner():
            if first:
                return 1
            return 2

        return inner
'''


def test_lines_parameters_depth_and_kernels() -> None:
    found = {one.where.split()[-1]: one for one in functions_of(Path("a.py"), TEXT)}
    kernel, method, inner = found["kernel"], found["method"], found["inner"]
    assert kernel.where == "a.py:3 kernel"
    # The while is within the elif, which is as deep as its if.
    assert (kernel.lines, kernel.parameters, kernel.depth) == (8, 3, 3)
    assert (method.lines, method.parameters, method.depth) == (9, 3, 0)
    assert (inner.lines, inner.parameters, inner.depth) == (4, 0, 1)
    assert [one.is_kernel for one in (kernel, method, inner)] == [True, True, False]
    assert [one.has_docstring for one in (kernel, method, inner)] == [False, True, False]


def test_measures_of_modules() -> None:
    functions = tuple(functions_of(Path("p/a.py"), TEXT))
    modules = [Module(Path("p/a.py"), 20, functions), Module(Path("p/q/b.py"), 50, ()), Module(Path("p/c.py"), 30, ())]
    found = measures(modules, Path("p"))
    assert found["lines"] == "100"
    assert found["modules at the root"] == "2"
    assert found["module median/p90/max lines"] == "30/50/50"
    assert found["function median/p90/max lines"] == "8/9/9"
    assert found["functions over 60 lines"] == "0 (0.0%)"
    assert found["kernels without docstring"] == "1 of 2"
