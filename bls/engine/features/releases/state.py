"""The columns of releases."""

from bls.engine.cores import Pool
from traces.algorithms.event_heap import Heap
from traces.kernels.signatures import Ints
from traces.kernels.state import State, column


class Releases(State, dim="releases"):
    """Cores that running jobs have released."""

    job: Ints = column()  # row
    core: Ints = column()  # core number
    at_ns: Ints = column()  # instant


class ReleaseState(State):
    """Cores that running jobs still hold, and those that they have released, will release, or lost."""

    n_made: int = 0  # columns of ``made`` in use
    made: Releases = column("releases", saved=False)  # records of releases
    # Of rows:
    ordered_of: Ints = column("job_releases")  # cores that each job was ordered to release and still holds
    released: Ints = column("job_releases")  # its released cores among the requested ones
    released_held: Ints = column("job_releases")  # its released cores among the given ones
    last_lost: Ints = column("losing")  # 1 + the lost core that ended it; -1 if its width changed
    # Of the machine:
    holder: Ints = column("held", fill=-1)  # row of the job that holds each core; -1: none
    due: Heap = column("releasing")  # future releases: row · M + core; requests: ``WIDTH_REQUEST_KEY`` + row
    ordered: Heap = column("held", saved=False)  # work space: running jobs, or their cores, in order
    left: Pool = column("held", saved=False)  # work space: cores that a job still holds
