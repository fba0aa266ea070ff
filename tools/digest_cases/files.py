"""The files of the matrix: platforms, constraints of jobs, maps, lengths, speeds, graphs, logs. Cases use these names."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tools.digest_cases.workloads import withdrawn_swf, workload

_HOSTS = "[[hosts]]\ncount = 8\ncores = 16\nspeed_gflops = 750.0\n"

_MIXED = """\
[[hosts]]
count = 6
cores = 16
speed_gflops = 750.0
resources = { memory_gb = 128 }

[[hosts]]
count = 2
cores = 16
speed_gflops = 1000.0
resources = { memory_gb = 256, gpu = 4 }

[licences]
matlab = 5
"""

_PARTITIONS = """
[[partitions]]
name = "short"
hosts = "5-7"
swf_queues = [2]
priority = 10
max_time = "1h"
max_jobs_per_user = 2

[[partitions]]
name = "narrow"
hosts = "3-6"
swf_queues = [3]
swf_partitions = [2]
max_cores = 32
max_running_jobs = 5
max_cores_per_user = 40

[[partitions]]
name = "batch"
default = true
max_running_cores = 112
"""

#: Of the few jobs; two of them are wider than a host.
_GPU_REQUESTS = "job_id,gpus_per_host,gpus_per_task,gpu_milli\n" + "".join(
    f"{row}\n"
    for row in ("10,1,,", "13,,1,300", "16,,1,250", "22,,1,200", "25,2,,", "34,1,,", "37,2,,", "43,,1,500", "46,,1,")
)

_SWITCHES = "".join(
    f'\n[[switches]]\nname = "{name}"\n{below}\n'
    for name, below in (
        ("a", 'hosts = "0-1"'),
        ("b", 'hosts = "2-3"'),
        ("c", 'hosts = "4-6"'),
        ("d", 'hosts = "7"'),
        ("left", 'switches = ["a", "b"]'),
        ("right", 'switches = ["c", "d"]'),
        ("top", 'switches = ["left", "right"]'),
    )
)


def _network(topology: str, more: str = "") -> str:
    return f'{_HOSTS}\n[network]\ntopology = "{topology}"\nbandwidth_gbps = 10.0\nlatency_ns = 1500\n{more}'


_PRIORITY = """\
age = 1000
fairshare = 2000
size = 300
partition = 100
qos = 500
assoc = 50
cpu = 20
node = 10
max_age = "2h"
half_life = "2h"
calc_period = "5m"
others = "guests"
cores_per_node = 16

[[accounts]]
name = "physics"
shares = 60
priority = 5

[[accounts]]
name = "optics"
parent = "physics"
shares = 3

[[accounts]]
name = "guests"
shares = 40

[[users]]
number = 0
account = "physics"
shares = 2
nice = 40

[[users]]
number = 1
account = "optics"

[[users]]
number = 2
account = "optics"
site = 7

[[partitions]]
number = 1
priority = 10
cores = 100

[[qos_levels]]
number = 1
priority = 5
"""

_PROGRAMS = """\
[[application]]
name = "solver"
match = { user = [1, 2], cores = "2-64" }
steps = 3
redraw = true
phases = [
    { kind = "serial", share = 0.1 },
    { kind = "loop", share = 0.7, als = "awf", lengths = "gamma:cov=1,draw=paper", tasks_per_core = 6 },
    { kind = "loop", share = 0.2, als = "static", lengths = "equal" },
]

[[application]]
name = "sweep"
match = { application = [1, 3] }
als = "gss"
lengths = "lognormal:cov=2,draw=paper"
tasks = 150

[[application]]
name = "irregular"
match = { share = 0.5 }
lengths = "exponential:draw=paper"
tasks_per_core = 5
steps = 2

[default]
als = "af"
"""

_GRAPHS = """\
[[application]]
name = "factorisation"
match = { cores = "4-64", share = 0.5 }
graph = "cholesky:tiles=5,ccr=0.3"
als = "heft"

[[application]]
name = "steps"
match = { share = 0.6 }
steps = 2
redraw = true
phases = [
    { kind = "serial", share = 0.02 },
    { kind = "graph", graph = "layered:ccr=0.5,regularity=0.5", als = "ss", order = "rank", tasks_per_core = 3, share = 0.6 },
    { kind = "loop", share = 0.3, als = "fac", tasks_per_core = 4 },
]

