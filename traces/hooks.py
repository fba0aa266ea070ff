"""Hooks: what only some runs do is a function of its own, in a table of addresses, compiled only where a run does it.

An engine has a table of slots. In a kernel a slot is called by its place in the engine's table of functions; where the run has
no use for it, the slot holds a function that refuses, by name.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Collection, Mapping
from typing import Any

from traces.kernels.declared import CFunction, jit_enabled
from traces.kernels.signatures import Array, Signature

#: What a slot answers that is not filled.
REFUSED = -(2**62)


class Hooks:
    """The slots of an engine.

    Parameters
    ----------
    engine : str
        Whose they are, for errors.
    signature : Signature
        Of all the functions.
    slots : mapping
        By its place in the table, from 0 on, what a slot is for and where its kernel is: ``("plan ahead", "module:name")``.
    """

    def __init__(self, engine: str, signature: Signature, slots: Mapping[int, tuple[str, str]]) -> None:
        self.engine, self.signature, self.slots = engine, signature, dict(slots)
        if list(self.slots) != list(range(len(self.slots))):
            raise ValueError(
                f"{engine}: slots {list(self.slots)}; allowed: all from 0 on, in order, as they are called by place"
            )
        self._refused: list[str] = []
        self._refusing: dict[int, Any] = {}

    def filled(self, wanted: Collection[int]) -> Array:
        """A table in which the slots that a run has a use for are filled.

        Returns
        -------
        ndarray of int64, shape (slots,)
        """
        return self.filled_with({slot: self.slots[slot][1] for slot in wanted})

    def filled_with(self, kernels: Mapping[int, str]) -> Array:
        """The same with other kernels than the table's, ``"module:name"``, by their slots."""
        from traces.compiled import function_table

        return function_table(
            [self.kernel(kernels[slot]) if slot in kernels else self._refuse(slot) for slot in self.slots]
        )

    def kernel(self, where: str) -> Any:
        """The function that is there, ``"module:name"``, compiled."""
        from traces.compiled import as_value

        module, _, name = where.partition(":")
        return as_value(getattr(importlib.import_module(module), name), self.signature)

    def modules(self) -> list[str]:
        """The modules of all slots, each once."""
        return list(dict.fromkeys(where.partition(":")[0] for _, where in self.slots.values()))

    def check(self) -> None:
        """Raise if a slot was called that is not filled.

        Raises
        ------
        RuntimeError
            It is a fault of ours: a run that does something did not say so.
        """
        if self._refused:
            refused = sorted(set(self._refused))
            self._refused.clear()  # the next run has done nothing wrong
            raise RuntimeError(f"{self.engine}: {', '.join(refused)}: this run has not asked for it")

    def _refuse(self, slot: int) -> Any:
        found = self._refusing.get(slot)
        if found is None:
            name = self.slots[slot][0]

            def refuse(*_: int) -> int:
                self._refused.append(name)
                if not jit_enabled():
                    self.check()
                return REFUSED

            kinds = [
                ctypes.c_double if getattr(kind, "name", "") == "float64" else ctypes.c_int64 for kind in self.flat()
            ]
            function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(refuse) if jit_enabled() else refuse
            found = self._refusing[slot] = CFunction(function, self.signature) if jit_enabled() else function
        return found

    def flat(self) -> list[Any]:
        """The parameters as C has them: a column is an address and its sizes."""
        return [one for kind in self.signature.parameters for one in [kind] * (1 + getattr(kind, "ndim", 0))]
