"""Arrays amid numbers that nobody should touch: compiled code that writes outside its arrays does so without a word."""

from __future__ import annotations

from typing import Final

import numpy as np

from traces.base.errors import PluginError
from traces.compiled import Array

__all__ = ["Fences"]

#: Numbers before and behind each array; what goes astray is likely to go no farther.
_BEFORE: Final = 2**10
_BEHIND: Final = 2**17

#: What stands there: small enough to become another number when 1 is added to it.
_UNTOUCHED: Final = -12345.678


class Fences:
    """Copies of float64 arrays, for a first call of a function that is not ours.

    Parameters
    ----------
    who : str
        Whose function it is, for errors.
    **arrays : float64 (any,)

    Attributes
    ----------
    arrays : dict
        The copies, by name.
    """

    def __init__(self, who: str, **arrays: Array) -> None:
        self._who = who
        self._fields = {name: np.full(_BEFORE + len(values) + _BEHIND, _UNTOUCHED) for name, values in arrays.items()}
        self.arrays: dict[str, Array] = {}
        for name, values in arrays.items():
            self.arrays[name] = self._fields[name][_BEFORE : _BEFORE + len(values)]
            self.arrays[name][:] = values

    def check(self) -> None:
        """Check that nothing was written outside the arrays.

        Raises
        ------
        PluginError
            If something was; the message names the array.
        """
        for name, field in self._fields.items():
            held = len(self.arrays[name])
            if (field[:_BEFORE] != _UNTOUCHED).any() or (field[_BEFORE + held :] != _UNTOUCHED).any():
                also = "; see its memo_size" if name == "memo" else ""
                raise PluginError(f"{self._who}: its rule writes outside {name}, which has room for {held} there{also}")
