"""The options of commands that are no level's (``traces.base.options``); those of a level may have another default."""

from dataclasses import replace

from als import options as a
from bls import options as b
from traces.base.errors import Mention
from traces.base.options import CORE_GFLOPS, PART_CORES, Choice, Option, Panel, Real, Whole

# Set by hand, as in ``bls.options``: name, place and default first, then the help.
# fmt: off

WORKLOAD = Option[str | None](
    name="WORKLOAD",
    default=None,
    metavar="WORKLOAD",
    help="Workload: SWF, sacct, Batsim JSON or GWF, plain or compressed; 'sample'; or FILE.py:NAME, a function that makes jobs "
    "from a seed",
)
OUT = Option[str | None](
    name="out", first=True, short="-o", python="folder", panel=Panel.RESULTS, default=None, metavar="DIR",
    help="Folder for the results; it must not exist"
)
FORCE = Option(name="force", first=True, panel=Panel.RESULTS, default=False, help="Replace existing results")
TASKS_TABLE = Option(
    name="tasks", first=True, panel=Panel.RESULTS, default=False, help="Write tasks.parquet too, one row per task"
)
TRACE_FORMATS = Option(
    name="trace", first=True, panel=Panel.TRACES, default="otf2", metavar="FORMATS", names="traces.exporters:EXPORTERS",
    bare="otf2",
    help="Trace formats, separated by commas: otf2, perfetto, chrome, paje, csv, text, your own; or none"
)
NO_FORMATS = "none"  #: what it takes in place of formats: none

