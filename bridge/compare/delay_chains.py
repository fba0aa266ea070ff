"""Sums along chains of causes: every job points at the one that it waited for, and none comes back to itself.

Pointers are doubled: after k steps each leads 2ᵏ links back, so that n jobs take log₂(longest chain) steps over arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from traces.compiled import Array


class ChainSums(NamedTuple):
    """What there is on the way from each job back to the first of its chain: arrays of int64."""

    root: Array  # (m,): the first job; a job that waited for nobody is its own
    links: Array  # (m,): how many links there are
    totals: Array  # (t, m): the sum of each term over the links


def sums_along(link: Array, terms: Array) -> ChainSums:
    """Sum terms over the links of every chain.

    Parameters
    ----------
    link : ndarray of int64, shape (m,)
        The job that each waited for, or −1.
    terms : ndarray of int64, shape (t, m)
        Of each job's link; what stands at a job without one is not counted.
    """
    held = link >= 0
    back = np.where(held, link, np.arange(len(link)))
    totals = np.where(held, terms, 0)
    links = held.astype(np.int64)
    while True:
        further = back[back]
        if np.array_equal(further, back):
            return ChainSums(back, links, totals)
        totals = totals + totals[:, back]
        links = links + links[back]
        back = further


def followers(link: Array, counted: Array) -> Array:
    """How many of the ``counted`` jobs have each job in their chain, before themselves: int64, shape (m,).

    Parameters
    ----------
    link : ndarray of int64, shape (m,)
        The job that each waited for, or −1.
    counted : ndarray of bool, shape (m,)
        Which jobs count.
    """
    within = counted.astype(np.int64)  # itself, and those up to 2ᵏ − 1 links behind it
    back = link.copy()
    while (held := np.flatnonzero(back >= 0)).size:
        # Sums of float64 are exact here: none exceeds the number of jobs.
        within = within + np.bincount(back[held], weights=within[held], minlength=len(link)).astype(np.int64)
        back[held] = back[back[held]]
    return within - counted
