"""The command ``twolevel compare``: two runs of one workload, job by job."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from bls.options import SIGNALS
from bridge.options.bundles import TakenOptions, argument, bundled, option
from bridge.options.declared import FORCE, OUT, TOP
from bridge.options.output import PaperOptions
from bridge.runs.afterwards import OF_POWER, Afterwards, StoredRun
from bridge.runs.directory import check_target, fresh_directory, named_folder
from bridge.standard_error import flag, lined_up, say
from traces.base.errors import InputError

_FOR_COSTS = replace(SIGNALS, help="Compute costs and emissions of both runs from this CSV file")


@bundled
def compare_command(
    *,
    a: Annotated[str, argument("DIR_A", "Results of twolevel run.")],
    b: Annotated[str, argument("DIR_B", "Results of another run of the same workload.")],
    job: Annotated[
        str | None,
        option("JOB", "Print the chain of delays of one job: its number, its name, or its Slurm ID, e.g. 900_2."),
    ] = None,
    top: Annotated[int, TOP] = TOP.default,
    reward: Annotated[
        str | None,
        option(
            "RUN:WAIT",
            "Reward per core-hour of longer run time and of longer wait, for jobs that may be slowed, e.g. 0.02:0.005.",
        ),
    ] = None,
    of_power: Annotated[Mapping[str, Any], TakenOptions(these=OF_POWER, instead=(_FOR_COSTS,))],
    out: Annotated[str | None, replace(OUT, help="Folder for the table, the record and the figures")] = OUT.default,
    paper: PaperOptions,
    force: Annotated[bool, FORCE] = FORCE.default,
) -> None:
    """Compare two runs: list the jobs that start later in B than in A, the causes, and the jobs that delay others.

    Differences are B minus A.
    """
    from bridge.compare.comparison import most_moved
    from bridge.compare.power import parse_rates
    from bridge.compare.record import METRICS, compare_runs, differing, job_rows, read_run, write_comparison
    from bridge.compare.words import ONE_SAMPLE, chain_table, delay_lines, overrun_lines, summary_rows
    from bridge.scenarios.randomness import draws

    top = TOP.check(top)
    rates = None if reward is None else parse_rates(reward)
    afterwards = Afterwards.given(of_power)
    if out is None and force:
        raise InputError("--force: needs --out, the folder that it replaces")
    target = None if out is None else named_folder(out)
    if target is not None:
        if force and any(os.path.exists(run) and os.path.exists(target) and target.samefile(run) for run in (a, b)):
            raise InputError(f"--out: {target} is one of the runs that are compared; choose another folder")
        check_target(target, force)
    runs = read_run(Path(a)), read_run(Path(b))
    compared = compare_runs(*runs)
    rows = [] if job is None else job_rows(compared, job, *runs)
    described = [("A", a), ("B", b), *((name, " → ".join(pair)) for name, pair in differing(*runs).items())]
    power_rows, power = _power(compared, *runs, rates, afterwards)
    if job is None:
        metrics = {name: [run.metric(name) for run in runs] for name in METRICS}
        print(lined_up(described + summary_rows(compared, metrics) + power_rows))
        for title, lines in (
            ("Largest delays in B:", delay_lines(compared, top, later=True)),
            ("Largest gains in B:", delay_lines(compared, top, later=False)),
            ("Longer runs in B that delayed other jobs most:", overrun_lines(compared, top, later=True)),
            ("Shorter runs in B that advanced other jobs most:", overrun_lines(compared, top, later=False)),
        ):
            if lines:
                print("", title, *lines, sep="\n")
        if any(draws(run.record.get("arguments") or {}) for run in runs):
            print("", ONE_SAMPLE, sep="\n")
    else:
        print(lined_up(described), *(chain_table(compared, row) for row in rows), sep="\n\n")
    if target is not None:
        with fresh_directory(target, force) as folder, paper.drawing():
            drawn = rows[-1] if rows else most_moved(compared)
            write_comparison(compared, *runs, folder, row=drawn, top=top, power=power)
        say(f"comparison: {target}")


def _power(
    compared: Any, a: Any, b: Any, rates: Any, afterwards: Any
) -> tuple[list[tuple[str, str]], dict[str, Any] | None]:
    # Costs and savings of power limits, to print and to write, if both runs have power.
    from bridge.compare.power import METRICS, index_rows, power_indexes, reward_row, rewards

    found = None
    if "power" in a.record and "power" in b.record:
        found = power_indexes((a.jobs, b.jobs), compared.rows, (a.record, b.record), (a.folder, b.folder))
    if found is None:
        for option in (*["--reward"] * (rates is not None), *map(flag, afterwards.asked)):
            raise InputError(
                f"{option}: the power of one of the runs is not known; simulate both with --power or --limits"
            )
        return [], None
    computed = [afterwards.of(StoredRun(run.folder))[0] if afterwards.asked else {} for run in (a, b)]
    runs = list(zip((a, b), computed, strict=True))
    metrics = {name: [more.get(name, run.metric(name)) for run, more in runs] for name in METRICS}
    written = {name: pair for name, pair in metrics.items() if pair != [None, None]} | found.record()
    rows = index_rows(found, metrics)
    if rates is not None:
        given = rewards(rates, (a.jobs, b.jobs), compared.rows, (metrics["cost"][0], metrics["cost"][1]))
        rows.append(reward_row(given))
        written["rewards"] = given.record()
    return rows, written
