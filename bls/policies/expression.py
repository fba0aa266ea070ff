"""``expr:EXPRESSION``: a score that the user writes as an expression over the numbers of a job.

Python's parser parses the text, and every node of the tree is checked: numbers, the names of
docs/reference/batch-orders.md ("Expressions"), arithmetic and a few functions are allowed. The result is a postfix program,
evaluated by one kernel for all expressions; the text is never executed. As in CQSim, the job with the largest score is first.
Operators are those of Python on floats. Every intermediate value must be finite, even if the result does not depend on it.
"""

import ast
import math
import re
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

from bls.options import BLS, PLATFORM
from bls.policies.contract import KnownJobs, Policy, ScorePolicy, same_memory, score_kernel
from traces.base.errors import InputError, shown
from traces.base.plugins import is_number
from traces.compiled import Array, compiled, own
from traces.kernels.signatures import Floats, Floats2, Ints

NAMES = ("s", "t", "n", "w", "z", "l", "power_w", "energy_j", "gpus")

POWERED = frozenset(("power_w", "energy_j"))  #: names that need the power of the platform
MAX_LENGTH = 1000  #: largest length of an expression, in characters, and largest number of nested operations
MAX_DEPTH = 100

# Opcodes: first those that push a value onto the stack (the names in the order of NAMES, then a constant), then those that
# change the top value, then those that combine the two top values.
_NAME = 0
_CONSTANT = 9
_NEGATE, _ABS, _SQRT, _LOG, _LOG2, _LOG10, _EXP = range(10, 17)
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _FLOOR_DIVIDE, _REMAINDER, _POWER, _MIN, _MAX = range(17, 26)

_UNARY = {"abs": _ABS, "sqrt": _SQRT, "log": _LOG, "log2": _LOG2, "log10": _LOG10, "exp": _EXP}
_FOLDED = {"min": _MIN, "max": _MAX}

#: The functions: min and max of two or more values, the others of one; log is the natural logarithm.
FUNCTIONS = (*_FOLDED, *_UNARY)

_OPERATORS: dict[type[ast.operator], int] = {
    ast.Add: _ADD, ast.Sub: _SUBTRACT, ast.Mult: _MULTIPLY, ast.Div: _DIVIDE, ast.FloorDiv: _FLOOR_DIVIDE,
    ast.Mod: _REMAINDER, ast.Pow: _POWER,
}  # fmt: skip

_ALLOWED = f"allowed: numbers, {' '.join(NAMES)}, + - * / // % ** ( ), {' '.join(FUNCTIONS)}"
_FOREIGN = re.compile(r"[^A-Za-z0-9_ .,+\-*/%()]")

# Above this, exp(v) exceeds every float.
_EXP_LIMIT = math.log(np.finfo(float).max)

# Indices in `memory`: the cores of the machine, the depth of the stack, then pairs (opcode, operand).
_CORES, _DEPTH, _CODE = 0, 1, 2

# Number of jobs evaluated together: each instruction is decoded once for all of them, and their values stay in the cache.
_BLOCK = 256


@dataclass(frozen=True)
class ExpressionCode:
    """A checked expression."""

    text: str  # the expression as the user wrote it
    code: tuple[tuple[int, float], ...]  # opcodes with their operands, in postfix order
    depth: int  # largest number of values on the stack
    names: frozenset[str]  # the names of :data:`NAMES` that it uses

    @property
    def by_estimates(self) -> bool:
        """Whether the scores depend on the requested run time of the job itself."""
        return not self.names.isdisjoint(("t", "energy_j"))

    @property
    def dynamic(self) -> bool:
        """Whether the scores change with time."""
        return not self.names.isdisjoint("wl")

    def memory(self, n_cores: int) -> Array:
        """The input of :func:`evaluate`, float64, for ``n_cores`` (0: unknown). Raises ValueError if z is used and unknown."""
        if "z" in self.names and n_cores < 1:
            raise ValueError("z is asked for, but how many cores the machine has is not known")
        return np.array([n_cores, self.depth, *(number for pair in self.code for number in pair)], np.float64)


