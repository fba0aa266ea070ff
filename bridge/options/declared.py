"""The options of commands that are no level's, each declared once (``traces.base.options``).

Where a command has an option of a level with another default, or says more of it, this is said here, by ``replace``.
"""

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
    help="A log: SWF, sacct, Batsim's JSON or GWF, plain or compressed; 'sample'; or FILE.py:NAME, which makes jobs of a seed",
)
OUT = Option[str | None](
    name="out", short="-o", python="folder", panel=Panel.RESULTS, default=None, metavar="DIR",
    help="Folder for the results; it must not exist"
)
FORCE = Option(name="force", panel=Panel.RESULTS, default=False, help="Replace the results in DIR")
TASKS_TABLE = Option(
    name="tasks", panel=Panel.RESULTS, default=False, help="Also write tasks.parquet, one row per task"
)
TRACE_FORMATS = Option(
    name="trace", panel=Panel.TRACES, default="otf2", metavar="FORMATS", names="traces.exporters:EXPORTERS",
    bare="otf2",
    help="Formats of the trace, separated by commas: otf2, perfetto, chrome, paje, csv, text, your own; or none"
)
#: What it takes in place of formats: none.
NO_FORMATS = "none"

#: Of commands that write none where nothing is said.
TRACE = Option[str | None](
    name="trace", default=None, metavar="FORMATS", names="traces.exporters:EXPORTERS", bare="otf2",
    help="Also write traces, in formats as of run, separated by commas; alone: otf2"
)
#: The keyword of functions in Python in place of tasks and trace, and how a text mentions that there are no records of tasks.
KEEP_TASKS = replace(TASKS_TABLE, python="keep_tasks")
NO_TASKS = str(Mention(TRACE_FORMATS.name, KEEP_TASKS.python, said=NO_FORMATS, given="False"))
NODES = Option(name="nodes", panel=Panel.RESULTS, default=False, help="Also write nodes.parquet, host states over time")
CHECK = Option(
    name="check", panel=Panel.RESULTS, default=False,
    help="Check the engines' states while they run, and the result; slower"
)
SAME_AS = Option[str | None](
    name="same-as", panel=Panel.RESULTS, default=None, metavar="DIR",
    help="Compare the tables with those of an earlier run, byte for byte"
)
LIVE = Option(
    name="live", panel=Panel.RESULTS, default=False, help="Show the run while it is under way, as twolevel watch"
)
TRACE_DETAIL = Choice(
    name="trace-detail",
    panel=Panel.TRACES,
    default="auto",
    metavar="DETAIL",
    choices=("auto", "lane", "host", "job", "chunk", "task"),
    what="detail",
    help="Rows of a trace: jobs alone (lane), hosts too (host), or cores with each job, chunk or task on them; auto: task, or "
    "on more than 4,096 cores, in formats for viewers, host or lane",
)
TRACE_WINDOW = Option[str | None](
    name="trace-window", panel=Panel.TRACES, default=None, metavar="WINDOW",
    help="Only this time of the run, as 2h..3h, 2h+90s, 2h.. or ..3h"
)
TRACE_CORES = replace(PART_CORES, name="trace-cores", panel=Panel.TRACES)

# How applications are run; none of it can change a result.

COUPLING = Option(
    name="coupling", panel=Panel.COUPLING, names="bridge.couplings:COUPLINGS", default="inline", metavar="NAME",
    help="How applications are run: inline, pool or process"
)
WORKERS = Whole[int | None](
    name="workers", panel=Panel.COUPLING, default=None, lowest=1, highest=1024, metavar="N", help="Processes at once",
    rule="one per processor"
)
ALS_COMMAND = Option[str | None](
    name="als-command", panel=Panel.COUPLING, default=None, metavar="COMMAND",
    help="An application simulator of your own (bridge/PROTOCOL.md)"
)
TIMEOUT = Real(
    name="timeout", panel=Panel.COUPLING, default=300.0, lowest=1e-3, highest=1e6, unit="s", metavar="TIME",
    help="How long another program may be silent, e.g. 2min: an application process is then killed and its job simulated "
    "again; a scheduler ends the run"
)

