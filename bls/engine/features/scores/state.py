"""The columns of scoring policies."""

from traces.kernels.signatures import Floats, Floats2, Ints2
from traces.kernels.state import State, column


class ScoreState(State):
    """Numbers, memory and scores of a scoring policy."""

    held_gpus: int = -1  # row of numbers with the thousandths of GPUs that each job holds; -1: none
    numbers: Floats2 = column("numbers", "numbered")  # numbers of the policy for each row
    memory: Floats = column("memory")  # its memory
    keys: Floats = column("scored", saved=False)  # its scores
    sorting: Ints2 = column(4, "scored", saved=False)  # work space
