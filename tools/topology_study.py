"""What it costs that jobs stay on few leaf switches: the table of ``docs/explanation/topology.md``.

    python -m tools.topology_study

The workload is made of the shipped sample: seven of its days, which come twice as fast, so that the machine is full from
the first hours on. Each repetition deals the days' jobs (run time, cores, estimate) to the
same submit instants in another order.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

import bridge
from bls import HostGroup, Platform, Workload, read_workload, sample_path
from bls.constraints.options import Surroundings
from bls.machine.switches import Switch
from bls.metrics.batch import started_and_finished
from bls.metrics.schedule import Schedule
from tools.plain_tool import only
from traces.base.time import NS_PER_S

DAYS, REPETITIONS = 7, 10
LEAVES, HOSTS_PER_LEAF, CORES_PER_HOST = 4, 16, 4

_DAY_S = 86_400
_WINDOW_NS = 48 * 3600 * NS_PER_S
_LONG_NS = 600 * NS_PER_S


@dataclass(frozen=True)
class Setting:
    """One line of the table.

    Attributes
    ----------
    name : str
        Its first column.
    allocator, backfill : str
        As the options of these names.
    switches : str or None
        As ``--switches``.
    least_cores : int or None
        Where given, only jobs of so many cores that ask for more than ten minutes accept no more leaf switches than they need.
    """

    name: str
    allocator: str = "topology"
    backfill: str = "easy"
    switches: str | None = None
    least_cores: int | None = None

    @property
    def unlimited(self) -> bool:
        """Whether no job minds switches."""
        return self.switches is None and self.least_cores is None


SETTINGS = (
    Setting("first-fit", allocator="first-fit"),
    Setting("topology"),
    Setting("`--switches 4`", switches="4"),
    Setting("`--switches 1`", switches="1"),
    Setting("`--switches 1@12h`", switches="1@12h"),
    Setting("`--switches 1@2h`", switches="1@2h"),
    Setting("jobs of 64 cores or more", least_cores=64),
    Setting("jobs of 32 cores or more", least_cores=32),
    Setting("topology", backfill="none"),
    Setting("`--switches 1`", backfill="none", switches="1"),
    Setting("`--switches 1@2h`", backfill="none", switches="1@2h"),
)


def machine() -> Platform:
    """256 cores: four leaf switches of sixteen hosts of four cores, below one switch."""
    leaves = [Switch(f"leaf {k}", hosts=f"{k * HOSTS_PER_LEAF}-{(k + 1) * HOSTS_PER_LEAF - 1}") for k in range(LEAVES)]
    group = HostGroup(LEAVES * HOSTS_PER_LEAF, CORES_PER_HOST, 46.875 * CORES_PER_HOST)
    return Platform((group,), switches=(*leaves, Switch("top", switches=tuple(leaf.name for leaf in leaves))))


def workload(repetition: int) -> Workload:
    """The week of a repetition."""
    day = read_workload(sample_path())
    submits = [(d * _DAY_S + q // NS_PER_S) // 2 for d in range(DAYS) for q in day.submit_ns.tolist()]
    kinds = list(zip(day.run_ns.tolist(), day.cores.tolist(), day.estimate_ns.tolist(), strict=True)) * DAYS
    random.Random(repetition).shuffle(kinds)
    jobs = zip(submits, kinds, strict=True)
    return Workload.from_jobs(
        (number, q, p // NS_PER_S, n, r // NS_PER_S) for number, (q, (p, n, r)) in enumerate(jobs, 1)
    )


def write_requests(jobs: Workload, least_cores: int, path: Path) -> float:
    """A request file for the wide and long jobs: as few leaf switches as can be; gives the share of such jobs."""
    leaf = HOSTS_PER_LEAF * CORES_PER_HOST
    asked = (jobs.cores >= least_cores) & (jobs.estimate_ns > _LONG_NS)
    rows = zip(jobs.job_id[asked].tolist(), jobs.cores[asked].tolist(), strict=True)
    path.write_text("job_id,switches\n" + "".join(f"{job},{-(-n // leaf)}\n" for job, n in rows), encoding="utf-8")
    return float(asked.mean())


def measure(jobs: Workload, setting: Setting, requests: Path | None) -> tuple[float, float, float, float, float]:
    """Jobs an hour, makespan in hours, utilisation, mean wait in hours; jobs started and finished in the first 48 hours."""
    result = bridge.simulate(
        jobs,
        machine(),
        als="recorded",
        backfill=setting.backfill,
        allocator=setting.allocator,
        surroundings=Surroundings(requests=requests, switches=setting.switches),
        keep_tasks=False,
    )
    rows, metrics = result.ledger.jobs, result.metrics
    columns = {
        name: getattr(rows, name)
        for name in ("submit_ns", "start_ns", "end_ns", "cores", "held_cores", "why", "state", "eligible_ns")
    }
    schedule = Schedule.of(n_cores=result.ledger.machine.n_cores, **columns)
    hour = 3600 * NS_PER_S
    return (
        metrics["throughput_jobs_per_s"] * 3600,
        metrics["makespan_ns"] / hour,
        metrics["utilisation"],
        metrics["mean_wait_ns"] / hour,
        started_and_finished(schedule, 0, _WINDOW_NS),
    )


def table(repetitions: int = REPETITIONS, settings: Sequence[Setting] = SETTINGS) -> list[str]:
    """The lines of the table: means over repetitions, changes and jobs done with their standard deviation.

    The change of jobs an hour is that from the first setting of the same backfilling, repetition by repetition.
    """
    lines = [
        "| switches | backfilling | jobs concerned | jobs an hour | change | makespan | utilisation | mean wait "
        "| done in 48 h |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    weeks = [workload(repetition) for repetition in range(repetitions)]
    first: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder:
        for setting in settings:
            share, found = float(setting.switches is not None), []
            for week in weeks:
                path = None
                if setting.least_cores is not None:
                    path = Path(folder) / "requests.csv"
                    share = write_requests(week, setting.least_cores, path)
                found.append(measure(week, setting, path))
            rate, makespan, used, wait, done = ([row[k] for row in found] for k in range(5))
            changes = [100 * (a / b - 1) for a, b in zip(rate, first.setdefault(setting.backfill, rate), strict=True)]
            change = "" if setting.unlimited else f"{fmean(changes):+.1f} % ± {stdev(changes):.1f}".replace("-", "−")
            lines.append(
                f"| {setting.name} | {setting.backfill} | {share:.0%} | {fmean(rate):.2f} | {change} | {fmean(makespan):.1f} h "
                f"| {fmean(used):.3f} | {fmean(wait):.1f} h | {fmean(done):.0f} ± {stdev(done):.0f} |"
            )
    return lines


if __name__ == "__main__":
    only(__doc__)
    sys.stdout.write("\n".join(table()) + "\n")
