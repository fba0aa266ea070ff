"""The options of commands that are no level's (``traces.base.options``); those of a level may have another default."""

from dataclasses import replace
from typing import Any

from als import options as a
from bls import options as b
from traces.base.errors import Mention
from traces.base.options import CORE_GFLOPS, PART_CORES, Choice, Option, Panel, Real, Whole


def _text(name: str, metavar: str, help: str, **others: Any) -> Option[str | None]:
    """Declare an option or argument whose value is a text, without a default."""
    return Option(name=name, default=None, metavar=metavar, help=help, **others)


def _switch(name: str, help: str, **others: Any) -> Option[bool]:
    """Declare an option without a value."""
    return Option(name=name, default=False, help=help, **others)


# Set by hand, as in ``bls.options``: name, place and default first, then the help.
# fmt: off

WORKLOAD = _text(
    "WORKLOAD", "WORKLOAD",
    help="Workload: SWF, sacct, Batsim JSON, GWF or a table of jobs, plain or compressed; MAP.toml, a table's map of columns; "
    "'sample'; or FILE.py:NAME, a function that makes jobs from a seed"
)
OUT = _text(
    "out", "DIR", first=True, short="-o", python="folder", panel=Panel.RESULTS,
    help="Folder for the results; it must not exist"
)
FORCE = _switch("force", "Replace existing results", first=True, panel=Panel.RESULTS)
TASKS_TABLE = _switch("tasks", "Write tasks.parquet too, one row per task", first=True, panel=Panel.RESULTS)
TRACE_FORMATS = Option(
    name="trace", first=True, panel=Panel.TRACES, default="otf2", metavar="FORMATS", names="traces.exporters:EXPORTERS",
    bare="otf2",
    help="Trace formats, separated by commas: otf2, perfetto, chrome, paje, csv, text, your own; or none"
)
NO_FORMATS = "none"  #: what it takes in place of formats: none

#: Of commands that write none where nothing is said.
TRACE = _text(
    "trace", "FORMATS", names="traces.exporters:EXPORTERS", bare="otf2",
    help="Write traces too, in the formats of twolevel run, separated by commas"
)
#: The keyword of functions in Python in place of tasks and trace, and how a text mentions that there are no records of tasks.
KEEP_TASKS = replace(TASKS_TABLE, python="keep_tasks")
NO_TASKS = str(Mention(TRACE_FORMATS.name, KEEP_TASKS.python, said=NO_FORMATS, given="False"))
NODES = _switch("nodes", "Write nodes.parquet too, host states over time", panel=Panel.RESULTS)
CHECK = _switch("check", "Check the states of the engines during the run, and the result; slower", panel=Panel.RESULTS)
SAME_AS = _text("same-as", "DIR", "Compare the tables with those of an earlier run, byte for byte", panel=Panel.RESULTS)
LIVE = _switch("live", "Show the run while it is in progress, like twolevel watch", panel=Panel.RESULTS)
WIDTH = _text("width", "LENGTH", "Width of figures, e.g. 3.5in, 89mm or 252pt; 1in to 40in", panel=Panel.RESULTS)
NO_TITLE = _switch("no-title", "Draw figures without titles", panel=Panel.RESULTS)
TRACE_DETAIL = Choice(
    name="trace-detail", panel=Panel.TRACES, default="auto", metavar="DETAIL",
    choices=("auto", "lane", "host", "job", "chunk", "task"), what="detail",
    help="Rows of a trace: jobs alone (lane), hosts too (host), or cores with each job, chunk or task; auto: task, but host or "
    "lane in formats for viewers on more than 4,096 cores",
)
TRACE_WINDOW = _text(
    "trace-window", "WINDOW", "Only this time of the run, e.g. 2h..3h, 2h+90s, 2h.. or ..3h", panel=Panel.TRACES
)
TRACE_CORES = replace(PART_CORES, name="trace-cores", panel=Panel.TRACES)

# How applications are run; none of it can change a result.

