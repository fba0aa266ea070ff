"""Options of commands that belong to no level (``traces.base.options``), and options of a level with another default."""

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
TASKS_TABLE = _switch("tasks", "Also write tasks.parquet, one row per task", first=True, panel=Panel.RESULTS)
TRACE_FORMATS = Option(
    name="trace", first=True, panel=Panel.TRACES, default="otf2", metavar="FORMATS", names="traces.exporters:EXPORTERS",
    bare="otf2",
    help="Trace formats, separated by commas: otf2, perfetto, chrome, paje, csv, text, batsim, swf, measured, your own; or none"
)
NO_FORMATS = "none"  #: the value that requests no format

#: Of commands that write no trace by default.
TRACE = _text(
    "trace", "FORMATS", names="traces.exporters:EXPORTERS", bare="otf2",
    help="Also write traces, in the formats of twolevel run, separated by commas"
)
#: The keyword in Python that replaces tasks and trace, and the mention of missing records of tasks.
KEEP_TASKS = replace(TASKS_TABLE, python="keep_tasks")
NO_TASKS = str(Mention(TRACE_FORMATS.name, KEEP_TASKS.python, said=NO_FORMATS, given="False"))
NODES = _switch("nodes", "Also write nodes.parquet, the states of hosts over time", panel=Panel.RESULTS)
CHECK = _switch("check", "Check the states of the engines during the run, and the result; takes longer", panel=Panel.RESULTS)
SAME_AS = _text("same-as", "DIR", "Compare the tables with those of an earlier run, byte for byte", panel=Panel.RESULTS)
LIVE = _switch("live", "Show the run while it is in progress, like twolevel watch", panel=Panel.RESULTS)
WIDTH = _text("width", "LENGTH", "Width of figures, e.g. 3.5in, 89mm or 252pt; 1in to 40in", panel=Panel.RESULTS)
NO_TITLE = _switch("no-title", "Draw figures without titles", panel=Panel.RESULTS)
TRACE_DETAIL = Choice(
    name="trace-detail", panel=Panel.TRACES, default="auto", metavar="DETAIL",
    choices=("auto", "lane", "host", "job", "chunk", "task"), what="detail",
    help="Rows of a trace: lane (jobs), host (jobs and hosts), or also cores with each job, chunk or task; auto: task, but "
    "with more than 4,096 cores host or lane in formats for viewers"
)
TRACE_WINDOW = _text(
    "trace-window", "WINDOW", "Only this part of the simulated time, e.g. 2h..3h, 2h+90s, 2h.. or ..3h", panel=Panel.TRACES
)
TRACE_CORES = replace(PART_CORES, name="trace-cores", panel=Panel.TRACES)

# How applications are run; this cannot change a result.

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
    help="How long another program may be silent, e.g. 2min; then an application process is killed and its job is simulated "
    "again, or, for a scheduler, the run ends"
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
#: Of a cluster's worker processes, which do not use this machine's memory.
CLUSTER_WORKERS = replace(WORKERS, highest=1_000_000)

# Default values that ``twolevel grid`` combines: lists, separated by commas.

POLICIES = replace(b.BLS, default="fcfs,edf,sjf", metavar="NAMES", help="Batch policies, separated by commas")
TECHNIQUES = replace(
    a.ALS, default="static,ss,gss,fac", metavar="NAMES",
    help=f"Application techniques, separated by commas: {a.TECHNIQUES}; recorded"
)
VARIATIONS = Option(
    name=a.VARIATION.name, panel=a.VARIATION.panel, first=True, default="0,0.1,0.15,0.2,0.25", metavar="NUMBERS",
    help=f"Variations of task lengths, {a.VARIATION.limits}, separated by commas; only 0 if the lengths have no such parameter"
)

DATA = Option[tuple[str, ...]](
    name="data", default=(), metavar="DIR", help="Further folder of logs and other files; may be repeated"
)
REPLICATE = _text(
    "replicate", "LENGTH", panel=Panel.JOBS,
    help="Run each cell for every window of this length in the log, e.g. 7d, instead of every seed"
)
WARMUP = _text(
    "warmup", "LENGTH", panel=Panel.JOBS,
    help=f"Also simulate this time before each window, without counting it in metrics; needs {REPLICATE}"
)
SHAKE = _text(
    "shake", "TIME", panel=Panel.JOBS,
    help="Delay each submit by a random time of at most TIME, e.g. 1min, drawn per seed; seed 0 does not change the log"
)

