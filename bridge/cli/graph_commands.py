"""The command ``twolevel graph``: the application level alone, on one task graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

# Everything else is imported by the command that needs it, so that --help is quick.
from als.options import ASSIGNMENT, LATENCY, NETWORK, ORDER, OVERHEAD, VARIATION
from bls.options import TOPOLOGY
from bridge.options.bundles import bundled
from bridge.options.declared import FORMAT, GRAPH, GRAPH_ALS, GRAPH_TASKS, MEAN
from bridge.options.single import ChunkCosts, CoreOptions, Written
from bridge.standard_error import put_text, say
from traces.base.option import Option
from traces.base.shared_options import CORE_GFLOPS, LINK_BANDWIDTH, LINK_LATENCY, MEMORY_BANDWIDTH

if TYPE_CHECKING:
    from bridge.single.graph_options import GraphOptions

AnyOption = TypeVar("AnyOption", bound=Option[Any])


def _of_technique(option: AnyOption) -> AnyOption:
    return replace(option, help=f"With a technique: {option.help[0].lower()}{option.help[1:]}")


@dataclass(frozen=True)
class GraphDrawing:
    """Of a generator's graph, and of a file's; None is what was not said."""

    tasks: Annotated[int | None, GRAPH_TASKS] = None
    mean: Annotated[float | None, replace(MEAN, help="With a generator: mean work of a task")] = None
    variation: Annotated[
        float | None, replace(VARIATION, help="With a generator: σ over µ of the tasks' work, where it says none")
    ] = None
    file_format: Annotated[str | None, FORMAT] = None
    core_gflops: Annotated[float | None, CORE_GFLOPS] = None


@dataclass(frozen=True)
class LinkOptions:
    """What lies between hosts; None is what was not said."""

    network: Annotated[str, NETWORK] = NETWORK.default
    topology: Annotated[str | None, TOPOLOGY] = None
    bandwidth: Annotated[float | None, LINK_BANDWIDTH] = None
    link_latency: Annotated[float | None, LINK_LATENCY] = None
    memory_bandwidth: Annotated[float | None, MEMORY_BANDWIDTH] = None

    def said(self) -> dict[str, tuple[str, Any]]:
        """What was said of links: by its name in Python, its name here and its value."""
        given = {
            "topology": (str(TOPOLOGY), self.topology),
            "bandwidth_gbps": (str(LINK_BANDWIDTH), self.bandwidth),
            "link_latency_ns": (str(LINK_LATENCY), self.link_latency),
            "memory_gbps": (str(MEMORY_BANDWIDTH), self.memory_bandwidth),
        }
        return {key: (name, value) for key, (name, value) in given.items() if value is not None}


@dataclass(frozen=True)
class GraphChunkCosts(ChunkCosts):
    """What a chunk costs; a planner's tasks are no chunks."""

    overhead: Annotated[int, _of_technique(OVERHEAD)] = OVERHEAD.default
    latency: Annotated[int, _of_technique(LATENCY)] = LATENCY.default
    assignment: Annotated[str, _of_technique(ASSIGNMENT)] = ASSIGNMENT.default


@bundled
def graph_command(
    *,
    graph: Annotated[str, GRAPH],
    als: Annotated[str, GRAPH_ALS] = GRAPH_ALS.default,
    cores: CoreOptions,
    order: Annotated[str | None, ORDER] = None,
    links: LinkOptions,
    drawing: GraphDrawing,
    costs: GraphChunkCosts,
    written: Written,
) -> None:
    """Simulate one task graph, the application level alone; write its tables, its record and its figures."""
    from bridge.runs.directory import check_target, fresh_directory, named_folder
    from bridge.runs.tracing import further_traces
    from bridge.single.graph_run import simulate_graph
    from bridge.single.graph_source import GraphSource
    from bridge.single.own_cores import given_speeds

    speed_gflops = given_speeds(cores.core_speed, cores.cores)
    source = GraphSource(
        graph, drawing.tasks, drawing.mean, drawing.variation, drawing.file_format, drawing.core_gflops
    )
    options = _options(als, speed_gflops, cores, order, links, costs, written.seed)
    target = named_folder(written.out, why="missing")
    check_target(target, written.force)
    trace = further_traces(written.trace, "task")
    arguments = source.names() | {"trace": False if trace is None else list(trace.formats)}
    found = source.read(options)
    from bridge.single.records import graph_summary, write_graph

    with fresh_directory(target, written.force) as folder:
        result = simulate_graph(found, options)
        write_graph(result, folder, arguments, trace=trace)
    put_text(graph_summary(result))
    say(f"results: {target}")


def _options(
    als: str,
    speed_gflops: tuple[float, ...],
    cores: CoreOptions,
    order: str | None,
    links: LinkOptions,
    costs: ChunkCosts,
    seed: int,
) -> GraphOptions:
    from bridge.single.graph_options import GraphOptions
    from traces.base.errors import InputError

    said = links.said()
    options = GraphOptions(
        als,
        speed_gflops,
        **cores.given(),
        order=ORDER.default if order is None else order,
        network=links.network,
        **{key: value for key, (_, value) in said.items()},
        **costs.given(),
        seed=seed,
    )
    if order is not None:
        options.check_order_use()
    if said and not options.has_network:
        name, _ = next(iter(said.values()))
        raise InputError(f"{name}: not with --network {links.network}, where data take no time")
    return options
