"""The parameters of the model, fitted to samples.

A chunk takes e + L/s ns: an overhead e, which belongs to the technique, and the lengths L of its iterations over the speed s of
its core. In each cell the median of the instances counts, so that interrupted chunks do not matter.

- Speeds, of geometric mean 1: from chunks that several threads have executed, by least squares of the logarithms with Huber's
  weights. This needs no lengths.
- Overheads: the sum of a sample's cells, each times the speed of its core, is e times the sum of these speeds plus all lengths
  of the loop, which are the same at every schedule. The least squares of these sums give both.

These two steps are repeated, as each needs the other's result.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from bridge.measure.calibrate.samples import Sample
from traces.compiled import Array

_ROUNDS: Final = 4
_HUBER: Final = 1.5  #: residuals of more standard deviations count less
_CONNECTED: Final = 1e-9  #: least second eigenvalue, over the largest, of threads that share chunks
SEPARABLE: Final = 0.02  #: least singular value, over the largest, of parameters that can be separated
_PART: Final = 0.3  #: least part of a parameter in what cannot be separated
_FEWEST_CELLS: Final = 16  #: fewest chunks per thread in a sample from which changes of speed are taken
_FEWEST_CHANGES: Final = 4
_OUTLIER: Final = 6.0  #: changes of more median deviations, about four standard deviations, are interruptions

Loop = tuple[str, int]  #: the name of a loop and its iterations


@dataclass(frozen=True)
class Fitted:
    """Parameters of a set of samples."""

    overhead_ns: dict[str, float]  # within a chunk, by kind of technique; may be below 0 by chance
    request_ns: dict[str, float]  # between two chunks, by kind of technique
    start_ns: float  # from the begin of a loop to a thread's first request
    barrier_ns: float  # NaN: unknown
    speeds: Array  # float64 (P,), of geometric mean 1
    change: float  # standard deviation of the logarithm of a core's speed between instances; NaN: unknown
    total_ns: dict[Loop, float]  # sum of the lengths of a loop, at speed 1
    inseparable: list[str] = field(default_factory=list)  # a line for each set of parameters that cannot be separated

    def cost_ns(self, kind: str) -> float:
        """Return the cost of a chunk, at least 0; for an unknown technique, the median of the others."""
        costs = {
            one: max(0.0, self.overhead_ns[one]) + max(0.0, self.request_ns.get(one, 0.0)) for one in self.overhead_ns
        }
        return costs.get(kind, float(np.median(list(costs.values()))))


def fit_samples(samples: Sequence[Sample], columns: Sequence[Array], threads: int) -> Fitted:
    """Fit the parameters. ``columns``: for each sample, the instances that count, int64; they may be repeated."""
    ns = [one.ns[:, which] for one, which in zip(samples, columns, strict=True)]
    thread = [one.thread[:, which] for one, which in zip(samples, columns, strict=True)]
    kinds = list(dict.fromkeys(one.kind for one in samples))
    overhead = dict.fromkeys(kinds, 0.0)
    slowness, connected = np.zeros(threads), True
    for _ in range(_ROUNDS):
        work = [np.maximum(x - overhead[one.kind], 0.05 * x) for one, x in zip(samples, ns, strict=True)]
        slowness, connected = _slowness(work, thread, slowness)
        overhead, total, lines = _overheads(samples, ns, thread, np.exp(-slowness))
    if not connected:
        lines.append(
            "speeds of cores and lengths cannot be separated: no chunk was executed by all threads; equal ones"
        )
    request = {
        kind: _median([one.request_ns[which] for one, which in zip(samples, columns, strict=True) if one.kind == kind])
        for kind in kinds
    }
    known = [value for value in request.values() if not math.isnan(value)]
    request = {kind: (np.median(known) if known else 0.0) if math.isnan(ns) else ns for kind, ns in request.items()}
    if not any(request.values()):
        lines.append("request and overhead of a chunk cannot be separated: the overhead includes the request")
    starts = [one.start_ns[which] - request[one.kind] for one, which in zip(samples, columns, strict=True)]
    barrier_ns = _median([one.barrier_ns[which] for one, which in zip(samples, columns, strict=True)])
    change = _change(samples, columns, work, thread, slowness)
    speeds = np.exp(-slowness)
    return Fitted(overhead, request, _median(starts), barrier_ns, speeds, change, total, lines)


def medians(values: Array) -> Array:
    """Return the median of each row of (C, I), without NaN; every row has a number."""
    ordered = np.sort(values, axis=1)  # NaN is last
    count = np.isfinite(values).sum(axis=1)
    low, high = (np.take_along_axis(ordered, ((count - up) // 2)[:, None], 1)[:, 0] for up in (1, 0))
    return np.asarray(0.5 * (low + high))


def _median(parts: Sequence[Array]) -> float:
    values = np.concatenate([np.zeros(0), *parts])
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else math.nan


def _present(values: Array) -> Array:
    return np.asarray(np.isfinite(values).any(axis=1))


def _slowness(work: Sequence[Array], thread: Sequence[Array], last: Array) -> tuple[Array, bool]:
    """The logarithm of each core's time for the same work, of mean 0; and whether all cores can be compared."""
    n = len(last)
    matrix, right = np.zeros((n, n)), np.zeros(n)
    for every, threads in zip(work, thread, strict=True):
        kept = _present(every)
        ns, of = every[kept], threads[kept]
        if n == 1 or not len(ns):
            continue
        x = np.log(ns)
        rest = x - last[of]
        rest -= medians(rest)[:, None]
        there = np.isfinite(x)
        scale = 1.4826 * float(np.median(np.abs(rest[there]))) or 1.0
        weight = np.where(there, 1.0, 0.0)
        weight[there] = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(rest[there]), 1e-300))
        weight *= medians(ns)[:, None]  # long chunks are measured better
        place = (np.arange(len(ns))[:, None] * n + of).ravel()
        each = np.bincount(place, weight.ravel(), len(ns) * n).reshape(-1, n)
        sums = np.bincount(place, np.where(there, weight * np.nan_to_num(x), 0.0).ravel(), len(ns) * n).reshape(-1, n)
        whole = each.sum(axis=1, keepdims=True)
        matrix += np.diag(each.sum(axis=0)) - (each / whole).T @ each
        right += (sums - each * sums.sum(axis=1, keepdims=True) / whole).sum(axis=0)
    values = np.linalg.eigvalsh(matrix)
    if n > 1 and values[1] <= _CONNECTED * values[-1]:
        return np.zeros(n), False
    found = np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
    return np.asarray(found - found.mean()), True


