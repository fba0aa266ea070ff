"""The command ``twolevel graph``: the application level alone, on one task graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

# Everything else is imported by the command that needs it, so that --help is quick.
from bridge.options.shared import CORE_SPEED, CoreSpeedOption, ForceOption
from bridge.standard_error import say

__all__ = ["graph_command"]


def graph_command(
    graph: Annotated[
        str,
        typer.Argument(
            metavar="GRAPH",
            help="A file (WfFormat, DAX, DOT, GraphML, plain or gzipped), or a generator, as cholesky:tiles=8.",
        ),
    ],
    als: Annotated[
        str,
        typer.Option(
            help="What gives tasks to cores: a planner (heft, peft, min-min, max-min, critical-path), a technique "
            "(static, ss, gss, fac …), mapped (to the hosts that the file says), or FILE.py:NAME."
        ),
    ] = "heft",
    cores: Annotated[
        int | None,
        typer.Option(metavar="P", help="Cores, of all hosts; needed unless --core-speed lists their speeds."),
    ] = None,
    core_speed: CoreSpeedOption = CORE_SPEED,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder for the results; needed, and it must not exist.")
    ] = None,
    hosts: Annotated[int, typer.Option(metavar="H", help="Deal the cores over so many hosts, in blocks.")] = 1,
    order: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="How tasks wait: index (the default), or rank, by upward rank; no planner."),
    ] = None,
    network: Annotated[
        str, typer.Option(metavar="MODEL", help="What data between tasks take: none, hockney, cm02, lv08.")
    ] = "none",
    topology: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Of the hosts: full (the default), shared, star, fat-tree:…, dragonfly:…."),
    ] = None,
    bandwidth: Annotated[
        float | None, typer.Option(metavar="GBPS", help="Of a link of the network, Gbit/s; default 50.")
    ] = None,
    link_latency: Annotated[
        float | None, typer.Option(metavar="NS", help="Of a link of the network, ns; default 500.")
    ] = None,
    memory_bandwidth: Annotated[
        float | None, typer.Option(metavar="GBPS", help="Between cores of a host, Gbit/s; default: no time.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(metavar="N", help="With a generator: about how many tasks; default one a core.")
    ] = None,
    mean: Annotated[
        float | None, typer.Option(metavar="GFLOP", help="With a generator: mean work of a task; default 1.")
    ] = None,
    variation: Annotated[
        float | None, typer.Option(help="With a generator: σ over µ of the tasks' work, where it says none; default 0.")
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="Of the file: wfformat, dax, dot, graphml; default: as it looks."
        ),
    ] = None,
    core_gflops: Annotated[
        float | None,
        typer.Option(
            metavar="GFLOPS",
            help="Speed of the core that a file's run times were measured on, GFLOP/s; default 46.875.",
        ),
    ] = None,
    overhead: Annotated[int, typer.Option(metavar="NS", help="With a technique: what each chunk costs, ns.")] = 0,
    latency: Annotated[
        int, typer.Option(metavar="NS", help="With a technique: what a message from a host to the first takes, ns.")
    ] = 0,
    assignment: Annotated[
        str, typer.Option(metavar="HOW", help="Who calculates chunks: distributed (each core), or master.")
    ] = "distributed",
    speeds: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help="Speeds that change, as square:period=60s,low=0.5; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all that is drawn.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Also write the OTF2 trace.")] = False,
    force: ForceOption = False,
) -> None:
    """Simulate one task graph, the application level alone; write its tables, its record and its figures."""
    from bridge.runs.directory import check_target, fresh_directory
    from bridge.single.graph_options import GraphOptions
    from bridge.single.graph_run import simulate_graph
    from bridge.single.graph_source import GraphSource
    from bridge.single.own_cores import given_speeds
    from traces.base.errors import InputError

    speed = given_speeds(core_speed, cores)
    source = GraphSource(graph, tasks, mean, variation, file_format, core_gflops)
    between = {
        "topology": ("--topology", topology),
        "bandwidth_gbps": ("--bandwidth", bandwidth),
        "link_latency_ns": ("--link-latency", link_latency),
        "memory_gbps": ("--memory-bandwidth", memory_bandwidth),
    }
    said: dict[str, Any] = {key: value for key, (_, value) in between.items() if value is not None}
    options = GraphOptions(
        als,
        speed,
        hosts,
        order="index" if order is None else order,
        network=network,
        **said,
        overhead_ns=overhead,
        latency_ns=latency,
        assignment=assignment,
        speeds=tuple(speeds or ()),
        seed=seed,
    )
    if order is not None:
        options.check_order_use()
    if said and not options.has_network:
        raise InputError(f"{between[next(iter(said))][0]}: not with --network {network}, where data take no time")
    if not out:
        raise InputError("--out: missing; allowed: the name of a folder")
    target = Path(out)
    check_target(target, force)
    found = source.read(options)
    from bridge.single.graph_record import summary, write_graph

    with fresh_directory(target, force) as folder:
        result = simulate_graph(found, options)
        write_graph(result, folder, source.names() | {"trace": trace}, trace=trace)
    print(summary(result))
    say(f"results: {target}")
