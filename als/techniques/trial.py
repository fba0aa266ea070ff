"""A first small loop for a technique that is not ours, before it is trusted with real ones."""

import functools
from functools import partial
from typing import Final

import numpy as np

from als.techniques.contract import FACTS, MEAN_S, NEXT_CHUNK, NEXT_CHUNK_FULL, Technique
from traces.trials import Fences, rule_answers, try_rule

#: Tasks and cores of the loop: as few as show what a rule writes, since its arrays may be made for small loops.
_TASKS: Final = 16
_CORES: Final = 2


@functools.lru_cache(maxsize=64)
def try_out(technique: Technique) -> Technique:
    """Ask a rule for the chunks of a loop of 16 tasks on two cores, or on those that its weights are for. Raises PluginError
    if it raises, writes outside the arrays that it is given, is killed, or is not made by ``technique_kernel``."""
    who = f"technique {technique.name}"
    signature = NEXT_CHUNK if technique.plain else NEXT_CHUNK_FULL
    trial = partial(_simulate_loop, who, technique)
    try_rule(who, technique.next_chunk, signature, "next_chunk with technique_kernel", trial)
    return technique


def _simulate_loop(who: str, technique: Technique) -> None:
    n_cores = technique.only_cores or _CORES
    fences = Fences(
        who,
        facts=np.zeros(FACTS),
        speed=np.ones(n_cores),
        params=np.array(technique.params, np.float64),
        memo=np.zeros(technique.memo_size + n_cores * technique.memo_per_core),
    )
    fences.arrays["facts"][MEAN_S] = 1.0
    left = _TASKS
    for request in range(_TASKS):
        with rule_answers(who):
            size = technique.asked(_TASKS, n_cores, request % n_cores, request, left, **fences.arrays)
        fences.check()
        if not 0 < size < left:
            return  # the loop is over, or the engine will judge the answer in a real one
        left -= size
