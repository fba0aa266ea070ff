"""The commands of ``twolevel``: each takes what the user typed, has it done, and says where the results are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

# Everything else is imported by the command that needs it, so that --help is quick.
from bridge.cli_bundles import bundled
from bridge.cli_options import ForceOption, OutOption, WorkloadArgument
from bridge.compare_commands import compare_command
from bridge.figure_commands import figures_command
from bridge.graph_commands import graph_command
from bridge.loop_commands import loop_command
from bridge.scenario_options import CouplingOptions, LevelOptions, ScenarioOptions
from bridge.standard_error import say, say_compiling
from bridge.study_commands import grid_command, repeat_command, study_command
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
    levels: LevelOptions,
    shared: ScenarioOptions,
    how: CouplingOptions,
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
    from bridge.progress import Broadcast
    from bridge.results_directory import fresh_directory
    from bridge.run_record import write_run
    from bridge.scenario import RECORDED, Scenario
    from bridge.simulation import run
    from traces.errors import InputError

    target = _target(out, force)
    options = shared.options(levels.bls, levels.als, levels.variation, keep_decisions=decisions)
    peers = how.peers()
    if tasks and levels.als == RECORDED:
        raise InputError("--tasks: with --als recorded there are no tasks")
    machine = shared.machine()
    say_compiling()
    jobs, known_jobs = shared.jobs(workload, machine)
    scenario = Scenario.of(jobs, machine, options, observers=observe or (), known_jobs=known_jobs)
    jobs = scenario.workload
    with fresh_directory(target, force) as folder, Broadcast(folder, len(jobs), live=live) as watch:
        keep = tasks or trace
        result = run(
            scenario, coupling_name=how.coupling, keep_tasks=keep, fair_start=fair_start, peers=peers, watch=watch
        )
        arguments = {
            **shared.source(workload),
            "observe": list(observe or ()),
            **how.names(),
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


app.command(
    "grid",
    short_help="Simulate every combination of both levels.",
    epilog="Example: twolevel grid sample --bls fcfs,sjf --als static,gss --variation 0,0.25 --seeds 10 --out study",
)(grid_command)

app.command(
    "study",
    short_help="Run the study of a file.",
    epilog="Example: twolevel study study.toml --out results --workers 2",
)(study_command)

app.command(
    "repeat",
    short_help="Run a study again and compare.",
    epilog="Example: twolevel repeat results",
)(repeat_command)

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

app.command(
    "compare",
    short_help="Compare two runs, job by job.",
    epilog="Example: twolevel compare static gss --job 320",
)(compare_command)


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


app.command(
    "figures",
    short_help="Draw the figures of a run or a study.",
    epilog="Example: twolevel figures results --only utilisation --only heat --format svg",
)(figures_command)


@app.command("doctor", short_help="Look at the installation.", epilog="Example: twolevel doctor")
def doctor_command() -> None:
    """Look at the installation: versions, kernel cache, OTF2 library, other packages of our names."""
    from bridge.doctor import examine

    findings = examine()
    print(_table([(name, text if well else f"PROBLEM: {text}") for name, text, well in findings]))
    if not all(well for _, _, well in findings):
        raise typer.Exit(1)
