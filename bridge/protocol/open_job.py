"""The state of a job from its start to its last message, and rules for its orders."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from bridge.protocol import messages as m
from bridge.protocol.packing import column_extremes, unpack_int32
from bridge.protocol.session import LocalProtocolError
from bridge.protocol.vocabulary import BrokenRule
from traces.base.errors import shown
from traces.base.time import MAX_NS
from traces.compiled import Array


@dataclass(slots=True)
class OpenJob:
    """The state of a job from its start to its last message."""

    start: m.SimulateJob
    cores: int
    now_ns: int
    promised_ns: int  # by the application
    until_ns: int | None
    stop_ns: int | None
    held_ns: int = 0  # a bound that the bridge computed; unknown to the application
    lengths: int = 0  # task lengths sent so far
    announced_edges: int = 0  # number to be sent, for all parts together
    edges: int = 0  # sent so far, and the last of them: part, source, target
    last_edge: tuple[int, int, int] = (-1, -1, -1)
    records: int = 0  # task records reported so far, records of tasks that ran, the last instant, the largest chunk
    ran: int = 0
    last_ns: int = 0
    last_chunk: int = -1
    transfers: int = 0  # reported so far, the last of them, and the last instant
    last_transfer: tuple[int, int] = (-1, -1)
    arrived_ns: int = 0
    # of the tasks: start, end and core, as reported
    spans: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)
    wishes: int = 0  # reported so far, and the instant of the last
    width_request_ns: int = -1
    promises: int = 0  # reported so far, and suspensions before the required instant
    # instants at which cores are taken away, and their numbers: their tasks start again then, in further chunks
    taken: set[tuple[int, int]] = field(default_factory=set)
    conserves_work: bool = False  # if false, the application may also lose cores that are not taken away

    @classmethod
    def begin(cls, start: m.SimulateJob, hello: m.Hello) -> Self:
        """The state after a start, for the application with this hello."""
        drawn = hello.tasks == "recipe"
        if (start.recipe is not None) != drawn or (start.tasks is None) != drawn:
            raise BrokenRule(f"start does not match what the hello requested: {hello.tasks}")
        cores = check_positive("core_speed_gflops", start.core_speed_gflops, lowest=0.0)
        places = cores + _check_resizes(start, cores)
        check_orders(start, start.start_ns, places)
        _check_wishes(start)
        _check_hints(start, places)
        _check_scales(start, places)
        if start.latency_ns is not None:
            check_durations("latency_ns", start.latency_ns, cores)
        _check_hosts(start, cores)
        if start.recipe is not None and start.recipe.placement is not None:
            _check_hosts(start.recipe.placement, cores)
        if start.recipe is not None and start.recipe.drives is not None:
            check_size("drives", start.recipe.drives, 4, cores)
        if start.parts is not None:
            _check_parts(start.parts, start.tasks, graphs=start.network is not None)
        return cls(
            start=start,
            cores=places,
            now_ns=start.start_ns,
            promised_ns=start.start_ns,
            until_ns=start.until_ns,
            stop_ns=start.stop_ns,
            announced_edges=sum(part.edges for part in start.parts or ()),
            taken=taken(start),
            conserves_work=hello.conserves_work,
        )

    @property
    def has_graph(self) -> bool:
        """Whether any part is, or may be, a graph."""
        return self.start.network is not None

    @property
    def reports_releases(self) -> bool:
        """Whether its outcome must report the release times of cores."""
        return self.start.releases or self.start.resizes is not None

    @property
    def lowest_gflop(self) -> float | None:
        """Smallest allowed length; None: above 0."""
        return 0.0 if self.has_graph else None

    @property
    def not_before_ns(self) -> int:
        """The earliest end of the job."""
        return max(self.promised_ns, self.held_ns)

    def hold(self, instant_ns: int) -> None:
        """Hold an application that conserves work to a computed lower bound of the end, up to the job's stop. Raises
        LocalProtocolError if the application does not announce that it conserves work."""
        if not self.conserves_work:
            raise LocalProtocolError(f"job {self.start.job}: the application does not announce that it conserves work")
        bound_ns = instant_ns if self.stop_ns is None else min(instant_ns, self.stop_ns)
        self.held_ns = max(self.held_ns, bound_ns)

    def lower_promise(self, instant_ns: int) -> None:
        """Limit earlier promises and bounds to an instant."""
        self.promised_ns = min(self.promised_ns, instant_ns)
        self.held_ns = min(self.held_ns, instant_ns)


def at_least(name: str, value: int, least: int, why: str) -> None:
    if value < least:
        raise BrokenRule(f"{name} is {value}; allowed: from {why} {least} on")


def whole_column(name: str, column: bytes, size: int = 8) -> int:
    """Number of values of ``size`` bytes in a column."""
    count, rest = divmod(len(column), size)
    if rest:
        raise BrokenRule(f"{name} has {len(column)} bytes; allowed: a multiple of {size}")
    return count


def check_positive(name: str, column: bytes, lowest: float | None = None) -> int:
    """Number of values in a float64 column of positive numbers, or of numbers from ``lowest`` on."""
    count = whole_column(name, column)
    low, high = column_extremes(column, "d")
    if not ((low > 0.0 if lowest is None else low >= lowest) and high < np.inf):
        what = "positive" if lowest is None else f"at least {lowest:g}"
        raise BrokenRule(f"{name} has a value that is not {what} and finite")
    return count


def check_size(name: str, column: bytes, size: int, count: int, what: str = "cores") -> None:
    """Check that a column has one value of ``size`` bytes per ``what``."""
    if len(column) != size * count:
        raise BrokenRule(f"{name} has {len(column)} bytes; {count} {what} need {size * count}")


def check_slice(what: str, unit: str, first: int, count: int, given: int, most: int, has: str = "the job has") -> None:
    """Check that a message continues the earlier ones, within the limit."""
    if first != given:
        raise BrokenRule(f"{what} begin at {unit} {first}; expected: {given}")
    if given + count > most:
        raise BrokenRule(f"{what} go up to {unit} {given + count - 1}; {has} {most} {unit}s")


def check_durations(name: str, column: bytes, cores: int) -> None:
    """Check an int64 column of a duration for each core."""
    check_size(name, column, 8, cores)
    low, high = column_extremes(column, "q")
    if low < 0 or high > MAX_NS:
        raise BrokenRule(f"{name} goes from {low} to {high}; allowed: 0 to {MAX_NS}")


def _check_hosts(start: m.SimulateJob | m.Placement, cores: int) -> None:
    if (start.network is None) != (start.core_host is None):
        raise BrokenRule("core_host and network: one without the other; allowed: both, or neither")
    if start.network is None or start.core_host is None:
        return
    check_size("core_host", start.core_host, 4, cores)
    hosts = unpack_int32(start.core_host)
    low, high = int(hosts.min()), int(hosts.max())
    if low < 0 or high >= start.network.hosts:
        raise BrokenRule(f"core_host goes from {low} to {high}; allowed: 0 to {start.network.hosts - 1}")


def _check_parts(parts: tuple[m.Part, ...], tasks: int | None, *, graphs: bool) -> None:
    if tasks is None:
        raise BrokenRule("parts, but the hello requested a recipe, whose program defines them")
    of_parts = sum(part.tasks for part in parts)
    if of_parts != tasks:
        raise BrokenRule(f"parts have {of_parts} tasks; the job has {tasks}")
    for at, part in enumerate(parts):
        if part.technique is None and (part.tasks, part.edges, part.order) != (1, 0, "index"):
            has = f"{part.tasks} tasks, {part.edges} edges and order {part.order}"
            raise BrokenRule(f"part {at} is serial and has {has}; allowed: 1 task, no edges and index")
        if not graphs and (part.edges, part.order) != (0, "index"):
            raise BrokenRule(f"part {at} has {part.edges} edges and order {part.order}, but there is no network")
    edges = sum(part.edges for part in parts)
    if edges > m.MAX_EDGES:
        raise BrokenRule(f"parts have {edges} edges; allowed: up to {m.MAX_EDGES}")


def _check_hints(start: m.SimulateJob, cores: int) -> None:
    if start.hints and not start.releases:
        raise BrokenRule(f"start has {len(start.hints)} hints and releases = false; allowed: no hints")
    last, hinted = start.start_ns, 0
    for hint in start.hints:
        at_least("at_ns of a hint", hint.at_ns, last, "start_ns and the hint before,")
        named = unpack_int32(hint.cores) if len(hint.cores) % 4 == 0 else None
        if named is None or (len(named) and (named.min() < 0 or named.max() >= cores or (np.diff(named) < 1).any())):
            raise BrokenRule(f"cores of a hint at {hint.at_ns}; allowed: int32, ascending, 0 to {cores - 1}")
        last, hinted = hint.at_ns, hinted + len(named)
    if hinted > m.MAX_HINTED:
        raise BrokenRule(f"hints name {hinted} cores; allowed: up to {m.MAX_HINTED}")


def _check_scales(start: m.SimulateJob, places: int) -> None:
    last, listed = start.start_ns, 0
    for one in start.scales:
        at_least("at_ns of a scale", one.at_ns, last, "start_ns and the scale before,")
        last = one.at_ns
        if one.cores is None:
            continue
        named = _whole_places("cores", one.cores, "a scale")
        if not len(named) or named.max() >= places:
            raise BrokenRule(f"cores of a scale: {shown(named.tolist())}; allowed: nil, or some of 0 to {places - 1}")
        listed += len(named)
    if listed > m.MAX_SCALED:
        raise BrokenRule(f"scales name {listed} cores; allowed: up to {m.MAX_SCALED}")


def _check_resizes(start: m.SimulateJob, cores: int) -> int:
    """Number of places at the end beyond those at the start."""
    if start.resizes is None:
        if start.resize_ns:
            raise BrokenRule(f"resize_ns is {start.resize_ns}, and resizes nil; allowed: 0")
        return 0
    if start.network is not None and start.network.kind != "none":
        raise BrokenRule("resizes, in a job that has a network on which data take time; allowed: nil")
    last, listed, places = start.start_ns, 0, cores
    for one in start.resizes:
        at_least("at_ns of a resize", one.at_ns, last, "start_ns and the resize before,")
        came = _whole_places("places", one.places)
        asked = _whole_places("asked", one.asked)
        check_size("speed_gflops of a resize", one.speed_gflops, 8, len(came))
        check_size("latency_ns of a resize", one.latency_ns, 8, len(came))
        if len(came):
            check_positive("speed_gflops of a resize", one.speed_gflops, lowest=0.0)
            check_durations("latency_ns of a resize", one.latency_ns, len(came))
        new = came[came >= places]
        if not np.array_equal(new, np.arange(places, places + len(new))):
            raise BrokenRule(f"places of a resize go up to {new.max()}; allowed: the next one is {places}")
        places += len(new)
        if len(asked) and asked.max() >= places:
            raise BrokenRule(f"asked of a resize has {asked.max()}; allowed: 0 to {places - 1}")
        last, listed = one.at_ns, listed + len(came) + len(asked)
    if listed > m.MAX_RESIZED:
        raise BrokenRule(f"resizes name {listed} cores; allowed: up to {m.MAX_RESIZED}")
    return places - cores


def _check_wishes(start: m.SimulateJob) -> None:
    if start.wishes is not None and start.resizes is None:
        raise BrokenRule("wishes, and resizes nil; allowed: nil, as its width never changes")
    if start.wishes is not None and start.wishes.least > start.wishes.most:
        raise BrokenRule(f"wishes: least {start.wishes.least}, most {start.wishes.most}; allowed: least up to most")
    at = next((k for k, part in enumerate(start.parts or ()) if part.cores is not None), None)
    if at is not None and start.wishes is None:
        raise BrokenRule(f"part {at} has cores, and wishes is nil; allowed: nil")


def _whole_places(name: str, column: bytes, what: str = "a resize") -> Array:
    places: Array = unpack_int32(column[: whole_column(f"{name} of {what}", column, 4) * 4])
    if len(places) and (places.min() < 0 or len(np.unique(places)) < len(places)):
        raise BrokenRule(f"{name} of {what}: {shown(places.tolist())}; allowed: from 0 on, none twice")
    return places


def taken(message: m.SimulateJob | m.Resume) -> set[tuple[int, int]]:
    """Instants at which cores are taken away, with an index within the job, or ``ALL_CORES``."""
    return {(change.at_ns, change.core) for change in message.changes if not change.speed_gflops}


def check_orders(message: m.SimulateJob | m.Resume, now_ns: int, cores: int) -> None:
    for name, instant_ns in (("until_ns", message.until_ns), ("stop_ns", message.stop_ns)):
        if instant_ns is not None:
            at_least(name, instant_ns, now_ns, "now,")
    last = now_ns
    for change in message.changes:
        at_least("at_ns of a change", change.at_ns, last, "now and the change before,")
        if change.core >= cores:
            raise BrokenRule(f"core of a change is {change.core}; allowed: -1 to {cores - 1}")
        last = change.at_ns
