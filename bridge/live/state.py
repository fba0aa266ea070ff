"""What is shown of a run under way: what it is, its few numbers of this moment, and now and then a closer look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Cells", "Look", "Pulse", "Resource", "RunningJob", "Setting"]


@dataclass(frozen=True)
class Resource:
    """One kind of what jobs hold: cores, a resource of the hosts, or a licence.

    Attributes
    ----------
    name : str
        ``cores``, or as the platform says.
    amount : int
        What the whole machine has, hosts that are down included; memory in KB.
    """

    name: str
    amount: int


@dataclass(frozen=True)
class Cells:
    """The machine in cells, as a map shows it: parts of a host, hosts, or groups of neighbouring hosts.

    Attributes
    ----------
    first_core : tuple of int
        Cell ``c`` has the cores ``first_core[c]:first_core[c + 1]``.
    host : tuple of int
        The first host of each cell.
    """

    first_core: tuple[int, ...]
    host: tuple[int, ...]


@dataclass(frozen=True)
class Setting:
    """What of a run does not change.

    Attributes
    ----------
    workload : str
        Where it came from.
    jobs, cores, hosts : int
        How many there are.
    options : dict
        What was chosen, by the names of the command line's options.
    resources : tuple of Resource
        Cores first, then what some job asks for.
    cells : Cells
        What :attr:`Look.busy` and its neighbours count.
    """

    workload: str
    jobs: int
    cores: int
    hosts: int
    options: dict[str, str]
    resources: tuple[Resource, ...]
    cells: Cells


@dataclass(frozen=True)
class Pulse:
    """The few numbers that can be read at any moment, each for itself, while the engine goes on.

    Attributes
    ----------
    elapsed_s : float
        Wall time since the run began.
    now_ns : int
        The simulated instant.
    ended, running, waiting : int
        Jobs that have ended for good, run, and wait.
    simulated_per_s : float
        Simulated seconds a second, of late.
    jobs_per_s : float
        Ends a second, of late.
    """

    elapsed_s: float
    now_ns: int
    ended: int
    running: int
    waiting: int
    simulated_per_s: float
    jobs_per_s: float


class RunningJob(NamedTuple):
    """A job that runs, as its scheduler knows it: when it ends is not known."""

    job_id: int
    user: int
    cores: int
    start_ns: int
    estimate_ns: int


@dataclass(frozen=True)
class Look:
    """The state of a run at one instant, sampled while the engine paused.

    Attributes
    ----------
    now_ns : int
        The simulated instant.
    used : tuple of int
        What jobs hold of each of :attr:`Setting.resources`.
    down_hosts : int
        Hosts that are down, or in maintenance.
    states : dict
        Attempts that have ended, by what became of them (``traces.ledger.STATES``); without zeros.
    busy : tuple of int
        Cores of each cell that jobs hold.
    down : tuple of int
        Cores of each cell on hosts that are down.
    job : tuple of int
        The number of the job that holds the most cores of each cell; -1 for none.
    widest : tuple of RunningJob
        Of the running jobs the widest, of equal ones the earlier row.
    past_ns, past_waiting, past_busy : tuple of int
        Instants since the run began, and the jobs that waited and the cores that were held then; this look's is the last.
    """

    now_ns: int
    used: tuple[int, ...]
    down_hosts: int
    states: dict[str, int]
    busy: tuple[int, ...]
    down: tuple[int, ...]
    job: tuple[int, ...]
    widest: tuple[RunningJob, ...] = ()
    past_ns: tuple[int, ...] = ()
    past_waiting: tuple[int, ...] = ()
    past_busy: tuple[int, ...] = ()
