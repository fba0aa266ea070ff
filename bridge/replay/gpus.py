"""Numbered GPUs in a replay: in the lines of nodes, in requests of jobs, and those that Slurm gives to jobs.

They are Slurm's generic resource ``gpu``. Its ``shard`` are shares: here thousandths, of one GPU on each node of a job.
"""

import re
from collections import Counter
from dataclasses import replace

import numpy as np

from bridge.replay.configuration import Configuration, Node, kind_feature
from bridge.replay.host_names import expanded
from bridge.replay.keys import BY_CORES
from bridge.replay.messages import GPU, SHARD
from bridge.scenarios.ready import ReadyScenario
from traces.records.gpus import WHOLE_GPU

GpuFields = dict[str, str]  # of a request (``native/requests.c``)


def with_shares(found: Configuration, scenario: ReadyScenario) -> Configuration:
    """The slurm.conf of a platform in which GPUs can be shared, if any job requests a share."""
    gpus = None if scenario.constraints.requests is None else scenario.constraints.requests.gpus
    if found.site or gpus is None or not (gpus.any & (gpus.milli < WHOLE_GPU)).any():
        return found
    keys = found.keys | {"GresTypes": f"{found.key('GresTypes')},{SHARD}"}
    return replace(found, keys=keys, nodes=tuple(map(_shared, found.nodes)))


def _shared(node: Node) -> Node:
    gpus = sum(count for name, _, count in node.resources if name == GPU)
    words = re.sub(r"( Gres=\S+)", rf"\1,{SHARD}:{WHOLE_GPU * gpus}", node.words) if gpus else node.words
    return replace(node, words=words, resources=(*node.resources, *[(SHARD, "", WHOLE_GPU)] * gpus))


def gpu_fields(scenario: ReadyScenario, found: Configuration, notes: Counter[str]) -> list[GpuFields]:
    """The fields with which each job requests GPUs: of the job, of each node, or of each task. Requests that Slurm does not
    support are omitted, and counted in ``notes``."""
    workload, asked = scenario.workload, scenario.constraints.requests
    if asked is None or asked.gpus is None:
        return [{}] * len(workload)
    units = workload.cores // asked.unit_cores
    joined = units * 0 if asked.gpus.joined is None else asked.gpus.joined
    select = found.key("SelectType") or BY_CORES["SelectType"]
    columns, fields = np.column_stack([*asked.gpus.columns[:3], units, joined]), list[GpuFields]()
    for row, (per_unit, per_host, milli, n, of_job) in enumerate(columns.tolist()):
        kinds = asked.gpus.accepted(row, scenario.platform.gpu_kinds)
        typed = milli == WHOLE_GPU and len(kinds) == 1
        gpus, refused = f"gres:{GPU}:{kinds[0]}" if typed else f"gres:{GPU}", ""
        one: GpuFields = {}
        if milli < WHOLE_GPU and (per_unit or per_host):
            one = {"gres_per_node": f"gres:{SHARD}:{milli}"} | ({"nodes": "1", "most_nodes": "1"} if per_unit else {})
            if found.site:
                refused = "shares of GPUs with a slurm.conf"
            elif per_unit and n > 1:
                refused = "shares of GPUs for several tasks, which Slurm does not support"
        elif per_host:
            one = {"gres_per_node": f"{gpus}:{per_host}"}
        elif per_unit:
            one = {"gres_per_job": f"{gpus}:{per_unit * n}"} if of_job else {"gres": f"{gpus}:{per_unit}"}
            if select != BY_CORES["SelectType"]:
                refused = f"GPUs for tasks or the job, which {select} does not support"
        if refused:
            notes[f"request {refused}: omitted"] += 1
            one = {}
        elif one and kinds and not typed:
            if found.site:
                notes["accept several kinds of GPUs, and get any with a slurm.conf"] += 1
            else:
                one["features"] = "|".join(map(kind_feature, kinds))
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
    return [(int(gpu), count if is_share else WHOLE_GPU) for is_share, count, gpus in found for gpu in gpus]
