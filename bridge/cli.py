"""The command line. Data goes to stdout or files, words to stderr; a mistake of the user's is one line and exit code 2."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

# Everything else is imported by the command that needs it, so that --help is quick.

__all__ = ["main"]

app = typer.Typer(
    name="twolevel",
    help="Simulate batch-level and application-level scheduling of an HPC cluster on one clock.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
workload_app = typer.Typer(help="Look at workloads.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(workload_app, name="workload")

WorkloadArgument = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="An SWF file, plain or gzipped; or 'sample'.")
]
PlatformOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Platform in TOML; default: 4 hosts × 64 cores (twolevel platform).")
]
SelectOption = Annotated[
    str, typer.Option(metavar="WHICH", help="all, first:N, busiest:LENGTH or window:START+LENGTH, as busiest:24h.")
]
OversizeOption = Annotated[
    str, typer.Option(metavar="HOW", help="Jobs wider than the platform: reject, or clamp to its width.")
]
SeedOption = Annotated[int, typer.Option(help="Seed of the task lengths.")]
SlackOption = Annotated[float, typer.Option(help="EDF's deadline is submit + SLACK × estimate.")]
OverheadOption = Annotated[int, typer.Option(metavar="NS", help="What a core pays before each chunk, ns.")]
TasksPerCoreOption = Annotated[int, typer.Option(metavar="K", help="Mean number of tasks a core of a job.")]
AllocatorOption = Annotated[str, typer.Option(help="Choice of cores: lowest, or FILE.py:NAME.")]
OutOption = Annotated[str, typer.Option(metavar="DIR", help="Folder for the results; it must not exist.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the results in DIR.")]
WorkersOption = Annotated[int | None, typer.Option(metavar="N", help="Processes at once; default: one a processor.")]


@app.callback()
def _root() -> None:
    """Simulate batch-level and application-level scheduling of an HPC cluster on one clock."""


def _load(workload: str, platform: Any, select: str, oversize: str) -> Any:
    from bls.workloads import sample_path
    from bridge.scenario import load_workload

    return load_workload(
        sample_path() if workload == "sample" else workload, platform, selection=select, oversize=oversize
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _table(pairs: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs)


@app.command(
    "run",
    epilog="Example: twolevel run sample --bls sjf --als gss --variation 0.25 --seed 1 --out results",
)
def run_command(
    workload: WorkloadArgument,
    out: OutOption,
    bls: Annotated[str, typer.Option(help="Batch policy: fcfs, edf, sjf, or FILE.py:NAME.")] = "fcfs",
    als: Annotated[
        str, typer.Option(help="Application technique: static, ss, gss, fac, recorded (none), or FILE.py:NAME.")
    ] = "static",
    variation: Annotated[float, typer.Option(help="Task variation factor: σ over µ of task lengths.")] = 0.0,
    seed: SeedOption = 0,
    select: SelectOption = "all",
    oversize: OversizeOption = "reject",
    platform: PlatformOption = None,
    tasks_per_core: TasksPerCoreOption = 1,
    overhead: OverheadOption = 0,
    slack: SlackOption = 2.0,
    allocator: AllocatorOption = "lowest",
    coupling: Annotated[str, typer.Option(help="How applications are run: inline, pool or process.")] = "inline",
    workers: WorkersOption = None,
    als_command: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="An application simulator of your own (bridge/PROTOCOL.md).")
    ] = None,
    als_timeout: Annotated[
        float, typer.Option(metavar="S", help="A process silent for so long is killed, its job run again.")
    ] = 300.0,
    socket: Annotated[str, typer.Option(help="Between bridge and processes: unix, or tcp on the loopback.")] = "unix",
    tasks: Annotated[bool, typer.Option("--tasks", help="Also write tasks.parquet, a row a task.")] = False,
    trace: Annotated[bool, typer.Option("--trace/--no-trace", help="Write the OTF2 trace.")] = True,
    force: ForceOption = False,
) -> None:
    """Simulate a workload; write the table of jobs, the record of the run and the merged OTF2 trace."""
    from bridge.couplings import PeerOptions
    from bridge.couplings import coupling as known_coupling
    from bridge.progress import Progress
    from bridge.results_directory import check_target, fresh_directory
    from bridge.run_record import write_run
    from bridge.scenario import RECORDED, Options, Scenario, platform_of
    from bridge.simulation import run
    from traces.errors import InputError

    target = Path(out)
    check_target(target, force)
    options = Options(bls, als, variation, tasks_per_core, seed, slack, overhead, allocator)
    known_coupling(coupling)
    peers = PeerOptions(workers, als_timeout, als_command, socket)
    if tasks and als == RECORDED:
        raise InputError("--tasks: with --als recorded there are no tasks")
    machine = platform_of(platform)
    jobs = _load(workload, machine, select, oversize)
    scenario = Scenario.of(jobs, machine, options)
    with fresh_directory(target, force) as folder:
        with Progress(len(jobs)) as watch:
            result = run(scenario, coupling_name=coupling, keep_tasks=tasks or trace, peers=peers, watch=watch)
        arguments = {"workload": workload, "select": select, "oversize": oversize, "platform": platform}
        write_run(result, folder, arguments, tasks=tasks, trace=trace)
    print(_table(result.summary()))
    _say(f"results: {target}{'; trace: ' + str(target / 'trace' / 'traces.otf2') if trace else ''}")


@app.command(
    "grid",
    epilog="Example: twolevel grid sample --bls fcfs,sjf --als static,gss --variation 0,0.25 --out study",
)
def grid_command(
    workload: WorkloadArgument,
    out: OutOption,
    bls: Annotated[str, typer.Option(help="Batch policies, separated by commas.")] = "fcfs,edf,sjf",
    als: Annotated[str, typer.Option(help="Application techniques, separated by commas.")] = "static,ss,gss,fac",
    variation: Annotated[
        str, typer.Option(help="Task variation factors, separated by commas.")
    ] = "0,0.1,0.15,0.2,0.25",
    seed: SeedOption = 0,
    select: SelectOption = "all",
    oversize: OversizeOption = "reject",
    platform: PlatformOption = None,
    tasks_per_core: TasksPerCoreOption = 1,
    overhead: OverheadOption = 0,
    slack: SlackOption = 2.0,
    allocator: AllocatorOption = "lowest",
    workers: WorkersOption = None,
    force: ForceOption = False,
) -> None:
    """Run every combination of policies, techniques and variations; write their table and figures."""
    from bridge.grid import Grid, makespan_table, run_grid
    from bridge.progress import Progress
    from bridge.results_directory import check_target, fresh_directory
    from bridge.run_record import write_grid
    from bridge.scenario import Options, platform_of
    from traces.errors import InputError, shown

    target = Path(out)
    check_target(target, force)
    try:
        variations = tuple(float(text) for text in _words(variation))
    except ValueError:
        raise InputError(f"--variation: {shown(variation)}; allowed: numbers separated by commas") from None
    options = Options("fcfs", "static", 0.0, tasks_per_core, seed, slack, overhead, allocator)
    grid = Grid(_words(bls), _words(als), variations, options)
    machine = platform_of(platform)
    jobs = _load(workload, machine, select, oversize)
    with fresh_directory(target, force) as folder:
        with Progress(len(grid), "cells") as watch:
            rows = run_grid(jobs, machine, grid, workers=workers, folder=folder / "cells", watch=watch)
        arguments = {"workload": workload, "select": select, "oversize": oversize, "platform": platform}
        write_grid(rows, grid, jobs, machine, folder, arguments)
    _say(f"makespan of {len(jobs)} jobs on {machine.n_cores} cores, seed {seed}")
    print(makespan_table(rows, grid))
    _say(f"results: {target / 'grid.parquet'}; figures: {target / 'makespan.png'}, {target / 'ratio.png'}")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


@workload_app.command("info", epilog="Example: twolevel workload info sample")
def workload_info(
    workload: WorkloadArgument,
    platform: PlatformOption = None,
    oversize: OversizeOption = "reject",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a workload: jobs, span, widths, rejects by reason, busiest day, load on the platform."""
    from bls.description import describe
    from bridge.scenario import platform_of

    machine = platform_of(platform)
    described = describe(_load(workload, machine, "all", oversize), machine)
    print(json.dumps(described.as_dict(), indent=2, ensure_ascii=False) if as_json else described)


