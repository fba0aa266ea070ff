"""The column of limits of switches."""

from traces.kernels.signatures import Ints
from traces.kernels.state import State


class SwitchState(State):
    """Limits of leaf switches, in runs with any."""

    limit: Ints  # by row of the first attempt: most leaf switches, 0: no limit
