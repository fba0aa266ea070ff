"""Make the small workload that the project ships, the same bytes every time.

    python tools/make_sample.py > bls/workloads/sample.swf

A synthetic day on a cluster of 256 cores: submits follow a daily cycle, widths are mostly powers of two, run
times are lognormal, and requested times are round numbers well above them. The offered load is nearly that of
the full cluster, so a queue forms and policies differ. No log of a real machine was used.

All randomness is ``random.Random(SEED).random()``, the one stream that Python promises to keep from version
to version; normal variates are made of it by inverting the distribution function.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import math
import random
import sys
from statistics import NormalDist

SEED = 20_240_101
JOBS = 320
CORES = 256
DAY_S = 86_400

#: Relative rate of submits in each hour of the day.
HOURLY = (2, 1, 1, 1, 1, 2, 3, 6, 10, 14, 15, 14, 11, 13, 15, 15, 13, 11, 8, 6, 5, 4, 3, 3)

#: Width and relative frequency.
WIDTHS = (
    (1, 14), (2, 7), (4, 9), (6, 2), (8, 11), (12, 3), (16, 14), (24, 3), (32, 14), (48, 3),
    (64, 13), (96, 2), (100, 2), (128, 8), (192, 1), (256, 2),
)  # fmt: skip

#: Run times: lognormal with this median and σ of the logarithm, cut to this range.
RUN_MEDIAN_S, RUN_SIGMA, RUN_MIN_S, RUN_MAX_S = 1050.0, 1.15, 8, 7200

#: Requested times: the first of these above run time × lognormal factor.
REQUESTS_S = (60, 120, 300, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200, 10800, 14400, 21600, 28800)
FACTOR_MEDIAN, FACTOR_SIGMA = 1.8, 0.6

HEADER = f"""\
; Version: 2.2
; Computer: Synthetic cluster of 4 hosts with 64 cores each
; Installation: none; this workload is synthetic
; Acknowledge: the twolevel project
; Information: made by tools/make_sample.py of twolevel, seed {SEED}; may be used freely under Apache-2.0
; Conversion: none; written in this format
; MaxJobs: {JOBS}
; MaxRecords: {JOBS}
; Preemption: No
; UnixStartTime: 1704067200
; TimeZoneString: UTC
; StartTime: Mon Jan 01 00:00:00 UTC 2024
; EndTime: Mon Jan 01 23:59:59 UTC 2024
; MaxNodes: 4
; MaxProcs: {CORES}
; MaxQueues: 1
; MaxPartitions: 1
; Note: SYNTHETIC. One day of submits with a daily cycle; waiting times are not given (-1).
;
"""


def sample_text() -> str:
    """The whole file."""
    stream = random.Random(SEED)
    normal = NormalDist()

    def lognormal(median: float, sigma: float) -> float:
        return median * math.exp(sigma * normal.inv_cdf(stream.random() or 0.5))  # inv_cdf(0) does not exist

    by_hour = list(itertools.accumulate(HOURLY))
    by_width = list(itertools.accumulate(weight for _, weight in WIDTHS))
    submits = []
    for _ in range(JOBS):
        hour = bisect.bisect(by_hour, stream.random() * by_hour[-1])
        submits.append(hour * 3600 + int(stream.random() * 3600))
    lines = []
    for job, submit in enumerate(sorted(submits), start=1):
        cores = WIDTHS[bisect.bisect(by_width, stream.random() * by_width[-1])][0]
        run = min(max(round(lognormal(RUN_MEDIAN_S, RUN_SIGMA)), RUN_MIN_S), RUN_MAX_S)
        asked = run * max(1.0, lognormal(FACTOR_MEDIAN, FACTOR_SIGMA))
        request = REQUESTS_S[min(bisect.bisect_left(REQUESTS_S, asked), len(REQUESTS_S) - 1)]
        user = 1 + int(stream.random() ** 2 * 24)
        head = f"{job:4d} {submit:6d} -1 {run:5d} {cores:4d} -1 -1 {cores:4d} {request:6d}"
        lines.append(f"{head} -1  1 {user:3d}  1 -1  1  1 -1 -1")
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.stdout.write(sample_text())
