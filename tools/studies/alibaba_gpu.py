"""Alibaba's GPU trace of 2023: platform and requests (``python alibaba_gpu.py NODES.csv TASKS.csv``), and a policy that packs.

A task has one core, and there are always enough cores; its CPU is an amount of its host, in thousandths of a core.
"""

import csv
import sys
from itertools import groupby
from pathlib import Path

from bls.machine.platform import HostGroup, Platform


class Pack:
    """Start jobs in their order; reject a job that does not fit now."""

    name = "pack"

    def decide(self, view):
        trial = view.trial()
        for job in view.waiting:
            if trial.place(job) is None:
                view.reject(job, "does not fit")
            else:
                yield job


def read(name):
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def group(node, count):
    cpu, memory, gpus = (int(node[key]) for key in ("cpu_milli", "memory_mib", "gpu"))
    resources = {"cpu_milli": cpu, "memory_mb": memory}
    return HostGroup(count, cpu // 1000, cpu / 1000, resources, gpus=gpus, gpu=node["model"] if gpus else "")


def main(nodes, tasks):
    equal = groupby(read(nodes), lambda node: [node[key] for key in ("cpu_milli", "memory_mib", "gpu", "model")])
    lists = [list(some) for _, some in equal]
    platform = Platform(tuple(group(some[0], len(some)) for some in lists), name="alibaba-gpu-2023")
    Path("alibaba.toml").write_text(platform.to_toml(), encoding="utf-8")
    # The number of a job is that of its line in the table, whose first line has the names of the columns.
    rows = list(enumerate(read(tasks), 2))
    for name, some in (("requests", rows), ("replay-requests", [row for row in rows if row[1]["scheduled_time"]])):
        lines = [f"{line},{task['cpu_milli']},{task['memory_mib']}\n" for line, task in some]
        Path(f"{name}.csv").write_text("".join(["job_id,cpu_milli,memory_mb\n", *lines]), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