COUPLING = Option(
    name="coupling", first=True, panel=Panel.COUPLING, names="bridge.couplings:COUPLINGS", default="inline", metavar="NAME",
    help="Where applications run: inline (in this process), pool or process (in others); results are identical"
)
WORKERS = Whole[int | None](
    name="workers", panel=Panel.COUPLING, default=None, lowest=1, highest=1024, metavar="N", help="Number of processes",
    rule="one per processor"
)
ALS_COMMAND = _text(
    "als-command", "COMMAND", panel=Panel.COUPLING,
    help="Command that starts your own application simulator (bridge/PROTOCOL.md)"
)
TIMEOUT = Real(
    name="timeout", panel=Panel.COUPLING, default=300.0, lowest=1e-3, highest=1e6, unit="s", metavar="TIME",
    help="How long another program may be silent, e.g. 2min: an application process is then killed and its job simulated "
    "again; a scheduler ends the run"
)

LISTEN = _text(
    "listen", "tls://HOST:PORT", panel=Panel.COUPLING,
    help="Let other hosts join at this address (twolevel worker); needs pool or process"
)
TOKEN_FILE = _text(
    "token-file", "FILE", panel=Panel.COUPLING,
    help="File with the secret that hosts need to join; readable by its owner only"
)
CERTIFICATE = _text(
    "certificate", "FILE", panel=Panel.COUPLING, rule="the name of the token file, followed by .crt",
    help="File for the certificate of the run, by which hosts recognise it"
)
RUN_ADDRESS = _text("ADDRESS", "ADDRESS", "Address of the run: tls://HOST:PORT")
HOST_WORKERS = replace(WORKERS, help="Number of processes on this host")
PATIENCE = Real(
    name="patience", default=0.0, lowest=0.0, highest=1e6, unit="s", metavar="TIME",
    help="How long to wait for the run to begin, e.g. 10min"
)

CLUSTER = _text("cluster", "WHERE", "Run on a Dask cluster: tcp://HOST:PORT of its scheduler, local, or slurm")
#: Of a cluster's worker processes, which take none of this machine's memory.
CLUSTER_WORKERS = replace(WORKERS, highest=1_000_000)

# What ``twolevel grid`` combines where nothing is said: lists, separated by commas.

POLICIES = replace(b.BLS, default="fcfs,edf,sjf", metavar="NAMES", help="Batch policies, separated by commas")
TECHNIQUES = replace(
    a.ALS, default="static,ss,gss,fac", metavar="NAMES",
    help=f"Application techniques, separated by commas: {a.TECHNIQUES}; recorded"
)
VARIATIONS = Option(
    name=a.VARIATION.name, panel=a.VARIATION.panel, first=True, default="0,0.1,0.15,0.2,0.25", metavar="NUMBERS",
    help=f"Task variation factors, {a.VARIATION.limits}, separated by commas; only 0 if the lengths have no such parameter"
)

DATA = Option[tuple[str, ...]](
    name="data", default=(), metavar="DIR", help="Further folder of logs and other files; may be repeated"
)
REPLICATE = _text(
    "replicate", "LENGTH", panel=Panel.JOBS,
    help="Run each cell for every window of this length of the log, e.g. 7d, instead of for seeds"
)
WARMUP = _text(
    "warmup", "LENGTH", panel=Panel.JOBS,
    help=f"Simulate this time before each window too, without counting its jobs; needs {REPLICATE}"
)
SHAKE = _text(
    "shake", "TIME", panel=Panel.JOBS,
    help="Delay each submit by a random time up to this, e.g. 1min, drawn per seed; seed 0 keeps the log as it is"
)

# One loop, or one graph, alone.

