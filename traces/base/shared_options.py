"""Options of both levels and of results, each declared once: the seed, the speed of a core, links, parts of a run."""

from __future__ import annotations

from traces.base.option import Option, Real, Whole

SEED = Whole(
    name="seed",
    default=0,
    lowest=0,
    highest=2**64 - 1,
    metavar="N",
    help="Seed of all that is drawn: task lengths, shares, speeds, failures, cores",
)

#: The default is the speed of a core of the two-level paper's hosts, which is also what logs and graphs are taken to have
#: been measured on that do not say it.
CORE_GFLOPS = Real(
    name="core-gflops",
    default=46.875,
    lowest=1e-9,
    highest=1e12,
    unit="GFLOP/s",
    metavar="GFLOPS",
    help="Speed of the core that a file's run times were measured on",
)

LINK_BANDWIDTH = Real(
    name="bandwidth",
    default=50.0,
    lowest=1e-9,
    highest=1e9,
    unit="Gbit/s",
    metavar="GBPS",
    help="With a network: of a link",
)
LINK_LATENCY = Real(
    name="link-latency",
    default=500.0,
    lowest=0.0,
    highest=1e12,
    unit="ns",
    metavar="TIME",
    help="With a network: of a link, as 2us",
)
MEMORY_BANDWIDTH = Real[float | None](
    name="memory-bandwidth",
    default=None,
    lowest=LINK_BANDWIDTH.lowest,
    highest=LINK_BANDWIDTH.highest,
    unit="Gbit/s",
    metavar="GBPS",
    help="With a network: between cores of a host",
    rule="no time",
)

# Of a trace or a figure that is to show a part of a run.

PART_CORES = Option[str | None](
    name="cores",
    default=None,
    metavar="NUMBERS",
    help="Only these cores, as 0-63 128, and the jobs that held some of them",
)
PART_JOBS = Option[str | None](name="jobs", default=None, metavar="NUMBERS", help="Only these jobs, as 40-60 77")
