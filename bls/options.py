"""The options of the batch level, each declared once (``traces.base.options``), and the machine that is simulated by default.

No large module is imported here, since the help of the command line is made from it.
"""

from dataclasses import replace

from traces.base.options import CORE_GFLOPS, Choice, Option, Panel, Real, Whole

#: The machine of the two-level paper: its hosts, the cores of each, and the speed of each, GFLOP/s.
HOSTS, HOST_CORES = 4, 64
HOST_GFLOPS = HOST_CORES * CORE_GFLOPS.default

# The declarations are formatted by hand: names and values first, then the help.
# fmt: off

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
ESTIMATES = Option(
    name="estimates", first=True, panel=Panel.BATCH, names="bls.estimates:ESTIMATORS", default="requested", metavar="NAME",
    help="Run times that the scheduler plans with: requested, exact, within:X%, last-two, profile, data-driven, application, "
    "or FILE.py:NAME")
ON_FAILURE = Choice(
    name="on-failure", panel=Panel.CONSTRAINTS, default="requeue", choices=("requeue", "lose"),
    what="treatment", metavar="HOW",
    help="What happens to jobs that lose a host or all their cores: requeue, or lose (they fail)")
COORDINATION = Choice(
    name="coordination", first=True, panel=Panel.BATCH, default="none", what="coordination of the levels", metavar="HOW",
    choices=("none", "release", "release:core", "release:host", "hint", "hint:core", "hint:host"),
    help="Information exchanged between the levels about running jobs: none; release or release:core (jobs return cores that "
    "they no longer need), release:host (only whole hosts); hint or hint:core (jobs also receive which of their cores the "
    "queue waits for), hint:host")
MALLEABLE = Option[str | None](
    name="malleable", panel=Panel.CONSTRAINTS, default=None, metavar="WHICH",
    help="Jobs whose width may change: SHARE[:MIN[:MAX]], e.g. 0.5:0.25:2 for half of the jobs, from 0.25 to 2 times their "
    "requested cores; or a CSV file")
RESIZED = "expand+shrink"  #: when running malleable jobs are given cores, or must return some, by default
RESIZE = Choice(
    name="resize", panel=Panel.CONSTRAINTS, default="none", what="change of widths",
    choices=("none", "mold", "expand", "shrink", RESIZED, "equal", "evolve", "decide"), metavar="WHEN",
    help="When the width of malleable jobs changes: none; mold (at the start); expand (when the queue is empty), shrink "
    f"(when its head lacks cores), {RESIZED}; equal (shares of equal size); evolve (on request of the application); decide "
    "(by a batch policy in Python, or a scheduler)",
    rule=f"none, or {RESIZED} with {MALLEABLE}")
POWER = Choice(
    name="power", panel=Panel.POWER, default="none", bare="held", choices=("none", "held", "working"),
    what="definition of active cores", metavar="CORES",
    help="Compute power and energy (power.parquet, energy_j): none; held (cores are active while a job holds them); or "
    "working (only while they work on a task); needs a platform with power data",
    rule="none, or held with other options about power")
LIMITS = Option[str | None](
    name="limits", panel=Panel.LIMITS, default=None, metavar="FILE",
    help="Power limits of the machine or of parts of it, and when they are known: CSV, from,to,limit_w[,where,reaction,notice]")
FALLBACK = Option(
    name="fallback", panel=Panel.LIMITS, default="none", metavar="HOW",
    help="How a power limit is kept: none (ignored); hold (jobs wait for power); submit:state=1 (jobs submitted under a "
    "limit run slower); dvfs (running jobs are slowed; dvfs:slow=fewest: as few as needed); stop:idle or stop:off (hosts stop)")
ALLOWED = Option(
    name="allowed", panel=Panel.LIMITS, default="all", metavar="JOBS",
    help="Jobs that may be slowed: none, all, a share such as 0.75 or 75%, users:3 17, or a CSV file")
