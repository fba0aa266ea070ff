"""The options of the application level, each declared once (``traces.base.options``).

Nothing heavy is imported here: the help of the command line is made of it.
"""

from dataclasses import replace

from traces.base.options import Choice, Option, Panel, Real, Whole

#: A job of more tasks than this is refused.
MAX_TASKS_PER_JOB = 100_000_000

#: What names a technique, or several that one is chosen of.
TECHNIQUES = "static, ss, gss, fac, awf-c, heft …; as fsc:h=1e-6,sigma=0.2; select:NAME,NAME; FILE.py:NAME"

ALS = Option(
    name="als",
    panel=Panel.APPLICATION,
    names="als.techniques:TECHNIQUES",
    default="static",
    metavar="NAME",
    help=f"Application technique: {TECHNIQUES}",
)
VARIATION = Real(
    name="variation",
    panel=Panel.APPLICATION,
    default=0.0,
    lowest=0.0,
    highest=10.0,
    metavar="Υ",
    help="Task variation factor, σ over µ of task lengths",
)
TASKS_PER_CORE = Whole(
    name="tasks-per-core",
    panel=Panel.APPLICATION,
    default=1,
    lowest=1,
    highest=MAX_TASKS_PER_JOB,
    metavar="K",
    help="Tasks per core of a job",
)
LENGTHS = Option(
    name="lengths",
    panel=Panel.APPLICATION,
    names="als.lengths:LENGTHS",
    default="",
    metavar="SPEC",
    help="Distribution of task lengths, as gamma:cov=0.5, normal:draw=paper or file:PATH",
    rule="normal",
)
APPLICATIONS = Option[str | None](
    name="applications",
    panel=Panel.APPLICATION,
    default=None,
    metavar="FILE",
    help="TOML that says which job computes what: serial parts, loops, steps",
)
OVERHEAD = Whole(
    name="overhead",
    panel=Panel.APPLICATION,
    default=0,
    lowest=0,
    highest=3600 * 10**9,
    unit="ns",
    metavar="TIME",
    help="What each chunk costs before its tasks, as 5us",
)
RESIZE_COST = replace(
    OVERHEAD,
    name="resize-cost",
    python="resize_ns",
    help="What a change of its width costs each core of a job, as 100ms",
)
LATENCY = Whole(
    name="latency",
    panel=Panel.APPLICATION,
    default=0,
    lowest=0,
    highest=10**12,
    unit="ns",
    metavar="TIME",
    help="What a message between a job's first host and another takes, as 5us",
)
ASSIGNMENT = Choice(
    name="assignment",
    panel=Panel.APPLICATION,
    default="distributed",
    choices=("distributed", "master"),
    what="assignment",
    metavar="HOW",
    help="Who calculates chunks, and pays: distributed (each core), or master",
)
SPEEDS = Option[tuple[str, ...]](
    name="speeds",
    panel=Panel.APPLICATION,
    default=(),
    metavar="SPEC",
    help="Core speeds that change, as square:period=60s,low=0.5; may be repeated",
)
NETWORK = Option(
    name="network",
    panel=Panel.APPLICATION,
    names="als.network:MODELS",
    default="none",
    metavar="MODEL",
    help="What data between a graph's tasks take: none, hockney, cm02, lv08",
)
ORDER = Choice(
    name="order",
    default="index",
    choices=("index", "rank"),
    what="order",
    metavar="HOW",
    help="How tasks wait: index, or rank, by upward rank; no planner",
)
CORES = Whole[int | None](
    name="cores",
    default=None,
    lowest=1,
    highest=2**20,
    metavar="P",
    help="Cores, of all hosts",
    rule="as many as core speeds are given",
)
STEPS = Whole(
    name="steps",
    default=1,
    lowest=1,
    highest=1_000_000,
    metavar="S",
    help="Run the loop so often, a barrier after each time",
)
N_TASKS = Whole[int | None](
    name="n",
    default=None,
    lowest=1,
    highest=MAX_TASKS_PER_JOB,
    metavar="N",
    help="Draw so many tasks, instead of reading them",
)
#: Of tasks whose chunks are asked for one at a time, in Python.
CHUNK_TASKS = replace(N_TASKS, highest=10_000_000)
