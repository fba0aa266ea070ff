"""The commands ``twolevel loop`` and ``twolevel graph``: the application level alone, on one loop or one task graph."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from als import options as a
from als.options import ALS, CORES, LENGTHS, N_TASKS, NETWORK, STEPS, VARIATION
from bls.options import TOPOLOGY
from bridge.options import declared as d
from bridge.options.bundles import bundled, declaration
from bridge.options.output import PaperOptions
from bridge.runs.directory import check_target, fresh_directory, named_folder
from bridge.standard_error import put_text, say
from traces.base.errors import InputError
from traces.base.options import CORE_GFLOPS, LINK_BANDWIDTH, LINK_LATENCY, MEMORY_BANDWIDTH, SEED, Option

if TYPE_CHECKING:
    from traces.compiled import Array


@dataclass(frozen=True)
class CoreOptions:
    """Cores, and changes of their speeds."""

    cores: Annotated[int | None, CORES] = CORES.default
    core_speed: Annotated[str, d.CORE_SPEED] = d.CORE_SPEED.default
    hosts: Annotated[int, d.HOSTS] = d.HOSTS.default
    speeds: Annotated[list[str] | None, a.SPEEDS] = None
    workers: Annotated[list[str] | None, a.WORKERS] = None

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``bridge.single``, without the speeds."""
        return {"hosts": self.hosts, "speeds": tuple(self.speeds or ()), "workers": tuple(self.workers or ())}


@dataclass(frozen=True)
class ChunkCosts:
    """Cost of a chunk."""

    overhead: Annotated[int, a.OVERHEAD] = a.OVERHEAD.default
    latency: Annotated[int, a.LATENCY] = a.LATENCY.default
    assignment: Annotated[str, a.ASSIGNMENT] = a.ASSIGNMENT.default

    def given(self) -> dict[str, Any]:
        """Return the arguments of ``bridge.single``."""
        return {"overhead_ns": self.overhead, "latency_ns": self.latency, "assignment": self.assignment}


@dataclass(frozen=True)
class Written:
    """Seed and output."""

    seed: Annotated[int, SEED] = SEED.default
    out: Annotated[str | None, d.OUT] = d.OUT.default
    trace: Annotated[str | None, d.TRACE] = d.TRACE.default
    force: Annotated[bool, d.FORCE] = d.FORCE.default


@dataclass(frozen=True)
class LoopTasks:
    """The source of a loop's tasks: a file or a distribution. None: the option is not given."""

    lengths_file: Annotated[str | None, d.LENGTHS_FILE] = None
    n: Annotated[int | None, N_TASKS] = None
    lengths: Annotated[
        str | None, replace(LENGTHS, help="Distribution of task lengths, e.g. gamma:cov=0.5; needs --n")
    ] = None
    mean: Annotated[float | None, replace(d.MEAN, help="Mean task length; needs --n")] = None
    variation: Annotated[
        float | None,
        replace(VARIATION, help="Variation of task lengths, standard deviation over mean, if SPEC has none; needs --n"),
    ] = None
    unit: Annotated[str | None, d.LENGTH_UNIT] = None

    @property
    def drawing(self) -> dict[str, object]:
        """Options of the distribution of lengths, by name, with their values."""
        return {str(LENGTHS): self.lengths, str(d.MEAN): self.mean, str(VARIATION): self.variation}

    def names(self) -> dict[str, Any]:
        """As plain values, for a record of the run; missing options have their defaults."""
        return {
            "lengths_file": self.lengths_file,
            "unit": self.unit or d.LENGTH_UNIT.default,
            "n": self.n,
            "lengths": self.lengths or LENGTHS.default,
            "mean_gflop": d.MEAN.default if self.mean is None else self.mean,
            "variation": self.variation or VARIATION.default,
        }


