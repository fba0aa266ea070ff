"""What machine code calls of the C library, and what it needs beside: memory for arrays that are made within a kernel."""

from __future__ import annotations

#: What the code may call, of the C library.
_BLOCKS = ("malloc", "free", "memset", "memcpy", "memmove", "abort", "perror")
_ROUNDING = ("ceil", "floor", "rint", "round", "trunc", "fmod", "modf", "frexp", "ldexp", "nextafter", "fabs")
_POWERS = ("sqrt", "cbrt", "pow", "hypot", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2")
_ANGLES = ("sin", "cos", "sincos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh")
KNOWN = frozenset((*_BLOCKS, *_ROUNDING, *_POWERS, *_ANGLES, "erf", "erfc", "lgamma", "tgamma"))

# What numba's arrays are made with, where a kernel makes some: its own is in numba, which is not there when the code is run.
# The block of an array is: references, two pointers for a destructor, data, size, allocator.
MEMORY = """
declare noalias ptr @malloc(i64)
declare void @free(ptr)
define ptr @NRT_Allocate(i64 %size) {
  %block = call ptr @malloc(i64 %size)
  ret ptr %block
}
define void @NRT_Free(ptr %block) {
  call void @free(ptr %block)
  ret void
}
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %room = add i64 %size, %wide
  %whole = add i64 %room, 64
  %block = call ptr @malloc(i64 %whole)
  %none = icmp eq ptr %block, null
  br i1 %none, label %failed, label %made
failed:
  ret ptr null
made:
  %address = ptrtoint ptr %block to i64
  %behind = add i64 %address, 64
  %before = add i64 %behind, %wide
  %last = sub i64 %before, 1
  %rest = urem i64 %last, %wide
  %aligned = sub i64 %last, %rest
  %data = inttoptr i64 %aligned to ptr
  store i64 1, ptr %block
  %dtor = getelementptr i64, ptr %block, i64 1
  store ptr null, ptr %dtor
  %info = getelementptr i64, ptr %block, i64 2
  store ptr null, ptr %info
  %at = getelementptr i64, ptr %block, i64 3
  store ptr %data, ptr %at
  %sized = getelementptr i64, ptr %block, i64 4
  store i64 %size, ptr %sized
  %from = getelementptr i64, ptr %block, i64 5
  store ptr null, ptr %from
  ret ptr %block
}
define ptr @NRT_MemInfo_alloc(i64 %size) {
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 32)
  ret ptr %block
}
define ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %align) {
  %block = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align)
  ret ptr %block
}
define void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}
declare void @perror(ptr)
declare void @abort()
define void @PyErr_SetString(ptr %kind, ptr %text) {
  call void @perror(ptr %text)
  call void @abort()
  unreachable
}
define void @numba_gil_ensure(ptr %state) {
  ret void
}
define void @numba_gil_release(ptr %state) {
  ret void
}
@PyExc_MemoryError = global ptr null
"""
