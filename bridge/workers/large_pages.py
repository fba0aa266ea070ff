"""Large pages for a process that will be forked thousands of times: what a fork copies is a table entry a page. Linux."""

from __future__ import annotations

import ctypes
from typing import Final

__all__ = ["use_large_pages"]

_LARGE: Final = 1 << 21  # bytes
_MADV_HUGEPAGE, _MADV_COLLAPSE = 14, 25
_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def use_large_pages() -> int:
    """Put the memory that this process has of its own on pages of 2 MiB, as far as the kernel can (Linux 6.1).

    Returns
    -------
    int
        How many there are now.
    """
    found = 0
    try:
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            areas = [line.split(maxsplit=5) for line in maps]
    except OSError:
        return 0
    for where, rights, _, _, inode, *name in areas:
        if rights != "rw-p" or inode != "0" or (name and name[0].strip() not in ("[heap]",)):
            continue
        low, high = (int(end, 16) for end in where.split("-"))
        for page in range(-(-low // _LARGE) * _LARGE, high - _LARGE + 1, _LARGE):
            found += _madvise(page, _LARGE, _MADV_COLLAPSE) == 0
    return found
