"""The parameters of the model, fitted to samples.

A chunk takes e + L/s ns: an overhead e, which belongs to the technique, and the lengths L of its iterations over the speed s of
its core. In each cell the median of the instances counts, so that interrupted chunks do not matter.

- Speeds, of geometric mean 1: from chunks that several threads have executed, by least squares of the logarithms with Huber's
  weights. This needs no lengths.
- Overheads: the sum of a sample's cells, each times the speed of its core, is e times the sum of these speeds plus all lengths
  of the loop, which are the same at every schedule. The least squares of these sums, by their standard errors, give both.

These two steps are repeated, as each needs the other's result. The overhead of a technique with few or interrupted chunks is
uncertain. For simulations it is moved towards that of the others, in proportion to its variance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from bridge.measure.calibrate.samples import Sample
from traces.compiled import Array

_ROUNDS: Final = 3
_NORMAL: Final = 1.4826  #: standard deviation of a normal distribution over its median deviation
_OF_MEDIAN: Final = 1.2533  #: standard error of a median over that of the mean
_LEAST: Final = 1e-7  #: least relative error
_HUBER: Final = 1.5  #: residuals of more standard deviations count less
_CONNECTED: Final = 1e-9  #: least second eigenvalue, over all weights, if the threads share chunks
SEPARABLE: Final = 0.02  #: least singular value, over the largest, of parameters that can be separated
_PART: Final = 0.3  #: least part of a parameter in what cannot be separated
_FEWEST_CELLS: Final = 16  #: fewest chunks per thread in a sample from which changes of speed are taken
_UNDISTURBED: Final = 0.1  #: the part of instances in which threads begin without an interruption, at least
_FEWEST_CHANGES: Final = 4
_OUTLIER: Final = 6.0  #: changes of more median deviations, about four standard deviations, are interruptions

Loop = tuple[str, int]  #: the name of a loop and its iterations


@dataclass(frozen=True)
class Fitted:
    """Parameters of a set of samples."""

    overhead_ns: dict[str, float]  # within a chunk, by kind of technique; may be below 0 by chance
    likely_ns: dict[str, float]  # the same, nearer to the others the less certain they are
    request_ns: dict[str, float]  # between two chunks, by kind of technique
    start_ns: float  # from the begin of a loop to a thread's first request; NaN: unknown
    barrier_ns: float  # NaN: unknown
    speeds: Array  # float64 (P,), of geometric mean 1
    change: float  # standard deviation of the logarithm of a core's speed between instances; NaN: unknown
    total_ns: dict[Loop, float]  # sum of the lengths of a loop, at speed 1
    errors: Array  # float64: standard error of the sum of each sample, over this sum
    inseparable: list[str] = field(default_factory=list)  # a line for each set of parameters that cannot be separated

    def cost_ns(self, kind: str) -> float:
        """Return the cost of a chunk, at least 0; for an unknown technique, the median of the others."""
        costs = {one: max(0.0, ns) + max(0.0, self.request_ns[one]) for one, ns in self.likely_ns.items()}
        return costs.get(kind, float(np.median(list(costs.values()))))


def fit_samples(
    samples: Sequence[Sample], columns: Sequence[Array], threads: int, errors: Array | None = None
) -> Fitted:
    """Fit the parameters. ``columns``: for each sample, the instances that count, int64, which may be repeated. ``errors``: of
    the fit of all instances."""
    ns = [one.ns[:, which] for one, which in zip(samples, columns, strict=True)]
    thread = [one.thread[:, which] for one, which in zip(samples, columns, strict=True)]
    kinds = list(dict.fromkeys(one.kind for one in samples))
    overhead = dict.fromkeys(kinds, 0.0)
    slowness, connected = np.zeros(threads), True
    for _ in range(_ROUNDS):
        work = [np.maximum(x - overhead[one.kind], 0.05 * x) for one, x in zip(samples, ns, strict=True)]
        slowness, connected = _slowness(work, thread, slowness)
        own, overhead, total, lines, used = _overheads(samples, ns, thread, np.exp(-slowness), errors)
    if not connected:
        lines.append("speeds of cores and lengths cannot be separated: the threads share no chunks; equal speeds")
    request = {
        kind: _quantile(
            [one.request_ns[which] for one, which in zip(samples, columns, strict=True) if one.kind == kind]
        )
        for kind in kinds
    }
    known = [value for value in request.values() if not math.isnan(value)]
    request = {kind: (np.median(known) if known else 0.0) if math.isnan(ns) else ns for kind, ns in request.items()}
    if not any(request.values()):
        lines.append("request and overhead of a chunk cannot be separated: the overhead includes the request")
    starts = [one.start_ns[which] - request[one.kind] for one, which in zip(samples, columns, strict=True)]
    start_ns = _quantile(starts, _UNDISTURBED)
    barrier_ns = _quantile([one.barrier_ns[which] for one, which in zip(samples, columns, strict=True)])
    change = _change(samples, columns, work, thread, slowness)
    speeds = np.exp(-slowness)
    return Fitted(own, overhead, request, start_ns, barrier_ns, speeds, change, total, used, lines)


def medians(values: Array) -> Array:
    """Return the median of each row of (C, I), without NaN; every row has a number."""
    ordered = np.sort(values, axis=1)  # NaN is last
    count = np.isfinite(values).sum(axis=1)
    low, high = (np.take_along_axis(ordered, ((count - up) // 2)[:, None], 1)[:, 0] for up in (1, 0))
    return np.asarray(0.5 * (low + high))


def _quantile(parts: Sequence[Array], share: float = 0.5) -> float:
    values = np.concatenate([np.zeros(0), *parts])
    values = values[np.isfinite(values)]
    return float(np.quantile(values, share)) if len(values) else math.nan


def _present(values: Array) -> Array:
    return np.asarray(np.isfinite(values).any(axis=1))


def _slowness(work: Sequence[Array], thread: Sequence[Array], last: Array) -> tuple[Array, bool]:
    """The logarithm of each core's time for the same work, of mean 0; and whether all cores can be compared."""
    n = len(last)
    matrix, right, all_weights = np.zeros((n, n)), np.zeros(n), 0.0
    for every, threads in zip(work, thread, strict=True):
        kept = np.isfinite(every).sum(axis=1) > 1
        ns, of = every[kept], threads[kept]
        if n == 1 or not len(ns):
            continue
        x = np.log(ns)
        rest = x - last[of]
        rest -= medians(rest)[:, None]
        there = np.isfinite(x)
        scale = max(_NORMAL * float(np.median(np.abs(rest[there]))), _LEAST)
        weight = np.where(there, 1.0, 0.0)
        weight[there] = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(rest[there]), _LEAST)) / scale**2
        place = (np.arange(len(ns))[:, None] * n + of).ravel()
        each = np.bincount(place, weight.ravel(), len(ns) * n).reshape(-1, n)
        sums = np.bincount(place, np.where(there, weight * np.nan_to_num(x), 0.0).ravel(), len(ns) * n).reshape(-1, n)
        whole = each.sum(axis=1, keepdims=True)
        all_weights += float(whole.sum())
        matrix += np.diag(each.sum(axis=0)) - (each / whole).T @ each
        right += (sums - each * sums.sum(axis=1, keepdims=True) / whole).sum(axis=0)
    values = np.linalg.eigvalsh(matrix)
    if n > 1 and values[1] <= _CONNECTED * all_weights:
        return np.zeros(n), False
    found = np.linalg.lstsq(matrix, right, rcond=1e-12)[0]
    return np.asarray(found - found.mean()), True


