"""The commands ``twolevel measure`` and ``calibrate``: loops and tasks of a real program, and what they say of the model."""

from dataclasses import replace
from typing import Annotated

import typer

from bridge.options.bundles import argument, bundled
from bridge.options.declared import FORCE, OUT
from bridge.standard_error import lined_up, say
from traces.base.errors import InputError
from traces.base.options import SEED, Option, Panel, Whole

_OUT = replace(OUT, help="Folder for the result; it must not exist", panel=Panel.OTHER)
_FORCE = replace(FORCE, help="Replace an existing result", panel=Panel.OTHER)
_REPEAT = Whole(
    name="repeat", default=1, lowest=1, highest=10_000, metavar="K", help="Runs for each schedule and number of threads"
)
_SCHEDULES: Option[str | None] = Option(
    name="schedules",
    default=None,
    metavar="LIST",
    help="Schedules of loops with schedule(runtime), e.g. 'static; dynamic,16; guided'",
)
_THREADS: Option[str | None] = Option(
    name="threads", default=None, metavar="LIST", help="Numbers of threads, separated by commas, e.g. 1,2"
)


@bundled
def measure_command(
    *,
    command: Annotated[list[str], argument("COMMAND...", "The program and its arguments, after --.")],
    out: Annotated[str, _OUT],
    repeat: Annotated[int, _REPEAT] = _REPEAT.default,
    schedules: Annotated[str | None, _SCHEDULES] = _SCHEDULES.default,
    threads: Annotated[str | None, _THREADS] = _THREADS.default,
    force: Annotated[bool, _FORCE] = _FORCE.default,
) -> None:
    """Run an OpenMP program without changing it, and write when each thread executed which iterations and tasks."""
    from bridge.measure.folder import read_measurement, write_measurement
    from bridge.measure.program import draw_lengths, measured_program, program_summary, write_program
    from bridge.measure.run import Plan, measured_runs, read_schedules, read_threads
    from bridge.runs.directory import check_target, fresh_directory, named_folder

    target = named_folder(out)
    check_target(target, force)
    plan = Plan(
        tuple(command),
        read_schedules(schedules, str(_SCHEDULES)),
        read_threads(threads, str(_THREADS)),
        _REPEAT.check(repeat),
    )
    done = measured_runs(plan)
    with fresh_directory(target, force) as folder:
        write_measurement(folder, done.record, done.tables)
        program = measured_program(read_measurement(folder))
        write_program(program, folder, target)
        draw_lengths(program, folder / "lengths.png")
    for line in [*done.record.remarks, *program.remarks]:
        say(line)
    say(f"measurement: {target}")
    print(lined_up([*done.summary(), *program_summary(program)]))
    if done.failed:
        more = f" (and {len(done.failed) - 1} more runs)" if len(done.failed) > 1 else ""
        say(f"twolevel: {done.failed[0]}{more}; what was measured until then is in {target}")
        raise typer.Exit(1)


@bundled
def calibrate_command(
    *,
    measured: Annotated[list[str], argument("MEASURED...", "Measurements, from twolevel measure.")],
    out: Annotated[str, _OUT],
    seed: Annotated[int, SEED] = SEED.default,
    force: Annotated[bool, _FORCE] = _FORCE.default,
) -> None:
    """Fit overheads, core speeds and lengths to loops measured at several schedules, and predict each from the others."""
    from pathlib import Path

    from bridge.measure.calibrate.predict import calibrate
    from bridge.measure.calibrate.records import parameter_lines, prediction_table, verdicts, write_calibration
    from bridge.measure.calibrate.samples import joined, read_samples
    from bridge.measure.folder import read_measurement
    from bridge.runs.directory import check_target, fresh_directory, named_folder

    target = named_folder(out)
    check_target(target, force)
    try:
        found = calibrate(read_samples(joined([read_measurement(Path(one)) for one in measured])), SEED.check(seed))
    except InputError as error:
        where = "" if error.text.startswith(tuple(measured)) else f"{', '.join(measured)}: "
        raise InputError(where + error.text) from None
    with fresh_directory(target, force) as folder:
        write_calibration(found, folder, measured, seed)
    for line in [*found.remarks, *verdicts(found)]:
        say(line)
    say(f"calibration: {target}")
    print(lined_up(parameter_lines(found)))
    print()
    print(prediction_table(found))
