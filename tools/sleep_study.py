"""What it saves, and costs, that hosts which idle fall asleep: days of a small cluster, over the time until they do.

    python -m tools.sleep_study

Prints the table of ``docs/reference/power.md``. Jobs come by a daily cycle, 70 in an hour at noon and a fifth of that at
midnight, on 1 to 256 cores, powers of two; run times are lognormal with a median of 10 min, estimates up to four times
that. All numbers are assumptions, close to those of logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

import bridge
from bls import HostGroup, Platform, Workload
from bls.machine.host_power import HostPower
from bls.power.options import PowerOptions
from tools.demand_response import mean_text
from tools.plain_tool import only

__all__ = ["AFTER_S", "MACHINE", "SEEDS", "day", "main", "rows", "simulated"]

SEEDS: Final = 20
_S: Final = 10**9
_DAY_S: Final = 86_400
_HOUR_S: Final = 3600

#: Hosts of 16 cores: 110 W idle, 302 W at work, 9 W off.
MACHINE: Final = Platform((
    HostGroup(64, 16, 16.0, power=HostPower(2, [(1, 14)], base_w=78, off_w=9, shutdown=("1min", 120), boot=("5min", 170))),
))  # fmt: skip

#: After how many s hosts fall asleep, and how many that idle are kept awake.
AFTER_S: Final = ((60, 0), (600, 0), (3600, 0), (600, 4))


def day(seed: int) -> Workload:
    """The jobs of one day, from midnight on."""
    chance = np.random.default_rng(seed)
    most = 70.0 / _HOUR_S  # jobs in a second, about noon
    n = chance.poisson(most * _DAY_S)
    submit = np.sort(chance.uniform(0, _DAY_S, n))
    rate = 0.6 - 0.4 * np.cos(2 * np.pi * submit / _DAY_S)  # a fifth at midnight, all at noon
    submit = submit[chance.uniform(size=n) < rate].astype(np.int64)
    n = len(submit)
    run = np.clip(chance.lognormal(np.log(600), 1.3, n), 10, 12 * _HOUR_S).astype(np.int64)
    estimate = np.ceil(run * chance.uniform(1, 4, n)).astype(np.int64)
    cores = 2 ** chance.choice(9, n, p=[0.2, 0.05, 0.05, 0.1, 0.2, 0.15, 0.15, 0.07, 0.03])
    columns = (range(1, n + 1), submit.tolist(), run.tolist(), cores.tolist(), estimate.tolist())
    return Workload.from_jobs(list(zip(*columns, strict=True)))


def simulated(log: Workload, after_s: int | None, keep: int = 0) -> bridge.Result:
    """One day, with EASY; ``after_s`` None: nobody sleeps."""
    after = None if after_s is None else after_s * _S
    power = PowerOptions(sleep_after_ns=after, keep_awake=keep)
    return bridge.simulate(log, MACHINE, als="recorded", backfill="easy", power=power)


def _wait_s(result: bridge.Result) -> float:
    return float((result.jobs.start_ns - result.jobs.submit_ns).mean() / _S)


def rows(seeds: int = SEEDS, tried: Sequence[tuple[int, int]] = AFTER_S) -> Iterator[str]:
    """A row for each time until hosts fall asleep: means over days with their 95 % intervals."""
    logs = [day(seed) for seed in range(seeds)]
    plain = [simulated(log, None) for log in logs]
    used = [result.metrics["energy_j"] for result in plain]
    yield (
        "| asleep after | kept awake | energy saved, % | hosts' time off, % | sleeps a host | jobs wait longer, s | "
        "starts that wait for hosts, % |"
    )
    yield "|---|---|---|---|---|---|---|"
    for after_s, keep in tried:
        found = [simulated(log, after_s, keep) for log in logs]
        saved = [100 * (1 - one.metrics["energy_j"] / before) for one, before in zip(found, used, strict=True)]
        off = [100 * one.metrics["sleeping_share"] for one in found]
        sleeps = [one.metrics["host_sleeps"] / 64 for one in found]
        longer = [_wait_s(one) - _wait_s(before) for one, before in zip(found, plain, strict=True)]
        waits = [100 * one.metrics["boot_waits"] / len(one.jobs) for one in found]
        cells = (
            mean_text(saved, 1),
            mean_text(off, 1),
            mean_text(sleeps, 1),
            mean_text(longer, 0),
            mean_text(waits, 1),
        )
        lasts = f"{after_s // 60} min" if after_s < _HOUR_S else f"{after_s // _HOUR_S} h"
        yield f"| {lasts} | {keep} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table, and what the days are like."""
    only(__doc__)
    for line in rows():
        print(line)
    plain = [simulated(day(seed), None) for seed in range(SEEDS)]
    print("utilisation", mean_text([one.metrics["utilisation"] for one in plain], 3))
    print("mean wait, s", mean_text([_wait_s(one) for one in plain], 0))
    print("jobs", mean_text([len(one.jobs) for one in plain], 0))
    print("energy, GJ", mean_text([one.metrics["energy_j"] / 1e9 for one in plain], 2))


if __name__ == "__main__":
    main()