def parse(text: str, where: str = "expression") -> ExpressionCode:
    """The program of an expression. Raises InputError, with the column from 1, if it is not a valid expression."""
    text = text.strip(" ")
    start = f"{where}: {shown(text)}"
    if len(text) > MAX_LENGTH:
        raise InputError(f"{start}: {len(text)} characters; allowed: at most {MAX_LENGTH}")
    if foreign := _FOREIGN.search(text):
        raise InputError(f"{start}: column {foreign.start() + 1}: {shown(foreign[0])} is not allowed; {_ALLOWED}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of some expressions that are refused below
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        column = min(error.offset or 1, len(text) + 1)
        raise InputError(f"{start}: column {column}: {error.msg}; {_ALLOWED}") from None
    except (ValueError, RecursionError, MemoryError):
        raise InputError(f"{start}: too deep; allowed: {MAX_DEPTH} operations within one another") from None
    maker = _Maker(start, text)
    depth = maker.add(tree.body, 1)
    return ExpressionCode(text, tuple(maker.code), depth, frozenset(maker.names))


class _Maker:
    """Walks the syntax tree of a text and writes its program. Every error begins with ``start``."""

    def __init__(self, start: str, text: str) -> None:
        self.start = start
        self.text = text
        self.code: list[tuple[int, float]] = []
        self.names: set[str] = set()

    def error(self, node: ast.expr, what: str) -> InputError:
        return InputError(f"{self.start}: column {node.col_offset + 1}: {what}")

    def add(self, node: ast.expr, depth: int) -> int:
        """Write the instructions for a node; returns the largest number of values on the stack meanwhile."""
        if depth > MAX_DEPTH:
            raise self.error(node, f"too deep; allowed: {MAX_DEPTH} operations within one another")
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return self.push(_CONSTANT, self.constant(node, value))
            case ast.Name(id=name) if name in NAMES:
                self.names.add(name)
                return self.push(_NAME + NAMES.index(name), 0.0)
            case ast.Name(id=name):
                raise self.error(node, f"unknown name {shown(name)}; allowed: {', '.join(NAMES)}")
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.add(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.fold(_NEGATE, [operand], depth)
            case ast.BinOp(op=operator, left=left, right=right) if type(operator) in _OPERATORS:
                return self.fold(_OPERATORS[type(operator)], [left, right], depth)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                if name not in FUNCTIONS:
                    raise self.error(node, f"unknown function {shown(name)}; allowed: {', '.join(FUNCTIONS)}")
                if (len(arguments) < 2) if name in _FOLDED else (len(arguments) != 1):
                    allowed = "two or more" if name in _FOLDED else "one"
                    raise self.error(node, f"{name} of {len(arguments)} values; allowed: {allowed}")
                return self.fold((_FOLDED | _UNARY)[name], arguments, depth)
        raise self.error(node, f"{shown(self.text[node.col_offset : node.end_col_offset])} is not allowed; {_ALLOWED}")

    def push(self, opcode: int, operand: float) -> int:
        self.code.append((opcode, operand))
        return 1

    def fold(self, opcode: int, operands: list[ast.expr], depth: int) -> int:
        """An operation on one value, or on all of them from left to right."""
        highest = self.add(operands[0], depth + 1)
        if len(operands) == 1:
            self.code.append((opcode, 0.0))
        for operand in operands[1:]:
            highest = max(highest, 1 + self.add(operand, depth + 1))
            self.code.append((opcode, 0.0))
        return highest

    def constant(self, node: ast.expr, value: float) -> float:
        written = self.text[node.col_offset : node.end_col_offset]
        if not is_number(written):  # Python's syntax also has 1_0 and 0x1F
            raise self.error(node, f"{shown(written)} is not a number; {_ALLOWED}")
        try:
            number = float(value)
        except OverflowError:  # an integer beyond every float
            number = math.inf
        if not math.isfinite(number):
            raise self.error(node, f"the number is too large; allowed: at most {np.finfo(float).max:g}")
        return number


@compiled(inner=True)
def _change(opcode: int, x: Array, count: int) -> None:
    """One operation on each of the first values of x. Undefined results become NaN, where Python itself would raise."""
    for k in range(count):
        v = x[k]
        if opcode == _NEGATE:
            x[k] = -v
        elif opcode == _ABS:
            x[k] = abs(v)
        elif opcode == _SQRT:
            x[k] = math.sqrt(v) if v >= 0.0 else math.nan
        elif opcode == _EXP:
            x[k] = math.exp(v) if v <= _EXP_LIMIT else math.inf
        elif not v > 0.0:
            x[k] = math.nan
        elif opcode == _LOG:
            x[k] = math.log(v)
        elif opcode == _LOG2:
            x[k] = math.log2(v)
        else:
            x[k] = math.log10(v)


@compiled(inner=True)
def _combine(opcode: int, x: Array, y: Array, count: int) -> None:
    """One operation on each of the first pairs of x and y, into x."""
    for k in range(count):
        a, b = x[k], y[k]
        if opcode == _ADD:
            x[k] = a + b
        elif opcode == _SUBTRACT:
            x[k] = a - b
        elif opcode == _MULTIPLY:
            x[k] = a * b
        elif opcode == _POWER:
            x[k] = a**b
        elif opcode == _MIN:
            x[k] = min(a, b)
        elif opcode == _MAX:
            x[k] = max(a, b)
        elif b == 0.0:
            x[k] = math.nan
        elif opcode == _DIVIDE:
            x[k] = a / b
        elif opcode == _FLOOR_DIVIDE:
            x[k] = a // b
        else:
            x[k] = a % b


@compiled(makes_arrays=True)
def evaluate(
    memory: Floats, now_ns: int, rows: Ints, n_rows: int, submit_ns: Ints, estimate_ns: Ints, cores: Ints, numbers: Floats2,
    out: Floats,
) -> int:  # fmt: skip
    """The values of an expression for waiting jobs.

    - ``memory``, ndarray of float64: the program, :meth:`ExpressionCode.memory`
    - ``rows``, ndarray of int64: the rows of the waiting jobs, its first ``n_rows`` values
    - ``submit_ns``, ``estimate_ns``, ``cores``, ndarray of int64: the jobs' columns, by row
    - ``numbers``, float64 (k, n): the power of the jobs, W, if the expression uses it, then their GPUs, if it uses them
    - ``out``, ndarray of float64: receives the values, in the order of ``rows``; NaN if a value is not finite

    Returns int: 0, or 1 + the row of the first job without a finite value.
    """
    shortest_ns = 0
    for k in range(n_rows):
        estimate = estimate_ns[rows[k]]
        shortest_ns = estimate if k == 0 else min(shortest_ns, estimate)
    stack = np.empty((int(memory[_DEPTH]), _BLOCK))
    finite = np.empty(_BLOCK, np.bool_)
    failed = 0
    for first in range(0, n_rows, _BLOCK):
        count = min(_BLOCK, n_rows - first)
        finite[:count] = True
        top = -1
        for at in range(_CODE, len(memory), 2):
            opcode = int(memory[at])
            if opcode <= _CONSTANT:
                top += 1
                x = stack[top]
                for k in range(count):
                    row = rows[first + k]
                    if opcode == 0:
                        x[k] = submit_ns[row] / 1e9
                    elif opcode == 1:
                        x[k] = estimate_ns[row] / 1e9
                    elif opcode == 2:
                        x[k] = cores[row]
                    elif opcode == 3:
                        x[k] = (now_ns - submit_ns[row]) / 1e9
                    elif opcode == 4:
                        x[k] = memory[_CORES]
                    elif opcode == 5:
                        x[k] = shortest_ns / 1e9
                    elif opcode == 6:
                        x[k] = numbers[0, row]
                    elif opcode == 7:
                        x[k] = estimate_ns[row] / 1e9 * numbers[0, row]
                    elif opcode == 8:
                        x[k] = numbers[numbers.shape[0] - 1, row]
                    else:
                        x[k] = memory[at + 1]
                continue
            if opcode < _ADD:
                _change(opcode, stack[top], count)
            else:
                top -= 1
                _combine(opcode, stack[top], stack[top + 1], count)
            x = stack[top]
            for k in range(count):
                finite[k] &= abs(x[k]) < math.inf
        for k in range(count):
            out[first + k] = stack[0, k] if finite[k] else math.nan
            if failed == 0 and not finite[k]:
                failed = rows[first + k] + 1
    return failed


@score_kernel
def score_expression(
    now_ns: int, waiting: Array, n_waiting: int, eligible_ns: Array, submit_ns: Array, estimate_ns: Array, cores: Array,
    numbers: Array, memory: Array, key: Array,
) -> int:  # fmt: skip
    """Key: -score; the program is in ``memory``."""
    unscored = evaluate(memory, now_ns, waiting, n_waiting, submit_ns, estimate_ns, cores, numbers, key)
    for k in range(n_waiting):
        key[k] = -key[k]
    return unscored


def values(program: ExpressionCode, jobs: KnownJobs, name: str) -> Array:
    """The value for every job of an expression that does not change with time: float64 (n,). ``name``: the name of the policy.
    Raises InputError if it has no finite value for a job."""
    n = len(jobs.job_id)
    found = np.empty(n)
    submit_ns, estimate_ns, cores = (own(column, np.int64) for column in (jobs.submit_ns, jobs.estimate_ns, jobs.cores))
    with np.errstate(all="ignore"):  # for the kernel when it is not compiled
        numbers, memory = prepared(program, jobs, name)
        failed = evaluate(memory, 0, np.arange(n), n, submit_ns, estimate_ns, cores, numbers, found)
    if failed:
        raise InputError(f"{name}: no finite value for job {jobs.job_id[failed - 1]} (as by a division by zero)")
    return found


@dataclass(frozen=True)
class StaticExpression:
    """Key: -score, for an expression that does not change with time."""

    name: str
    program: ExpressionCode

    def keys(self, jobs: KnownJobs) -> Array:
        """Scores, negative."""
        return np.negative(values(self.program, jobs, self.name))

    def predicted(self) -> "StaticExpression | ScorePolicy":
        """The same order; scored in every pass if it depends on estimates."""
        return _scored(self.name, self.program) if self.program.by_estimates else self


def smallest_first(name: str, text: str) -> StaticExpression:
    """The policy whose first job has the smallest value of an expression that does not change with time."""
    return StaticExpression(name, parse(f"-({text})"))


def expression(text: str, where: str = "") -> Policy | ScorePolicy:
    """The policy of an expression, a static policy if neither w nor l occurs in it. Raises InputError as :func:`parse`."""
    program = parse(text, f"{where or BLS}: expr")
    name = f"expr:{program.text}"
    return _scored(name, program) if program.dynamic else StaticExpression(name, program)


def _scored(name: str, program: ExpressionCode) -> ScorePolicy:
    prepare = partial(prepared, program, name=name)
    return ScorePolicy(name, score_expression, prepare=prepare, blame=InputError, by_estimates=program.by_estimates)


def prepared(program: ExpressionCode, jobs: KnownJobs, name: str) -> tuple[Array, Array]:
    """The input of :func:`score_expression`: the power of jobs, W, and their GPUs, if they are used, and the program. Raises
    InputError if the power is used and not known; the message names the policy."""
    numbers, memory = same_memory(program.memory(jobs.n_cores), jobs)
    gpus = jobs.gpus[None] / 1000 if "gpus" in program.names else numbers
    if program.names.isdisjoint(POWERED):
        return gpus, memory
    if (jobs.core_mw < 0).any():
        allowed = f"one whose hosts have all [hosts.power] (docs/reference/power.md), as {PLATFORM:demand-response}"
        raise InputError(f"{BLS:{name}}: the platform lacks the power of its hosts; allowed: {allowed}")
    return np.concatenate([((jobs.cores * jobs.core_mw + jobs.gpu_mw) / 1000)[None], gpus]), memory