[default]
"""

_OTHER_GRAPHS = """\
[[application]]
name = "stencil"
match = { user = "0-1" }
graph = "stencil:steps=4,points=5"
als = "min-min"

[[application]]
name = "file"
match = { user = 2 }
graph = "file:small.json"
als = "gss"
order = "index"

[[application]]
name = "reduction"
match = { cores = "1-16" }
graph = "tree:arity=3"
als = "peft"
tasks = 40

[[application]]
name = "planned loop"
match = { cores = "17-40" }
als = "max-min"
tasks_per_core = 3

[default]
graph = "fork-join:stages=2,ccr=0.2"
als = "critical-path"
"""

_DEVICES = """\
[[application]]
name = "shared"
match = { cores = "8-" }
phases = [
    { kind = "serial", share = 0.1 },
    { kind = "loop", als = "awf-b" },
    { kind = "loop", als = "ss", on = "gpu", share = 0.5 },
]
workers.gpu = { count = 2, speed = 9, launch = "10ms", in_bytes = 1e9, out_bytes = 1e8, streams = 2, variation = 0.3 }
"""

_STARPU = """\
Model: first
JobId: 1
Handles: x y
Modes: W RW
Sizes: 6000000 40
EstimatedTime: 9e+04 2e+05

Model: second
JobId: 2
DependsOn: 1
Handles: x
Modes: R
Sizes: 6000000
EstimatedTime: 4e+05 1e+05

Model: third
JobId: 3
DependsOn: 1
EstimatedTime: 5e+04 inf
"""

_WFFORMAT = """\
{"name": "small", "schemaVersion": "1.5", "workflow": {
 "specification": {
  "tasks": [{"id": "a", "parents": [], "children": ["b", "c"], "outputFiles": ["x", "y"]},
            {"id": "b", "parents": ["a"], "children": ["d"], "inputFiles": ["x", "y"], "outputFiles": ["z"]},
            {"id": "c", "parents": ["a"], "children": []},
            {"id": "d", "parents": ["b"], "children": [], "inputFiles": ["z"]}],
  "files": [{"id": "x", "sizeInBytes": 6e9}, {"id": "y", "sizeInBytes": 40}, {"id": "z", "sizeInBytes": 5e8}]},
 "execution": {"tasks": [{"id": "a", "runtimeInSeconds": 20}, {"id": "b", "runtimeInSeconds": 4.5},
                         {"id": "c", "runtimeInSeconds": 6.25}, {"id": "d", "runtimeInSeconds": 1}]}}}
"""

_DAX = """\
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" jobCount="3">
  <job id="a" name="first" runtime="1.5"><uses file="x" link="output" size="600000000"/></job>
  <job id="b" name="other" runtime="2.5"><uses file="x" link="input" size="600000000"/></job>
  <job id="c" name="other" runtime="3"/>
  <child ref="b"><parent ref="a"/></child>
  <child ref="c"><parent ref="a"/></child>
</adag>
"""

_DOT = """\
digraph ring {
  a [size="2e9", host=0];
  b [size="1e9", host=1]; c [size="1e9", host=1];
  d [size="1e9", host=0];
  a -> b [size="1e9"]; a -> c [size="1e9"]; b -> d [size="5e8"]; c -> d;
}
"""

_GRAPHML = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="w" for="node" attr.name="flops" attr.type="double"/>
  <key id="h" for="node" attr.name="host" attr.type="int"/>
  <key id="c" for="node" attr.name="core" attr.type="int"/>
  <key id="s" for="edge" attr.name="bytes" attr.type="long"/>
  <graph edgedefault="directed">
    <node id="a"><data key="w">1e9</data><data key="h">0</data><data key="c">1</data></node>
    <node id="b"><data key="w">2e9</data><data key="h">1</data><data key="c">0</data></node>
    <node id="c"><data key="w">3e9</data><data key="h">0</data><data key="c">1</data></node>
    <edge source="a" target="b"><data key="s">100000000</data></edge>
    <edge source="a" target="c"/>
  </graph>
</graphml>
"""

