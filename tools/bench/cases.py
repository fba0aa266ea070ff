"""The cases of the benchmark, in the order in which they run.

A row with a bound keeps its title, its bound and its meaning, as rows are compared over time. The fields are those of
``tools.bench.rows.Case``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial as call

from bls import Platform
from tools.bench import commands, dispatch, engines, studies, tables, traces
from tools.bench.commands import whole
from tools.bench.engines import CURIE_OWN, SETH, batch, two_level
from tools.bench.rows import CURIE, HPC2N, ROOT, THUNDER, Case, T, archive

_CURIE, _HPC2N = call(archive, CURIE), call(archive, HPC2N)
_GSS = ("run", _CURIE, "--bls", "fcfs", "--als", "gss", "--variation", "0.25", "--seed", "1")
_REJECT = ("--platform", engines.SETH_4, "--bls", "reject", "--als", "recorded", "--trace", "none")
_STREAM = ("--platform", CURIE_OWN.platform, "--backfill", "easy", "--als", "recorded", "--trace", "none", "--stream")
_PAPER = (ROOT / "tools" / "studies" / "two-level-paper.toml", "--data", lambda: archive(THUNDER).parent)
_ALL_JOBS = {"workload__jobs": 241_794, "workload__lines": 312_826, "metrics__tasks": 12_877_951}
_MANY_JOBS = {"workload__jobs": 19 * 295_540, "metrics__state_completed": 19 * 295_540}

#: Techniques, and the bound of each, M tasks/s; tables, their rows and the bound of each, M rows/s; formats of traces, and the
#: bound of each, M events/s.
_LOOPS = {"ss": 10, "gss": 50, "fac": 50, "awf-c": 5, "af": 5, "fac-mu-sigma": 0, "static-steal": 0, "bold": 0}
_TABLES = (("parquet", 1_000_000, 1), ("csv", 1_000_000, 0.5), ("jsonl", 100_000, 0))
_TRACES = {"perfetto": 1, "paje": 1, "chrome": 0, "csv": 0}

#: Groups that run only if --case names them: they take a minute, and few changes of the project affect them.
ON_DEMAND = ("dispatch", "formats", "simgrid", "timeline")

#: Machine, model, modelled jobs; the bound in CPU ms, if any.
_DISPATCHES = (
    "eurora pcp20 all 100", "eurora hcp19 all", "eurora cp-classes all", "eurora pcp19 all", "kit pcp20 all 350",
    "kit cp-classes all", "kit pcp20 fits 350", "kit-fat pcp20 all 350", "kit-memory pcp20 all 350",
    "kit-kb pcp20 all 350", "kit-any-memory pcp20 all 350", "kit-any-memory cp-classes all",
)  # fmt: skip


def _part(cached: Callable[[], Mapping[str, T]], name: str) -> Callable[[], T]:
    return lambda: cached()[name]


def _least(bound: float, unit: str) -> str:
    return f"≥ {bound} {unit}" if bound else ""


# fmt: off
CASES = (
    # First and later starts. They come first, since later cases use their kernels.
    Case("start", "twolevel --help", "≤ 0.4 s", "s", 5, lambda: commands.command("--help").wall_s),
    Case("start", "run sample, nothing compiled, CPU", "≤ 15 s", "s", 0, lambda: commands.cold().cpu_s),
    Case("start", "run sample, nothing compiled, wall", "≤ 15 s", "s", 0, lambda: commands.cold().wall_s),
    Case("start", "run sample, machine code that is kept", "≤ 8 MB", "MB", 0, commands.kept_mb),
    Case("start", "run sample, compiled, wall", "≤ 0.6 s", "s", 0, commands.warm),
    Case("start", "bridge.simulate(sample) in a new Python", "≤ 0.7 s", "s", 3, commands.new_python, "with the import"),
    *(Case("first-use", f"first use of {feature}, CPU", "≤ 12 s", "s", 0, _part(commands.first_uses, feature))
      for feature in commands.FEATURES),
    Case("warm-up", "warm-up --all, CPU", "≤ 100 s", "s", 0, commands.everything),

    # Whole commands on whole logs.
    Case("whole", "CEA-Curie whole, fcfs-gss, no trace", "≤ 10 s, ≤ 2048 MiB", "s", 1,
         call(whole, *_GSS, "--trace", "none", **_ALL_JOBS)),
    Case("whole", "CEA-Curie whole, fcfs-gss, OTF2 trace", "≤ 20 s", "s", 1, call(whole, *_GSS, **_ALL_JOBS)),
    Case("rejected", "AccaSim's Table 1: 202,871 jobs, all rejected", "≤ 2 s", "s", 3,
         call(whole, "run", _HPC2N, *_REJECT, cpu=True, metrics__state_rejected=202_871),
         "AccaSim 4.7 s (paper 15 s), Batsim 28 s"),
    Case("rejected", "AccaSim's Table 1: 5,731,100 jobs, all rejected", "≤ 30 s, ≤ 4096 MiB", "s", 1,
         call(whole, "run", commands.seth_many, *_REJECT, cpu=True, metrics__state_rejected=5_731_100),
         "in AccaSim's paper: AccaSim 383 s, Batsim 15 GB"),
    Case("stream", "5.6 M jobs (CEA-Curie 19 times), easy, --stream", "≤ 300 MiB", "s", 1,
         call(whole, "run", commands.repeated_curie, *_STREAM, **_MANY_JOBS)),
    Case("grid", "60-cell grid, busiest day of CEA-Curie, 2 workers", "≤ 30 s", "s", 1,
         call(whole, "grid", _CURIE, "--select", "busiest:24h", "--workers", "2", "--seed", "1", results=60)),

    # The batch level.
    Case("batch", "Seth, fcfs, engine", "≤ 0.25 s", "s", 7, call(batch, SETH, "fcfs"),
         "AccaSim 113 CPU s, Batsim 45, pyss 6.6"),
    Case("batch", "Seth, sjf, engine", "≤ 0.25 s", "s", 7, call(batch, SETH, "sjf"), "AccaSim 118 CPU s"),
    Case("batch", "Seth, easy, engine", "≤ 0.25 s", "s", 7, call(batch, SETH, "fcfs", "easy"),
         "AccaSim 121 CPU s, Batsim 44, pyss 10.3"),
    Case("batch", "Seth, wfp3, easy, engine", "", "s", 3, call(batch, SETH, "wfp3", "easy")),
    Case("batch", "Seth, 4 reservations, engine", "", "s", 3, call(batch, SETH, "fcfs", "4")),
    Case("batch", "Seth, conservative, keep, engine", "≤ 10 s", "s", 1, call(batch, SETH, "fcfs", "conservative")),
    Case("batch", "Seth, conservative, rebuild, engine", "≤ 10 s", "s", 1,
         call(batch, SETH, "fcfs", "conservative:rebuild")),
    Case("batch", "Curie on 93,312 cores, easy, engine", "≤ 5 s", "s", 3,
         call(batch, CURIE_OWN, "fcfs", "easy"), "pyss 32.6 s, Batsim 177"),
    Case("batch", "Curie on 93,312 cores, easy, best-fit, engine", "", "s", 1,
         call(batch, CURIE_OWN, "fcfs", "easy", placed="best-fit")),
    *(Case("batch", f"Curie's first 10,000 jobs on 93,312 cores, easy, {placed}, engine", "", "s", 3,
           call(batch, CURIE_OWN, "fcfs", "easy", placed=placed, first=10_000))
      for placed in ("contiguous", "whole-host")),
    Case("python", "Python policy (fcfs by hand), Seth", "≥ 50 k decisions/s", "k decisions/s", 2,
         engines.python_policy, "AccaSim 1,700 jobs/s"),
    *(Case("dispatch", f"dispatch of 100 jobs, {', '.join(words[:3])}", "".join(f"≤ {ms} ms" for ms in words[3:]), "ms",
           0, call(dispatch.dispatch, *words[:3])) for words in map(str.split, _DISPATCHES)),
    *(Case("dispatch", f"choosing 100 of 10,000 jobs, {machine}, {which}, more than of 100", "≤ 5 ms", "ms", 0,
           call(dispatch.choosing, machine, which)) for machine in ("eurora", "kit") for which in ("all", "fits")),

    # Workloads.
    Case("readers", "read HPC2N, gzip", "≥ 500 k lines/s", "k lines/s", 5, call(engines.read, HPC2N, 202_871)),
    Case("readers", "read CEA-Curie, gzip", "≥ 500 k lines/s", "k lines/s", 5, call(engines.read, CURIE, 312_826)),
    *(Case("readers", f"read a table of {n:,} jobs, {ending}", _least(bound, "M rows/s"), "M rows/s", 3,
           call(tables.read, ending, n)) for ending, n, bound in _TABLES),
    Case("readers", "5 M rows of Parquet, block by block", "≤ 400 MiB", "s", 1, call(tables.stream, 5_000_000)),
    *(Case("generator", f"500,000 jobs like HPC2N, {method}", "≤ 10 s", "s", 3, call(engines.generate, method))
      for method in ("calendar", "accasim")),

    # The application level.
    *(Case("application", f"application engine, {name}, 1 M tasks, 256 cores", _least(bound, "M tasks/s"),
           "M tasks/s", 5, call(engines.loop, name)) for name, bound in _LOOPS.items()),
    Case("python-technique", "a Python technique, gss by hand", "≥ 300,000 chunks/s", "chunks/s", 5,
         engines.python_technique),
    Case("techniques", "20 techniques × busiest day of CEA-Curie × 10 seeds, 2 workers", "≤ 60 s", "s", 1,
         studies.twenty_techniques),
    Case("graphs", "graph of 10,000 tasks, 29,789 edges, 64 cores, upward rank", "≤ 0.02 s", "s", 9,
         call(engines.ranked, 10_000, 64)),
    Case("graphs", "graph of 100,000 tasks, 299,150 edges, 256 cores, upward rank", "≤ 0.3 s", "s", 5,
         call(engines.ranked, 100_000, 256)),
    *(Case("links", f"fixed mapping on {hosts} hosts, {transfers:,} transfers, lv08, {topology}", must, "s", 5,
           call(engines.mapped, topology, hosts, transfers))
      for topology, hosts, transfers, must in (
          ("full", 4, 22_732, "≤ 0.15 s"), ("fat-tree:down=8x8,up=1x4", 64, 29_363, ""))),
    *(Case("graph-day", f"busiest day of CEA-Curie on {machine}, all jobs graphs of 64 tasks, network lv08, inline",
           "≤ 60 s", "s", 2, call(engines.day_of_graphs, platform))
      for machine, platform in (("the paper's 4 hosts of 64 cores", Platform()),
                                ("its own 5,832 hosts of 16 cores", CURIE_OWN.platform))),

    # Both levels.
    *(Case("couplings", f"Figure 10, {name}, 10,000 jobs, {coupling}", must, "s", runs,
           call(two_level, log, 10_000, coupling), note)
      for name, log, coupling, must, runs, note in (
          ("W1", CURIE, "inline", "≤ 0.5 s", 7, ""), ("W1", CURIE, "pool", "≤ 6 s", 1, ""),
          ("W1", CURIE, "process", "≤ 60 s", 1, "the paper < 110 s"),
          ("W2", THUNDER, "inline", "≤ 0.5 s", 7, ""), ("W2", THUNDER, "pool", "≤ 6 s", 1, ""))),
    *(Case("scaling", f"{jobs:,} jobs, fcfs-static, inline", "linear in jobs", "s", 3,
           call(two_level, CURIE, jobs)) for jobs in (1_000, 100_000)),
    Case("scaling", "10,000 jobs on 4,096 cores", "", "s", 2, call(two_level, CURIE, 10_000, cores=4_096)),
    *(Case("reaches", f"every running job at every event, busiest day of CEA-Curie, {als}", "≤ 20 s", "s", 1,
           call(engines.every_job_scaled, als))
      for als in ("static", "gss")),
    *(Case("simgrid", f"{title}, by SimGrid", "", "s", 0, call(engines.simgrid, kind)) for kind, title in (
        ("loop", "a loop of 20,000 tasks on 64 cores, ss"), ("jobs", "50 jobs of about 160 tasks, fac"),
        ("graph", "a graph of 2,000 tasks on 16 hosts of a star, heft, lv08"))),

    # Traces and pages.
    Case("traces", "OTF2, 2 M tasks, 256 cores, attributes", "≥ 5 M events/s", "M events/s", 3,
         call(traces.trace, "otf2", 2_000_000)),
    *(Case("formats", f"{name}, 1 M tasks, 256 cores", _least(bound, "M events/s"), "M events/s", 2,
           call(traces.trace, name)) for name, bound in _TRACES.items()),
    *(Case("timeline", f"timeline of 1 M tasks on 1,024 cores, {title}", must, unit, 0, _part(traces.timeline, what))
      for what, title, must, unit in (
          ("packed", "packed", "≤ 5 s", "s"), ("size", "size", "≤ 30 MB", "MB"), ("opened", "opened", "≤ 3 s", "s"),
          ("moved", "moved", "≥ 30 pictures/s", "pictures/s"))),

    # Studies.
    Case("study", "the two-level paper's evaluation (CEA-Curie, LLNL-Thunder), 1,200 cells, 2 workers", "≤ 60 s", "s",
         0, call(whole, "study", *_PAPER, "--workers", "2", results=1200)),
    Case("cells", "Dask, overhead a cell and worker, 2 workers", "≤ 10 ms", "ms", 0, _part(studies.cells, "overhead")),
    Case("cells", "1,000 cells of 5 jobs, 2 workers, a cell", "must not grow", "ms", 0, _part(studies.cells, "own")),
    Case("journal", "a journal of 20,000 rows, to add one", "must not grow", "µs", 0, _part(studies.journal, "add")),
    Case("journal", "a journal of 20,000 rows, to make the tables", "", "s", 0, _part(studies.journal, "tables")),
    Case("journal", "a journal of 20,000 rows, to read it", "", "s", 0, _part(studies.journal, "read")),
)
# fmt: on
