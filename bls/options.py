"""The options of the batch level, each declared once (``traces.base.options``), and the machine that is simulated by default.

Those of a feature of the engine are in ``options.py`` in its folder (``bls.engine.features``). No large module is imported here
or there, since the help of the command line is made from them.
"""

from dataclasses import replace

from traces.base.options import CORE_GFLOPS, Choice, Option, Panel, Real, Whole

#: The machine of the two-level paper: its hosts, the cores of each, and the speed of each, GFLOP/s.
HOSTS, HOST_CORES = 4, 64
HOST_GFLOPS = HOST_CORES * CORE_GFLOPS.default

# Declarations are set by hand: names and values first, then the help.

BLS = Option(
    name="bls", first=True, panel=Panel.BATCH, names="bls.policies:POLICIES", default="fcfs", metavar="NAME",
    help="Batch policy: a name (fcfs, sjf, wfp3 …), expr:EXPRESSION, or FILE.py:NAME")
BLS_COMMAND = Option[str | None](
    name="bls-command", panel=Panel.COUPLING, default=None, metavar="COMMAND",
    help=f"Command that starts your own scheduler, in place of {BLS} (bridge/PROTOCOL.md)")
SELECT = Option(
    name="select", first=True, panel=Panel.JOBS, default="all", metavar="WHICH",
    help="Selected jobs: all, first:N, or a window: busiest:LENGTH (most jobs), heaviest:LENGTH (most work), "
    "window:START+LENGTH or window:START..END; START and END are times since the start of the log, or dates such as "
    "2003-01-31T12:00")
OVERSIZE = Choice(
    name="oversize", panel=Panel.JOBS, default="reject", choices=("reject", "clamp"),
    what="treatment", metavar="HOW",
    help="Jobs wider than the platform: reject, or clamp (reduce to all cores of the platform)")
PLATFORM = Option[str | None](
    name="platform", first=True, panel=Panel.JOBS, default=None, metavar="FILE",
    help=f"Machine: a TOML file, or AccaSim's JSON; paper: {HOSTS} hosts × {HOST_CORES} cores; demand-response: 151 hosts × 14 "
    "cores with power data; or log: as the log's header states",
    rule="log if run times are recorded and it names a machine, otherwise paper")
SLACK = Real(
    name="slack", panel=Panel.BATCH, default=2.0, lowest=0.0, highest=1e6, metavar="X",
    help="EDF deadline: submit + X × estimate")
ALLOCATOR = Option(
    name="allocator", first=True, panel=Panel.BATCH, names="bls.allocators:ALLOCATORS", default="first-fit", metavar="NAME",
    help="Choice of cores: a name (first-fit, best-fit, topology …), or FILE.py:NAME")
BACKFILL = Option(
    name="backfill", first=True, panel=Panel.BATCH, default="none", metavar="HOW",
    help="Backfilling: none; easy (one reservation), a number of reservations, conservative (all, kept from pass to pass), or "
    "conservative:rebuild (all, planned again in every pass)")
KILL_AT_WALLTIME = Option(
    name="kill-at-walltime", first=True, panel=Panel.BATCH, default=False,
    help="Kill jobs that reach their walltime, the requested time")
POWER = Choice(
    name="power", panel=Panel.POWER, default="none", bare="held", choices=("none", "held", "working"),
    what="definition of active cores", metavar="CORES",
    help="Compute power and energy (power.parquet, energy_j): none; held (cores are active while a job holds them); or "
    "working (only while they work on a task); needs a platform with power data",
    rule="none, or held with other options about power")
JOB_POWER = Option[str | None](
    name="job-power", panel=Panel.POWER, default=None, metavar="FILE",
    help="Power of jobs, and the parts of their time that are independent of speed and on GPUs: CSV, "
    "job_id,power,memory_bound,gpu_share")
SIGNALS = Option[str | None](
    name="signals", panel=Panel.POWER, default=None, metavar="FILE",
    help="Prices and emissions of energy over time, for policies that use them: CSV, from,price_per_kwh,g_co2e_per_kwh")
MEMORY = Choice(
    name="memory", panel=Panel.CONSTRAINTS, default="none", choices=("none", "swf"),
    what="source", metavar="SOURCE",
    help="Memory requested per core: none, or swf (as recorded in the log)")
REQUESTS = Option[str | None](
    name="requests", panel=Panel.CONSTRAINTS, default=None, metavar="FILE",
    help="CSV of job requests: units, resources, licences, switches")
CANCELLED = Option(
    name="cancelled", panel=Panel.JOBS, default=False,
    help="Include jobs that were cancelled before they started")

# Results of a run.

OBSERVE = Option[tuple[str, ...]](
    name="observe", python="observers", panel=Panel.RESULTS, default=(), metavar="FILE.py:NAME",
    help="Your own observer; may be repeated")
FAIR_START = Option(
    name="fair-start", panel=Panel.RESULTS, default=False,
    help="Compute each job's fair start time, and the metrics of unfairness")
GPU_FRAGMENTATION = Option(
    name="gpu-fragmentation", panel=Panel.RESULTS, default=False,
    help="Compute the part of idle GPUs that a random job of the workload cannot use")
STREAM = Option(
    name="stream", panel=Panel.RESULTS, default=False,
    help="Read, simulate and write with little memory, for logs of any length; needs recorded run times and no trace")

TOPOLOGY = Option(
    name="topology", default="full", metavar="SPEC",
    help="Links between hosts: full, shared, star, fat-tree:…, dragonfly:…; needs a network")

# Workloads made from other workloads.

ALIGN = Choice(
    name="align", default="calendar", choices=("calendar", "start"), what="alignment", metavar="HOW",
    help="Time 0 of the result: calendar (by UnixStartTime), or start (each log begins at time 0)")
NUMBERS = Option[str | None](
    name="numbers", default=None, metavar="HOW",
    help="Numbers of users, queues … in logs without names: same, apart, or by column, e.g. user=apart,queue=same",
    rule="logs that share such numbers are refused")
JOBS = Whole[int | None](
    name="jobs", short="-n", default=None, lowest=1, highest=20_000_000, metavar="N",
    help="Number of jobs")
METHOD = Choice(
    name="method", default="calendar", choices=("calendar", "accasim"), what="method", metavar="NAME",
    help="Method: calendar (arrivals also depend on weekday and month), or accasim (that of the AccaSim paper)")
SPEED_FACTOR = Real(
    name="speed-factor", default=1.0, lowest=1e-6, highest=1e6, metavar="FACTOR",
    help="Make cores FACTOR times as fast")
NODES_FACTOR = replace(SPEED_FACTOR, name="nodes-factor", help="Make the number of hosts FACTOR times as large")