_SACCT = """\
JobID|User|Account|Partition|NCPUS|NNodes|Submit|Start|End|ElapsedRaw|Timelimit|State
101|ann|physics|long|72|2|1700000000|1700000010|1700003610|3600|02:00:00|COMPLETED
101.batch||physics||36|1|1700000010|1700000010|1700003610|3600||COMPLETED
102_1|bob|biology|short|1|1|2023-11-14T22:15:00|2023-11-14T22:15:00|2023-11-14T22:16:01|61|00:01:00|TIMEOUT
103|bob|biology|short|100|1|1700000300|1700000400|1700001400|1000|00:30:00|FAILED
104|ann|physics|long|64|1|1700000310|1700000410|1700002410|2000|01:00:00|COMPLETED
"""

_BATSIM = """\
{"nb_res": 8,
 "jobs": [{"id": 1, "subtime": 0, "walltime": 100, "res": 4, "profile": "short"},
          {"id": 2, "subtime": 10.5, "res": 8, "profile": "twice"},
          {"id": 3, "subtime": 12, "res": 8, "profile": "computes"},
          {"id": 4, "subtime": 12, "walltime": 30, "res": 2, "profile": "short"}],
 "profiles": {"short": {"type": "delay", "delay": 20.25},
              "twice": {"type": "sequential_composition", "repeat": 2, "seq": ["short"]},
              "computes": {"type": "ptask_homogeneous", "cpu": 1e12, "com": 0}}}
"""

_GWF_REST = " ".join(["-1"] * 12)
#: Jobs of a GPU of a kind, of several, of a share of one, or of none; their log's machine has two kinds.
_WITH_GPUS = "; Field 19: gpus\n; Field 20: gpu_milli\n" + "".join(
    f"{k + 1} {40 * k} 0 {300 + 17 * (k % 23)} {1 + k % 4} -1 -1 {1 + k % 4} 900 -1 1 {k % 5} 1 -1 1 1 -1 -1 "
    f"{(k % 4 != 3) * (1 + k % 2)} {250 if k % 2 == 0 else -1}\n"
    for k in range(120)
)
_TWO_KINDS = "".join(
    f'[[hosts]]\ncount = {count}\ncores = 4\nspeed_gflops = 4.0\ngpus = {gpus}\ngpu = "{kind}"\n'
    for count, gpus, kind in ((2, 2, "a100"), (1, 4, "t4"))
)

_GWF = (
    "# Version: 1.0\n"
    f"1 1100000000 5 60 4 -1 -1 8 120 -1 1 ann g1 app1 q0 p0 site1 {_GWF_REST}\n"
    f"2 1100000010 5 600 6 -1 -1 6 900 -1 1 bob g1 app2 q0 p0 site1 {_GWF_REST}\n"
    f"3 1100000015 9 30 2 -1 -1 2 60 -1 1 ann g1 app1 q1 p0 site1 {_GWF_REST}\n"
)

_TABLE = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "7,ann,v1,1,4,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:03,2020-06-09 18:42:03.5,60.5,2\n"
    "8,bob,v2,8,64,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0\n"
    "9,ann,v2,0,2,1,CANCELLED,2020-06-09 18:41:28,,,0,\n"
)

_SPEEDS = "time_s,core,factor\n0,0,1\n600,0,0.6\n1800,0,1.2\n900.5,17,0\n2000,17,1\n0,40,0.4\n3000,40,1\n"

_FAILURES = "host,down_s,up_s\n3,3600,7200.5\n0,5000,5600\n5,9000,9600\n5,12000,30000\n2,15000,15000.25\n7,60,100\n"
_DRAINED = "host,down_s,up_s,state\n3,3600,7200.5,drain\n0,5000,5600,\n5,9000,21000,drain\n5,12000,15000,down\n2,0,4000,drain\n"


_SAMPLE_WINDOWS = """\
[[reservation]]
name = "lecture"
begin = "2h"
end = "5h"
cores = "0-23"
jobs = "3 5-6"

[[maintenance]]
name = "cooling"
begin = "10h"
end = "11h"
hosts = "5-6"
"""


def _requests() -> str:
    # Requests of the busy jobs besides cores: units of 2 or 4 cores, a few GPUs, memory, licences.
    rows = ["job_id,unit_cores,gpu,memory_gb,matlab"]
    jobs = workload("busy")
    for number, cores in zip(jobs.job_id.tolist(), jobs.cores.tolist(), strict=True):
        unit = 4 if cores % 4 == 0 else 2 if cores % 2 == 0 else ""
        units = cores // (unit or 1)
        gpu = 1 + number % 2 if units <= 4 and number % 3 == 1 else ""
        rows.append(f"{number},{unit},{gpu},{(number % 7) * 2 or ''},{number % 4 or ''}")
    return "\n".join(rows) + "\n"


