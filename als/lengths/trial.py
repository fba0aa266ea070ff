"""Try a custom distribution of task lengths on a small loop before it is used."""

import functools
from typing import Final

import numpy as np

from als.lengths.contract import NEXT_LENGTH, NORMAL, WORK_NORMAL, LengthModel
from als.streams import TASK_LENGTHS, new_stream
from traces.trials import Fences, rule_answers, try_rule

#: Tasks of the trial loop: few, since a rule's arrays may be made for small loops, but enough to show what it writes.
_TASKS: Final = 16


@functools.lru_cache(maxsize=64)
def try_out(model: LengthModel) -> LengthModel:
    """Run a rule for a loop of 16 tasks. Raises PluginError if it raises, writes outside ``params``, ``pattern`` or ``memo``,
    is killed, or is not made by ``length_kernel``."""
    where = f"lengths {model.name}"
    if model.mode in (NORMAL, WORK_NORMAL):
        return model  # its rule is not called
    try_rule(where, model.next_length, NEXT_LENGTH, "next_length with length_kernel", lambda: _draw_loop(where, model))
    return model


def _draw_loop(where: str, model: LengthModel) -> None:
    fences = Fences(where, params=np.array(model.params), pattern=model.pattern, memo=np.zeros(model.memo_size))
    keys, cursor, words = new_stream(0, 0, TASK_LENGTHS)
    for task in range(min(model.tasks(_TASKS), _TASKS)):
        with rule_answers(where):
            model.next_length(task, model.tasks(_TASKS), 1.0, **fences.arrays, keys=keys, cursor=cursor, words=words)
        fences.check()