CORE_SPEED = Option(
    name="core-speed", default=f"{CORE_GFLOPS.default:g}", metavar="GFLOPS",
    help=f"Speed of every core, {CORE_GFLOPS.limits}, or of each, e.g. 2,1,1,1"
)
HOSTS = Whole(
    name="hosts", default=1, lowest=1, highest=a.CORES.highest, metavar="H",
    help="Number of hosts; each has a block of the cores"
)
MEAN = Real(
    name="mean", default=1.0, lowest=1e-12, highest=1e12, unit="GFLOP", metavar="GFLOP",
    help="Mean length of tasks that are drawn"
)
LENGTHS_FILE = _text("LENGTHS.txt", "LENGTHS.txt", f"File of task lengths, one per line; or give {a.N_TASKS}")
LENGTH_UNIT = Choice(
    name="unit", default="gflop", choices=("gflop", "flop"), what="unit", metavar="UNIT",
    help="Unit of the numbers in LENGTHS.txt: gflop or flop"
)
CHUNKS = _switch("chunks", "Only print the chunk sizes, for equal tasks and cores that request work in turn")
GRAPH = _text(
    "GRAPH", "GRAPH", "A graph file (WfFormat, DAX, DOT, GraphML, plain or compressed), or a generator, e.g. cholesky:tiles=8"
)
GRAPH_ALS = replace(
    a.ALS,
    default="heft",
    help="Assignment of tasks to cores: a planner (heft, peft, min-min, max-min, critical-path), a technique "
    "(static, ss, gss, fac …), mapped (to the hosts named in the file), or FILE.py:NAME",
)
GRAPH_TASKS = Whole[int | None](
    name="tasks", default=None, lowest=1, highest=a.MAX_TASKS_PER_JOB, metavar="N",
    help="Approximate number of tasks of a generated graph", rule="one per core"
)
FORMAT = _text("format", "NAME", "Format of the file: wfformat, dax, dot, graphml", rule="by its content")
ONLY = Option[tuple[str, ...]](
    name="only", python="names", default=(), metavar="NAME",
    help="Name of a figure (docs/reference/figures.md); may be repeated", rule="all that apply"
)
TOP = Whole(name="top", default=10, lowest=0, highest=10**6, metavar="N", help="Number of jobs in each ranking")
FETCH_TIMEOUT = Real(
    name="timeout", default=30.0, lowest=1e-3, highest=86_400.0, unit="s", metavar="TIME",
    help="Give up if the server is silent for this time, e.g. 2min"
)

# The real Slurm as the batch level.

SLURM_CONF = _text(
    "slurm-conf", "FILE", first=True, panel=Panel.BATCH,
    help="slurm.conf of a site: its nodes are the machine; settings that a replay cannot use are replaced and listed"
)
SLURM_SET = Option[tuple[str, ...]](
    name="set", first=True, panel=Panel.BATCH, default=(), metavar="KEY=VALUE",
    help="A setting of slurm.conf, e.g. SchedulerType=sched/builtin; may be repeated"
)
SLURM_TOPOLOGY = _text(
    "topology", "FILE", "Switches: Slurm's topology.conf, or TOML with [[switches]] as in a platform", panel=Panel.BATCH
)
PRIORITIES = Choice(
    name="priorities", first=True, panel=Panel.BATCH, default="slurm", choices=("slurm", "recorded"),
    what="source of priorities", metavar="SOURCE",
    help="Priorities of jobs: slurm (computed by Slurm), or recorded (from the log, or by the order of its starts)"
)
RATE = Real(
    name="rate", panel=Panel.CLOCK, default=0.0, lowest=0.0, highest=1e6, metavar="R",
    help="The clock runs R times as fast as real time, while Slurm computes, too; 0: it stands still meanwhile"
)
SETTLE = Real[float | None](
    name="settle", panel=Panel.CLOCK, default=None, lowest=0.0, highest=86_400.0, unit="s", metavar="TIME",
    help="After this time without events, e.g. 70s, advance the clock by whole minutes; 0: never",
    rule=f"70s; 0 with {RATE}"
)
CLEANUP = Real(
    name="cleanup", panel=Panel.CLOCK, default=0.0, lowest=0.0, highest=86_400.0, unit="s", metavar="TIME",
    help="Time that a node needs for clean-up after a job, e.g. 0.2s"
)
PHASE = Real[float | None](
    name="phase", panel=Panel.CLOCK, default=None, lowest=0.0, highest=3600.0, unit="s", metavar="TIME",
    help="Time of a backfilling pass of Slurm after the first submit, e.g. 10s, within its cycle of 30s",
    rule="Slurm is at rest before, and checks once a second"
)
REPORT = Choice(
    name="report", first=True, panel=Panel.RESULTS, default="none", bare="also", choices=("none", "also", "only"),
    what="kind of report", metavar="HOW",
    help="Compare log, Slurm and our engine in tables and figures in DIR/report: none; also (after the replay); or "
    "only (for the existing replay in DIR, which had the same options, without running Slurm)"
)
BESIDE = Option(
    name="beside", panel=Panel.RESULTS, default="fcfs+easy,fcfs+conservative", metavar="LIST",
    help="Our policies that the report compares, each with + and its backfilling"
)
REPEATS = Whole(
    name="repeats", panel=Panel.RESULTS, default=1, lowest=1, highest=1000, metavar="N",
    help="Number of replays in the report, each with another phase"
)
RATES = _text(
    "rates", "LIST", panel=Panel.RESULTS,
    help="Also replay with clocks that run this many times as fast as real time, e.g. 10,30,100; needs a report"
)
SIZES = _text(
    "sizes", "LIST", panel=Panel.RESULTS,
    help=f"Also replay the first jobs at these rates, in numbers such as 50,100; needs {RATES}"
)