def _overheads(
    samples: Sequence[Sample], ns: Sequence[Array], thread: Sequence[Array], speeds: Array, errors: Array | None
) -> tuple[dict[str, float], dict[str, float], dict[Loop, float], list[str], Array]:
    """Overheads by technique, those for simulations, the sum of the lengths of each loop, lines on what cannot be separated,
    and the errors."""
    loops = list(dict.fromkeys((one.loop, one.n) for one in samples))
    kinds = list(dict.fromkeys(one.kind for one in samples))
    sums = [_sum(one, x, speeds[of]) for one, x, of in zip(samples, ns, thread, strict=True)]
    work, count, found_errors, smallest = np.array(sums).T
    most = np.array([min(smallest[k] for k, one in enumerate(samples) if one.kind == kind) for kind in kinds])
    used = found_errors if errors is None else errors
    # Each row is divided by its standard error.
    weight = (1.0 / (work * used))[:, None]
    of_loop = weight * np.array([[(one.loop, one.n) == loop for loop in loops] for one in samples])
    of_kind = weight * count[:, None] * np.array([[one.kind == kind for kind in kinds] for one in samples])
    design, lines = _design(loops, kinds, of_loop, of_kind, weight * work[:, None])
    # Of the unbounded solution the variances are known. An overhead is from 0 to the duration of the shortest chunk.
    norm = np.linalg.norm(design, axis=0)
    inverse = np.linalg.pinv(design / norm, rcond=1e-12) / norm[:, None]
    target, n = work * weight[:, 0], len(loops)
    free, variance = inverse @ target, (inverse**2).sum(axis=1)
    upper = most if design.shape[1] == n + len(kinds) else np.repeat(most.min(), design.shape[1] - n)
    bounded = _bounded(design, target, free, np.append(np.full(n, np.inf), upper))
    likely = _likely(bounded[n:], variance[n:]) if len(upper) else np.zeros(1)
    own = free[n:] if len(upper) else np.zeros(1)
    by_kind = [dict(zip(kinds, np.resize(values, len(kinds)).tolist(), strict=True)) for values in (own, likely)]
    return by_kind[0], by_kind[1], dict(zip(loops, bounded[:n].tolist(), strict=True)), lines, used


