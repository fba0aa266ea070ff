"""Failures, repairs and drains of hosts: from a CSV file, or from a model (docs/reference/inputs.md).

In a model each host has its own random stream, keyed by (seed, host, "outages"), so its times depend neither on other hosts nor
on the number of outages drawn at once.
"""

import hashlib
import itertools
import os
import re
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from bls.engine.features.outages.options import FAILURES
from bls.machine.platform import Platform
from traces.base.columns import Columns
from traces.base.errors import InputError, one_of, shown, whole
from traces.base.given_file import read_csv
from traces.base.options import SEED
from traces.base.time import MAX_NS, NS_PER_S, parse_duration_ns
from traces.compiled import Array

NEVER = MAX_NS  #: the instant of events that never happen
DOWN, DRAIN = "down", "drain"  #: states of a host in an outage: on a drained host running jobs continue

_COLUMNS = ["host", "down_s", "up_s"]
_STATE = "state"
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")
_HOST = re.compile(r"[0-9]{1,12}")
_FIRST_DRAW = 4


@dataclass(frozen=True)
class OutageModel:
    """Exponentially distributed times up and down."""

    mtbf_ns: int  # mean time up to a failure, 1 to 2**62
    mttr_ns: int  # mean time from a failure to the repair, 1 to 2**62
    seed: int  # 0 to 2**64 - 1

    def __post_init__(self) -> None:
        whole("mtbf", self.mtbf_ns, 1, MAX_NS)
        whole("mttr", self.mttr_ns, 1, MAX_NS)
        SEED.check(self.seed, "seed")

    def draw(self, host: int, count: int) -> tuple[Array, Array]:
        """The first ``count`` outages of a host: down_ns and up_ns, at most ``NEVER``."""
        name = hashlib.sha256(f"{self.seed} {host} outages".encode()).digest()
        stream = np.random.Generator(np.random.Philox(key=np.frombuffer(name[:16], dtype="<u8")))
        drawn = stream.standard_exponential(2 * count, method="inv")
        means = np.tile([float(self.mtbf_ns), float(self.mttr_ns)], count)
        lasting = np.maximum(np.rint(np.minimum(drawn * means, 2.0**62)), 1.0).astype(np.int64)
        ends = itertools.accumulate(lasting.tolist(), lambda now, more: min(now + more, NEVER))
        instants = np.array([*ends], np.int64)
        return instants[::2], instants[1::2]


@dataclass(frozen=True, eq=False)
class Outages(Columns):
    """The outages of every host. Arrays are read-only int64."""

    first: Array  # (n_hosts + 1,): host ``h`` has the outages ``first[h]:first[h + 1]``
    # it is down in [down, up); ascending and disjoint within a host, except instants at ``NEVER`` (2**62), which do not happen:
    # the ``up_ns`` of a host that is never repaired, or both
    down_ns: Array
    up_ns: Array
    # all outages that begin before this instant are included. ``NEVER`` if there are no others; else :meth:`extend` adds some.
    known_until_ns: int = NEVER
    model: OutageModel | None = None  # the model from which they are drawn
    drained: "Outages | None" = None  # drains of hosts, in the same form; None for none

    @property
    def n_hosts(self) -> int:
        """Number of hosts."""
        return len(self.first) - 1

    def extend(self) -> "Outages":
        """Twice as many outages of each host, beginning with these; the object itself if there are no others."""
        if self.model is None or self.known_until_ns == NEVER:
            return self
        return replace(modelled_outages(self.model, self.n_hosts, 2 * int(self.first[1])), drained=self.drained)


def drainable(found: Outages | None, n_hosts: int) -> Outages:
    """The same outages, and for each host a drain that never happens. Raises InputError if hosts are drained already."""
    if found is not None and found.drained is not None:
        raise InputError("failures: hosts are drained; allowed: state down, or no drains by the simulation")
    first, never = np.arange(n_hosts + 1), np.full(n_hosts, NEVER)
    nothing = np.zeros(0, np.int64)
    none = Outages(np.zeros(n_hosts + 1, np.int64), nothing, nothing) if found is None else found
    return replace(none, drained=Outages(first, never, never))


def modelled_outages(model: OutageModel, n_hosts: int, count: int = _FIRST_DRAW) -> Outages:
    """The first ``count`` outages of each host."""
    drawn = [model.draw(host, count) for host in range(n_hosts)]
    return Outages(
        first=np.arange(n_hosts + 1, dtype=np.int64) * count,
        down_ns=np.concatenate([down for down, _ in drawn]),
        up_ns=np.concatenate([up for _, up in drawn]),
        known_until_ns=min(int(up[-1]) for _, up in drawn),
        model=model,
    )


