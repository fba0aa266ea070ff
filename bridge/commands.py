"""The commands of ``twolevel``: each takes what the user typed, has it done, and says where the results are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

# Everything else is imported by the command that needs it, so that --help is quick.
from bridge.cli_bundles import bundled
from bridge.cli_options import TECHNIQUES_HELP, ForceOption, OutOption, WorkersOption, WorkloadArgument
from bridge.graph_commands import graph_command
from bridge.loop_commands import loop_command
from bridge.scenario_options import ScenarioOptions
from bridge.standard_error import say, say_compiling
from bridge.workload_commands import workload_app

__all__ = ["app"]

app = typer.Typer(
    name="twolevel",
    help="Simulate batch-level and application-level scheduling of an HPC cluster on one clock.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(workload_app, name="workload")


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"twolevel {version('twolevel')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Simulate batch-level and application-level scheduling of an HPC cluster on one clock."""


def _say_jobs(jobs: Any) -> None:
    # Every line of the file is accounted for, and so that nobody overlooks it, said.
    from bls.workload import rejects_text

    rejected = "rejected: " if any(jobs.rejects.values()) else ""
    say(f"workload: {len(jobs)} jobs selected; {jobs.n_lines} lines, {rejected}{rejects_text(jobs.rejects)}")


def _table(pairs: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs)


def _target(out: str, force: bool) -> Path:
    from bridge.results_directory import check_target
    from traces.errors import InputError

    if not out:
        raise InputError("--out: empty; allowed: the name of a folder")
    check_target(Path(out), force)
    return Path(out)


@app.command(
    "run",
    short_help="Simulate a workload.",
    epilog="Example: twolevel run sample --bls sjf --als gss --variation 0.25 --seed 1 --out results",
)
@bundled
def run_command(
    *,
    workload: WorkloadArgument,
    out: OutOption,
    bls: Annotated[
        str, typer.Option(help="Batch policy by name (fcfs, sjf, wfp3 …), expr:EXPRESSION, or FILE.py:NAME.")
    ] = "fcfs",
    als: Annotated[str, typer.Option(help=f"Application technique: {TECHNIQUES_HELP}; or recorded: none.")] = "static",
    variation: Annotated[float, typer.Option(help="Task variation factor: σ over µ of task lengths.")] = 0.0,
    shared: ScenarioOptions,
    coupling: Annotated[str, typer.Option(help="How applications are run: inline, pool or process.")] = "inline",
    workers: WorkersOption = None,
    als_command: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="An application simulator of your own (bridge/PROTOCOL.md).")
    ] = None,
    als_timeout: Annotated[
        float, typer.Option(metavar="S", help="A process silent for so long is killed, its job run again.")
    ] = 300.0,
    socket: Annotated[str, typer.Option(help="Between bridge and processes: unix, or tcp on the loopback.")] = "unix",
    observe: Annotated[
        list[str] | None, typer.Option(metavar="FILE.py:NAME", help="An observer of your own; may be repeated.")
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Also write nodes.parquet, host states over time.")] = False,
    decisions: Annotated[
        bool, typer.Option("--decisions", help="Also write decisions.parquet, a row a scheduling pass.")
    ] = False,
    fair_start: Annotated[
        bool, typer.Option("--fair-start", help="Also find each job's fair start time, and the unfairness.")
    ] = False,
    tasks: Annotated[bool, typer.Option("--tasks", help="Also write tasks.parquet, a row a task.")] = False,
    trace: Annotated[bool, typer.Option("--trace/--no-trace", help="Write the OTF2 trace.")] = True,
    live: Annotated[
        bool, typer.Option("--live", help="Show the run while it is under way, as twolevel watch.")
    ] = False,
    force: ForceOption = False,
) -> None:
    """Simulate a workload; write the table of jobs, the record of the run and the merged OTF2 trace."""
    from bridge.couplings import PeerOptions
    from bridge.couplings import coupling as known_coupling
    from bridge.progress import Broadcast
    from bridge.results_directory import fresh_directory
    from bridge.run_record import write_run
    from bridge.scenario import RECORDED, Scenario
    from bridge.simulation import run
    from traces.errors import InputError

    target = _target(out, force)
    options = shared.options(bls, als, variation, keep_decisions=decisions)
    known_coupling(coupling)
    peers = PeerOptions(workers, als_timeout, als_command, socket)
    if tasks and als == RECORDED:
        raise InputError("--tasks: with --als recorded there are no tasks")
    machine = shared.machine()
    say_compiling()
    jobs, known_jobs = shared.jobs(workload, machine)
    scenario = Scenario.of(jobs, machine, options, observers=observe or (), known_jobs=known_jobs)
    jobs = scenario.workload
    with fresh_directory(target, force) as folder, Broadcast(folder, len(jobs), live=live) as watch:
        keep = tasks or trace
        result = run(scenario, coupling_name=coupling, keep_tasks=keep, fair_start=fair_start, peers=peers, watch=watch)
        arguments = {
            **shared.source(workload),
            "observe": list(observe or ()),
            "coupling": coupling,
            "workers": workers,
            "als_command": als_command,
            "als_timeout_s": als_timeout,
            "socket": socket,
            "fair_start": fair_start,
            "tasks_table": tasks,
            "trace": trace,
        }
        write_run(result, folder, arguments, tasks=tasks, trace=trace, nodes=nodes)
    _say_jobs(jobs)
    if result.notes.missing_dependencies:
        say(f"jobs that follow one that is not simulated, and so wait for nobody: {result.notes.missing_dependencies}")
    print(_table(result.summary()))
    say(f"results: {target}{'; trace: ' + str(target / 'trace' / 'traces.otf2') if trace else ''}")


