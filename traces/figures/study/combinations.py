"""Data of figures of studies: a metric by batch policy, technique, variation and seed.

matplotlib is not imported here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from traces.base.errors import InputError, one_of, shown
from traces.compiled import Array
from traces.metric_units import Shown, more_is_better, shown_as
from traces.statistics.comparisons import WINDOW_BEGIN, finished, metric_values, option_columns
from traces.statistics.intervals import CONFIDENCE, MIN_SEEDS, Estimate, mean_interval
from traces.statistics.pairs import Paired, paired
from traces.tables import DataFrame

#: The technique of jobs with recorded run times; then only these options draw at random.
_RECORDED, _DRAWING = "recorded", ("allocator", "failures")

_PLACES = ("bls", "backfill", "als", "variation")  #: the options that a figure of a study shows

_SAID, _SLURM = "batch", "slurm"  #: the option that selects our engine or Slurm, and its value for Slurm


def batch_label(bls: str, backfill: str) -> str:
    """A batch policy and its backfilling in one word: ``sjf+easy``; ``sjf`` without backfilling; ``slurm`` for both."""
    return bls if backfill in ("none", bls) else f"{bls}+{backfill}"


def _batches(frame: DataFrame) -> list[str]:
    # The labels of rows. With Slurm itself in the results, a policy of that name in our engine gets another label.
    found = [batch_label(str(a), str(b)) for a, b in zip(frame["bls"], frame["backfill"], strict=True)]
    decides = frame[_SAID].tolist() if _SAID in frame else []
    if _SLURM not in decides:
        return found
    return [f"{one} ({by})" if one == _SLURM != by else one for one, by in zip(found, decides, strict=True)]


def seeds_matter(results: DataFrame) -> bool:
    """Whether a seed may change a result of a study. A study without random draws sets ``results.attrs["exact"]``."""
    if results.attrs.get("exact"):
        return False
    if set(results["als"]) != {_RECORDED} or any(name in results.columns for name in _DRAWING):
        return True
    # The jobs, or the jobs that may be slowed, may be drawn.
    if not {"cell", "error"} <= set(results.columns):
        return False
    values = results[[*results.columns[list(results.columns).index("error") + 1 :]]]
    return bool((values.groupby(results["cell"]).nunique() > 1).to_numpy().any())


def of_workload(frame: DataFrame, workload: str | None) -> DataFrame:
    """The rows of one workload. Raises InputError if the frame has several and none is chosen, or not the chosen one."""
    if "workload" not in frame.columns:
        raise InputError("no column 'workload'; allowed: the results of a study, or their comparisons")
    known = [str(name) for name in frame["workload"].unique()]
    if workload is None:
        if len(known) > 1:
            raise InputError(f"workload: {len(known)} to draw in one figure; allowed: one of {', '.join(known)}")
        return frame
    if workload not in known:
        raise one_of("workload", workload, known)
    return frame[frame["workload"] == workload]


@dataclass(frozen=True)
class Combinations:
    """One metric of a study on one workload."""

    metric: str  # its name in the results
    batches: tuple[str, ...]  # batch policies with their backfilling (:func:`batch_label`), in the order of the results
    techniques: tuple[str, ...]  # in the order of the results
    variations: tuple[float, ...]  # task variation Υ, increasing
    seeds: tuple[int, ...]  # increasing
    # float64 (batches, techniques, variations, seeds), the metric in the unit of its name; NaN where no run finished
    values: Array
    # whether a seed may change a result; with recorded run times only one variation is kept
    drawn: bool = True
    paired_by: str = "seed"  # a seed, or a window of a log

    @classmethod
    def of(cls, results: DataFrame, metric: str, *, workload: str | None = None) -> Self:
        """The combinations of a study's results. Raises InputError if the metric is unknown, no run finished, there are
        several workloads and none is chosen, another option has several values, or a seed occurs twice."""
        options = option_columns(results)
        for name in _PLACES:
            if name not in options:
                raise InputError(f"no column {shown(name)}; allowed: the results of a study, with {', '.join(_PLACES)}")
        rows = of_workload(results, workload)
        given = metric_values(rows, metric)
        said = [_SAID] if _SAID in options else []
        frame = rows[[*_PLACES, *said, "seed"]].assign(value=given)
        frame = frame[finished(rows) & np.isfinite(given)]
        if len(frame) == 0:
            raise InputError(f"no {metric} to draw; allowed: the results of at least one run that finished")
        for name in options:
            several = [] if name in (*_PLACES, _SAID) else list(rows[name].unique())
            if len(several) > 1:
                allowed = f"allowed: rows of one of {', '.join(map(str, several))}"
                raise InputError(f"{name}: {len(several)} values to draw in one figure; {allowed}")
        replayed = set(frame["als"]) == {_RECORDED}
        if replayed:
            frame = frame[frame["variation"] == frame["variation"].min()]
        batch = _batches(frame)
        technique = [str(one) for one in frame["als"]]
        batches, techniques = tuple(dict.fromkeys(batch)), tuple(dict.fromkeys(technique))
        variations, of_variation = np.unique(frame["variation"].to_numpy(np.float64), return_inverse=True)
        seeds, of_seed = np.unique(frame["seed"].to_numpy(np.int64), return_inverse=True)
        of_batch = np.array([batches.index(one) for one in batch])
        place = of_batch, np.array([techniques.index(one) for one in technique]), of_variation, of_seed
        shape = (len(batches), len(techniques), len(variations), len(seeds))
        if len(np.unique(np.ravel_multi_index(place, shape))) < len(frame):
            raise InputError("a seed occurs twice in one combination; allowed: one row per combination and seed")
        table = np.full(shape, np.nan)
        table[place] = frame["value"].to_numpy(np.float64)
        numbers = tuple(variations.tolist()), tuple(seeds.tolist())
        paired_by = "window" if WINDOW_BEGIN in results.columns else "seed"
        return cls(metric, batches, techniques, *numbers, table, seeds_matter(results), paired_by)

    @property
    def replayed(self) -> bool:
        """Whether all jobs have their recorded run times, so that no task varies."""
        return self.techniques == (_RECORDED,)

    @property
    def how(self) -> Shown:
        """Unit of the metric, chosen for its smallest non-zero mean."""
        means = np.abs(self.means())
        means = means[means > 0]
        return shown_as(self.metric, float(means.min()) if means.size else 0.0)

    def means(self) -> Array:
        """The means over the seeds, float64 (batches, techniques, variations)."""
        there = ~np.isnan(self.values)
        total, count = np.where(there, self.values, 0.0).sum(axis=-1), there.sum(axis=-1)
        means = np.full(count.shape, np.nan)
        np.divide(total, count, out=means, where=count > 0)
        return means

    def estimate(self, batch: int, technique: int, variation: int) -> Estimate:
        """The mean of a combination over its seeds."""
        return mean_interval(self.values[batch, technique, variation])

    def shown_estimates(self) -> tuple[Array, Array, Array]:
        """Mean, low and high of every combination, each float64 (batches, techniques, variations), in the unit in which the
        metric is shown (:attr:`how`)."""
        found = [mean_interval(row) for row in self.values.reshape(-1, len(self.seeds))]
        columns = np.array([(one.mean, one.low, one.high) for one in found]).T / self.how.scale
        mean, low, high = columns.reshape(3, *self.values.shape[:3])
        return mean, low, high

    def paired(self, base: tuple[int, int, int], other: tuple[int, int, int]) -> Paired:
        """Two combinations (batch policy, technique, variation), compared over their common seeds."""
        return paired(self.values[base], self.values[other])

    def best(self, variation: int) -> Array:
        """The combinations with the best mean at a variation (its place), bool (batches, techniques); ties are all best."""
        means = self.means()[:, :, variation]
        return np.asarray(means == (np.nanmax(means) if more_is_better(self.metric) else np.nanmin(means)))

    def place_of(self, variation: float | None) -> int:
        """The place of a variation, by default the smallest. Raises InputError if there is no such variation."""
        if variation is None:
            return 0
        if variation not in self.variations:
            raise one_of("variation", variation, [f"{one:g}" for one in self.variations])
        return self.variations.index(variation)

    def seeds_text(self, places: Sequence[int] | None = None) -> str:
        """The number of seeds and the intervals of the means, for every figure; empty if no seed changes anything.
        ``places``: the drawn variations; default: all."""
        if not self.drawn:
            return ""
        drawn = self.values if places is None else self.values[:, :, list(places)]
        counts = (~np.isnan(drawn)).sum(axis=-1)
        few, most = int(counts[counts > 0].min()), int(counts.max())
        seeds = f"{most} {self.paired_by}{'s' * (most > 1)}" if few == most else f"{few} to {most} {self.paired_by}s"
        if most < MIN_SEEDS:
            return f"{seeds}: too few for an interval ({MIN_SEEDS})"
        text = f"means of {seeds}; {100 * CONFIDENCE:g} % intervals"
        return text if few >= MIN_SEEDS else f"{text} with {MIN_SEEDS} or more"