@bundled
def loop_command(
    *,
    tasks: LoopTasks,
    als: Annotated[str, ALS] = ALS.default,
    cores: CoreOptions,
    costs: ChunkCosts,
    steps: Annotated[int, STEPS] = STEPS.default,
    chunks: Annotated[bool, d.CHUNKS] = d.CHUNKS.default,
    written: Written,
    paper: PaperOptions,
) -> None:
    """Simulate one loop at the application level; write its tables, its record and its figure.

    With --chunks, only print the chunk sizes of a technique.
    """
    from bridge.runs.tracing import further_traces
    from bridge.single.loop_run import LoopOptions, simulate_loop
    from bridge.single.own_cores import given_speeds

    speed_gflops = given_speeds(cores.core_speed, cores.cores)
    if chunks:
        _check_chunks(speed_gflops, steps, tasks, cores, costs, written, paper)
        _print_chunks(als, tasks.n, len(speed_gflops), written.seed)
        return
    _check_source(tasks)
    target = named_folder(written.out, why="missing", instead=f"; or {d.CHUNKS}, which only prints")
    check_target(target, written.force)
    options = LoopOptions(als, speed_gflops, **costs.given(), **cores.given(), steps=steps, seed=written.seed)
    trace = further_traces(written.trace, "task")
    arguments = tasks.names() | {"trace": False if trace is None else list(trace.formats)}
    lengths_gflop = _tasks(arguments, written.seed, min(speed_gflops))
    from bridge.single.records import loop_summary, write_loop

    with fresh_directory(target, written.force) as folder, paper.drawing():
        result = simulate_loop(lengths_gflop, options)
        write_loop(result, folder, arguments, trace=trace)
    put_text(loop_summary(result))
    say(f"results: {target}")


def _check_chunks(speed_gflops: tuple[float, ...], steps: int, *bundles: Any) -> None:
    # Options of how a loop runs have no effect if only its chunks are printed.
    equal = [d.CORE_SPEED] if len(set(speed_gflops)) == 1 else []
    used = {str(option) for option in (N_TASKS, CORES, SEED, *equal)}
    given: list[str] = []
    for bundle in bundles:
        hints = get_type_hints(type(bundle), include_extras=True)
        changed = (one.name for one in fields(bundle) if getattr(bundle, one.name) != one.default)
        given += (str(declaration(hints[name])) for name in changed)
    for name in [*given, *([str(STEPS)] if steps != STEPS.default else [])]:
        if name not in used:
            raise InputError(
                f"{name}: not with {d.CHUNKS}, which prints chunks of equal tasks on equal cores, without costs"
            )


def _print_chunks(als: str, n: int | None, cores: int, seed: int) -> None:
    from als.chunk_sequence import chunk_sequence
    from als.schedulers import loop_technique
    from als.techniques import Technique

    if n is None:
        raise InputError(f"{N_TASKS}: missing; allowed: the number of tasks")
    found = loop_technique(als)
    if not isinstance(found, Technique):
        raise InputError(f"{ALS}: {als} selects among techniques; allowed with {d.CHUNKS}: one technique")
    print(*chunk_sequence(found, n, cores, seed=seed))


def _check_source(tasks: LoopTasks) -> None:
    # The lengths are read, or drawn.
    said = [name for name, value in {str(N_TASKS): tasks.n, **tasks.drawing}.items() if value is not None]
    if tasks.lengths_file is not None and said:
        raise InputError(f"{said[0]}: not with {d.LENGTHS_FILE}, from which the lengths are read; give one of them")
    if tasks.lengths_file is None and tasks.n is None and tasks.lengths is None:
        raise InputError(f"{d.LENGTHS_FILE}: missing; give a file of task lengths, or {N_TASKS} to draw them")
    if tasks.lengths_file is None and tasks.unit is not None:
        raise InputError(f"{d.LENGTH_UNIT}: only with {d.LENGTHS_FILE}; {d.MEAN} is in GFLOP")


def _tasks(arguments: dict[str, Any], seed: int, slowest_gflops: float) -> Array:
    from als.lengths import check_variation, lengths
    from als.lengths.fixed import read_lengths
    from bridge.single.loop_run import drawn_tasks

    if arguments["lengths_file"] is not None:
        unit = d.LENGTH_UNIT.check(arguments["unit"])
        found = read_lengths(arguments["lengths_file"], unit)
        return found * slowest_gflops if unit == "ns" else found
    mean = d.MEAN.check(arguments["mean_gflop"])
    check_variation(arguments["lengths"], arguments["variation"])
    model = lengths(arguments["lengths"], str(LENGTHS), variation=arguments["variation"])
    return drawn_tasks(model, seed, arguments["n"], mean)