@app.command("watch", short_help="Show a run that is under way.", epilog="Example: twolevel watch results --once")
def watch_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="The --out of a twolevel run.")],
    once: Annotated[bool, typer.Option("--once", help="One look, then exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print each look as a line of JSON.")] = False,
) -> None:
    """Show a run that is under way in another terminal: clock, queue, use of the machine, map of the hosts."""
    from bridge.watch import watch_run

    raise typer.Exit(watch_run(Path(results), once=once, as_json=as_json))


@app.command(
    "grid",
    short_help="Simulate every combination of both levels.",
    epilog="Example: twolevel grid sample --bls fcfs,sjf --als static,gss --variation 0,0.25 --out study",
)
@bundled
def grid_command(
    *,
    workload: WorkloadArgument,
    out: OutOption,
    bls: Annotated[str, typer.Option(help="Batch policies, separated by commas.")] = "fcfs,edf,sjf",
    als: Annotated[
        str, typer.Option(help=f"Application techniques, separated by commas: {TECHNIQUES_HELP}; recorded.")
    ] = "static,ss,gss,fac",
    variation: Annotated[
        str | None,
        typer.Option(
            help="Task variation factors, separated by commas; by default only 0 for task lengths that take none.",
            show_default="0,0.1,0.15,0.2,0.25",
        ),
    ] = None,
    shared: ScenarioOptions,
    workers: WorkersOption = None,
    force: ForceOption = False,
) -> None:
    """Run every combination of policies, techniques and variations; write their table and figures."""
    from als.lengths import takes_variation
    from als.techniques import split_techniques
    from bls.policies import split_names
    from bridge.grid import Grid, makespan_table, run_grid
    from bridge.progress import Progress
    from bridge.results_directory import fresh_directory
    from bridge.run_record import write_grid
    from traces.errors import InputError, shown

    target = _target(out, force)
    if variation is None:
        varied = shared.applications is not None or takes_variation(shared.lengths or "")
        variation = "0,0.1,0.15,0.2,0.25" if varied else "0"
    try:
        variations = tuple(float(text) for text in _words(variation))
    except ValueError:
        raise InputError(f"--variation: {shown(variation)}; allowed: numbers separated by commas") from None
    depths = _words(shared.backfill)
    options = shared.options("fcfs", "static", 0.0, depths)
    grid = Grid(tuple(split_names(bls)), tuple(split_techniques(als)), variations, options, depths)
    machine = shared.machine()
    say_compiling()
    jobs, known_jobs = shared.jobs(workload, machine)
    with fresh_directory(target, force) as folder, Progress(len(grid), "cells") as watch:
        rows = run_grid(
            jobs, machine, grid, workers=workers, folder=folder / "cells", watch=watch, known_jobs=known_jobs
        )
        write_grid(rows, grid, jobs, machine, folder, shared.source(workload))
    _say_jobs(jobs)
    say(f"makespan of {len(jobs)} jobs on {machine.n_cores} cores, seed {shared.seed}")
    print(makespan_table(rows, grid))
    say(f"results: {target / 'grid.parquet'}; figures: {target / 'makespan.png'}, {target / 'ratio.png'}")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


app.command(
    "loop",
    short_help="Simulate one loop, or print chunk sizes.",
    epilog="Example: twolevel loop --n 1000 --cores 16 --als gss --lengths gamma:cov=0.5 --out loop",
)(loop_command)

app.command(
    "graph",
    short_help="Simulate one task graph.",
    epilog="Example: twolevel graph cholesky:tiles=8 --hosts 4 --cores 16 --als heft --network lv08 --out graph",
)(graph_command)


@app.command(
    "platform", short_help="Print the default platform as TOML.", epilog="Example: twolevel platform > my.toml"
)
def platform_command() -> None:
    """Print the default platform as TOML, to start one's own from."""
    from bls.platform import Platform

    print(Platform().to_toml(), end="")


@app.command(
    "gantt",
    short_help="Draw the tasks of a run.",
    epilog="Example: twolevel gantt results --jobs 40-60 --cores 64-127 -o figure.png",
)
def gantt_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="A folder that twolevel run --tasks has written.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A png, svg or pdf file.")],
    jobs: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Job numbers, as 1542-1546; default: all.")
    ] = None,
    cores: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Cores, as 64-127; default: all.")] = None,
    title: Annotated[str, typer.Option(help="Shown above the chart.")] = "",
) -> None:
    """Draw the tasks of a run: cores as rows, jobs as colours, idle white."""
    from bridge.gantt import draw_results

    print(draw_results(Path(results), Path(output), jobs, cores, title))


@app.command("doctor", short_help="Look at the installation.", epilog="Example: twolevel doctor")
def doctor_command() -> None:
    """Look at the installation: versions, kernel cache, OTF2 library, other packages of our names."""
    from bridge.doctor import examine

    findings = examine()
    print(_table([(name, text if well else f"PROBLEM: {text}") for name, text, well in findings]))
    if not all(well for _, _, well in findings):
        raise typer.Exit(1)