# Commands on workloads.

JSON = _switch("json", "Print JSON")
REPLACE = replace(FORCE, first=False, panel=Panel.OTHER, help="Replace an existing FILE")
PLOT = _text("plot", "FILE", "Plot an overview in a png, svg or pdf file")
REJECTS = _switch("rejects", "List the first rejected lines for each reason: line, field, text")
READER = replace(
    FORMAT, rule="by its name",
    help="Format of WORKLOAD: swf, sacct, batsim, gwf or table; table:MAP also gives a table's map of columns"
)
WORKLOAD_FILE = replace(
    OUT, first=False, python="output", panel=Panel.OTHER, metavar="FILE",
    help="The workload: a file ending in .swf or .swf.gz, or as a table with all columns in .csv, .csv.gz or .parquet"
)
TABLE = _text("FILE", "FILE", "A table of jobs: CSV and the like, JSON or Parquet, plain or compressed")
WORKLOADS = replace(WORKLOAD, metavar="WORKLOAD...", help="Workload files; or 'sample'")
LOAD_FACTOR = Option[float | None](
    name="load", default=None, metavar="FACTOR", help="Divide the times between submits by this"
)
TIME_FACTOR = replace(LOAD_FACTOR, name="speed", help="Divide run times and estimates by this")
WIDTH_FACTOR = replace(LOAD_FACTOR, name="cores", help="Multiply the widths of jobs by this")
USERS = _text("users", "NUMBERS", "Users, e.g. 3 5-9, or unknown")
QUEUES = replace(USERS, name="queues", help="Queues, e.g. 3 5-9, or unknown")
PARTITIONS = replace(USERS, name="partitions", help="Partitions, e.g. 3 5-9, or unknown")
WIDTHS = _text("cores", "RANGE", "Numbers of cores, e.g. 8-64, 8- or -64")
RUN_TIMES = _text("run", "RANGE", "Run times, e.g. 10m-2h, 10m- or -2h")
STATUS = _text("status", "WHICH", "completed, failed, cancelled, unknown; or numbers")
RESULTS_FOLDER = _text("DIR", "DIR", "Results of twolevel run")
EXPORT_FILE = replace(WORKLOAD_FILE, help="A file ending in .swf, .swf.gz or .csv")
EXPORT_FORM = Option(
    name=TRACE_FORMATS.name, default="swf", metavar="NAME", help="swf, or batsim: jobs.csv of Batsim, for evalys"
)
SIMULATED_LOG = _text("workload", "WORKLOAD", "The simulated log, for users, groups and queues")
LIKE = _text(
    "like", "WORKLOAD", "Generate jobs like those of this workload; or lublin: by the model of Lublin and Feitelson"
)
GPUS = _text("gpus", "SHARE:CARDS:GFLOPS", "Share of hosts with GPUs, GPUs per host, and their speed")
LIMIT = Option[tuple[str, ...]](
    name="limit", default=(), metavar="NAME=LO-HI",
    help="Limit of a request per host, of cores, gpus or memory_kb; may be repeated"
)
LIKENESS_PLOT = replace(PLOT, help="Plot both distributions in a png, svg or pdf file")
NODE_REQUESTS = _text(
    "requests", "FILE", f"Write the requests of jobs per host to a file for run --requests; needs {GPUS}"
)
LOG_NAME = _text("NAME", "[NAME]", "Name of the log; without it, list all logs")
FETCHED = replace(WORKLOAD_FILE, help="A file ending in .swf.gz, or an existing folder")
BASE_URL = _text("base-url", "URL", "A mirror of the archive with the same folders", rule="the archive")
SHA256 = _text("sha256", "SUM", "Expected checksum of the file", rule="the known one")
