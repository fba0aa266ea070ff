"""A task graph: tasks by levels and their edges, or the widths of the levels of a large graph."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from traces.base.errors import InputError
from traces.compiled import Array
from traces.figures.application.graph_levels import GraphPlaces, graph_places, task_levels
from traces.figures.drawing import canvas
from traces.figures.drawing.panels import legend_above, remark, title_panel


def level_colours(level: Array, most: int) -> tuple[Array, list[Any]]:
    """Colours of tasks by level, and legend entries: all levels up to ``most``, otherwise four."""
    n = int(level.max()) + 1
    palette = np.array(canvas.shades(n))
    named = range(n) if n <= most else (0, n // 3, (2 * n) // 3, n - 1)
    return palette[level], [canvas.Patch(facecolor=palette[k], label=f"level {k}") for k in named]


MOST_NODES = 2_000  #: with more tasks than this, or more than four times as many edges, only the levels are drawn
NAMED_TASKS = 60  #: most tasks with their names next to them

#: Colour of the critical path, and of other edges.
CRITICAL_COLOUR, EDGE_COLOUR = "#D4006A", "#7A7A7A"

_CURVE_POINTS = 12

_NAME: Any = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 6, "zorder": 4}
_NAME |= {"bbox": {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.3}}


def task_graph_figure(
    gflop: Array,
    source: Array,
    target: Array,
    bytes_: Array,
    names: Sequence[str],
    *,
    core: Array | None = None,
    first_core: Sequence[int] = (),
    critical: Array | None = None,
    title: str = "",
) -> canvas.Figure:
    """Draw a task graph, or its levels.

    Tasks are circles whose areas are their work, by levels from left to right. Widths of edges show their bytes; edges without
    data are dotted. For a graph of more than :data:`MOST_NODES` tasks, the number of tasks and the work of each level are
    drawn. The collections of the axes have labels: ``edges``, ``critical`` (edges of the critical path) and ``tasks``.

    - ``gflop``: float64 (n,), work of each task.
    - ``source``, ``target``: int (m,), edges: numbers of the producer and the consumer of data.
    - ``bytes_``: float64 (m,), size of the data.
    - ``names``: names of the tasks; empty: their numbers.
    - ``core``: int (n,), core on which each task ran, -1 if none; tasks have the colour of its host. None: tasks have the
      colour of their level.
    - ``first_core``: first core of each host, and the number of cores; with fewer than two hosts tasks have the colours of
      cores.
    - ``critical``: int (k,), tasks of the critical path, from the first to the last.

    Raises InputError if there is no task, or tasks wait for each other.
    """
    if len(gflop) == 0:
        raise InputError("nothing to draw: the graph has no task")
    gflop, bytes_ = np.asarray(gflop, float), np.asarray(bytes_, float)
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    if len(gflop) > MOST_NODES or len(source) > 4 * MOST_NODES:
        return _levels_figure(gflop, source, target, title)
    return _nodes_figure(gflop, (source, target, bytes_), names, core, first_core, critical, title)


def _said(gflop: Array, source: Array, level: Array) -> str:
    n_levels = int(level.max()) + 1
    levels = "1 level" if n_levels == 1 else f"{n_levels:,} levels"
    return f"{len(gflop):,} tasks, {len(source):,} edges, {levels}; {gflop.sum():.6g} GFLOP"


def _levels_figure(gflop: Array, source: Array, target: Array, title: str) -> canvas.Figure:
    level = task_levels(len(gflop), source, target)
    n_levels = int(level.max()) + 1
    with canvas.drawing(10.0, 4.6) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True)
        edges = np.arange(n_levels + 1) - 0.5
        for axes, counted, name, colour in (
            (upper, np.bincount(level), "tasks", canvas.PALETTE[0]),
            (lower, np.bincount(level, weights=gflop), "work [GFLOP]\n", canvas.PALETTE[1]),
        ):
            axes.grid(axis="y")
            if n_levels <= 60:
                axes.bar(np.arange(n_levels), counted, width=0.8, color=colour)
            else:
                axes.stairs(counted, edges, fill=True, color=colour, linewidth=0.0)
            limits: Any = {"xlim": (-0.6, n_levels - 0.4), "ylim": (0, 1.05 * float(counted.max()) or 1.0)}
            axes.set(ylabel=f"{name} of a level", **limits)
        lower.set_xlabel("level (most edges that lead to a task)")
        lower.locator_params(axis="x", integer=True)
        title_panel(upper, title, 60)
        remark(upper, _said(gflop, source, level))
    return figure


def _nodes_figure(
    gflop: Array,
    edges: tuple[Array, Array, Array],
    names: Sequence[str],
    core: Array | None,
    first_core: Sequence[int],
    critical: Array | None,
    title: str,
) -> canvas.Figure:
    source, target, _ = edges
    places = graph_places(len(gflop), source, target)
    n_levels, tall = int(places.level.max()) + 1, float(np.ptp(places.edge_height)) if len(source) else 0.0
    tall = max(tall, float(np.ptp(places.height))) + 1.0
    named = len(gflop) <= NAMED_TASKS
    width_in = min(max(1.5 + (1.15 if named else 0.6) * n_levels, 7.0), 14.0)
    height_in = min(max(1.2 + (0.42 if named else 0.16) * tall, 3.0), 9.0)
    with canvas.drawing(width_in, height_in) as figure:
        axes = figure.add_subplot()
        # Space of one task in points: width and height.
        aside = (width_in - 0.6) * 72 / n_levels
        room = min(aside, (height_in - 1.2) * 72 / tall)
        largest = min(max(0.62 * room, 3.0), 22.0)
        sizes = np.maximum(largest * np.sqrt(gflop / (gflop.max() or 1.0)), min(2.5, largest))
        handles = _draw_edges(axes, places, edges, critical)
        colours, named_colours = _colours(places.level, core, first_core)
        on_path = np.zeros(len(gflop), bool)
        if critical is not None:
            on_path[np.asarray(critical, np.int64)] = True
        edges_of = [CRITICAL_COLOUR if one else "white" for one in on_path.tolist()]
        look: Any = {"edgecolors": edges_of, "linewidths": np.where(on_path, 1.5, 0.4).tolist()}
        axes.scatter(places.level, places.height, s=sizes**2, c=colours, zorder=3, label="tasks", **look)
        if named:
            for k in range(len(gflop)):
                name = canvas.short(names[k] if names else str(k), max(6, int(aside / 3.9)))
                axes.annotate(name, (places.level[k], places.height[k]), (0, -sizes[k] / 2 - 1.5), **_NAME)
        axes.set(xlim=(-0.6, n_levels - 0.4), ylim=(tall / 2 + 0.25, -tall / 2 - 0.25), yticks=[])
        axes.locator_params(axis="x", integer=True)
        axes.set_xlabel("level (most edges that lead to a task)")
        axes.spines["left"].set_visible(False)
        handles = [*named_colours, *handles]
        legend_above(figure, handles, min(len(handles), 9 if width_in > 9 else 6))
        title_panel(axes, title, 40 if width_in < 9 else 60)
        remark(axes, _said(gflop, source, places.level))
    return figure


def _colours(level: Array, core: Array | None, first_core: Sequence[int]) -> tuple[Array, list[Any]]:
    if core is None:
        return level_colours(level, 6)
    core = np.asarray(core, np.int64)
    hosts = len(first_core) > 2
    group = np.searchsorted(np.asarray(first_core), core, side="right") - 1 if hosts else core
    palette = np.array([canvas.rgb(colour) for colour in canvas.PALETTE])
    colours = palette[group % len(palette)]
    colours[core < 0] = canvas.rgb("#DDDDDD")
    shown = np.unique(group[core >= 0]).tolist()
    name = "host" if hosts else "core"
    handles = [canvas.Patch(facecolor=palette[k], label=f"{name} {k}") for k in shown if k < len(palette)]
    if len(shown) > len(handles):
        handles = [canvas.Patch(facecolor="none", label=f"colours of {len(shown)} {name}s recur")]
    if np.any(core < 0):
        handles.append(canvas.Patch(facecolor="#DDDDDD", label="never ran"))
    return colours, handles


def _draw_edges(
    axes: canvas.Axes, places: GraphPlaces, edges: tuple[Array, Array, Array], critical: Array | None
) -> list[Any]:
    """Draw edges as curves through their places; return legend entries."""
    source, target, bytes_ = edges
    if len(source) == 0:
        return []
    first = np.searchsorted(places.edge, np.arange(len(source) + 1))
    curves = [
        _curve(places.edge_level[a:b], places.edge_height[a:b])
        for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True)
    ]
    many = len(source) > 600
    widths = (0.5 + (1.2 if many else 2.4) * np.sqrt(bytes_ / (bytes_.max() or 1.0))).tolist()
    path = [] if critical is None else np.asarray(critical, np.int64).tolist()
    pairs = set(pairwise(path))
    on_path = [pair in pairs for pair in zip(source.tolist(), target.tolist(), strict=True)]
    handles = []
    for label, colour, shown, above, legend in (
        ("edges", EDGE_COLOUR, False, 1.0, "edge (wider: more bytes)"),
        ("critical", CRITICAL_COLOUR, True, 2.0, "critical path"),
    ):
        chosen = [k for k, one in enumerate(on_path) if one == shown]
        if not chosen:
            continue
        lines = canvas.LineCollection(
            [curves[k] for k in chosen],
            colors=colour,
            linewidths=[widths[k] + (0.6 if shown else 0.0) for k in chosen],
            linestyles=[(0, (1, 1.5)) if bytes_[k] == 0 and bytes_.max() > 0 else "solid" for k in chosen],
            alpha=0.9 if shown else (0.35 if many else 0.6),
            zorder=above,
            label=label,
            rasterized=len(chosen) > 5000,
        )
        axes.add_collection(lines, autolim=False)
        (handle,) = axes.plot([], [], color=colour, linewidth=1.5, label=legend)
        handles.append(handle)
    if bytes_.max() > 0 and bytes_.min() == 0:
        (handle,) = axes.plot([], [], color=EDGE_COLOUR, linewidth=1.0, linestyle=(0, (1, 1.5)), label="without bytes")
        handles.append(handle)
    return handles


def _curve(x: Array, y: Array) -> Array:
    """A curve through points from left to right, horizontal at each point."""
    part = np.linspace(0.0, 1.0, _CURVE_POINTS + 1)
    if len(x) == 2 and y[0] == y[1]:
        return np.stack([x, y], axis=1)
    slope = np.zeros(len(y))
    slope[1:-1] = np.where((y[1:-1] - y[:-2]) * (y[2:] - y[1:-1]) > 0, (y[2:] - y[:-2]) / (x[2:] - x[:-2]), 0.0)
    wide = np.diff(x)[:, None]
    a, b = y[:-1, None], y[1:, None]
    # Cubic Hermite polynomials.
    h = (2 * part**3 - 3 * part**2 + 1) * a + (3 * part**2 - 2 * part**3) * b
    h = h + (part**3 - 2 * part**2 + part) * wide * slope[:-1, None] + (part**3 - part**2) * wide * slope[1:, None]
    return np.stack([(x[:-1, None] + wide * part).ravel(), h.ravel()], axis=1)