def _overheads(
    samples: Sequence[Sample], ns: Sequence[Array], thread: Sequence[Array], speeds: Array
) -> tuple[dict[str, float], dict[Loop, float], list[str]]:
    """Overheads by technique, the sum of the lengths of each loop, and lines on what cannot be separated."""
    loops = list(dict.fromkeys((one.loop, one.n) for one in samples))
    kinds = list(dict.fromkeys(one.kind for one in samples))
    work, count = np.zeros(len(samples)), np.zeros(len(samples))
    for k, (one, x, of) in enumerate(zip(samples, ns, thread, strict=True)):
        speed = np.where(np.isfinite(x), speeds[of], np.nan)
        if one.complete and _present(x).all():
            work[k], count[k] = medians(x * speed).sum(), np.nanmean(speed, axis=1).sum()
        else:
            work[k], count[k] = (np.median(np.nansum(value, axis=0)) for value in (x * speed, speed))
    at = [loops.index((one.loop, one.n)) for one in samples]
    scale = np.array([work[[place == k for place in at]].mean() for k in range(len(loops))])
    of_loop = (np.arange(len(loops)) == np.array(at)[:, None]).astype(float)
    of_kind = np.array([[one.kind == kind for kind in kinds] for one in samples]) * count[:, None] / scale[at][:, None]
    lines = []
    # First an overhead for each technique; if they cannot be separated, one for all; else none.
    for columns in (of_kind, of_kind.sum(axis=1, keepdims=True)):
        design = np.hstack([of_loop, columns])
        norm = np.linalg.norm(design, axis=0)
        _, values, turned = np.linalg.svd(design / norm)
        least = float(values[-1] / values[0]) if len(values) == design.shape[1] else 0.0
        if least >= SEPARABLE:
            found = np.linalg.lstsq(design / norm, work / scale[at], rcond=None)[0] / norm
            each = found[len(loops) :] if columns is of_kind else np.repeat(found[-1], len(kinds))
            break
        names = [f"lengths of {name}" for name, _ in loops]
        names += [f"overhead of {kind}" for kind in kinds] if columns is of_kind else ["overhead"]
        null = np.abs(turned[int((values >= SEPARABLE * values[0]).sum()) :]).max(axis=0)
        joined = [name for name, part in zip(names, null, strict=True) if part > _PART]
        instead = "one overhead for all techniques" if columns is of_kind and len(kinds) > 1 else "no overhead"
        lines.append(f"{', '.join(joined)} cannot be separated (singular value {least:.2g}): {instead}")
    else:
        each = np.zeros(len(kinds))
        found = np.array([(work / scale[at])[[place == k for place in at]].mean() for k in range(len(loops))])
    total = dict(zip(loops, (found[: len(loops)] * scale).tolist(), strict=True))
    return dict(zip(kinds, each.tolist(), strict=True)), total, lines


def _change(
    samples: Sequence[Sample], columns: Sequence[Array], work: Sequence[Array], thread: Sequence[Array], slowness: Array
) -> float:
    """The standard deviation of the logarithm of a core's speed between instances."""
    rests = [np.zeros(0)]
    for one, which, ns, of in zip(samples, columns, work, thread, strict=True):
        if len(one.size) < _FEWEST_CELLS * len(slowness) or not one.complete or len(which) < 2:
            continue
        kept = _present(ns)
        rest = slowness[of[kept]] - np.log(ns[kept])
        rest -= medians(rest)[:, None]
        for core in range(len(slowness)):
            of_core = np.where(of[kept] == core, rest, np.nan)
            some = np.isfinite(of_core).any(axis=0)
            # The median of a cell includes the instance itself.
            rests.append(medians(of_core[:, some].T) * math.sqrt(len(which) / (len(which) - 1)))
    found = np.concatenate(rests)
    if len(found) < _FEWEST_CHANGES:
        return math.nan
    away = np.abs(found - np.median(found))
    return float(np.std(found[away <= _OUTLIER * np.median(away)], ddof=1))
