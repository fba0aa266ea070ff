"""The commands ``twolevel workload``: describe, transform, generate and download workloads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from bls.options import ALIGN, CANCELLED, JOBS, METHOD, NODES_FACTOR, NUMBERS, OVERSIZE, PLATFORM, SELECT, SPEED_FACTOR
from bridge.options import declared as d
from bridge.options.bundles import group
from bridge.options.output import PaperOptions
from bridge.runs.directory import check_file
from bridge.standard_error import put, put_text, say
from traces.base.errors import InputError, one_of, shown
from traces.base.options import SEED

if TYPE_CHECKING:
    from bls.workloads.workload import Workload


@dataclass(frozen=True)
class _Rewriting:
    """How the workloads to be changed are read, and the file to write."""

    output: Annotated[str, d.WORKLOAD_FILE]
    cancelled: Annotated[bool, CANCELLED] = CANCELLED.default
    reader: Annotated[str | None, d.READER] = None
    force: Annotated[bool, d.REPLACE] = False

    def write(self, names: Sequence[str], change: Callable[..., Workload]) -> None:
        """Read workloads and write a new one made from them; first check that the file can be written."""
        from bridge.cli.workload_files import checked_output, read, save

        target = checked_output(self.output, self.force)
        logs = [read(name, self.reader, cancelled=self.cancelled) for name in names]
        made = change(*logs)
        save(made, target, self.force)
        put(target)
        for remark in made.remarks:
            if not any(remark in log.remarks for log in logs):
                say(remark)


def info_command(
    *,
    workload: Annotated[str, d.WORKLOAD],
    platform: Annotated[
        str | None, replace(PLATFORM, rule="as many cores as in the log's header (MaxProcs), or as its widest job")
    ] = PLATFORM.default,
    oversize: Annotated[str, OVERSIZE] = OVERSIZE.default,
    select: Annotated[str, SELECT] = SELECT.default,
    reader: Annotated[str | None, d.READER] = None,
    plot: Annotated[str | None, d.PLOT] = None,
    paper: PaperOptions,
    rejects: Annotated[bool, d.REJECTS] = False,
    as_json: Annotated[bool, d.JSON] = False,
) -> None:
    """Describe a workload: jobs, rejects, arrivals, widths, run times, estimates, users, load on the platform."""
    from bls.analysis.description import as_text, describe
    from bls.workloads.reshape import cut
    from bls.workloads.selection import fit
    from bridge.cli.workload_files import check_plot, machine_of_log, read, rejects_lines
    from bridge.scenarios.remarks import log_words
    from bridge.scenarios.scenario import given_platform, platform_for

    check_plot(plot)  # before a long log is read
    given_platform(platform)  # a file is checked before a long log is read
    log = read(workload, reader)
    machine = machine_of_log(log) if platform is None else platform_for(platform, log, replayed=True)
    fitting = cut(fit(log, machine.n_cores, oversize), select)
    described = describe(fitting, machine)
    for words in log_words(fitting):
        say(words)
    if plot is not None:
        from traces.figures.drawing.canvas import save
        from traces.figures.workload.overview import overview_figure

        with paper.drawing():
            say(f"figure: {save(overview_figure(described), Path(plot))}")
    if as_json:
        listed = {"rejected": [one._asdict() for one in fitting.rejected]} if rejects else {}
        print(json.dumps(described.as_dict() | listed, indent=2, ensure_ascii=False))
        return
    put_text(as_text(described).rstrip("\n"))
    if rejects:
        put_text("\n".join(["", *rejects_lines(fitting)]))


def cut_command(
    *, workload: Annotated[str, d.WORKLOAD], select: Annotated[str, SELECT] = SELECT.default, written: _Rewriting
) -> None:
    """Write a part of a workload, or all of it, as SWF; time 0 is the start of the window."""
    from bls.workloads.reshape import cut

    written.write([workload], lambda log: cut(log, select))


def convert_command(*, workload: Annotated[str, d.WORKLOAD], written: _Rewriting) -> None:
    """Write a workload in another format: SWF, or a table with all of its columns, which can be read back."""
    from bridge.cli.workload_files import say_lost_names

    written.write([workload], lambda log: say_lost_names(log, written.output))


def columns_command(*, table: Annotated[str, d.TABLE]) -> None:
    """Print a first map of a table's columns in TOML, to edit; a question mark marks what is uncertain."""
    from bls.workloads.readers.tables.first_map import first_map

    put_text(first_map(table).rstrip("\n"))