# A single loop or graph.

CORE_SPEED = Option(
    name="core-speed", default=f"{CORE_GFLOPS.default:g}", metavar="GFLOPS",
    help=f"Speed of every core, {CORE_GFLOPS.limits}, or of each, e.g. 2,1,1,1"
)
HOSTS = Whole(
    name="hosts", default=1, lowest=1, highest=a.CORES.highest, metavar="H",
    help="Number of hosts, among which the cores are divided"
)
MEAN = Real(
    name="mean", default=1.0, lowest=1e-12, highest=1e12, unit="GFLOP", metavar="GFLOP",
    help="Mean length of tasks that are drawn"
)
LENGTHS_FILE = _text("LENGTHS.txt", "LENGTHS.txt", f"File of task lengths, one per line; or give {a.N_TASKS}")
LENGTH_UNIT = Choice(
    name="unit", default="gflop", choices=("gflop", "flop", "ns"), what="unit", metavar="UNIT",
    help="Unit of the numbers in LENGTHS.txt: gflop, flop, or ns (time on the slowest core)"
)
CHUNKS = _switch("chunks", "Only print the chunk sizes, for equal tasks and cores that request work in turn")
GRAPH = _text(
    "GRAPH", "GRAPH", "A graph file (WfFormat, DAX, DOT, GraphML, plain or compressed), or a generator, e.g. cholesky:tiles=8"
)
GRAPH_ALS = replace(
    a.ALS,
    default="heft",
    help="Assignment of tasks to cores: a planner (heft, peft, min-min, max-min, critical-path), a technique "
    "(static, ss, gss, fac …), mapped (to the hosts named in the file), or FILE.py:NAME"
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

# Replays.

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
    help="Run the clock R times as fast as real time, even while Slurm computes; 0: stop it while Slurm computes"
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
    help="Time from the first submit to a backfilling pass of Slurm, e.g. 10s, within its cycle of 30s",
    rule="Slurm is idle at the first submit, and passes within a second"
)
REPORT = Choice(
    name="report", first=True, panel=Panel.RESULTS, default="none", bare="also", choices=("none", "also", "only"),
    what="kind of report", metavar="HOW",
    help="Compare log, Slurm and our engine in tables and figures in DIR/report: none; also (after the replay); or "
    "only (without a replay, from the results in DIR of a replay with the same options)"
)
BESIDE = Option(
    name="beside", panel=Panel.RESULTS, default="fcfs+easy,fcfs+conservative", metavar="LIST",
    help="Our policies in the report, as POLICY+BACKFILLING"
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
    help=f"Also replay only the first jobs at these rates, e.g. the first 50 and 100: 50,100; needs {RATES}"
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
    name=TRACE_FORMATS.name, default="swf", metavar="NAME", help="swf, or batsim (Batsim's jobs.csv, which evalys reads)"
)
SIMULATED_LOG = _text("workload", "WORKLOAD", "The simulated log, from which users, groups and queues are copied")
LIKE = _text(
    "like", "WORKLOAD", "Workload that the jobs resemble, or lublin for the model of Lublin and Feitelson"
)
GPUS = _text("gpus", "SHARE:CARDS:GFLOPS", "Share of hosts with GPUs, GPUs per host, and their speed")
LIMIT = Option[tuple[str, ...]](
    name="limit", default=(), metavar="NAME=LO-HI",
    help="Limits of a job's request per host; NAME is cores, gpus or memory_kb; may be repeated"
)
LIKENESS_PLOT = replace(PLOT, help="Plot the distributions of both workloads in a png, svg or pdf file")
NODE_REQUESTS = _text(
    "requests", "FILE", f"Also write the requests of jobs per host to this file, for run --requests; needs {GPUS}"
)
LOG_NAME = _text("NAME", "NAME", "Name of the log; without it, list all logs")
FETCHED = replace(WORKLOAD_FILE, help="A file ending in .swf.gz, or an existing folder")
BASE_URL = _text("base-url", "URL", "A mirror of the archive with the same folders", rule="the archive")
SHA256 = _text("sha256", "SUM", "Expected checksum of the file", rule="the known one")
