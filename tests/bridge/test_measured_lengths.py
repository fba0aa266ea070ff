"""Distributions fitted to task lengths: planted ones are found."""

from collections import Counter

import numpy as np
import pytest

from als.lengths import lengths
from als.lengths.draw import drawn
from bridge.measure.fit import FAMILIES, FEWEST, fit_lengths
from traces.base.errors import InputError


@pytest.mark.parametrize(
    ("spec", "name", "cov", "drift"),
    [
        ("normal:cov=0.2", "normal", 0.2, 0.0),
        ("gamma:cov=0.7", "gamma", 0.7, 0.0),
        ("lognormal:cov=0.7", "lognormal", 0.7, 0.0),
        ("weibull:cov=0.6", "weibull", 0.6, 0.0),
        ("gamma:cov=0.3,drift=0.8", "gamma", 0.3, 0.8),
        ("lognormal:cov=1.5,drift=-1.2", "lognormal", 1.5, -1.2),
        ("bimodal", "empirical", np.sqrt(0.09) * 9 / 1.9, 0.0),
    ],
)
def test_planted_distributions_are_found(spec: str, name: str, cov: float, drift: float) -> None:
    found = [fit_lengths(drawn(lengths(spec), seed, 1, 1500, 3.0, 4500.0))[0] for seed in range(8)]
    assert Counter(one.name for one in found)[name] >= 7
    assert sum((one.drift != 0.0) == (drift != 0.0) for one in found) >= 7
    assert np.mean([one.cov for one in found]) == pytest.approx(cov, rel=0.05)
    assert np.mean([one.drift for one in found]) == pytest.approx(drift, abs=0.1)


def test_a_fit_can_be_drawn() -> None:
    """The text of a fit is a distribution of that coefficient of variation."""
    x = drawn(lengths("gamma:cov=0.5,drift=1.5"), 3, 1, 2000, 1.0, 2000.0)
    found = fit_lengths(x)
    assert len(found) == len(FAMILIES) + 1
    assert found[0].gap == 0.0 <= min(one.gap for one in found[1:])
    assert lengths(found[0].spec("unused")).cov == pytest.approx(float(x.std() / x.mean()), rel=0.05)


def test_equal_lengths_and_too_few() -> None:
    assert [(one.name, one.spec("")) for one in fit_lengths(np.full(30, 7.0))] == [("equal", "equal")]
    with pytest.raises(InputError, match=r"^19 lengths; allowed: at least 20 to fit a distribution$"):
        fit_lengths(np.arange(1.0, FEWEST))
    with pytest.raises(InputError, match=r"^a length that is not above 0"):
        fit_lengths(np.arange(FEWEST))
