"""The columns of hints."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class HintState(State):
    """Hints that running jobs have received."""

    of_core: Ints = column("hinted")  # of each core: 1 + row that received a hint about it
    of_row: Ints = column("job_hints")  # of rows: cores named in the latest hint to each job
    wanted: Ints = column("hinted")  # work space of a pass for the same; otherwise 0
    n_cores: int = 0  # cores of running jobs with a hint
