"""The options of the batch level, each declared once (``traces.base.options``), and the machine that is simulated by default.

Nothing heavy is imported here: the help of the command line is made of it.
"""

from dataclasses import replace

from traces.base.options import CORE_GFLOPS, Choice, Option, Panel, Real, Whole

#: The machine of the two-level paper: its hosts, the cores of each, and the speed of each, GFLOP/s.
HOSTS, HOST_CORES = 4, 64
HOST_GFLOPS = HOST_CORES * CORE_GFLOPS.default

BLS = Option(
    name="bls", panel=Panel.BATCH, names="bls.policies:POLICIES", default="fcfs", metavar="NAME",
    help="Batch policy by name (fcfs, sjf, wfp3 …), expr:EXPRESSION, or FILE.py:NAME",
)  # fmt: skip
BLS_COMMAND = Option[str | None](
    name="bls-command",
    panel=Panel.COUPLING,
    default=None,
    metavar="COMMAND",
    help=f"A scheduler of your own, in place of {BLS} (bridge/PROTOCOL.md)",
)
SELECT = Option(
    name="select", panel=Panel.JOBS, default="all", metavar="WHICH",
    help="all, first:N, or a window: busiest:LENGTH (most jobs), heaviest:LENGTH (most work), window:START+LENGTH or "
    "window:START..END; a start or end is a time of the log or a date, e.g. 2003-01-31T12:00",
)  # fmt: skip
OVERSIZE = Choice(
    name="oversize", panel=Panel.JOBS, default="reject", choices=("reject", "clamp"),
    what="treatment of too wide jobs", metavar="HOW",
    help="Jobs wider than the platform: reject, or clamp to its width",
)  # fmt: skip
PLATFORM = Option[str | None](
    name="platform", panel=Panel.JOBS, default=None, metavar="FILE",
    help=f"Platform in TOML, or AccaSim's JSON; paper: {HOSTS} hosts × {HOST_CORES} cores; demand-response: another "
    "paper's, 151 × 14, with what they draw; or log: what the log names",
    rule="log if run times are recorded and it names a machine, otherwise paper",
)  # fmt: skip
SLACK = Real(
    name="slack",
    panel=Panel.BATCH,
    default=2.0,
    lowest=0.0,
    highest=1e6,
    metavar="X",
    help="EDF's deadline is submit + X × estimate",
)
ALLOCATOR = Option(
    name="allocator", panel=Panel.BATCH, names="bls.allocators:ALLOCATORS", default="first-fit", metavar="NAME",
    help="Choice of cores by name (first-fit …), or FILE.py:NAME",
)  # fmt: skip
BACKFILL = Option(
    name="backfill", panel=Panel.BATCH, default="none", metavar="HOW",
    help="Reservations: none, easy (one), conservative (all), or their number",
)  # fmt: skip
CONSERVATIVE = Choice(
    name="conservative", panel=Panel.BATCH, default="keep", choices=("keep", "rebuild"),
    what="kind of conservative backfilling",
    metavar="HOW", help="Conservative plans: keep what was promised, or rebuild each time",
)  # fmt: skip
KILL_AT_WALLTIME = Option(
    name="kill-at-walltime", panel=Panel.BATCH, default=False, help="Kill jobs that have run for their request"
)
ESTIMATES = Option(
    name="estimates", panel=Panel.BATCH, names="bls.estimates:ESTIMATORS", default="requested", metavar="NAME",
    help="How long the scheduler thinks jobs run: requested, exact, within:X%, last-two, profile, data-driven, application "
    "or FILE.py:NAME",
)  # fmt: skip
ON_FAILURE = Choice(
    name="on-failure", panel=Panel.CONSTRAINTS, default="requeue", choices=("requeue", "lose"),
    what="treatment of jobs that lose a host",
    metavar="HOW", help="Jobs that lose a host, or all cores: requeue or lose",
)  # fmt: skip
COORDINATION = Choice(
    name="coordination", panel=Panel.BATCH, default="none", what="coordination of the levels",
    choices=("none", "release", "release:core", "release:host", "hint", "hint:core", "hint:host"),
    metavar="HOW",
    help="What the levels tell each other of running jobs: none; which cores are free: release, release:core, release:host; "
    "and for which of theirs the head of the queue waits, or a policy says that others do: hint, hint:core, hint:host",
)  # fmt: skip
MALLEABLE = Option[str | None](
    name="malleable", panel=Panel.CONSTRAINTS, default=None, metavar="WHICH",
    help="Jobs whose width may change: SHARE[:MIN[:MAX]] of them, as 0.5:0.25:2, to MIN and MAX times what they ask for; "
    "or a CSV file",
)  # fmt: skip
#: When running malleable jobs are given cores, or asked for some, where nothing else is said.
RESIZED = "expand+shrink"
RESIZE = Choice(
    name="resize", panel=Panel.CONSTRAINTS, default="none", what="change of widths",
    choices=("none", "mold", "expand", "shrink", RESIZED, "equal", "evolve", "decide"), metavar="WHEN",
    help="When malleable jobs are given cores, or asked for some: none (never), mold (as they start), expand (nobody waits), "
    f"shrink (the head of the queue lacks cores), {RESIZED}, equal (so that all have as many), evolve (as their "
    "applications wish), or decide (as a batch policy in Python, or a scheduler, says)",
    rule=f"none; {RESIZED} with {MALLEABLE}",
)  # fmt: skip
POWER = Option(
    name="power", panel=Panel.POWER, default=False,
    help="Find out what the machine draws, and what jobs use: power.parquet, energy_j; the platform says what hosts draw",
)  # fmt: skip
POWER_OF = Choice(
    name="power-of", panel=Panel.POWER, default="held", choices=("held", "working"), what="active cores", metavar="CORES",
    help="Which cores are active: held by a job, or working, in a task",
)  # fmt: skip
LIMITS = Option[str | None](
    name="limits", panel=Panel.LIMITS, default=None, metavar="FILE",
    help="Limits to the power of the machine, or with where of parts of it: CSV, from,to,limit_w,where",
)  # fmt: skip
REACTION = Option(
    name="reaction",
    python="reaction_ns",
    panel=Panel.LIMITS,
    default="0s",
    metavar="TIME",
    help="How long after its begin a limit is known",
)
NOTICE = Option(
    name="notice",
    python="notice_ns",
    panel=Panel.LIMITS,
    default="0s",
    metavar="TIME",
    help="How long before its begin a limit is known",
)
FALLBACK = Option(
    name="fallback", panel=Panel.LIMITS, default="none", metavar="HOW",
    help="What is done under a limit: none, hold (jobs wait until they fit), submit:state=1 (as they are submitted, jobs are "
    "slowed), dvfs (running jobs are slowed; dvfs:slow=fewest: one by one), stop:idle or stop:off (hosts are out of service)",
)  # fmt: skip
ALLOWED = Option(
    name="allowed", panel=Panel.LIMITS, default="all", metavar="JOBS",
    help="Which jobs may be slowed: none, all, a share as 0.75 or 75%, users:3 17, or a CSV file",
)  # fmt: skip
JOB_POWER = Option[str | None](
    name="job-power", panel=Panel.POWER, default=None, metavar="FILE",
    help="What jobs draw, and how much of their time no speed changes: CSV, job_id,power,memory_bound",
)  # fmt: skip
POWER_ESTIMATES = Choice(
    name="power-estimates", panel=Panel.LIMITS, default="exact", choices=("exact", "platform", "last-two"),
    what="estimates of power", metavar="NAME",
    help="What the scheduler thinks jobs draw: exact, platform (as it says) or last-two (as the user's last two jobs did)",
)  # fmt: skip
SIGNALS = Option[str | None](
    name="signals", panel=Panel.POWER, default=None, metavar="FILE",
    help="Prices and emissions of energy over time, for policies that use them: CSV, from,price_per_kwh,g_co2e_per_kwh",
)  # fmt: skip
PUE = Option[str | None](
    name="pue", panel=Panel.POWER, default=None, metavar="PUE",
    help="Compute the facility's power from its PUE: 1.4, or at loads, '0%:2 50%:1.5 100%:1.3'",
)  # fmt: skip
SLEEP_AFTER = Option[str | None](
    name="sleep-after", python="sleep_after_ns", panel=Panel.POWER, default=None, metavar="TIME",
    help="A host that has idled for so long shuts down, and boots for the next job that is given it",
)  # fmt: skip
KEEP_AWAKE = Whole(
    name="keep-awake", panel=Panel.POWER, default=0, lowest=0, highest=10**9, metavar="N",
    help="So many hosts that idle are kept awake",
)  # fmt: skip
MAX_ATTEMPTS = Whole(
    name="max-attempts", panel=Panel.CONSTRAINTS, default=1000, lowest=1, highest=10**9, metavar="N",
    help="Give up when a job was cut so often",
)  # fmt: skip
CHARGE_DECISIONS = Option(
    name="charge-decisions",
    panel=Panel.BATCH,
    default=False,
    help="Jobs start only after the time it took to decide so",
)
DECISION_COST = Option[str | None](
    name="decision-cost", python="decision_cost_ns", panel=Panel.BATCH, default=None, metavar="TIME",
    help="What a decision takes, as 50ms (a bare number is s), instead of what is measured",
)  # fmt: skip
MEMORY = Choice(
    name="memory", panel=Panel.CONSTRAINTS, default="none", choices=("none", "swf"),
    what="source of memory requests", metavar="WHENCE",
    help="Memory that a core asks for: none, or swf: the log's",
)  # fmt: skip
REQUESTS = Option[str | None](
    name="requests", panel=Panel.CONSTRAINTS, default=None, metavar="FILE",
    help="CSV of what jobs ask for: units, resources, licences, switches",
)  # fmt: skip
WINDOWS = Option[str | None](
    name="windows",
    panel=Panel.CONSTRAINTS,
    default=None,
    metavar="FILE",
    help="TOML of reservations and maintenance windows",
)
FAILURES = Option[str | None](
    name="failures",
    panel=Panel.CONSTRAINTS,
    default=None,
    metavar="WHAT",
    help="Hosts that fail, or are drained: a CSV file, or mtbf:30d,mttr:4h",
)
DEPENDENCIES = Option(
    name="dependencies",
    panel=Panel.CONSTRAINTS,
    default=False,
    help="Jobs wait for their preceding job and think time (SWF 17, 18)",
)
SWITCHES = Option[str | None](
    name="switches", panel=Panel.BATCH, default=None, metavar="N[@TIME]",
    help="Jobs accept so many leaf switches, and wait so long for it",
)  # fmt: skip
PRESET = Option[bool | None](
    name="preset",
    off="no-preset",
    panel=Panel.JOBS,
    default=None,
    help="Start a window with the jobs that the log records as running or queued then, or with an empty machine",
    rule="with these jobs where the log records starts and its running jobs fit the platform",
)
CANCELLED = Option(
    name="cancelled", panel=Panel.JOBS, default=False, help="With the jobs that were cancelled before they started"
)