def _switch_requests() -> str:
    rows = [f"{number},{number % 4}" for number in workload("busy").job_id.tolist() if number % 5]
    return "\n".join(["job_id,switches", *rows]) + "\n"


def _windows() -> str:
    jobs = workload("busy")
    early = (jobs.cores <= 8) & (jobs.estimate_ns <= 1800 * 10**9) & (jobs.submit_ns < 9000 * 10**9)
    numbers = " ".join(map(str, jobs.job_id[early][:6].tolist()))
    return (
        f'[[reservation]]\nname = "course"\nbegin = "2h"\nend = "4h"\ncores = "0-23"\njobs = "{numbers}"\n'
        '\n[[maintenance]]\nname = "cooling"\nbegin = "3h"\nend = "210m"\nhosts = "5-6"\n'
        '\n[[maintenance]]\nname = "cables"\nbegin = "6h"\nend = "7h"\nhosts = "0"\n'
    )


@cache
def files() -> dict[str, str]:
    """The text of every file by its name."""
    dragonfly = "dragonfly:groups=2,chassis=2,routers=2,nodes=1"
    return {
        "plain.toml": _HOSTS,
        "powered.toml": _HOSTS + "\n[hosts.power]\nidle_w = 1\nbase_w = 30\nstates = [[1, 4], [0.5, 2.5]]\n",
        "stop.csv": (limits := "from,to,limit_w,where\n0s,2000d,560,\n1d,3d,470,\n"),
        **dict.fromkeys(("hold.csv", "submit.csv", "dvfs.csv"), limits + "2h,30d,130,hosts:0-1\n"),
        "small.toml": _HOSTS.replace("count = 8", "count = 3"),
        "mixed.toml": _MIXED,
        "gpus.toml": _HOSTS.replace("count = 8", 'count = 3\ngpus = 2\ngpu = "a100"') + _HOSTS.replace("8", "3"),
        "gpus.csv": _GPU_REQUESTS,
        "parts.toml": _HOSTS + _PARTITIONS,
        "mixed-parts.toml": _MIXED + _PARTITIONS,
        "switches.toml": _HOSTS + _SWITCHES,
        "switched-parts.toml": _HOSTS + _SWITCHES + _PARTITIONS,
        "full.toml": _network("full", "memory_gbps = 100.0\n"),
        "shared.toml": _network("shared"),
        "star.toml": _network("star"),
        "fat-tree.toml": _network("fat-tree:down=4x2,up=1x2,cables=1x1", "memory_gbps = 200.0\n"),
        "dragonfly.toml": _network(dragonfly),
        "priority.toml": _PRIORITY,
        "programs.toml": _PROGRAMS,
        "work-programs.toml": _PROGRAMS.replace(",draw=paper", "").replace(":draw=paper", ""),
        "graphs.toml": _GRAPHS,
        "other-graphs.toml": _OTHER_GRAPHS,
        "requests.csv": _requests(),
        "switches.csv": _switch_requests(),
        "windows.toml": _windows(),
        "sample-windows.toml": _SAMPLE_WINDOWS,
        "failures.csv": _FAILURES,
        "drained.csv": _DRAINED,
        "speeds.csv": _SPEEDS,
        "lengths.txt": "\n".join(f"{250 + 37 * k % 400}" for k in range(90)) + "\n# the end\n",
        "small.json": _WFFORMAT,
        "small.dax": _DAX,
        "small.rec": _STARPU,
        "devices.toml": _DEVICES,
        "ring.dot": _DOT,
        "small.graphml": _GRAPHML,
        "log.sacct": _SACCT,
        "log.json": _BATSIM,
        "log.gwf": _GWF,
        "log.csv": _TABLE,
        "with-gpus.swf": _WITH_GPUS,
        "two-kinds.toml": _TWO_KINDS,
        "withdrawn.swf": withdrawn_swf(),
    }


def write_files(folder: Path) -> None:
    """Write all files into a folder."""
    for name, text in files().items():
        (folder / name).write_text(text, encoding="utf-8")
