"""The command ``figures``: what the tables of a run, or of a study, look like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bridge.standard_error import put


def figures_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="The --out of a run, a study or a grid.")],
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A figure by name (docs/reference/figures.md); may be repeated; default: all there are.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder for the files; default: figures in DIR.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMATS", help="png, svg, pdf, separated by commas.")
    ] = "svg,png",
    jobs: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="Of a run, only these jobs, as 1542-1546.")
    ] = None,
    cores: Annotated[str | None, typer.Option(metavar="NUMBERS", help="Of a run, only these cores, as 64-127.")] = None,
) -> None:
    """Draw the figures of a run or of a study from its tables; files of the same names are replaced."""
    from bridge.runs.directory import named_folder
    from bridge.runs.figures import draw_run_figures
    from bridge.studies.drawing import draw_study_figures
    from bridge.studies.study_record import RECORD
    from traces.base.errors import InputError, one_of
    from traces.figures.drawing.canvas import FORMATS

    folder = Path(results)
    formats = [word.strip() for word in form.split(",") if word.strip()]
    for word in formats:
        if word not in FORMATS:
            raise one_of("format", word, FORMATS, "--format")
    if not formats:
        raise InputError(f"--format: empty; allowed: {', '.join(FORMATS)}")
    target = None if out is None else named_folder(out)
    if (folder / RECORD).is_file():
        if jobs is not None or cores is not None:
            raise InputError(f"--jobs, --cores: {folder} is a study; allowed with the results of a run")
        drawn = draw_study_figures(folder, only or (), target, formats)
    else:
        drawn = draw_run_figures(folder, only or None, target or folder / "figures", formats, jobs=jobs, cores=cores)
    for path in drawn:
        put(path)


def power_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="The --out of a twolevel run with --power.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A png, svg or pdf file.")],
) -> None:
    """Draw what the machine of a run has drawn over time, its limit, and the level or the hosts that were stopped."""
    from bridge.runs.figures import draw_power

    put(draw_power(Path(results), Path(output)))
