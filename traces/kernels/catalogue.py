"""Which modules of the project hold kernels."""

from __future__ import annotations

import os
import re
from pathlib import Path

from traces.kernels.declared import OURS
from traces.kernels.units import module_entries

# A kernel is made by a decorator: ``@compiled(…)``, or one that a contract makes of it, as ``@technique_kernel`` and ``@hook``.
_DECORATED = re.compile(rb"^@[\w.]*(?:compiled|kernel|hook)\b", re.MULTILINE)


def kernel_modules() -> list[str]:
    """The modules of all packages whose kernels Python, or a pointer, calls; by name.

    They are imported, and nothing else is: no figure is drawn, and numba is not there.
    """
    root = Path(__file__).resolve().parents[2]
    found = []
    for package in OURS:
        for folder, _, names in os.walk(root / package):
            for name in names:
                path = Path(folder, name)
                if path.suffix == ".py" and _DECORATED.search(path.read_bytes()):
                    inner = path.relative_to(root).with_suffix("").parts
                    found.append(".".join(inner[:-1] if inner[-1] == "__init__" else inner))
    return [module for module in sorted(found) if module_entries(module)]
