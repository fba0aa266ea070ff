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


class JobReleases(State, dim="rows"):
    """Cores that each job releases, by row."""

    ordered: Ints = column()  # cores that it was ordered to release and still holds
    requested: Ints = column()  # released cores among the requested ones
    held: Ints = column()  # released cores among the given ones


class ReleaseState(State):
    """Cores that running jobs still hold, and those that they have released or will release."""

    n_made: int = 0  # columns of ``made`` in use
    made: Releases = column("releases", saved=False)  # records of releases
    of_row: JobReleases = column("job_releases")  # of rows: cores that jobs release
    holder: Ints = column("held", fill=-1)  # row of the job that holds each core; -1: none
    due: Heap = column("releasing")  # future releases: row · M + core; requests: ``WIDTH_REQUEST_KEY`` + row
    ordered: Heap = column("held", saved=False)  # work space: running jobs, or their cores, in order
    left: Pool = column("held", saved=False)  # work space: cores that a job still holds