JOB_POWER = Option[str | None](
    name="job-power", panel=Panel.POWER, default=None, metavar="FILE",
    help="Power of jobs, and the part of their time that is independent of core speed: CSV, job_id,power,memory_bound")
POWER_ESTIMATES = Choice(
    name="power-estimates", panel=Panel.LIMITS, default="exact", choices=("exact", "platform", "last-two"),
    what="estimates of power", metavar="NAME",
    help="Job power that the scheduler plans with: exact, platform (typical power of the platform), or last-two (mean of the "
    "user's last two jobs)")
SIGNALS = Option[str | None](
    name="signals", panel=Panel.POWER, default=None, metavar="FILE",
    help="Prices and emissions of energy over time, for policies that use them: CSV, from,price_per_kwh,g_co2e_per_kwh")
SLEEP_AFTER = Option[str | None](
    name="sleep-after", python="sleep_after_ns", panel=Panel.POWER, default=None, metavar="TIME",
    help="Shut down hosts that have been idle for this time; they boot when a job is placed on them")
KEEP_AWAKE = Whole(
    name="keep-awake", panel=Panel.POWER, default=0, lowest=0, highest=10**9, metavar="N",
    help="Number of idle hosts that stay awake")
MAX_ATTEMPTS = Whole(
    name="max-attempts", panel=Panel.CONSTRAINTS, default=1000, lowest=1, highest=10**9, metavar="N",
    help="Stop the run when a job has been interrupted this many times")
DECISION_COST = Option[str | None](
    name="decision-cost", python="decision_cost_ns", panel=Panel.BATCH, default=None, metavar="TIME",
    help="Delay each start by the time of the decision: measured, or a fixed time, e.g. 50ms (a bare number is s)")
MEMORY = Choice(
    name="memory", panel=Panel.CONSTRAINTS, default="none", choices=("none", "swf"),
    what="source", metavar="SOURCE",
    help="Memory requested per core: none, or swf (as recorded in the log)")
REQUESTS = Option[str | None](
    name="requests", panel=Panel.CONSTRAINTS, default=None, metavar="FILE",
    help="CSV of job requests: units, resources, licences, switches")
WINDOWS = Option[str | None](
    name="windows", panel=Panel.CONSTRAINTS, default=None, metavar="FILE",
    help="TOML of reservations and maintenance windows")
FAILURES = Option[str | None](
    name="failures", panel=Panel.CONSTRAINTS, default=None, metavar="WHAT",
    help="Hosts that fail or are drained: a CSV file, or a model such as mtbf:30d,mttr:4h")
DEPENDENCIES = Option(
    name="dependencies", panel=Panel.CONSTRAINTS, default=False,
    help="Start jobs after their preceding job and think time (SWF fields 17 and 18)")
SWITCHES = Option[str | None](
    name="switches", panel=Panel.BATCH, default=None, metavar="N[@TIME]",
    help="Place each job on at most N leaf switches; wait for them at most TIME")
PRESET = Option[bool | None](
    name="preset", off="no-preset", panel=Panel.JOBS, default=None,
    help="Start a window with the jobs that were running or queued according to the log, or with an empty machine",
    rule="with the jobs, if the log records starts and its running jobs fit the platform")
CANCELLED = Option(
    name="cancelled", panel=Panel.JOBS, default=False,
    help="Include jobs that were cancelled before they started")

# Results of a run.

DECISIONS = Option(
    name="decisions", first=True, python="keep_decisions", panel=Panel.RESULTS, default=False,
    help="Also write decisions.parquet, one row per scheduling pass")
OBSERVE = Option[tuple[str, ...]](
    name="observe", python="observers", panel=Panel.RESULTS, default=(), metavar="FILE.py:NAME",
    help="Your own observer; may be repeated")
FAIR_START = Option(
    name="fair-start", panel=Panel.RESULTS, default=False,
    help="Compute each job's fair start time, and the metrics of unfairness")
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
