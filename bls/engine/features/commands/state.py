"""The columns of commands to running jobs."""

from bls.engine.codes import RunningCommand
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class CommandLog(State, dim="commands"):
    """The command log: commands to running jobs."""

    job: Ints = column()  # row
    at_ns: Ints = column()  # instant
    core: Ints = column()  # -1: all cores, or the end of the job; HINTED: the row that waits, -1 none any more
    what: Ints = column(codes=RunningCommand)  # command
    value: Ints = column()  # scale, or state of an ended job; HINTED: number of cores waited for
    wanted: Ints = column()  # HINTED: number of these cores that the job holds


class CommandState(State):
    """Commands to running jobs."""

    n_log: int = 0  # columns of the command log in use
    first: int = 0  # its columns before the latest pass
    log: CommandLog = column(saved=False)  # command log: commands to running jobs
    # Of rows:
    received: Ints = column("job_commands")  # hints and other commands that each job has received
    latest: Ints = column("job_commands")  # first column of its latest ones in the command log
    count: Ints = column("job_commands")  # number of these columns
