"""The options of the application level, each declared once (``traces.base.options``).

Nothing heavy is imported here: the help of the command line is made of it.
"""

from dataclasses import replace

from traces.base.options import Choice, Option, Panel, Real, Whole

MAX_TASKS_PER_JOB = 100_000_000  #: a job of more tasks than this is refused

#: Spellings of a technique, or of several from which one is selected.
TECHNIQUES = (
    "a name (static, ss, gss, fac, awf-c, heft …), with parameters as in fsc:h=1e-6,sigma=0.2; "
    "select:NAME,NAME (the best by simulation ahead); FILE.py:NAME"
)

# Declarations are set by hand, as in ``bls.options``: names and values first, then the help.

ALS = Option(
    name="als", first=True, panel=Panel.APPLICATION, names="als.techniques:TECHNIQUES", default="static", metavar="NAME",
    help=f"Application technique: {TECHNIQUES}")
VARIATION = Real(
    name="variation", first=True, panel=Panel.APPLICATION, default=0.0, lowest=0.0, highest=10.0, metavar="Υ",
    help="Variation of task lengths: standard deviation over mean")
TASKS_PER_CORE = Whole(
    name="tasks-per-core", first=True, panel=Panel.APPLICATION, default=1, lowest=1, highest=MAX_TASKS_PER_JOB, metavar="K",
    help="Mean number of tasks per core of a job")
LENGTHS = Option(
    name="lengths", first=True, panel=Panel.APPLICATION, names="als.lengths:LENGTHS", default="", metavar="SPEC",
    help="Distribution of task lengths, e.g. gamma:cov=0.5, normal:draw=paper or file:PATH", rule="normal")
APPLICATIONS = Option[str | None](
    name="applications", panel=Panel.APPLICATION, default=None, metavar="FILE",
    help="TOML file that assigns programs to jobs: serial parts, loops, graphs, time steps")
OVERHEAD = Whole(
    name="overhead", panel=Panel.APPLICATION, default=0, lowest=0, highest=3600 * 10**9, unit="ns", metavar="TIME",
    help="Scheduling overhead: time to assign one chunk of tasks, e.g. 5us")
RESIZE_COST = replace(
    OVERHEAD, name="resize-cost", python="resize_ns",
    help="Time that each core of a job loses when the job's width changes, e.g. 100ms")
LATENCY = replace(OVERHEAD, name="latency", highest=10**12, help="Time of a message between two hosts, e.g. 5us")
ASSIGNMENT = Choice(
    name="assignment", panel=Panel.APPLICATION, default="distributed", choices=("distributed", "master"),
    what="assignment", metavar="HOW",
    help="Where chunks are calculated, and the overhead is spent: distributed (on each core), or master (on one)")
SPEEDS = Option[tuple[str, ...]](
    name="speeds", panel=Panel.APPLICATION, default=(), metavar="SPEC",
    help="Variable core speeds, e.g. square:period=60s,low=0.5; may be repeated")
WORKERS = Option[tuple[str, ...]](
    name="workers", default=(), metavar="SPEC",
    help="Workers that are no cores, driven by the last ones, e.g. gpu:count=4,speed=20,launch=10us; may be repeated")
NETWORK = Option(
    name="network", panel=Panel.APPLICATION, names="als.network:MODELS", default="none", metavar="MODEL",
    help="Model of data transfers between tasks of a graph, and between a job's first host and devices: none, "
    "hockney, cm02, lv08")
ORDER = Choice(
    name="order", default="index", choices=("index", "rank"), what="order", metavar="HOW",
    help="Order of ready tasks: index, or rank (upward rank); not with a planner")
CORES = Whole[int | None](
    name="cores", default=None, lowest=1, highest=2**20, metavar="P",
    help="Number of cores of all hosts", rule="the number of core speeds")
STEPS = Whole(
    name="steps", default=1, lowest=1, highest=1_000_000, metavar="S",
    help="Repeat the loop this many times, with a barrier after each")
N_TASKS = Whole[int | None](
    name="n", default=None, lowest=1, highest=MAX_TASKS_PER_JOB, metavar="N",
    help="Number of tasks to draw, instead of reading them from a file")
CHUNK_TASKS = replace(N_TASKS, highest=10_000_000)  #: of tasks whose chunks are asked for one at a time, in Python