#: Of commands that write none where nothing is said.
TRACE = Option[str | None](
    name="trace", default=None, metavar="FORMATS", names="traces.exporters:EXPORTERS", bare="otf2",
    help="Write traces too, in the formats of twolevel run, separated by commas; alone: otf2"
)
#: The keyword of functions in Python in place of tasks and trace, and how a text mentions that there are no records of tasks.
KEEP_TASKS = replace(TASKS_TABLE, python="keep_tasks")
NO_TASKS = str(Mention(TRACE_FORMATS.name, KEEP_TASKS.python, said=NO_FORMATS, given="False"))
NODES = Option(name="nodes", panel=Panel.RESULTS, default=False, help="Write nodes.parquet too, host states over time")
CHECK = Option(
    name="check", panel=Panel.RESULTS, default=False,
    help="Check the states of the engines during the run, and the result; slower"
)
SAME_AS = Option[str | None](
    name="same-as", panel=Panel.RESULTS, default=None, metavar="DIR",
    help="Compare the tables with those of an earlier run, byte for byte"
)
LIVE = Option(
    name="live", panel=Panel.RESULTS, default=False, help="Show the run while it is in progress, like twolevel watch"
)
TRACE_DETAIL = Choice(
    name="trace-detail",
    panel=Panel.TRACES,
    default="auto",
    metavar="DETAIL",
    choices=("auto", "lane", "host", "job", "chunk", "task"),
    what="detail",
    help="Rows of a trace: jobs alone (lane), hosts too (host), or cores with each job, chunk or task; auto: task, but host or "
    "lane in formats for viewers on more than 4,096 cores",
)
TRACE_WINDOW = Option[str | None](
    name="trace-window", panel=Panel.TRACES, default=None, metavar="WINDOW",
    help="Only this time of the run, e.g. 2h..3h, 2h+90s, 2h.. or ..3h"
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
ALS_COMMAND = Option[str | None](
    name="als-command", panel=Panel.COUPLING, default=None, metavar="COMMAND",
    help="Command that starts your own application simulator (bridge/PROTOCOL.md)"
)
TIMEOUT = Real(
    name="timeout", panel=Panel.COUPLING, default=300.0, lowest=1e-3, highest=1e6, unit="s", metavar="TIME",
    help="How long another program may be silent, e.g. 2min: an application process is then killed and its job simulated "
    "again; a scheduler ends the run"
)

LISTEN = Option[str | None](
    name="listen", panel=Panel.COUPLING, default=None, metavar="tls://HOST:PORT",
    help="Let other hosts join at this address (twolevel worker); needs pool or process"
)
TOKEN_FILE = Option[str | None](
    name="token-file", panel=Panel.COUPLING, default=None, metavar="FILE",
    help="File with the secret that hosts need to join; readable by its owner only"
)
CERTIFICATE = Option[str | None](
    name="certificate", panel=Panel.COUPLING, default=None, metavar="FILE",
    help="File for the certificate of the run, by which hosts recognise it", rule="the name of the token file, followed by .crt"
)
RUN_ADDRESS = Option[str | None](
    name="ADDRESS", default=None, metavar="ADDRESS", help="Address of the run: tls://HOST:PORT"
)
HOST_WORKERS = replace(WORKERS, help="Number of processes on this host")
PATIENCE = Real(
    name="patience", default=0.0, lowest=0.0, highest=1e6, unit="s", metavar="TIME",
    help="How long to wait for the run to begin, e.g. 10min"
)

CLUSTER = Option[str | None](
    name="cluster", default=None, metavar="WHERE",
    help="Run on a Dask cluster: tcp://HOST:PORT of its scheduler, local, or slurm"
)
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
REPLICATE = Option[str | None](
    name="replicate", panel=Panel.JOBS, default=None, metavar="LENGTH",
    help="Run each cell for every window of this length of the log, e.g. 7d, instead of for seeds"
)
WARMUP = Option[str | None](
    name="warmup", panel=Panel.JOBS, default=None, metavar="LENGTH",
    help=f"Simulate this time before each window too, without counting its jobs; needs {REPLICATE}"
)
SHAKE = Option[str | None](
    name="shake", panel=Panel.JOBS, default=None, metavar="TIME",
    help="Delay each submit by a random time up to this, e.g. 1min, drawn per seed; seed 0 keeps the log as it is"
)

# Of all commands that draw figures.

WIDTH = Option[str | None](
    name="width", panel=Panel.RESULTS, default=None, metavar="LENGTH",
    help="Width of figures, e.g. 3.5in, 89mm or 252pt; 1in to 40in"
)
NO_TITLE = Option(name="no-title", panel=Panel.RESULTS, default=False, help="Draw figures without titles")

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
LENGTHS_FILE = Option[str | None](
    name="LENGTHS.txt", default=None, metavar="LENGTHS.txt", help=f"File of task lengths, one per line; or give {a.N_TASKS}"
)
LENGTH_UNIT = Choice(
    name="unit", default="gflop", choices=("gflop", "flop"), what="unit", metavar="UNIT",
    help="Unit of the numbers in LENGTHS.txt: gflop or flop"
)
CHUNKS = Option(
    name="chunks", default=False, help="Only print the chunk sizes, for equal tasks and cores that request work in turn"
)
GRAPH = Option[str | None](
    name="GRAPH", default=None, metavar="GRAPH",
    help="A graph file (WfFormat, DAX, DOT, GraphML, plain or compressed), or a generator, e.g. cholesky:tiles=8"
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
FORMAT = Option[str | None](
    name="format", default=None, metavar="NAME", help="Format of the file: wfformat, dax, dot, graphml", rule="by its content"
)

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

SLURM_CONF = Option[str | None](
    name="slurm-conf", first=True, panel=Panel.BATCH, default=None, metavar="FILE",
    help="slurm.conf of a site: its nodes are the machine; settings that a replay cannot use are replaced and listed"
)
SLURM_SET = Option[tuple[str, ...]](
    name="set", first=True, panel=Panel.BATCH, default=(), metavar="KEY=VALUE",
    help="A setting of slurm.conf, e.g. SchedulerType=sched/builtin; may be repeated"
)
SLURM_TOPOLOGY = Option[str | None](
    name="topology", panel=Panel.BATCH, default=None, metavar="FILE",
    help="Switches: Slurm's topology.conf, or TOML with [[switches]] as in a platform"
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
    help="Compare log, Slurm and our engine in tables and figures in DIR/report: none; also (after the replay; the same "
    "without a value); or only (for the existing replay in DIR, which had the same options, without running Slurm)"
)
BESIDE = Option(
    name="beside", panel=Panel.RESULTS, default="fcfs+easy,fcfs+conservative", metavar="LIST",
    help="Our policies that the report compares, each with + and its backfilling"
)
REPEATS = Whole(
    name="repeats", panel=Panel.RESULTS, default=1, lowest=1, highest=1000, metavar="N",
    help="Number of replays in the report, each with another phase"
)
RATES = Option[str | None](
    name="rates", panel=Panel.RESULTS, default=None, metavar="LIST",
    help="Also replay with clocks that run this many times as fast as real time, e.g. 10,30,100; needs a report"
)
SIZES = Option[str | None](
    name="sizes", panel=Panel.RESULTS, default=None, metavar="LIST",
    help=f"Also replay the first jobs at these rates, in numbers such as 50,100; needs {RATES}"
)

# Commands on workloads.

JSON = Option(name="json", default=False, help="Print JSON")
REPLACE = replace(FORCE, first=False, panel=Panel.OTHER, help="Replace an existing FILE")
PLOT = Option[str | None](
    name="plot", default=None, metavar="FILE", help="Plot an overview in a png, svg or pdf file"
)
REJECTS = Option(
    name="rejects", default=False, help="List the first rejected lines for each reason: line, field, text"
)
READER = replace(FORMAT, help="Format of WORKLOAD", rule="by its name")
WORKLOAD_FILE = replace(
    OUT, first=False, python="output", panel=Panel.OTHER, metavar="FILE", help="The workload: a file ending in .swf or .swf.gz"
)
WORKLOADS = replace(WORKLOAD, metavar="WORKLOAD...", help="Workload files; or 'sample'")
LOAD_FACTOR = Option[float | None](
    name="load", default=None, metavar="FACTOR", help="Divide the times between submits by this"
)
TIME_FACTOR = Option[float | None](
    name="speed", default=None, metavar="FACTOR", help="Divide run times and estimates by this"
)
WIDTH_FACTOR = Option[float | None](
    name="cores", default=None, metavar="FACTOR", help="Multiply the widths of jobs by this"
)
USERS = Option[str | None](name="users", default=None, metavar="NUMBERS", help="Users, e.g. 3 5-9, or unknown")
QUEUES = replace(USERS, name="queues", help="Queues, e.g. 3 5-9, or unknown")
PARTITIONS = replace(USERS, name="partitions", help="Partitions, e.g. 3 5-9, or unknown")
WIDTHS = Option[str | None](
    name="cores", default=None, metavar="RANGE", help="Numbers of cores, e.g. 8-64, 8- or -64"
)
RUN_TIMES = Option[str | None](
    name="run", default=None, metavar="RANGE", help="Run times, e.g. 10m-2h, 10m- or -2h"
)
STATUS = Option[str | None](
    name="status", default=None, metavar="WHICH", help="completed, failed, cancelled, unknown; or numbers"
)
RESULTS_FOLDER = Option[str | None](name="DIR", default=None, metavar="DIR", help="Results of twolevel run")
EXPORT_FILE = replace(WORKLOAD_FILE, help="A file ending in .swf, .swf.gz or .csv")
EXPORT_FORM = Option(
    name=TRACE_FORMATS.name, default="swf", metavar="NAME", help="swf, or batsim: jobs.csv of Batsim, for evalys"
)
SIMULATED_LOG = Option[str | None](
    name="workload", default=None, metavar="WORKLOAD", help="The simulated log, for users, groups and queues"
)
LIKE = Option[str | None](
    name="like", default=None, metavar="WORKLOAD",
    help="Generate jobs like those of this workload; or lublin: by the model of Lublin and Feitelson"
)
GPUS = Option[str | None](
    name="gpus", default=None, metavar="SHARE:CARDS:GFLOPS", help="Share of hosts with GPUs, GPUs per host, and their speed"
)
LIMIT = Option[tuple[str, ...]](
    name="limit", default=(), metavar="NAME=LO-HI",
    help="Limit of a request per host, of cores, gpus or memory_kb; may be repeated"
)
LIKENESS_PLOT = replace(PLOT, help="Plot both distributions in a png, svg or pdf file")
NODE_REQUESTS = Option[str | None](
    name="requests", default=None, metavar="FILE",
    help=f"Write the requests of jobs per host to a file for run --requests; needs {GPUS}"
)
LOG_NAME = Option[str | None](
    name="NAME", default=None, metavar="[NAME]", help="Name of the log; without it, list all logs"
)
FETCHED = replace(WORKLOAD_FILE, help="A file ending in .swf.gz, or an existing folder")
BASE_URL = Option[str | None](
    name="base-url", default=None, metavar="URL", help="A mirror of the archive with the same folders",
    rule="the archive"
)
SHA256 = Option[str | None](
    name="sha256", default=None, metavar="SUM", help="Expected checksum of the file", rule="the known one"
)
