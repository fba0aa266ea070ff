"""Try a custom technique on a small loop before it is used."""

import functools
from functools import partial
from typing import Final

import numpy as np

from als.techniques.contract import FACTS, MEAN_S, NEXT_CHUNK, NEXT_CHUNK_FULL, Technique
from traces.trials import Fences, rule_answers, try_rule

#: Tasks and cores of the trial loop: few, since a rule's arrays may be made for small loops, but enough to show what it writes.
_TASKS: Final = 16
_CORES: Final = 2


@functools.lru_cache(maxsize=64)
def try_out(technique: Technique) -> Technique:
    """Run a rule for a loop of 16 tasks on two cores, or on the number that its weights are for. Raises PluginError if it
    raises, writes outside its arrays, is killed, or is not made by ``technique_kernel``."""
    where = f"technique {technique.name}"
    signature = NEXT_CHUNK if technique.plain else NEXT_CHUNK_FULL
    trial = partial(_simulate_loop, where, technique)
    try_rule(where, technique.next_chunk, signature, "next_chunk with technique_kernel", trial)
    return technique


def _simulate_loop(where: str, technique: Technique) -> None:
    n_cores = technique.only_cores or _CORES
    params = np.array(technique.params, np.float64)
    memo = np.zeros(technique.memo_size + n_cores * technique.memo_per_core)
    fences = Fences(where, facts=np.zeros(FACTS), speed=np.ones(n_cores), params=params, memo=memo)
    fences.arrays["facts"][MEAN_S] = 1.0
    left = _TASKS
    for request in range(_TASKS):
        with rule_answers(where):
            size = technique.asked(_TASKS, n_cores, request % n_cores, request, left, **fences.arrays)
        fences.check()
        if not 0 < size < left:
            return  # the loop is over, or the engine will check the result in a real one
        left -= size
