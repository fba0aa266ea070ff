"""Numbered GPUs in a replay: in the lines of nodes, in requests of jobs, and those that Slurm gives to jobs.

They are Slurm's generic resource ``gpu``. Its ``shard`` are shares: here thousandths, of one GPU on each node of a job.
"""

import re
from collections import Counter
from dataclasses import replace

import numpy as np

from bls.constraints.gpu_requests import WHOLE
from bridge.replay.configuration import Configuration, Node, kind_feature
from bridge.replay.host_names import expanded
from bridge.replay.messages import GPU, SHARD
from bridge.scenarios.ready import ReadyScenario

GpuFields = dict[str, str]  # of a request (``native/requests.c``)


def shares_requested(scenario: ReadyScenario) -> bool:
    """Whether any job requests a share of a GPU."""
    asked = scenario.constraints.requests
    return asked is not None and asked.gpus is not None and bool((asked.gpus.any & (asked.gpus.milli < WHOLE)).any())


def with_shares(node: Node) -> Node:
    """A node whose GPUs can be shared."""
    gpus = sum(count for name, _, count in node.resources if name == GPU)
    if not gpus:
        return node
    words = re.sub(r"( Gres=\S+)", rf"\1,{SHARD}:{WHOLE * gpus}", node.words)
    return replace(node, words=words, resources=(*node.resources, *[(SHARD, "", WHOLE)] * gpus))


def gpu_fields(scenario: ReadyScenario, found: Configuration, notes: Counter[str]) -> list[GpuFields]:
    """The fields with which each job requests GPUs: of the job, of each node, or of each task. Requests that Slurm does not
    support are omitted, and counted in ``notes``."""
    asked, kinds = scenario.constraints.requests, scenario.platform.gpu_kinds
    if asked is None or asked.gpus is None:
        return [{}] * len(scenario.workload)
    units, joined = scenario.workload.cores // asked.unit_cores, asked.gpus.joined
    of_jobs = np.zeros(len(units), np.int64) if joined is None else np.where(joined > 0, units, 0)
    fields = []
    for per_unit, per_host, milli, mask, of_job, n in np.column_stack([*asked.gpus.columns, of_jobs, units]).tolist():
        accepted = [kind for k, kind in enumerate(kinds) if mask >> k & 1]
        kind = f":{accepted[0]}" if len(accepted) == 1 < len(kinds) and milli == WHOLE else ""
        one: GpuFields = {}
        if not (per_unit or per_host):
            pass
        elif milli == WHOLE:
            key, count = ("gres_per_node", per_host) if per_host else ("gres", per_unit)
            key, count = ("gres_per_job", per_unit * of_job) if of_job else (key, count)
            one = {key: f"gres:{GPU}{kind}:{count}"}
        elif found.site:
            notes["request shares of GPUs, which have none with a slurm.conf"] += 1
        elif per_unit and n > 1:
            notes["request shares of GPUs for each of several tasks, which Slurm does not support; they have none"] += 1
        else:
            one = {"gres_per_node": f"gres:{SHARD}:{milli}"} | ({"nodes": "1", "most_nodes": "1"} if per_unit else {})
        if one and not kind and len(accepted) < len(kinds):
            if found.site:
                notes["accept several kinds of GPUs, and with a slurm.conf any"] += 1
            else:
                one["features"] = "|".join(map(kind_feature, accepted))
        fields.append(one)
    return fields


#: Devices of a node, with or without their type.
_DEVICES = re.compile(rf"\b({GPU}|{SHARD}):(?:[^:,()]+:)?([0-9]+)\(IDX:([0-9,-]+)\)")


def gpus_on(text: str) -> list[tuple[int, int]]:
    """The GPUs in Slurm's text on a node of a job: their numbers on the node, and the thousandths held of each.

    >>> gpus_on("gpu:a100:2(IDX:0,3),shard:250(IDX:1)")
    [(0, 1000), (3, 1000), (1, 250)]
    """
    found = [(name == SHARD, int(count), expanded(f"[{numbers}]")) for name, count, numbers in _DEVICES.findall(text)]
    return [(int(gpu), count if is_share else WHOLE) for is_share, count, gpus in found for gpu in gpus]
