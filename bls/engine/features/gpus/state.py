"""The columns of numbered GPUs."""

from traces.compiled import compiled
from traces.kernels.signatures import Ints, Ints2
from traces.kernels.state import State, column


class GpuLists(State, dim="gpu_lists"):
    """GPUs that jobs have or had, one list per row in the order of arrival, with room for the most that the job can have."""

    gpu: Ints = column()  # ascending; of a share once for each unit


class GpuState(State):
    """GPUs of H hosts, numbered host by host; what jobs request, by first attempt (``bls.constraints.gpu_requests``)."""

    amount: int = 0  # index of the first GPU in ``Offer.amounts``, which has the thousandths left of each
    n_used: int = 0  # entries of ``lists`` in use
    of_host: Ints  # (H + 1,): host h has the GPUs of_host[h] … of_host[h + 1] - 1
    host: Ints  # of each GPU
    kind: Ints  # (H,): kind of the GPUs of a host
    per_unit: Ints  # requested GPUs of each unit
    per_host: Ints  # requested GPUs of each host of the job
    milli: Ints  # requested thousandths of each of these GPUs
    kinds: Ints  # accepted kinds: sum of 1 << k
    most: Ints  # the most GPUs that the job can have
    own_class: Ints  # its row of ``HostAmounts.classes``; empty if the allocator does not read these
    first: Ints = column("gpus", fill=-1)  # of rows: its list in ``lists``, -1 before its arrival
    count: Ints = column("gpus")  # of rows: GPUs in it, held or reserved
    lists: GpuLists = column(saved=False)  # GPUs of each row
    # Thousandths of GPUs that running jobs hold, counted only for limits of partitions and accounts of policies:
    most_running: Ints  # limit of each partition; empty without limits
    most_of_user: Ints  # the same, of the jobs of each user
    held: Ints = column("gpus")  # of rows; of waiting jobs they have no meaning
    running: Ints = column("partitions")  # of the jobs of each partition
    of_user: Ints2 = column("partitions", "users")  # of the jobs of each user there


@compiled(merged=True)
def requested_parts(gpus: GpuState, origin: int, units: int, hosts: int) -> int:
    """The number of GPUs, or shares of one, that a job requests for units on hosts."""
    return int(gpus.per_unit[origin] * units + gpus.per_host[origin] * hosts)
