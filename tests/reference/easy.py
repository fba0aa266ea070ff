"""EASY as its pseudocode has it: shadow time and extra cores, in fcfs order (D. Lifka, doi:10.1007/3-540-60153-8_35)."""

from __future__ import annotations

from collections.abc import Sequence

from reference.machine import Job


def starts_by_the_book(jobs: Sequence[Job], n_cores: int) -> list[int]:
    """When each job starts, of jobs in workload order that are known by cores, estimates and run times alone."""
    start: dict[int, int] = {}
    waiting: list[int] = []
    now = -1
    while len(start) < len(jobs):
        events = [job.submit for job in jobs] + [start[row] + jobs[row].run for row in start]
        now = min(event for event in events if event > now)
        waiting += [row for row, job in enumerate(jobs) if job.submit == now]
        again = True
        while again:  # a job without a run time ends at once
            busy = [row for row in start if now < start[row] + jobs[row].run]
            started: list[int] = []
            free = n_cores - sum(jobs[row].cores for row in busy)
            for row in list(waiting):
                if jobs[row].cores > free:
                    break
                free -= jobs[row].cores
                started.append(row)
            rest = [row for row in waiting if row not in started]
            if rest:
                head, *others = rest
                shadow, extra = -1, -1
                ends = [(max(start.get(row, now) + jobs[row].estimate, now + 1), row) for row in busy + started]
                for end, _ in sorted(ends):
                    then = free + sum(jobs[row].cores for other, row in ends if other <= end)
                    if then >= jobs[head].cores:
                        shadow, extra = end, then - jobs[head].cores
                        break
                for row in others:
                    if jobs[row].cores > free:
                        continue
                    if now + jobs[row].estimate <= shadow:
                        pass
                    elif jobs[row].cores <= extra:
                        extra -= jobs[row].cores
                    else:
                        continue
                    free -= jobs[row].cores
                    started.append(row)
            for row in started:
                start[row] = now
                waiting.remove(row)
            again = any(jobs[row].run == 0 for row in started)
    return [start[row] for row in range(len(jobs))]
