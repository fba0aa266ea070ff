"""The columns of policies that decide in Python."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class ChoiceState(State):
    """The latest decision of a policy: jobs to start or to reject, with or without their cores."""

    may_not_fit: int = 0  # a chosen job that does not fit waits
    n_named: int = 0  # intervals of cores that it named for its jobs
    did_not_fit: int = 0  # jobs that it chose, and that did not fit, in all passes
    # Cores that it named, but its job cannot have:
    refused: int = 0  # reason: HELD_BACK … NO_PARTS; 0: none
    refused_at: int = 0  # core, host, window, licence … concerned
    refused_of: int = 0  # resource of this host, core of this window …
    refused_where: int = 0  # power domain whose limit is exceeded
    # The decision, ``BatchState.n_chosen`` jobs:
    rows: Ints = column("chosen", saved=False)  # rows of jobs to start, -1 - row to reject
    first: Ints = column("chosen_first", saved=False)  # first interval of cores named for each choice
    lo: Ints = column("named", saved=False)  # first core of each interval
    hi: Ints = column("named", saved=False)  # one past its last core