# What is found out, kept and read of a run.

DECISIONS = Option(
    name="decisions", python="keep_decisions", panel=Panel.RESULTS, default=False,
    help="Also write decisions.parquet, one row per scheduling pass",
)  # fmt: skip
OBSERVE = Option[tuple[str, ...]](
    name="observe", python="observers", panel=Panel.RESULTS, default=(), metavar="FILE.py:NAME",
    help="An observer of your own; may be repeated",
)  # fmt: skip
FAIR_START = Option(
    name="fair-start",
    panel=Panel.RESULTS,
    default=False,
    help="Compute each job's fair start time, and the metrics of unfairness",
)
STREAM = Option(
    name="stream", panel=Panel.RESULTS, default=False,
    help="Read, simulate and write in little memory, however long the log; recorded, without a trace",
)  # fmt: skip

TOPOLOGY = Option(
    name="topology", default="full", metavar="SPEC",
    help="With a network, how hosts are linked: full, shared, star, fat-tree:…, dragonfly:…",
)  # fmt: skip

# Of workloads that are made of others.

ALIGN = Choice(
    name="align", default="calendar", choices=("calendar", "start"), what="alignment", metavar="HOW",
    help="calendar: by UnixStartTime; or start: each begins at time 0",
)  # fmt: skip
NUMBERS = Option[str | None](
    name="numbers", default=None, metavar="HOW",
    help="Numbers that stand for users, queues … where a log has no names: same, apart, or by column, as user=apart,queue=same",
    rule="logs that share such numbers are refused",
)  # fmt: skip
JOBS = Whole[int | None](
    name="jobs", short="-n", default=None, lowest=1, highest=20_000_000, metavar="N", help="How many jobs"
)
METHOD = Choice(
    name="method", default="calendar", choices=("calendar", "accasim"), what="method", metavar="NAME",
    help="calendar: by weekday and month, too; or accasim: as its paper does",
)  # fmt: skip
SPEED_FACTOR = Real(
    name="speed-factor", default=1.0, lowest=1e-6, highest=1e6, metavar="FACTOR", help="Cores so many times as fast"
)
NODES_FACTOR = replace(SPEED_FACTOR, name="nodes-factor", help="So many times as many nodes")