AnyOption = TypeVar("AnyOption", bound=Option[Any])


def _of_technique(option: AnyOption) -> AnyOption:
    return replace(option, help=f"{option.help}; needs a technique")


@dataclass(frozen=True)
class GraphDrawing:
    """Options of a generated graph, or of a file's; None: not given."""

    tasks: Annotated[int | None, d.GRAPH_TASKS] = None
    mean: Annotated[float | None, replace(d.MEAN, help="Mean work of a task; needs a generator")] = None
    variation: Annotated[
        float | None,
        replace(
            VARIATION, help="Variation of the tasks' work, standard deviation over mean, if the generator states none"
        ),
    ] = None
    file_format: Annotated[str | None, d.FORMAT] = None
    core_gflops: Annotated[float | None, CORE_GFLOPS] = None


@dataclass(frozen=True)
class LinkOptions:
    """Network between hosts; None: not given."""

    network: Annotated[str, NETWORK] = NETWORK.default
    topology: Annotated[str | None, TOPOLOGY] = None
    bandwidth: Annotated[float | None, LINK_BANDWIDTH] = None
    link_latency: Annotated[float | None, LINK_LATENCY] = None
    memory_bandwidth: Annotated[float | None, MEMORY_BANDWIDTH] = None

    def given(self) -> dict[str, tuple[str, Any]]:
        """The values that were given: by the name in Python, the name of the option and its value."""
        known = {
            "topology": (str(TOPOLOGY), self.topology),
            "bandwidth_gbps": (str(LINK_BANDWIDTH), self.bandwidth),
            "link_latency_ns": (str(LINK_LATENCY), self.link_latency),
            "memory_gbps": (str(MEMORY_BANDWIDTH), self.memory_bandwidth),
        }
        return {key: (name, value) for key, (name, value) in known.items() if value is not None}


@dataclass(frozen=True)
class GraphChunkCosts(ChunkCosts):
    """Cost of a chunk; with a planner there are no chunks."""

    overhead: Annotated[int, _of_technique(a.OVERHEAD)] = a.OVERHEAD.default
    latency: Annotated[int, _of_technique(a.LATENCY)] = a.LATENCY.default
    assignment: Annotated[str, _of_technique(a.ASSIGNMENT)] = a.ASSIGNMENT.default


@bundled
def graph_command(
    *,
    graph: Annotated[str, d.GRAPH],
    als: Annotated[str, d.GRAPH_ALS] = d.GRAPH_ALS.default,
    cores: CoreOptions,
    order: Annotated[str | None, a.ORDER] = None,
    links: LinkOptions,
    drawing: GraphDrawing,
    costs: GraphChunkCosts,
    written: Written,
    paper: PaperOptions,
) -> None:
    """Simulate one task graph at the application level; write its tables, its record and its figures."""
    from bridge.runs.tracing import further_traces
    from bridge.single.graph_options import GraphOptions
    from bridge.single.graph_run import simulate_graph
    from bridge.single.graph_source import GraphSource
    from bridge.single.own_cores import given_speeds

    speed_gflops = given_speeds(cores.core_speed, cores.cores)
    source = GraphSource(
        graph, drawing.tasks, drawing.mean, drawing.variation, drawing.file_format, drawing.core_gflops
    )
    given = links.given()
    options = GraphOptions(
        als,
        speed_gflops,
        **cores.given(),
        order=a.ORDER.default if order is None else order,
        network=links.network,
        **{key: value for key, (_, value) in given.items()},
        **costs.given(),
        seed=written.seed,
    )
    if order is not None:
        options.check_order_use()
    if given and not options.has_network:
        name, _ = next(iter(given.values()))
        raise InputError(f"{name}: not with {NETWORK:{links.network}}, which transfers data in no time")
    target = named_folder(written.out, why="missing")
    check_target(target, written.force)
    trace = further_traces(written.trace, "task")
    arguments = source.names() | {"trace": False if trace is None else list(trace.formats)}
    found = source.read(options)
    from bridge.single.records import graph_summary, write_graph

    with fresh_directory(target, written.force) as folder, paper.drawing():
        result = simulate_graph(found, options)
        write_graph(result, folder, arguments, trace=trace)
    put_text(graph_summary(result))
    say(f"results: {target}")