LISTEN = Option[str | None](
    name="listen", panel=Panel.COUPLING, default=None, metavar="tls://HOST:PORT",
    help="Let other hosts join there (twolevel worker); with pool, process"
)
TOKEN_FILE = Option[str | None](
    name="token-file", panel=Panel.COUPLING, default=None, metavar="FILE",
    help="The secret by which hosts join; only its owner may read it"
)
CERTIFICATE = Option[str | None](
    name="certificate", panel=Panel.COUPLING, default=None, metavar="FILE",
    help="By which hosts know the run, which makes it", rule="the token's file with .crt behind it"
)
RUN_ADDRESS = Option[str | None](
    name="ADDRESS", default=None, metavar="ADDRESS", help="Where the run listens: tls://HOST:PORT"
)
HOST_WORKERS = replace(WORKERS, help="Processes of this host at once")
PATIENCE = Real(
    name="patience", default=0.0, lowest=0.0, highest=1e6, unit="s", metavar="TIME",
    help="Wait so long for a run to begin, as 10min"
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
    name=a.VARIATION.name, panel=a.VARIATION.panel, default="0,0.1,0.15,0.2,0.25", metavar="NUMBERS",
    help=f"Task variation factors, {a.VARIATION.limits}, separated by commas; 0 alone for task lengths that take none"
)

DATA = Option[tuple[str, ...]](
    name="data", default=(), metavar="DIR", help="A further folder with logs and other files; may be repeated"
)
REPLICATE = Option[str | None](
    name="replicate", panel=Panel.JOBS, default=None, metavar="LENGTH",
    help="Run each cell for every window of this length of the log, as 7d, in place of seeds"
)
WARMUP = Option[str | None](
    name="warmup", panel=Panel.JOBS, default=None, metavar="LENGTH",
    help=f"With {REPLICATE}: simulate the jobs of this time before each window, too, and do not count them"
)
SHAKE = Option[str | None](
    name="shake", panel=Panel.JOBS, default=None, metavar="TIME",
    help="Submit each job up to this time later, as 1min, drawn for each seed; seed 0 leaves the log as it is"
)

# One loop, or one graph, alone.

CORE_SPEED = Option(
    name="core-speed", default=f"{CORE_GFLOPS.default:g}", metavar="GFLOPS",
    help=f"Speed of every core, {CORE_GFLOPS.limits}; or of each, as 2,1,1,1"
)
HOSTS = Whole(
    name="hosts", default=1, lowest=1, highest=a.CORES.highest, metavar="H",
    help="Deal the cores over so many hosts, in blocks"
)
MEAN = Real(
    name="mean", default=1.0, lowest=1e-12, highest=1e12, unit="GFLOP", metavar="GFLOP",
    help="Of tasks that are drawn: their mean length"
)
LENGTHS_FILE = Option[str | None](
    name="LENGTHS.txt", default=None, metavar="LENGTHS.txt", help=f"Task lengths, one a line; or give {a.N_TASKS}"
)
LENGTH_UNIT = Choice(
    name="unit", default="gflop", choices=("gflop", "flop"), what="unit", metavar="UNIT",
    help="Of the numbers in LENGTHS.txt: gflop or flop"
)
CHUNKS = Option(
    name="chunks", default=False, help="Only print the chunk sizes: tasks of equal length, cores ask in turn"
)
GRAPH = Option[str | None](
    name="GRAPH", default=None, metavar="GRAPH",
    help="A file (WfFormat, DAX, DOT, GraphML, plain or compressed), or a generator, as cholesky:tiles=8"
)
GRAPH_ALS = replace(
    a.ALS,
    default="heft",
    help="What gives tasks to cores: a planner (heft, peft, min-min, max-min, critical-path), a technique "
    "(static, ss, gss, fac …), mapped (to the hosts that the file says), or FILE.py:NAME",
)
GRAPH_TASKS = Whole[int | None](
    name="tasks", default=None, lowest=1, highest=a.MAX_TASKS_PER_JOB, metavar="N",
    help="With a generator: about how many tasks", rule="one per core"
)
FORMAT = Option[str | None](
    name="format", default=None, metavar="NAME", help="Of the file: wfformat, dax, dot, graphml", rule="as it looks"
)