def merge_command(
    *,
    workloads: Annotated[list[str], d.WORKLOADS],
    align: Annotated[str, ALIGN] = ALIGN.default,
    numbers: Annotated[str | None, NUMBERS] = NUMBERS.default,
    written: _Rewriting,
) -> None:
    """Write the jobs of several workloads to one SWF file. Users, queues … are identified by their names."""
    from bls.workloads.merge import merge, numbers_of

    numbers_of(numbers)  # before long logs are read
    written.write(workloads, lambda *logs: merge(logs, align=align, numbers=numbers))


def scale_command(
    *,
    workload: Annotated[str, d.WORKLOAD],
    load: Annotated[float | None, d.LOAD_FACTOR] = None,
    speed: Annotated[float | None, d.TIME_FACTOR] = None,
    cores: Annotated[float | None, d.WIDTH_FACTOR] = None,
    written: _Rewriting,
) -> None:
    """Write the jobs of a workload as SWF, denser, shorter or wider, without recorded waits. Factors are 0.001 to 1000."""
    from bls.workloads.reshape import scale

    written.write([workload], lambda log: scale(log, load=load, speed=speed, cores=cores))


def filter_command(
    *,
    workload: Annotated[str, d.WORKLOAD],
    users: Annotated[str | None, d.USERS] = None,
    queues: Annotated[str | None, d.QUEUES] = None,
    partitions: Annotated[str | None, d.PARTITIONS] = None,
    cores: Annotated[str | None, d.WIDTHS] = None,
    run: Annotated[str | None, d.RUN_TIMES] = None,
    status: Annotated[str | None, d.STATUS] = None,
    written: _Rewriting,
) -> None:
    """Write the jobs of a workload that meet all conditions, as SWF, with unchanged times."""
    from bls.workloads.reshape import filter_jobs
    from bridge.cli.workload_files import STATUSES, bounds, numbers

    widths, spans = bounds(cores, "--cores"), bounds(run, "--run", durations=True)

    def chosen(log: Workload) -> Workload:
        numbered = {
            "users": numbers(users, log.user, "--users"),
            "queues": numbers(queues, log.queue, "--queues"),
            "partitions": numbers(partitions, log.partition, "--partitions"),
            "status": numbers(status, log.status, "--status", STATUSES),
        }
        return filter_jobs(log, **numbered, cores=widths, run=spans)

    written.write([workload], chosen)


def export_command(
    *,
    results: Annotated[str, d.RESULTS_FOLDER],
    output: Annotated[str, d.EXPORT_FILE],
    trace: Annotated[str, d.EXPORT_FORM] = d.EXPORT_FORM.default,
    log: Annotated[str | None, d.SIMULATED_LOG] = None,
    force: Annotated[bool, d.REPLACE] = False,
) -> None:
    """Write the jobs of a finished run, with their simulated waits and run times, as SWF or as jobs.csv of Batsim."""
    from bridge.cli.workload_files import EXPORTS, checked_output, export_result, read

    if trace not in EXPORTS:
        raise one_of("form of export", trace, EXPORTS, str(d.EXPORT_FORM))
    target = checked_output(output, force, trace)
    export_result(Path(results), trace, target, force, None if log is None else read(log, cancelled=None))
    put(target)


@dataclass(frozen=True)
class GenerationRequest:
    """Request for ``jobs`` jobs like those of a workload, or of a published model."""

    jobs: Annotated[int, JOBS]
    like: Annotated[str, d.LIKE]
    seed: Annotated[int, SEED] = SEED.default
    method: Annotated[str, METHOD] = METHOD.default
    platform: Annotated[str | None, replace(PLATFORM, rule="as the header of the log states")] = PLATFORM.default
    speed_factor: Annotated[float, SPEED_FACTOR] = SPEED_FACTOR.default
    nodes_factor: Annotated[float, NODES_FACTOR] = NODES_FACTOR.default
    gpus: Annotated[str | None, d.GPUS] = None
    limit: Annotated[list[str] | None, d.LIMIT] = None
    plot: Annotated[str | None, d.LIKENESS_PLOT] = None