def outages(spec: str, platform: Platform, *, seed: int = SEED.default) -> Outages:
    """Outages in the user's form: a model, ``mtbf:LENGTH,mttr:LENGTH[,seed:N]``, or the file of a trace. Raises InputError if
    it is neither, or a value or line is not allowed."""
    where = str(FAILURES)
    if not spec.startswith("mtbf:"):
        return read_outages(spec, platform)
    values: dict[str, str] = {}
    for part in spec.split(","):
        key, colon, value = part.partition(":")
        if key.strip() not in ("mtbf", "mttr", "seed"):
            raise one_of("key", key.strip(), ["mtbf", "mttr", "seed"], where)
        if not colon or key.strip() in values:
            raise InputError(f"{where}: {shown(spec)}: allowed: mtbf:LENGTH,mttr:LENGTH,seed:N, each once")
        values[key.strip()] = value.strip()
    if "mttr" not in values:
        allowed = "mtbf:LENGTH,mttr:LENGTH[,seed:N], e.g. mtbf:30d,mttr:4h"
        raise InputError(f"{where}: {shown(spec)} lacks mttr; allowed: {allowed}")
    chosen = values.get("seed", str(seed))
    if not re.fullmatch(r"[0-9]{1,20}", chosen) or int(chosen) > SEED.highest:
        raise InputError(f"{where}: seed: {shown(chosen)} is out of range; allowed: 0 to {SEED.highest}")
    mtbf_ns = parse_duration_ns(values["mtbf"], f"{where}: mtbf")
    model = OutageModel(mtbf_ns, parse_duration_ns(values["mttr"], f"{where}: mttr"), int(chosen))
    return modelled_outages(model, platform.n_hosts)


def read_outages(path: str | os.PathLike[str], platform: Platform) -> Outages:
    """The outages of a trace. Raises InputError, one line that names the file and the line, if it cannot be used."""
    source = os.fspath(path)
    lines = read_csv(path, "trace of outages")
    _, header = next(lines)
    if sorted(header) not in (sorted(_COLUMNS), sorted([*_COLUMNS, _STATE])):
        allowed = f"{','.join(_COLUMNS)}, and {_STATE}"
        raise InputError(f"{source}: the columns are {shown(','.join(header))}; allowed: {allowed}")
    rows: dict[str, list[tuple[int, int, int, int]]] = {DOWN: [], DRAIN: []}
    for line, fields in lines:
        values = dict(zip(header, fields, strict=True))
        where = f"{source}: line {line}"
        if not _HOST.fullmatch(values["host"]) or int(values["host"]) >= platform.n_hosts:
            known = f"the platform has the hosts 0 to {platform.n_hosts - 1}"
            raise InputError(f"{where}: host {shown(values['host'])} is unknown; {known}")
        down = _instant_ns(values["down_s"], f"{where}: down_s")
        up = _instant_ns(values["up_s"], f"{where}: up_s") if values["up_s"] else NEVER
        if up <= down:
            raise InputError(f"{where}: up_s {values['up_s']} is not after down_s {values['down_s']}")
        state = values.get(_STATE) or DOWN
        if state not in rows:
            raise one_of("state", state, list(rows), where)
        rows[state].append((int(values["host"]), down, up, line))
    found = {state: _of_rows(some, platform.n_hosts, source, state) for state, some in rows.items()}
    return replace(found[DOWN], drained=found[DRAIN] if rows[DRAIN] else None)


def _of_rows(rows: list[tuple[int, int, int, int]], n_hosts: int, source: str, state: str) -> Outages:
    # Of (host, down, up, line), of one state.
    rows.sort()
    for before, after in itertools.pairwise(rows):
        if before[0] == after[0] and after[1] < before[2]:
            word = "down" if state == DOWN else "drained"
            raise InputError(f"{source}: line {after[3]}: host {after[0]} is {word} already, by line {before[3]}")
    table = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    first = np.searchsorted(table[0], np.arange(n_hosts + 1)).astype(np.int64)
    return Outages(first, table[1].copy(), table[2].copy())


def _instant_ns(text: str, where: str) -> int:
    ns = round(Decimal(text) * NS_PER_S) if _NUMBER.fullmatch(text) else NEVER
    if ns >= NEVER:
        raise InputError(f"{where}: {shown(text)} is no instant; allowed: seconds from 0 to {NEVER // NS_PER_S}")
    return ns
