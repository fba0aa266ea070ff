"""What better run time estimates are worth to users: the figures and tables of ``docs/explanation/estimates-study.md``.

    python -m tools.estimates_study LOG… --out DIR [--samples 10] [--load 1] [--workers 2]

This is use case B of the RM-Replay paper: how many jobs have a slowdown above 5, by what the scheduler knows of run
times. Each log is simulated with EASY backfilling on as many cores as its header names (MaxProcs), with recorded run times.

A simulation always gives the same, and a small change may give much else: one job that starts a second earlier changes
the rest of the year. So what is counted is the mean over samples, in each of which every job is submitted up to a minute
later than in the log: input shaking (D. Tsafrir, K. Ouaknine, D. Feitelson, MASCOTS 2007, doi:10.1109/MASCOTS.2007.58). All
estimates are tried on the same samples, and differences are taken sample by sample.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, stdev

import numpy as np

from bls.workloads.workload import Workload
from tools.estimates_outcomes import ESTIMATES, HIGH, RUN_CLASSES, Outcome, load, of_sample, width_bounds
from traces.base.errors import InputError, TwolevelError
from traces.compiled import Array
from traces.figures.drawing.boxes import Box
from traces.figures.drawing.canvas import save
from traces.figures.run.slowdown_share import Affected, slowdown_share_figure

SAMPLES = 10

#: The 97.5 % quantiles of Student's t for 1, 2, … degrees of freedom; beyond them that of the normal distribution.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
      2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The mean of some differences, and half the width of its 95 % confidence interval (Student's t)."""
    n = len(differences)
    if n < 2:
        return fmean(differences), math.inf
    return fmean(differences), (_T[n - 2] if n - 2 < len(_T) else 1.96) * stdev(differences) / math.sqrt(n)


def changes(values: Sequence[float], before: Sequence[float]) -> str:
    """The mean change in percent, sample by sample, with its confidence interval where there are two or more."""
    mean, half = interval([100 * (a / b - 1) if b else 0.0 for a, b in zip(values, before, strict=True)])
    return (f"{mean:+.1f} %" + (f" ± {half:.1f}" if half < math.inf else "")).replace("-", "−")


def of_estimates(samples: Sequence[Sequence[Outcome]]) -> list[tuple[str, list[Outcome]]]:
    """Each kind of estimates with its outcomes in all samples but the log itself."""
    return [(one.name, [sample[k] for sample in samples[1:]]) for k, one in enumerate(ESTIMATES)]


def counts(samples: Sequence[Sequence[Outcome]]) -> list[str]:
    """How many jobs have a high slowdown; the first sample is the log itself."""
    lines = [
        "| estimates | in the log as it is | mean of samples | share | change | their median slowdown |",
        "|---|---|---|---|---|---|",
    ]
    before = [len(sample[0].high) for sample in samples[1:]]
    for k, (name, found) in enumerate(of_estimates(samples)):
        high = [len(one.high) for one in found]
        median = fmean(float(np.median(one.high)) if len(one.high) else math.nan for one in found)
        lines.append(
            f"| {name} | {len(samples[0][k].high):,} | {fmean(high):,.0f} | {fmean(high) / found[0].jobs:.1%} "
            f"| {changes(high, before) if k else ''} | {median:.1f} |"
        )
    return lines


def means(log: Workload, samples: Sequence[Sequence[Outcome]]) -> list[str]:
    """What becomes of all completed jobs, and of the narrow and the wide ones."""
    half, most = width_bounds(log)
    lines = [
        "| estimates | mean wait | change | mean bounded slowdown | backfilled | utilisation "
        f"| wait: ≤ {half} cores | ≤ {most} | wider |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    before = [sample[0].wait_s for sample in samples[1:]]
    for k, (name, found) in enumerate(of_estimates(samples)):
        waits = [one.wait_s for one in found]
        by_width = np.mean([one.wait_by_width_s for one in found], axis=0).tolist()
        lines.append(
            f"| {name} | {fmean(waits) / 60:.1f} min | {changes(waits, before) if k else ''} "
            f"| {fmean(one.bounded for one in found):.1f} | {fmean(one.backfilled for one in found):.1%} "
            f"| {fmean(one.utilisation for one in found):.3f} | {' | '.join(f'{s / 60:.1f} min' for s in by_width)} |"
        )
    return lines


def by_run_time(samples: Sequence[Sequence[Outcome]]) -> list[str]:
    """The jobs with a high slowdown by how long they run."""
    lines = [f"| estimates | {' | '.join(RUN_CLASSES)} |", "|---|" + "---|" * len(RUN_CLASSES)]
    for name, found in of_estimates(samples):
        cells = [f"{n:,.0f}" for n in np.mean([one.high_by_run for one in found], axis=0).tolist()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def affected(name: str, samples: Sequence[Sequence[Outcome]]) -> Affected:
    """What the figure draws of a log."""
    rest = samples[1:]
    return Affected(
        name,
        [estimates.name for estimates in ESTIMATES],
        rest[0][0].jobs,
        np.array([[len(sample[k].high) for sample in rest] for k in range(len(ESTIMATES))]),
        [_box(np.concatenate([sample[k].high for sample in rest])) for k in range(len(ESTIMATES))],
    )


def _box(values: Array) -> Box | None:
    return Box.of(values) if values.size else None


def name_of(path: Path) -> str:
    """A log's file name without its endings."""
    return path.name.removesuffix(".gz").removesuffix(".swf")


def study(paths: Sequence[Path], out: Path, *, samples: int = SAMPLES, factor: float = 1.0, workers: int = 1) -> str:
    """Run the study; writes ``slowdown.png`` and ``tables.md`` into ``out`` and returns the text of the latter.

    Raises
    ------
    InputError
        If a log cannot be used, or there are fewer than two samples.
    """
    if not 2 <= samples <= 1000:
        raise InputError(f"--samples: {samples}; allowed: 2 to 1000, for there must be a confidence interval")
    for path in paths:
        load(path, factor)  # an error here, not later
    tasks = [(path, factor, sample) for path in paths for sample in range(samples + 1)]
    if workers > 1:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            outcomes = list(pool.map(of_sample, *zip(*tasks, strict=True)))
    else:
        outcomes = [of_sample(*task) for task in tasks]
    drawn, text = [], []
    for k, path in enumerate(paths):
        found = outcomes[k * (samples + 1) : (k + 1) * (samples + 1)]
        log, n_cores = load(path, factor)
        what = f"{name_of(path)}: {len(log):,} jobs on {n_cores:,} cores"
        what += f", load × {factor:g}" if factor != 1 else ""
        drawn.append(affected(what, found))
        text += [f"{what}, {found[0][0].jobs:,} completed; {samples} samples", ""]
        text += [*counts(found), "", *means(log, found), "", *by_run_time(found), ""]
    out.mkdir(parents=True, exist_ok=True)
    save(slowdown_share_figure(drawn, threshold=HIGH), out / "slowdown.png")
    (out / "tables.md").write_text("\n".join(text), encoding="utf-8")
    return "\n".join(text)


def main(words: Sequence[str] | None = None) -> int:
    """Run the study from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.estimates_study", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="log in SWF, plain or gzipped")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder for the figure and the tables")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="shaken samples of each log (default %(default)s)")
    parser.add_argument("--load", type=float, default=1.0, help="factor of the arrival rate (default 1)")
    parser.add_argument("--workers", type=int, default=1, help="processes at once (default 1)")
    said = parser.parse_args(words)
    try:
        text = study(said.logs, said.out, samples=said.samples, factor=said.load, workers=said.workers)
    except TwolevelError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
