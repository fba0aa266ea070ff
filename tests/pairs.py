"""Sets of features in which every pair of them is, as small a number of sets as a simple search finds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

__all__ = ["covering"]


def covering(
    features: Sequence[str], size: int, apart: Collection[frozenset[str]] = (), least: Collection[str] = ()
) -> list[tuple[str, ...]]:
    """Return sets of up to ``size`` features, such that every pair is in one; those of a pair in ``apart`` never meet.

    ``least`` are features that must be in a set of their own, too.
    """
    left = [pair for pair in map(frozenset, combinations(features, 2)) if pair not in apart]
    found: list[tuple[str, ...]] = [(name,) for name in least]
    while left:
        chosen = sorted(left[0], key=features.index)
        while len(chosen) < size:
            able = [name for name in features if name not in chosen and not any({name, one} in apart for one in chosen)]
            gains = {name: sum(frozenset({name, one}) in left for one in chosen) for name in able}
            best = max(able, key=gains.__getitem__, default=None)
            if best is None or not gains[best]:
                break
            chosen.append(best)
        left = [pair for pair in left if not pair <= set(chosen)]
        found.append(tuple(chosen))
    return found
