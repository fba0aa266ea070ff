"""Jobs and machines for the study of dispatchers that plan: stand-ins for those of the paper, which are not public or not here.

Eurora's log is not public, and neither of the two machines' logs is shipped. What makes one of them hard and the other large
is their shape, and that is kept: nodes of two kinds, with scarce cards, and many equal nodes.

Source: C. Galleguillos, Z. Kiziltan, R. Soto, "A Constraint Programming-based Job Dispatcher for Modern HPC Systems and
Applications", 2020, sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bls import HostGroup, Platform, Workload
from bls.workloads.generators import generate_like
from bls.workloads.reshape import cut, scale
from tools.estimates_outcomes import shaken

__all__ = ["STAND_INS", "StandIn", "eurora", "forhlr", "write_requests"]

#: Cores of a node of Eurora, and of its two kinds of nodes of ForHLR II.
_EURORA_CORES, _THIN, _FAT = 16, 20, 48
#: As a core: jobs with cards run about as long as the log's.
_CARD_GFLOPS = 25.0


@dataclass(frozen=True)
class StandIn:
    """Jobs, the machine that they are for, and what they ask of its nodes.

    Attributes
    ----------
    name : str
    platform : Platform
    workload : Workload
    per_unit : mapping of str to ndarray
        Columns of a request file beside ``job_id``, by name.
    """

    name: str
    platform: Platform
    workload: Workload
    per_unit: Mapping[str, np.ndarray]


def eurora(source: Workload, n_jobs: int, seed: int, load: float = 0.5) -> StandIn:
    """64 nodes of 16 cores, half of them with two GPUs, half with two MICs, and jobs like a log's that want some of these.

    The cards that ``generate --gpus`` deals out are those of both kinds: which of them a job wants is drawn evenly. The jobs
    come so densely that they ask for ``load`` of all core seconds between the first submit and the last.
    """
    platform = Platform(
        (
            HostGroup(32, _EURORA_CORES, 400.0, resources={"gpu": 2}),
            HostGroup(32, _EURORA_CORES, 400.0, resources={"mic": 2}),
        )
    )
    nodes = Platform((HostGroup(max(1, int(source.cores.max()) // _EURORA_CORES), _EURORA_CORES, 400.0),))
    jobs = generate_like(
        source,
        n_jobs,
        seed=seed,
        platform=nodes,
        nodes_factor=platform.n_hosts / nodes.n_hosts,
        gpus=(0.5, 2, _CARD_GFLOPS),
    )
    jobs = scale(jobs, load=load / _offered(jobs, platform.n_cores))
    cards = jobs.extras["gpu"]
    is_mic = np.random.default_rng([seed, 20]).random(len(jobs)) < 0.5
    kinds = {"gpu": np.where(is_mic, 0, cards), "mic": np.where(is_mic, cards, 0)}
    return StandIn("eurora", platform, jobs, {"unit_cores": jobs.extras["unit_cores"], **kinds})


def _offered(jobs: Workload, n_cores: int) -> float:
    """What share of all core seconds between the first and the last submit the jobs ask for."""
    span_ns = int(jobs.submit_ns[-1] - jobs.submit_ns[0])
    return sum(map(int.__mul__, jobs.cores.tolist(), jobs.run_ns.tolist())) / (n_cores * span_ns)


def forhlr(source: Workload, seed: int, select: str = "busiest:7d", load: float = 1.0) -> StandIn:
    """1,152 nodes of 20 cores and 21 of 48, and a log's jobs, as much wider; each of more than a node asks for whole nodes.

    A job's cores are rounded up to whole nodes of 20; narrower ones lie on one node. They come ``load`` times as densely. The
    seed shakes the submits (``tools.estimates_outcomes.shaken``); 0 leaves them as they are.
    """
    platform = Platform((HostGroup(1152, _THIN, 1000.0), HostGroup(21, _FAT, 2400.0)))
    jobs = scale(
        cut(source if load == 1.0 else scale(source, load=load), select),
        cores=platform.n_cores / max(int(source.cores.max()), 1),
    )
    cores = np.where(jobs.cores > _THIN, -(-jobs.cores // _THIN) * _THIN, jobs.cores)
    wide = jobs.take(np.arange(len(jobs)), cores=np.minimum(cores, 1152 * _THIN))
    made = shaken(wide, seed)
    return StandIn("forhlr", platform, made, {"unit_cores": np.minimum(made.cores, _THIN)})


#: The stand-ins, by the name of the machine whose place they take.
STAND_INS: dict[str, Callable[..., StandIn]] = {"eurora": eurora, "forhlr": forhlr}


def write_requests(made: StandIn, path: Path) -> None:
    """What the jobs ask for on each of their nodes, as ``--requests`` reads it."""
    names = ["job_id", *made.per_unit]
    columns = [made.workload.job_id, *made.per_unit.values()]
    lines = [",".join(names), *(",".join(map(str, row)) for row in zip(*(c.tolist() for c in columns), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