@app.command("platform", epilog="Example: twolevel platform > my.toml")
def platform_command() -> None:
    """Print the default platform as TOML, to start one's own from."""
    from bls.platform import Platform

    print(Platform().to_toml(), end="")


@app.command("gantt", epilog="Example: twolevel gantt results --jobs 40-60 --cores 64-127 -o figure.png")
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


@app.command("doctor", epilog="Example: twolevel doctor")
def doctor_command() -> None:
    """Look at the installation: versions, kernel cache, OTF2 library, other packages of our names."""
    from bridge.doctor import examine

    findings = examine()
    print(_table([(name, text if well else f"PROBLEM: {text}") for name, text, well in findings]))
    if not all(well for _, _, well in findings):
        raise typer.Exit(1)


def _interrupted(number: int, frame: object) -> None:
    # So that a terminated run removes what it has begun to write, as an interrupted one does.
    raise KeyboardInterrupt


def main() -> None:
    """Entry point of the ``twolevel`` command."""
    # Typer names only this one of the errors of a wrong command line; the class above it is all of them.
    usage_error: Any = typer.BadParameter.__bases__[0]
    signal.signal(signal.SIGTERM, _interrupted)
    code: Any
    try:
        code = app(standalone_mode=False)
    except usage_error as error:
        code = _fault(error.format_message(), 2)
    except typer.Abort:
        code = 130
    except BrokenPipeError:
        sys.stderr.close()  # nobody reads any more; and Python would complain of stdout at its exit
        code = 1
    except Exception as error:
        from traces.errors import TwolevelError

        if not isinstance(error, TwolevelError | OSError):
            raise
        code = _fault(str(error), getattr(error, "exit_code", 1))
    if code == 130:
        _say("twolevel: interrupted; nothing was written")
    sys.exit(code or 0)


def _fault(message: str, code: int) -> int:
    _say("twolevel: " + " ".join(message.split()))
    return code


if __name__ == "__main__":
    main()
