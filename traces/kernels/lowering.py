"""Lower a kernel to LLVM IR: numba infers types and writes each function once, with the few passes that kernels need."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numba.core.cgutils as cgutils
import numba.core.codegen as numba_codegen
from numba import types
from numba.core import typed_passes, typing, untyped_passes
from numba.core.compiler import Compiler, CompilerBase, Flags, compile_extra
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.typing.context import Context
from numba.core.utils import pysignature
from numba.extending import models, register_model, typeof_impl

from traces.kernels import intrinsics  # noqa: F401, needed by lowered kernels
from traces.kernels.declared import Kernel
from traces.kernels.numba_types import numba_type, target_context, told_apart


class KernelType(types.Callable, types.Opaque):  # type: ignore[misc]
    """A kernel called by another one by name."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        super().__init__(f"kernel({kernel.__module__}.{kernel.__qualname__}@{id(kernel)})")

    def get_call_type(self, context: Any, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """Return the type of a call's result, which lowers the kernel for its arguments."""
        signature = pysignature(self.kernel.py_func)
        bound = signature.bind(*arguments, **named)
        given = []
        for name, parameter in signature.parameters.items():
            if name in bound.arguments:
                given.append(types.unliteral(bound.arguments[name]))
            else:
                given.append(types.unliteral(context.resolve_value_type(parameter.default)))
        found = lower(self.kernel, tuple(given))
        return typing.signature(found.returned, *given).replace(pysig=signature)

    def get_call_signatures(self) -> Any:
        """Return the signatures that it is lowered for."""
        return (), True

    def get_impl_key(self, signature: Any) -> Any:
        """Return the key of its code."""
        return lower(self.kernel, signature.args).key


@register_model(KernelType)
class _KernelModel(models.OpaqueModel):  # type: ignore[misc]
    pass


@functools.cache
def _kernel_type(kernel: Kernel) -> KernelType:
    return KernelType(kernel)


@typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]
def _type_of_kernel(kernel: Kernel, _context: Any) -> KernelType:
    return _kernel_type(kernel)


class _Compiler(CompilerBase):  # type: ignore[misc]
    # The passes that our kernels need. numba's own list is twice as long, for closures, list comprehensions, branches on types
    # and array expressions, and takes half as long again.
    def define_pipelines(self) -> list[Any]:
        passes, untyped, typed = PassManager("kernels"), untyped_passes, typed_passes
        first = [untyped.TranslateByteCode, untyped.FixupArgs] if self.state.func_ir is None else []
        first += [untyped.IRProcessing, untyped.GenericRewrites, untyped.ReconstructSSA, typed.NopythonTypeInference]
        last = [typed.PreLowerStripPhis, typed.IRLegalization, typed.NativeLowering, typed.NoPythonBackend]
        for one in (*first, *last):
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]


@dataclass
class Lowered:
    """A kernel in LLVM IR, for one combination of argument types."""

    kernel: Kernel
    arguments: tuple[Any, ...]
    returned: Any = None
    text: str = ""  # the module
    calls: list[Any] = field(default_factory=list)  # the lowered kernels and numba libraries that it calls
    description: Any = None
    lines: int = 0  # lines of the kernel's source

    @property
    def key(self) -> Any:
        """numba's key of its code."""
        return ("twolevel kernel", self.kernel, self.arguments)


class _Library(numba_codegen.AOTCodeLibrary):  # type: ignore[misc]
    # Keeps numba's text and further dependencies for linking the module.
    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.texts: list[str] = []
        self.others: list[Any] = []

    def add_ir_module(self, ir_module: Any) -> None:
        self.texts.append(told_apart(cgutils.normalize_ir_text(str(ir_module))))

    def add_linking_library(self, library: Any) -> None:
        if library is not self:
            self.others.append(library)

    def _ensure_finalized(self) -> None:
        pass


class _KnownLibrary:
    # Records that the code of one of our kernels is needed.
    def __init__(self, found: Lowered) -> None:
        self.found = found


class _Flags(Flags):  # type: ignore[misc]
    # numba looks functions up by the caller's flags tens of thousands of times; ours are few and constant, so hash by identity.
    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


@functools.cache
def _flags(merged: bool, makes_arrays: bool) -> Flags:
    flags = _Flags()
    flags.error_model = "numpy"
    flags.nrt = makes_arrays
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.forceinline = merged
    return flags


class _Typing(Context):  # type: ignore[misc]
    # numba's typing of calls with a cache: numba would try dozens of rules for every subscript.
    def __init__(self) -> None:
        known = cpu_target.typing_context
        known.refresh()
        self.__dict__.update(known.__dict__)
        self._answers: dict[Any, Any] = {}

    def refresh(self) -> None:
        """Do nothing: nothing is added while kernels are lowered."""

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Return the type of a call's result."""
        if kws:
            return super().resolve_function_type(func, args, kws)
        key = (func, tuple(args))
        try:
            found = self._answers.get(key)
        except TypeError:  # a slice of constants
            return super().resolve_function_type(func, args, kws)
        if found is None:
            found = self._answers[key] = super().resolve_function_type(func, args, kws)
        return found


@functools.cache
def _typing() -> _Typing:
    return _Typing()


_LOWERED: dict[Any, Lowered] = {}
_NOTES: list[Callable[[], None]] = []  # callbacks: kernels are lowered while numba infers the types of their callers


def lower(kernel: Kernel, arguments: tuple[Any, ...], note: Callable[[], None] | None = None) -> Lowered:
    """Lower a kernel, and the kernels that it calls, to LLVM IR. ``note`` is called for each one that was not lowered before.
    Raises numba.core.errors.NumbaError if numba refuses it."""
    found = _LOWERED.get((kernel, arguments))
    if found is not None:
        return found
    context = target_context()
    if note is not None:
        _NOTES.append(note)
        try:
            return lower(kernel, arguments)
        finally:
            _NOTES.pop()
    found = Lowered(kernel, arguments)
    library = _Library(context.codegen(), kernel.__qualname__)
    result = compile_extra(
        _typing() if kernel.is_ours else cpu_target.typing_context,
        context,
        kernel.py_func,
        arguments,
        None if kernel.signature is None else numba_type(kernel.signature.returned),
        _flags(kernel.merged, kernel.makes_arrays),
        {},
        library=library,
        pipeline_class=_Compiler if kernel.is_ours else Compiler,
    )
    found.returned, found.description = result.signature.return_type, result.fndesc
    found.lines = max(line or 0 for *_, line in kernel.__code__.co_lines()) - kernel.__code__.co_firstlineno + 1
    found.text = library.texts[0]
    for other in library.others:
        found.calls.append(other.found if isinstance(other, _KnownLibrary) else other)
    context.insert_user_function(found.key, result.fndesc, [_KnownLibrary(found)])
    _LOWERED[kernel, arguments] = found
    for one in _NOTES[-1:]:
        one()
    return found
