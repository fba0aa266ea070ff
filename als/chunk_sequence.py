"""The chunk sizes of a technique for tasks of equal length, as tables in the literature show them."""

import numpy as np

from als.options import CHUNK_TASKS, CORES
from als.techniques import contract as f
from als.techniques.contract import Technique
from traces.base.errors import InputError, PluginError
from traces.base.options import SEED
from traces.base.time import NS_PER_S


def chunk_sequence(technique: Technique, n_tasks: int, n_cores: int, *, seed: int = SEED.default) -> list[int]:
    """Return the sizes of the chunks in the order in which they are assigned. The tasks take one second each and nothing else
    takes time. The cores 0 … P-1 request chunks in turn.

    Parameters
    ----------
    technique : Technique
    n_tasks, n_cores : int
        N, up to 10 million, and P, up to 2**20.
    seed : int
        For random techniques.

    Raises
    ------
    InputError
        If an argument is out of range, or the technique's parameters are for another number of cores.
    PluginError
        If the technique's answer is impossible.
    """
    CHUNK_TASKS.check(n_tasks)
    CORES.check(n_cores)
    if technique.only_cores not in (None, n_cores):
        raise InputError(f"technique {technique.name}: its weights are for {technique.only_cores} cores, not {n_cores}")
    facts, speed, params = np.zeros(f.FACTS), np.ones(n_cores), np.array(technique.params, np.float64)
    memo = np.zeros(technique.memo_size + n_cores * technique.memo_per_core)
    facts[f.MEAN_S] = 1.0
    last = [0] * n_cores
    sizes: list[int] = []
    left, turn, refused = n_tasks, 0, 0
    random = np.random.Generator(np.random.Philox(key=np.array([seed, 0], np.uint64)))
    while left:
        core = turn % n_cores
        turn += 1
        facts[f.LAST_SIZE] = last[core]
        facts[f.LAST_WORK_NS] = facts[f.LAST_TOTAL_NS] = last[core] * float(NS_PER_S)
        facts[f.UNIFORM] = random.random()
        counts = n_tasks, n_cores, core, len(sizes), left
        size = technique.asked(*counts, facts=facts, speed=speed, params=params, memo=memo)
        if size < 0 and (raised := technique.error()):
            raise raised
        if not 0 <= size <= left:
            raise PluginError(f"technique {technique.name}: a chunk of {size}; allowed: 1 to the {left} tasks left")
        refused = 0 if size else refused + 1
        if refused == n_cores:
            raise PluginError(f"technique {technique.name}: a chunk of 0 for every core, with {left} tasks left")
        last[core] = size
        if size:
            sizes.append(size)
            left -= size
    return sizes