def generate_command(
    *,
    output: Annotated[str, d.WORKLOAD_FILE],
    wanted: GenerationRequest,
    requests: Annotated[str | None, d.NODE_REQUESTS] = None,
    reader: Annotated[str | None, d.READER] = None,
    paper: PaperOptions,
    force: Annotated[bool, d.REPLACE] = False,
) -> None:
    """Generate a workload like another one, or from a published model; write it as SWF and print the differences."""
    from bridge.cli import workload_files as files

    target = files.checked_output(output, force)
    files.check_wanted(wanted)
    if requests is not None:
        if wanted.gpus is None:
            raise InputError("--requests: needs --gpus; without them jobs request nothing but cores")
        check_file(Path(requests), force, "--requests")
    source, made = files.generated(wanted, reader)
    files.save(made, target, force, made=True)
    if requests is not None:
        say(f"requests: {files.write_requests(made, Path(requests), force)}")
    say(f"made with seed {wanted.seed}: {target}")
    if source is None:
        return
    put_text(files.likeness_text(source, made))
    if wanted.plot is not None:
        with paper.drawing():
            names = Path(wanted.like).name, target.name
            say(f"figure: {files.draw(source, made, Path(wanted.plot), names)}")


def fetch_command(
    *,
    name: Annotated[str | None, d.LOG_NAME] = None,
    output: Annotated[str, d.FETCHED] = ".",
    base_url: Annotated[str | None, d.BASE_URL] = None,
    sha256: Annotated[str | None, d.SHA256] = None,
    timeout: Annotated[float, d.FETCH_TIMEOUT] = d.FETCH_TIMEOUT.default,
    as_json: Annotated[bool, d.JSON] = False,
    force: Annotated[bool, d.REPLACE] = False,
) -> None:
    """Download a log of the Parallel Workloads Archive, check it, and print how to cite it; or list the logs."""

    from bls.workloads.archive import catalogue_rows, catalogue_table
    from bridge.archive.fetch import download, summary
    from bridge.live.progress import Progress

    if name is None:
        print(json.dumps(catalogue_rows(), indent=2, ensure_ascii=False) if as_json else catalogue_table())
        return
    target = Path(output)
    if not (target.is_dir() or target.name.lower().endswith(".swf.gz")):
        raise InputError(f"-o: {shown(output)}; allowed: an existing folder, or a name that ends in .swf.gz")
    with ExitStack() as stack:
        bars: list[Progress] = []

        def watch(size: int, total: int) -> None:
            if not bars:  # only now the server has stated the size
                bars.append(stack.enter_context(Progress(total, "bytes")))
            bars[0](size, -1)

        brought = download(name, target, base_url=base_url, sha256=sha256, timeout_s=timeout, force=force, watch=watch)
    for line in summary(brought).splitlines():
        say(line)
    put(brought.path)


workload_app = group(
    "workload",
    "Describe, transform, generate and download workloads.",
    (info_command, "Describe a workload.", "sample"),
    (cut_command, "Write a part of a workload.", "sample --select window:6h+4h -o morning.swf"),
    (convert_command, "Write a workload in another format.", "sample -o sample.parquet"),
    (columns_command, "Print a first map of a table's columns.", "jobs.csv > my-log.toml"),
    (merge_command, "Merge several workloads.", "sample sample --align start --numbers same -o twice.swf.gz"),
    (scale_command, "Write a denser, faster or wider workload.", "sample --load 1.2 -o denser.swf"),
    (filter_command, "Write some jobs of a workload.", "sample --cores 8-64 --run 10m- -o some.swf"),
    (export_command, "Write a finished run as a workload.", "results --trace batsim -o jobs.csv"),
    (generate_command, "Generate a workload like another.", "--like sample -n 1000 --seed 7 -o made.swf"),
    (fetch_command, "Download a log of the Parallel Workloads Archive.", "kth -o logs"),
)