TOP = Whole(name="top", default=10, lowest=0, highest=10**6, metavar="N", help="Print so many jobs of every ranking")
FETCH_TIMEOUT = Real(
    name="timeout", default=30.0, lowest=1e-3, highest=86_400.0, unit="s", metavar="TIME",
    help="A server silent for so long, as 2min, is given up"
)

# The real Slurm as the batch level.

SLURM_CONF = Option[str | None](
    name="slurm-conf", panel=Panel.BATCH, default=None, metavar="FILE",
    help="A site's slurm.conf: its nodes are the machine; what makes no sense here is replaced, and said"
)
SLURM_SET = Option[str | None](
    name="set", panel=Panel.BATCH, default=None, metavar="KEY=VALUE",
    help="A key of slurm.conf, as SchedulerType=sched/builtin; may be repeated"
)
SLURM_TOPOLOGY = Option[str | None](
    name="topology", panel=Panel.BATCH, default=None, metavar="FILE",
    help="Switches: Slurm's topology.conf, or TOML with [[switches]] as of a platform"
)
PRIORITIES = Choice(
    name="priorities", panel=Panel.BATCH, default="slurm", choices=("slurm", "recorded"), what="source of priorities",
    metavar="WHENCE",
    help="Priorities of jobs: slurm, as it computes them, or recorded: the log's, or by the order of its starts"
)
RATE = Real(
    name="rate", panel=Panel.COUPLING, default=0.0, lowest=0.0, highest=1e6, metavar="R",
    help="The clock runs R times as fast as real time, while Slurm computes, too; 0: it stands still meanwhile"
)
SETTLE = Real[float | None](
    name="settle", panel=Panel.COUPLING, default=None, lowest=0.0, highest=86_400.0, unit="s", metavar="TIME",
    help="When nothing has happened for so long, as 70s, the date jumps by whole minutes; 0: never",
    rule=f"70s; 0 with {RATE}"
)
CLEANUP = Real(
    name="cleanup", panel=Panel.COUPLING, default=0.0, lowest=0.0, highest=86_400.0, unit="s", metavar="TIME",
    help="How long nodes take to clean up after a job, as 0.2s, before they are free again"
)
PHASE = Real[float | None](
    name="phase", panel=Panel.COUPLING, default=None, lowest=0.0, highest=3600.0, unit="s", metavar="TIME",
    help="So long after the first submit a pass of Slurm's backfilling falls, as 10s, within its cycle of 30s",
    rule="it has come to rest before, and looks once a second"
)
REPORT = Option(
    name="report", panel=Panel.RESULTS, default=False,
    help="Also write DIR/report: the log, Slurm and our engine side by side, with tables and figures"
)
REPORT_ONLY = Option(
    name="report-only", panel=Panel.RESULTS, default=False,
    help="Without Slurm: write the report of the replay in DIR, which was made with the same other options"
)
BESIDE = Option(
    name="beside", panel=Panel.RESULTS, default="fcfs+easy,fcfs+conservative", metavar="LIST",
    help="Of a report: how our engine decides, each a policy, with + and its backfilling"
)
REPEATS = Whole(
    name="repeats", panel=Panel.RESULTS, default=1, lowest=1, highest=1000, metavar="N",
    help="Of a report: so many replays, each with another phase"
)
RATES = Option[str | None](
    name="rates", panel=Panel.RESULTS, default=None, metavar="LIST",
    help="Of a report: also under clocks that run so many times as fast as real time, as 10,30,100"
)
SIZES = Option[str | None](
    name="sizes", panel=Panel.RESULTS, default=None, metavar="LIST",
    help="Of a report: the rates also of the first so many jobs, as 50,100"
)
