"""Messages for an external scheduler: the machine, and the news."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, cast

from bls.seen import news as n
from bls.seen.jobs import JobWidth, SeenJob
from bls.seen.machine import SeenPartition, SeenWindow
from bls.view import View
from bridge.protocol import scheduler_messages as m
from bridge.protocol.packing import pack_int32
from bridge.protocol.vocabulary import Message
from traces.base.time import MAX_NS

#: Attributes of a partition's limits, of a group of hosts and of a job, by the name of the message's field.
_OF_LIMITS: Final = tuple(name for name in m.PartitionOfMachine.__struct_fields__ if name != "hosts")
_OF_HOSTS: Final = ("count", "cores", "speed_gflops", "gpus", "gpu")
_OF_JOB: Final = (
    *("attempt", "submit_ns", "estimate_ns", "walltime_ns", "deadline_ns", "cores", "user", "group", "queue"),
    *("partition", "qos", "partition_name", "reservation", "depends_on", "think_ns", "application", "memory_kb"),
)


def _column(intervals: Iterable[tuple[int, int]]) -> bytes:
    return pack_int32(list(chain.from_iterable(intervals)))


def machine_of(view: View) -> m.MachineDescription:
    """Description of the machine, sent before the first question."""
    platform, rules = view.platform, view.rules
    return m.MachineDescription(
        cores=view.n_cores,
        hosts=tuple(
            m.HostGroupOfMachine(resources=dict(group.resources), **{name: getattr(group, name) for name in _OF_HOSTS})
            for group in platform.hosts
        ),
        licences=dict(zip(platform.licence_names, platform.licence_amounts.tolist(), strict=True)),
        partitions=tuple(_partition(one) for one in view.partitions) if platform.partitions else (),
        windows=tuple(_window(one) for one in view.windows),
        allocator=view.allocator.name,
        whole_hosts=view.allocator.whole_hosts,
        kills=rules.kill_at_walltime,
        releases=view.releases,
        resizes=rules.resized == "decide",
        hints=rules.hints,
    )


def _partition(seen: SeenPartition) -> m.PartitionOfMachine:
    limits = {name: getattr(seen.limits, name) for name in _OF_LIMITS}
    return m.PartitionOfMachine(hosts=_column((host, host + 1) for host in seen.hosts), **limits)


def _window(seen: SeenWindow) -> m.WindowOfMachine:
    return m.WindowOfMachine(
        kind="maintenance" if seen.kind == "maintenance" else "reservation",
        name=seen.name,
        begin_ns=seen.begin_ns,
        end_ns=seen.end_ns,
        cores=_column(seen.cores),
        jobs=seen.jobs,
    )


def messages_of(news: Iterable[n.AnyNews], view: View) -> Iterator[Message]:
    """The news, in order."""
    for one in news:
        if isinstance(one, n.HostChanged):
            yield m.Host(host=one.host, down=one.is_down, up_again_ns=one.up_again_ns)
            continue
        job, row = one.job, one.job.row
        if isinstance(one, n.JobSubmitted):
            yield _submitted(job, view.width(job), in_mw(view.power_of(job)))
        elif isinstance(one, n.JobEligible):
            yield m.Eligible(job=row, eligible_ns=job.eligible_ns, estimate_ns=job.estimate_ns)
        elif isinstance(one, n.JobStarted):
            cores, gpus, end_ns = _column(one.cores), pack_int32(one.gpus), _expected_end_ns(job)
            yield m.Started(job=row, start_ns=job.start_ns, cores=cores, gpus=gpus, expected_end_ns=end_ns)
        elif isinstance(one, n.JobExpected):
            yield m.Expected(job=row, expected_end_ns=_expected_end_ns(job))
        elif isinstance(one, n.CoresReleased):
            yield m.Released(job=row, cores=_column(one.cores))
        elif isinstance(one, n.CoresGiven):
            yield m.Given(job=row, cores=_column(one.cores))
        else:
            yield m.Ended(job=row, end_ns=one.end_ns, how=cast(m.How, one.how))


def free_gpus(view: View) -> bytes:
    """The thousandths left of each GPU, 0 on hosts that are down."""
    if not view.platform.n_gpus:
        return b""
    left, first = view.free_gpus.copy(), view.platform.first_gpu
    for host in view.down:
        left[first[host] : first[host + 1]] = 0
    return pack_int32(left)


def in_mw(watts: float | None) -> int | None:
    """W in mW; the result is exact."""
    return None if watts is None else round(watts * 1000)


def _expected_end_ns(job: SeenJob) -> int:
    return min(job.expected_end_ns, MAX_NS)  # the latest instant


def _submitted(job: SeenJob, width: JobWidth, power_mw: int | None) -> m.Submitted:
    asked = job.request
    return m.Submitted(
        job=job.row,
        number=job.job_id,
        first=job.origin,
        eligible_ns=job.eligible_ns if job.dependency_holds else None,
        min_cores=width.least,
        max_cores=width.most,
        units=asked.units,
        unit_cores=asked.unit_cores,
        resources=dict(asked.resources),
        licences=dict(asked.licences),
        gpus=None if asked.gpus is None else m.GpusOfJob(**vars(asked.gpus)),
        switches=asked.switches,
        power_mw=power_mw,
        extras=dict(job.extras),
        **{name: getattr(job, name) for name in _OF_JOB},
    )
