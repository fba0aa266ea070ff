"""The command ``twolevel loop``: the application level alone, on one loop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

# Everything else is imported by the command that needs it, so that --help is quick.
from bridge.options.shared import CORE_SPEED, TECHNIQUES_HELP, CoreSpeedOption, ForceOption
from bridge.standard_error import say

if TYPE_CHECKING:
    from traces.compiled import Array

__all__ = ["loop_command"]

_UNITS = ("gflop", "flop")


def loop_command(
    lengths_file: Annotated[
        str | None, typer.Argument(metavar="LENGTHS.txt", help="Task lengths, one a line; or give --n.")
    ] = None,
    als: Annotated[str, typer.Option(help=f"Application technique: {TECHNIQUES_HELP}.")] = "static",
    cores: Annotated[
        int | None, typer.Option(metavar="P", help="Cores; needed unless --core-speed lists their speeds.")
    ] = None,
    core_speed: CoreSpeedOption = CORE_SPEED,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder for the results; it must not exist. Not with --chunks.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", metavar="N", help="Draw so many tasks, instead of reading them.")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option(metavar="SPEC", help="With --n: distribution of their lengths, as gamma:cov=0.5.")
    ] = None,
    mean: Annotated[float | None, typer.Option(metavar="GFLOP", help="With --n: their mean length; default 1.")] = None,
    variation: Annotated[
        float | None, typer.Option(help="With --n: σ over µ of their lengths, where SPEC says none; default 0.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="UNIT", help="Of the numbers in LENGTHS.txt: gflop (the default), or flop.")
    ] = None,
    overhead: Annotated[int, typer.Option(metavar="NS", help="What each chunk costs, ns.")] = 0,
    latency: Annotated[
        int, typer.Option(metavar="NS", help="What a message from another host to the first takes, ns.")
    ] = 0,
    hosts: Annotated[int, typer.Option(metavar="H", help="Deal the cores over so many hosts, in blocks.")] = 1,
    assignment: Annotated[
        str, typer.Option(metavar="HOW", help="Who calculates chunks: distributed (each core), or master.")
    ] = "distributed",
    steps: Annotated[int, typer.Option(metavar="S", help="Run the loop so often, a barrier after each time.")] = 1,
    speeds: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="Speeds that change, as square:period=60s,low=0.5; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is drawn.")] = 0,
    chunks: Annotated[
        bool, typer.Option("--chunks", help="Only print the chunk sizes: tasks of equal length, cores ask in turn.")
    ] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Also write the OTF2 trace.")] = False,
    force: ForceOption = False,
) -> None:
    """Simulate one loop, the application level alone; write its tables, its record and its figure.

    Or, with --chunks, print the sizes of a technique's chunks on one line.
    """
    from bridge.runs.directory import check_target, fresh_directory
    from bridge.scenarios.application_level import ASSIGNMENTS
    from bridge.single.loop_options import LoopOptions
    from bridge.single.loop_run import simulate_loop
    from bridge.single.own_cores import given_speeds
    from traces.base.errors import InputError

    speed = given_speeds(core_speed, cores)
    drawing = {"--lengths": lengths, "--mean": mean, "--variation": variation}
    if chunks:
        given = {"LENGTHS.txt": lengths_file is not None, "--out": out is not None}
        given |= {name: value is not None for name, value in {**drawing, "--unit": unit}.items()}
        given |= {"--core-speed": len(set(speed)) > 1, "--overhead": overhead != 0, "--latency": latency != 0}
        given |= {"--hosts": hosts != 1, "--assignment": assignment != ASSIGNMENTS[0], "--steps": steps != 1}
        given |= {"--speeds": bool(speeds), "--trace": trace, "--force": force}
        _print_chunks(als, n, len(speed), seed, given)
        return
    _check_source(lengths_file, n, drawing, unit)
    if not out:
        raise InputError("--out: missing; allowed: the name of a folder; or --chunks, which only prints")
    target = Path(out)
    check_target(target, force)
    options = LoopOptions(als, speed, overhead, latency, hosts, assignment, steps, tuple(speeds or ()), seed)
    arguments = {
        "lengths_file": lengths_file,
        "unit": unit or "gflop",
        "n": n,
        "lengths": lengths or "",
        "mean_gflop": 1.0 if mean is None else mean,
        "variation": variation or 0.0,
        "trace": trace,
    }
    tasks = _tasks(arguments, seed)
    from bridge.single.loop_record import summary, write_loop

    with fresh_directory(target, force) as folder:
        result = simulate_loop(tasks, options)
        write_loop(result, folder, arguments, trace=trace)
    print(summary(result))
    say(f"results: {target}")


def _print_chunks(als: str, n: int | None, cores: int, seed: int, unused: dict[str, bool]) -> None:
    from als.chunk_sequence import chunk_sequence
    from als.schedulers import loop_technique
    from als.techniques import Technique
    from traces.base.errors import InputError

    for name, is_given in unused.items():
        if is_given:
            raise InputError(f"{name}: not with --chunks, which only prints: equal tasks, equal cores, no costs")
    if n is None:
        raise InputError("--n: missing; the number of tasks")
    found = loop_technique(als)
    if not isinstance(found, Technique):
        raise InputError(f"--als: {als} chooses among techniques; allowed with --chunks: one technique")
    print(*chunk_sequence(found, n, cores, seed=seed))


def _check_source(lengths_file: str | None, n: int | None, drawing: dict[str, Any], unit: str | None) -> None:
    # The lengths are read, or drawn.
    from traces.base.errors import InputError

    said = [name for name, value in {"--n": n, **drawing}.items() if value is not None]
    if lengths_file is not None and said:
        raise InputError(f"{said[0]}: not with LENGTHS.txt, from which the lengths are read; give one of them")
    if lengths_file is None and n is None and drawing["--lengths"] is None:
        raise InputError("LENGTHS.txt: missing; give a file of task lengths, or --n, and they are drawn")
    if lengths_file is None and unit is not None:
        raise InputError("--unit: only with LENGTHS.txt; --mean is in GFLOP")


def _tasks(arguments: dict[str, Any], seed: int) -> Array:
    """The lengths of the loop's tasks, GFLOP."""
    from als.lengths import check_variation, lengths
    from als.lengths.file import read_lengths
    from bridge.single.loop_run import drawn_tasks
    from traces.base.errors import one_of
    from traces.base.ranges import real

    if arguments["lengths_file"] is not None:
        if arguments["unit"] not in _UNITS:
            raise one_of("unit", arguments["unit"], _UNITS, "--unit")
        return read_lengths(arguments["lengths_file"], arguments["unit"])
    mean = real("--mean", arguments["mean_gflop"], 1e-12, 1e12)
    check_variation(arguments["lengths"], arguments["variation"])
    model = lengths(arguments["lengths"], "--lengths", variation=arguments["variation"])
    return drawn_tasks(model, seed, arguments["n"], mean)
