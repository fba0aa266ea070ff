"""The distributions of task lengths, one a file, named as the literature names them.

To add one: a file here, a line in :data:`LENGTHS`. Outside packages add theirs under the entry-point group
``twolevel.lengths``; a single run can take one from a file, ``lengths my.py:MY``.
"""

from __future__ import annotations

import functools
from dataclasses import fields

import numpy as np

from als.lengths.bimodal import Bimodal
from als.lengths.contract import DRAWS, LengthModel, LengthParameters, length_kernel
from als.lengths.correlated import Correlated
from als.lengths.equal import Equal
from als.lengths.exponential import Exponential
from als.lengths.file import LengthsFile
from als.lengths.gamma import Gamma
from als.lengths.lognormal import Lognormal
from als.lengths.mandelbrot import Mandelbrot
from als.lengths.normal import Normal
from als.lengths.triangular import DECREASING, INCREASING
from als.lengths.uniform import Uniform
from als.options import LENGTHS as LENGTHS_OPTION
from als.options import VARIATION
from traces.base.errors import InputError, at, one_of, with_value
from traces.base.plugins import at_its_place, parameterised, without_parameter

__all__ = ["LENGTHS", "LengthModel", "check_variation", "length_kernel", "lengths", "takes_variation"]

#: The parameter that every distribution has.
_DRAW = "draw"

LENGTHS: dict[str, LengthParameters] = {
    "equal": Equal(),
    "normal": Normal(),
    "uniform": Uniform(),
    "exponential": Exponential(),
    "gamma": Gamma(),
    "lognormal": Lognormal(),
    "bimodal": Bimodal(),
    "increasing": INCREASING,
    "decreasing": DECREASING,
    "correlated": Correlated(),
    "file": LengthsFile(),
    "mandelbrot": Mandelbrot(),
}


def lengths(spec: str, where: str = "", *, variation: float = VARIATION.default) -> LengthModel:
    """The distribution of this name.

    - ``spec``: a name in :data:`LENGTHS`, one that an installed package adds, or ``FILE.py:NAME``, each perhaps with
      ``:key=value,key=value`` after it; or ``file:PATH``, perhaps with ``,key=value``; empty: ``normal``. Each takes ``draw=``
      with a word of ``als.lengths.contract.DRAWS``: how random lengths become a loop.
    - ``variation``: the run's coefficient of variation, 0 to ``MAX_COV``, which the distributions have that are given no other

    Raises InputError if there is none, or a parameter cannot be. Raises PluginError if it cannot be loaded, or is no
    distribution.
    """
    where = at(where or str(LENGTHS_OPTION), spec)
    variation = VARIATION.check(variation)
    with at_its_place(where):
        spec, draw = without_parameter(spec or "normal", _DRAW, where, "lengths")
        if draw is not None and draw not in DRAWS:
            raise one_of("draw of task lengths", draw, DRAWS, where)
        found, is_ours = parameterised(
            "distribution of task lengths",
            spec,
            LENGTHS,
            "twolevel.lengths",
            LengthParameters,
            where,
            from_file=LengthsFile,
            made=LengthModel,
            noun="lengths",
            shared=(_DRAW,),
        )
        model = found.lengths(variation) if is_ours else _tried(found.lengths(variation))
        return model if draw is None else model.with_draw(draw)


def takes_variation(spec: str, variation: float = 0.1, where: str = "") -> bool:
    """Whether a distribution is another one with a run's variation than without. Raises InputError, PluginError as
    :func:`lengths`."""
    where = where or str(LENGTHS_OPTION)
    if spec.startswith("file:"):
        return False  # without reading it twice
    varied, even = (lengths(spec, where, variation=value) for value in (variation, 0.0))
    return any(not _same(getattr(varied, field.name), getattr(even, field.name)) for field in fields(LengthModel))


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other, equal_nan=True)
    return one == other


def check_variation(spec: str, variation: float, where: str = "") -> None:
    """Check that the run's variation is of use to a distribution, or 0. Raises InputError as :func:`lengths`; and if
    the distribution is the same whatever the variation."""
    where = where or str(LENGTHS_OPTION)
    if variation != 0.0 and not takes_variation(spec, variation, where):
        raise InputError(
            f"{VARIATION}: {variation:g} is of no use to {with_value(where, spec)}, whose spread is its own; allowed: 0"
        )


@functools.lru_cache(maxsize=64)
def _tried(model: LengthModel) -> LengthModel:
    from als.lengths.trial import try_out  # it compiles, which asking for a name of ours should not wait for

    try_out(model)
    return model
