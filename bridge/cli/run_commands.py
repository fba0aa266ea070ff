"""The list of commands of ``twolevel``, and the commands ``run`` and ``worker``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bridge.options import declared as d
from bridge.options.bundles import QuickCommand, QuickGroup, bundled
from bridge.options.output import RunOutput

# Everything else is imported by the command that needs it, to keep --help fast.
from bridge.scenarios.scenario import Execution, Scenario, given_platform, platform_for
from bridge.standard_error import lined_up, say
from traces.base.errors import InputError, TwolevelError
from traces.base.options import check, named, values

if TYPE_CHECKING:
    from bls.workloads.workload import Workload
    from bridge.runs.tracing import TraceRequest
    from bridge.scenarios.ready import ReadyScenario


@dataclass(frozen=True)
class _Command:
    """A command: the module ``HOME_commands`` of its function, its line in the list of commands, the words of its example."""

    home: str
    short_help: str
    example: str = ""

    def function(self, name: str) -> Any:
        return named(f"bridge.cli.{self.home}_commands:{name.replace('-', '_')}_command")


#: Name → command; the function is called ``NAME_command``. ``workload`` and ``trace`` are groups of commands.
COMMANDS: dict[str, _Command] = {
    "run": _Command(
        "run", "Simulate a workload.", "sample --bls sjf --als gss --variation 0.25 --seed 1 --out results"
    ),
    "replay": _Command("replay", "Run a workload through the real Slurm.", "sample --select first:50 --out replay"),
    "worker": _Command(
        "run",
        "Run application processes for a run on another host.",
        "tls://node1:7411 --token-file token --workers 8 --patience 10min",
    ),
    "watch": _Command("result", "Show the progress of a run.", "results --once"),
    "grid": _Command(
        "study",
        "Simulate every combination of both levels.",
        "sample --bls fcfs,sjf --als static,gss --variation 0,0.25 --seeds 10 --out study",
    ),
    "study": _Command("study", "Run a study described in a file.", "study.toml --out results --workers 2"),
    "repeat": _Command("study", "Run a study again and compare.", "results"),
    "loop": _Command(
        "single",
        "Simulate one loop, or print chunk sizes.",
        "--n 1000 --cores 16 --als gss --lengths gamma:cov=0.5 --out loop",
    ),
    "graph": _Command(
        "single",
        "Simulate one task graph.",
        "cholesky:tiles=8 --hosts 4 --cores 16 --als heft --network lv08 --out graph",
    ),
    "measure": _Command("measure", "Measure a real program.", "--out measured -- ./app 1000"),
    "calibrate": _Command("measure", "Fit the model to measured loops, and test it.", "measured --out calibrated"),
    "compare": _Command("compare", "Compare two runs, job by job.", "static gss --job 320"),
    "story": _Command("result", "Print what happened to one job, and why.", "results 42"),
    "platform": _Command("result", "Print a platform in TOML.", "--like sample > my.toml"),
    "gantt": _Command("result", "Draw a Gantt chart of a run.", "results --jobs 40-60 --cores 64-127 -o figure.png"),
    "power": _Command(
        "result",
        "Show the power of a run, its costs and emissions.",
        "results --signals signals.csv -o power.svg",
    ),
    "metrics": _Command("result", "Print the metrics of a run.", "results --fair-start"),
    "figures": _Command(
        "result", "Draw the figures of a run or a study.", "results --only utilisation --only heat --format svg"
    ),
    "table": _Command(
        "result",
        "Print metrics as a table for a paper.",
        "study --metrics makespan,mean_wait --format latex -o table.tex",
    ),
    "report": _Command("result", "Write an HTML report of a result.", "results -o page.html"),
    "warm-up": _Command("installation", "Compile the kernels now.", "--all"),
    "doctor": _Command("installation", "Check the installation."),
    "cite": _Command("installation", "Print how to cite this software.", "--bibtex >> references.bib"),
}

#: Groups of commands: ``NAME_app`` of the module ``NAME_commands``.
_GROUPS = ("trace", "workload")
_OF_ALL = ("-h", "--help", "--version")  #: words that load no command


def command_line(first_word: str) -> typer.Typer:
    """The command line; if its first word is a command, with this command alone, since loading all commands takes as long
    as to simulate a small workload."""
    alone = first_word if first_word in (*COMMANDS, *_GROUPS) else None
    app = typer.Typer(
        name="twolevel",
        cls=QuickGroup,
        help="Simulate batch-level and application-level scheduling of an HPC cluster on one clock.",
        no_args_is_help=True,
        add_completion=alone is None or "_TWOLEVEL_COMPLETE" in os.environ,  # which takes time to load
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name, command in COMMANDS.items():
        if alone in (None, name):
            example = f"Example: twolevel {name} {command.example}".rstrip()
            add = app.command(name, cls=QuickCommand, short_help=command.short_help, epilog=example)
            add(_unused if first_word in _OF_ALL else command.function(name))
    for name in _GROUPS:
        if alone in (None, name):
            several = named(f"bridge.cli.{name}_commands:{name}_app")
            for one in several.registered_commands:
                one.cls = QuickCommand
            app.add_typer(several, name=name)
    return app


def _unused() -> None:
    """Represent a command in the list of all commands."""


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"twolevel {version('twolevel')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of errors. May follow a command.")] = False,
) -> None:
    """Simulate batch-level and application-level scheduling of an HPC cluster on one clock."""


def say_jobs(jobs: Any) -> None:
    """Report how many jobs were read, selected and rejected, with remarks on them."""
    # Every line of the file is accounted for, also the rejected ones.
    from bls.workloads.columns import lines_text

    say(f"workload: {jobs.selected_text}; {lines_text(jobs.n_lines, jobs.rejects, jobs.rejected)}")
    for remark in jobs.remarks:
        say(f"workload: {remark}")
    if jobs.window_words:
        say(jobs.window_words)


def _say_run(result: Any, same: list[tuple[str, str]]) -> None:
    from bridge.scenarios.remarks import remarks_of_run

    say_jobs(result.scenario.workload)
    for words in remarks_of_run(result.scenario):
        say(words)
    if missing := result.notes.missing_dependencies:
        say(f"jobs that name a preceding job that is not simulated, and do not wait for it: {missing}")
    print(lined_up(result.summary() + same))


def _hear_config(context: typer.Context, file: str | None) -> str | None:
    if file is not None and not context.resilient_parsing:
        from bridge.cli.config_file import options_of_file

        assert context.command.callback is not None  # only this command has the option
        context.default_map = options_of_file(file, context.command.callback)
    return file


CONFIG = typer.Option(
    metavar="FILE",
    callback=_hear_config,
    is_eager=True,
    help="Read options and WORKLOAD from a TOML file (docs/reference/cli.md). The command line overrides them.",
)


def _errors_name_config(command: Callable[..., None]) -> Callable[..., None]:
    # An error in a value of --config names its place in the file.
    @wraps(command)
    def named(*, config: str | None, **given: Any) -> None:
        try:
            command(config=config, **given)
        except TwolevelError as error:
            if config is not None:
                from bridge.cli.config_file import with_place

                error.args = (with_place(error.text, config, command, given), *error.args[1:])
            raise

    return named


@_errors_name_config
@bundled
def run_command(
    *,
    scenario: Scenario,
    out: Annotated[str, d.OUT],
    output: RunOutput,
    force: Annotated[bool, d.FORCE] = d.FORCE.default,
    config: Annotated[str | None, CONFIG] = None,
) -> None:
    """Simulate a workload; write a table of its jobs, a record of the run, and a trace."""
    from bridge.couplings import check_execution
    from bridge.runs.directory import check_target, named_folder
    from bridge.runs.kernels import prepare_run
    from bridge.runs.record import check_other
    from bridge.runs.tracing import requested
    from bridge.scenarios.conflicts import TYPED, check_used
    from bridge.scenarios.ready import ReadyScenario, decided

    target = named_folder(out)
    check_target(target, force)
    scenario = decided(scenario)
    given = values(scenario)
    check_used([given])
    check_execution(scenario.execution)
    trace = requested(output)
    check(TYPED, given | values(output))
    given_platform(scenario.machine.platform)  # a file is checked before a long log is read
    formats = () if trace is None else trace.formats
    arguments = {**scenario.source(), **scenario.execution.names(), **output.names(formats)}
    if output.stream:
        _stream_run(target, force, scenario, arguments)
        return
    if output.other is not None:
        check_other(output.other)
    prepare_run(applications=scenario.application.simulated)
    log = scenario.log()
    jobs, machine = scenario.jobs(log, replayed=not scenario.application.simulated)
    ready = ReadyScenario.of(jobs, machine, scenario, observers=output.observe, known_jobs=log.job_id)
    _run(ready, output, trace, target, force, arguments | scenario.source(jobs))


def _run(
    ready: ReadyScenario,
    output: RunOutput,
    trace: TraceRequest | None,
    target: Path,
    force: bool,
    arguments: Mapping[str, Any],
) -> None:
    from bridge.live.progress import Broadcast
    from bridge.runs.directory import fresh_directory
    from bridge.runs.record import note_same, write_run
    from bridge.runs.simulation import run

    if trace is not None:
        trace.check_cores(ready.platform.n_cores)
    with fresh_directory(target, force) as folder, Broadcast(folder, live=output.live) as watch:
        keep = output.tasks or (trace is not None and trace.needs_tasks(ready.platform.machine()))
        result = run(ready, keep_tasks=keep, watch=watch, check=output.check)
        written = write_run(result, folder, arguments, tasks=output.tasks, trace=trace, nodes=output.nodes)
        same = None if output.other is None else note_same(folder, output.other)
    _say_run(result, [] if same is None else same.rows())
    how = f"add {d.TRACE_DETAIL:task} for all cores, {d.TRACE_CORES} for some"
    if trace and (line := trace.note(result.ledger.machine, how)):
        say(line)
    say(f"results: {target}" + "".join(f"; trace: {target / 'trace' / path}" for path in written))
    if same is not None and same.others:
        where = f"twolevel compare {output.same_as} {target} says where"
        raise InputError(f"{d.SAME_AS}: not the tables of {output.same_as}: {', '.join(same.others)}; {where}")


def _stream_run(target: Path, force: bool, options: Scenario, arguments: Mapping[str, object]) -> None:
    """Simulate a log that is read, simulated and written as simulated time goes on; write the table of jobs and the record of
    the run, which states the ``arguments``. Raises InputError if an option needs all jobs at once, or something cannot be
    used."""
    from bls.stream import ArrivingJobs, check_streamed, in_blocks
    from bls.workloads import format_of, read_workload, sample_path, workload_blocks
    from bls.workloads.columns import lines_text
    from bridge.live.progress import Progress
    from bridge.runs.directory import fresh_directory, write_record
    from bridge.runs.record import run_record
    from bridge.runs.result import summary_rows
    from bridge.runs.stream import run_stream
    from bridge.scenarios.ready import ReadyScenario
    from bridge.scenarios.remarks import gpu_words, held_words, log_words, machine_words, time_limit_words

    workload, platform = str(options.workload.source), options.machine.platform
    log = sample_path() if workload == "sample" else Path(workload)
    begins: bool | None = None
    found = format_of(log)
    if (some := workload_blocks(log)) is not None:
        begin = next(some)  # with the header
        blocks: Iterator[Workload] = chain([begin], some)
    else:
        begin = read_workload(log)
        blocks, begins = in_blocks(begin), bool(begin.held.any())
        read = "jobs in SWF and in tables are read as they are submitted"
        say(f"workload: a log in {found} is read as a whole before the run; {read}")
    machine = platform_for(platform, begin, replayed=True)
    arrivals = ArrivingJobs(blocks, machine, options.workload.oversize, options.batch.memory, begins)
    scenario = ReadyScenario.of(arrivals.first(), machine, options)
    check_streamed(scenario.policy, options.batch, scenario.constraints, scenario.allocator)
    with fresh_directory(target, force) as folder:
        with Progress(None) as watch:
            result = run_stream(scenario, arrivals, folder / "jobs.parquet", watch)
        record = run_record(scenario, {**arguments, "stream": True}, result.workload, result.metrics)
        record |= {"decisions": result.decisions, "coupling": result.coupling}
        write_record(folder / "run.json", record)
    account = result.workload
    say(f"workload: {account['jobs']} jobs; {lines_text(account['lines'], account['rejects'])}")
    for remark in begin.remarks:
        say(f"workload: {remark}")
    whole = replace(begin, n_lines=arrivals.n_lines, rejects=arrivals.rejects)
    for words in machine_words(whole, machine, platform, replayed=True):
        say(words)
    of_blocks = held_words(arrivals.held), gpu_words(arrivals.with_gpus, machine, [options])
    of_log = of_blocks if some is not None else log_words(begin, machine, [options])
    for words in filter(None, of_log):
        say(words)
    if not arrivals.limited and (words := time_limit_words(begin, [options])):
        say(words)
    print(lined_up(summary_rows(scenario, result.metrics, machine.n_cores, {})))
    say(f"results: {target}")


@bundled
def worker_command(
    *,
    address: Annotated[str, d.RUN_ADDRESS],
    token_file: Annotated[str, d.TOKEN_FILE],
    certificate: Annotated[str | None, d.CERTIFICATE] = d.CERTIFICATE.default,
    workers: Annotated[int | None, d.HOST_WORKERS] = d.HOST_WORKERS.default,
    patience: Annotated[float, d.PATIENCE] = d.PATIENCE.default,
) -> None:
    """Run application processes on this host for a run on another host, until the run ends."""
    from importlib.metadata import version

    from bridge.runs.kernels import prepare_workers
    from bridge.workers.address import tls_address
    from bridge.workers.credentials import CERTIFICATE_ENDING, read_token
    from bridge.workers.host import serve_run

    tls_address(address, "ADDRESS")
    read_token(token_file)  # before anything is compiled
    prepare_workers()
    serve_run(
        address,
        token_file=token_file,
        certificate=certificate or token_file + CERTIFICATE_ENDING,
        workers=Execution(workers=workers).how_many(),
        patience_s=d.PATIENCE.check(patience),
        package=version("twolevel"),
        say=lambda line: say(f"twolevel worker: {line}"),
    )