def _design(
    loops: Sequence[Loop], kinds: Sequence[str], of_loop: Array, of_kind: Array, scale: Array
) -> tuple[Array, list[str]]:
    """The columns of parameters that can be separated, and lines on those that cannot: first with an overhead for each
    technique, then with one for all, then without."""
    lines: list[str] = []
    of_all = of_kind.sum(axis=1, keepdims=True)
    for columns in (of_kind, of_all) if len(kinds) > 1 else (of_all,):
        design = np.hstack([of_loop, columns])
        _, values, turned = np.linalg.svd(design / scale / np.linalg.norm(design / scale, axis=0))
        least = float(values[-1] / values[0]) if len(values) == design.shape[1] else 0.0
        if least >= SEPARABLE:
            return design, lines
        names = [f"lengths of {name}" for name, _ in loops]
        names += [f"overhead of {kind}" for kind in kinds] if columns is of_kind else ["overhead"]
        null = np.abs(turned[int((values >= SEPARABLE * values[0]).sum()) :]).max(axis=0)
        joined = [name for name, part in zip(names, null, strict=True) if part > _PART]
        instead = "one overhead for all techniques" if columns is of_kind else "no overhead"
        lines.append(f"{', '.join(joined)} cannot be separated (singular value {least:.2g}): {instead}")
    return of_loop, lines


def _bounded(design: Array, target: Array, values: Array, upper: Array) -> Array:
    """Least squares with values from 0 to ``upper``: the one that is furthest out is fixed at its bound, until none is."""
    free, values = np.ones(len(values), bool), values.copy()
    while (out := np.where(free, np.maximum(-values, values - upper) / np.minimum(upper, 1e300), 0.0)).max() > 1e-12:
        place = int(np.argmax(out))
        free[place], values[place] = False, min(max(values[place], 0.0), upper[place])
        left = target - design[:, ~free] @ values[~free]
        values[free] = np.linalg.lstsq(design[:, free], left, rcond=1e-12)[0]
    return values


def _sum(one: Sample, ns: Array, speeds: Array) -> tuple[float, float, float, float]:
    """The sum of a sample's chunks, ns at speed 1, that of the speeds of their cores, the first one's relative error, and the
    shortest chunk, ns."""
    speed = np.where(np.isfinite(ns), speeds, np.nan)
    even = ns * speed
    shortest = float(medians(ns[_present(ns)]).min())
    if not one.complete or not _present(ns).all():
        even, speed = (np.nansum(values, axis=0)[None, :] for values in (even, speed))
    middle, instances = medians(even), even.shape[1]
    within = _NORMAL * medians(np.abs(even - middle[:, None])) / np.sqrt(np.isfinite(even).sum(axis=1))
    of_instance = medians((even / middle[:, None]).T)
    common = _NORMAL * float(np.median(np.abs(of_instance - np.median(of_instance)))) / math.sqrt(instances)
    total = float(middle.sum())
    error = _OF_MEDIAN * math.hypot(float(np.sqrt((within**2).sum())) / total, common)
    return total, float(np.nanmean(speed, axis=1).sum()), max(error, _LEAST), shortest


def _likely(values: Array, variances: Array) -> Array:
    """Values moved towards the one that most weight supports: they are expected to differ from it by about as much as it is."""
    order, variances = np.argsort(values), np.maximum(variances, _LEAST)
    share = np.cumsum(1.0 / variances[order])
    middle = float(values[order][np.searchsorted(share, 0.5 * share[-1])])
    between = max(middle, 1.0) ** 2
    return np.asarray(middle + (values - middle) * between / (between + variances))


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
