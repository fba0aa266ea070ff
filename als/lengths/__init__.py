"""The distributions of task lengths, one a file, named as the literature names them.

To add one: a file here, a line in :data:`LENGTHS`. Outside packages add theirs under the entry-point group
``twolevel.lengths``; a single run can take one from a file, ``--lengths my.py:MY``.
"""

from __future__ import annotations

import functools
import re
from dataclasses import fields

import numpy as np

from als.lengths.bimodal import Bimodal
from als.lengths.contract import COUNT, FILL, MAX_COV, NEXT_LENGTH, NORMAL, SCALED, LengthModel, Lengths, length_kernel
from als.lengths.correlated import Correlated
from als.lengths.decreasing import Decreasing
from als.lengths.equal import Equal
from als.lengths.exponential import Exponential
from als.lengths.file import FromFile
from als.lengths.gamma import Gamma
from als.lengths.increasing import Increasing
from als.lengths.lognormal import Lognormal
from als.lengths.mandelbrot import Mandelbrot
from als.lengths.normal import Normal
from als.lengths.uniform import Uniform
from traces.base.errors import InputError
from traces.base.naming import split_parameters, with_parameters
from traces.base.plugins import resolve
from traces.base.ranges import real

__all__ = [
    "COUNT",
    "FILL",
    "LENGTHS",
    "NEXT_LENGTH",
    "NORMAL",
    "SCALED",
    "LengthModel",
    "Lengths",
    "check_variation",
    "length_kernel",
    "lengths",
    "takes_variation",
]

LENGTHS: dict[str, Lengths] = {
    "equal": Equal(),
    "normal": Normal(),
    "uniform": Uniform(),
    "exponential": Exponential(),
    "gamma": Gamma(),
    "lognormal": Lognormal(),
    "bimodal": Bimodal(),
    "increasing": Increasing(),
    "decreasing": Decreasing(),
    "correlated": Correlated(),
    "file": FromFile(),
    "mandelbrot": Mandelbrot(),
}

# A file's name may hold a comma; what follows the last ones and is key=value belongs to the distribution.
_FILE = re.compile(r"file:(.*?)((?:,\s*[A-Za-z_]\w*\s*=[^,]*)*)", re.DOTALL)


def lengths(spec: str, where: str = "--lengths", *, variation: float = 0.0) -> LengthModel:
    """The distribution of this name.

    Parameters
    ----------
    spec : str
        A name in :data:`LENGTHS`, one that an installed package adds, or ``FILE.py:NAME``, each perhaps with
        ``:key=value,key=value`` behind it; or ``file:PATH``, perhaps with ``,key=value``; empty: ``normal``.
    where : str
        The option it was given in, for the error.
    variation : float
        The run's coefficient of variation, 0 to ``MAX_COV``, which the distributions have that are given no other.

    Raises
    ------
    InputError
        If there is none, or a parameter cannot be.
    PluginError
        If it cannot be loaded, or is no distribution.
    """
    variation = real("--variation", variation, 0.0, MAX_COV)
    try:
        return _found(spec, where, variation)
    except InputError as error:
        # By its place where that is a line of a file; an option's distribution says it all.
        if where.startswith("--") or str(error).startswith(where):
            raise
        raise InputError(f"{where}: {error}") from None


def takes_variation(spec: str, variation: float = 0.1, where: str = "--lengths") -> bool:
    """Whether a distribution is another one with a run's variation than without.

    Raises
    ------
    InputError, PluginError
        As :func:`lengths`.
    """
    if spec.startswith("file:"):
        return False  # without reading it twice
    varied, even = (lengths(spec, where, variation=value) for value in (variation, 0.0))
    return any(not _same(getattr(varied, field.name), getattr(even, field.name)) for field in fields(LengthModel))


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return one == other


def check_variation(spec: str, variation: float, where: str = "--lengths") -> None:
    """Check that the run's variation is of use to a distribution, or 0.

    Raises
    ------
    InputError
        As :func:`lengths`; and if the distribution is the same whatever the variation.
    """
    if variation != 0.0 and not takes_variation(spec, variation, where):
        raise InputError(
            f"--variation: {variation:g} is of no use to {where} {spec}, whose spread is its own; allowed: 0"
        )


def _found(spec: str, where: str, variation: float) -> LengthModel:
    if match := _FILE.fullmatch(spec):
        named: Lengths = FromFile(match[1])
        if match[2]:
            named = with_parameters(named, match[2][1:], where, "lengths")
        return named.lengths(variation)
    plain, text = split_parameters(spec or "normal")
    found = resolve("distribution of task lengths", plain, LENGTHS, "twolevel.lengths", Lengths, where)
    if text and isinstance(found, LengthModel):
        raise InputError(f"{where}: {spec}: {found.name} has no parameters")
    if text:
        found = with_parameters(found, text, where, "lengths")
    return found.lengths(variation) if plain in LENGTHS else _tried(found.lengths(variation))


@functools.lru_cache(maxsize=64)
def _tried(model: LengthModel) -> LengthModel:
    from als.lengths.trial import try_out  # it compiles, which asking for a name of ours should not wait for

    try_out(model)
    return model
