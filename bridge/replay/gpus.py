"""Numbered GPUs in a replay: in the lines of nodes, in requests of jobs, and those that Slurm gives to jobs.

They are Slurm's generic resource ``gpu``. Its ``shard`` are shares: here thousandths, of one GPU on each node of a job.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from bls.constraints.gpu_requests import WHOLE
from bridge.replay.configuration import Configuration, Node, kind_feature
from bridge.replay.host_names import expanded
from bridge.replay.keys import BY_CORES
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


@dataclass(frozen=True)
class _Request:
    """A job's request, from the columns of ``GpuRequests``, its units, and what the log says."""

    per_unit: int  # GPUs of each unit
    per_host: int  # GPUs of each host
    milli: int  # thousandths of each of these
    kinds: int  # accepted kinds, as a bit mask
    units: int
    of_job: int  # GPUs of the whole job, which the units share; 0 if it requests them otherwise
    nodes: int  # recorded number of nodes; 0 if unknown


def gpu_fields(scenario: ReadyScenario, found: Configuration, notes: Counter[str]) -> list[GpuFields]:
    """The fields with which each job requests GPUs: of the job, of each node, or of each task. Requests that Slurm does not
    support are omitted, and counted in ``notes``."""
    workload, asked = scenario.workload, scenario.constraints.requests
    if asked is None or asked.gpus is None:
        return [{}] * len(workload)
    units, nothing = workload.cores // asked.unit_cores, np.zeros(len(workload), np.int64)
    of_job = nothing if asked.gpus.joined is None else np.where(asked.gpus.joined > 0, units * asked.gpus.per_unit, 0)
    columns = np.column_stack([*asked.gpus.columns, units, of_job, workload.extras.get("nodes", nothing)])
    fields = []
    for one in (_Request(*row) for row in columns.tolist()):
        own, note = _fields(one, scenario.platform.gpu_kinds, found) if one.per_unit or one.per_host else ({}, "")
        fields.append(own)
        if note:
            notes[note] += 1
    return fields


def _fields(one: _Request, kinds: tuple[str, ...], found: Configuration) -> tuple[GpuFields, str]:
    # And a remark on a request that is not the job's.
    accepted = [kind for k, kind in enumerate(kinds) if one.kinds >> k & 1]
    typed = one.milli == WHOLE and len(accepted) == 1 < len(kinds)
    if one.milli == WHOLE:
        select = found.key("SelectType") or BY_CORES["SelectType"]
        fields = _whole(one, f"gres:{GPU}:{accepted[0]}" if typed else f"gres:{GPU}", select)
        if not fields:
            return {}, f"request GPUs for tasks or the job, which {select} does not support; they are omitted"
    elif found.site:
        return {}, "request shares of GPUs, which are omitted with a slurm.conf"
    elif one.per_unit and one.units > 1:
        return {}, "request shares of GPUs for several tasks, which Slurm does not support; they are omitted"
    else:
        fields = {"gres_per_node": f"gres:{SHARD}:{one.milli}"} | (_nodes(1) if one.per_unit else {})
    if typed or len(accepted) == len(kinds):
        return fields, ""
    if found.site:
        return fields, "accept several kinds of GPUs, and get any with a slurm.conf"
    return fields | {"features": "|".join(map(kind_feature, accepted))}, ""


def _whole(one: _Request, gpus: str, select: str) -> GpuFields:
    if one.per_host:
        return {"gres_per_node": f"{gpus}:{one.per_host}"}
    if select == BY_CORES["SelectType"]:
        return {"gres_per_job": f"{gpus}:{one.of_job}"} if one.of_job else {"gres": f"{gpus}:{one.per_unit}"}
    if one.of_job and one.nodes > 0 and one.of_job % one.nodes == 0:  # of a log: its users had no other choice
        return {"gres_per_node": f"{gpus}:{one.of_job // one.nodes}"} | _nodes(one.nodes)
    return {}


def _nodes(count: int) -> GpuFields:
    return {"nodes": str(count), "most_nodes": str(count)}


#: Devices of a node, with or without their type.
_DEVICES = re.compile(rf"\b({GPU}|{SHARD}):(?:[^:,()]+:)?([0-9]+)\(IDX:([0-9,-]+)\)")


def gpus_on(text: str) -> list[tuple[int, int]]:
    """The GPUs in Slurm's text on a node of a job: their numbers on the node, and the thousandths held of each.

    >>> gpus_on("gpu:a100:2(IDX:0,3),shard:250(IDX:1)")
    [(0, 1000), (3, 1000), (1, 250)]
    """
    found = [(name == SHARD, int(count), expanded(f"[{numbers}]")) for name, count, numbers in _DEVICES.findall(text)]
    return [(int(gpu), count if is_share else WHOLE) for is_share, count, gpus in found for gpu in gpus]
