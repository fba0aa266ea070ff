"""Machine code is loaded whatever else the process holds: the sections of one object lie within reach of each other."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: where this fails, LLVM ends the process.
_PROGRAM = """
import ctypes, mmap, random, sys
import llvmlite.binding as llvm
from traces.kernels.loading import load

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="default")
draw, held = random.Random(int(sys.argv[1])), []
for k in range(40):
    n, calls = draw.choice((5, 600, 3000)), draw.choice((1, 300, 2000))
    numbers = ", ".join(f"i64 {k + i}" for i in range(n))
    lines = "".join(f"%q{j} = call double @exp(double %q{j - 1})" + chr(10) for j in range(1, calls))
    code = machine.emit_object(llvm.parse_assembly(f'''
        @constant{k} = private constant [{n} x i64] [{numbers}]
        @variable{k} = global [{n} x i64] zeroinitializer
        declare double @exp(double)
        define i64 @f{k}(i64 %i) uwtable {{
            %p = getelementptr [{n} x i64], [{n} x i64]* @constant{k}, i64 0, i64 %i
            %v = load i64, i64* %p
            %r = getelementptr [{n} x i64], [{n} x i64]* @variable{k}, i64 0, i64 %i
            %w = load i64, i64* %r
            %x = add i64 %v, %w
            %q0 = sitofp i64 %x to double
            {lines}
            ret i64 %x
        }}'''))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(load(code, [f"f{k}"])[f"f{k}"])
    assert function(3) == k + 3
    # As the arrays of a long log: private memory, asked for and never touched.
    if draw.random() < 0.6:
        size = draw.choice((1 << 12, 5 << 12, 1 << 20, 3 << 30))
        held.append(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))  # MAP_NORESERVE
    if held and draw.random() < 0.3:
        held.pop(draw.randrange(len(held))).close()
print("all loaded")
"""


def test_between_arrays_of_gigabytes() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM, "1"], capture_output=True, text=True, check=False)
    assert run.stdout == "all loaded\n", run.stderr[-2000:]
