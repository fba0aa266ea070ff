"""The declaration of a feature of the batch engine, in the file ``feature.py`` of its folder; and the input of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bls.engine.jobs import Jobs
from bls.engine.settings import Settings
from traces.algorithms.event_heap import Heap
from traces.compiled import Array
from traces.kernels.state import State, fields_of

if TYPE_CHECKING:
    from bls.engine.state import BatchState
    from bls.machine.platform import Platform
    from bls.power.domains import Domain
    from bls.power.plan import PowerPlan
    from bls.power.report import PowerReport
    from bls.power.table import PowerTable


@dataclass
class RunColumns:
    """Input of the engine: n jobs in workload order on M cores of H hosts; int64 arrays."""

    chosen: Any  # the ``bls.inputs.Run`` that it is made from
    jobs: Jobs
    partitions: dict[str, Array]  # columns of ``Partitions`` by name
    settings: dict[str, int]  # fields of ``Settings`` that differ from their defaults
    # Further fields of ``BatchState``; of nested states also only some columns, by name; others are empty
    state: dict[str, Any]
    others: dict[str, Any] = field(default_factory=dict)  # input of single features, by name

    def has(self, name: str) -> bool:
        """Whether there is a field of the state, input of a feature or a setting that is not 0; or the run's rules or
        constraints have a property of this name that is true."""
        chosen = self.chosen.rules, self.chosen.constraints
        given = name in self.state or name in self.others or bool(self.settings.get(name))
        return given or any(getattr(one, name, False) for one in chosen)


@dataclass(frozen=True)
class FeatureRun:
    """A run before its first event: its inputs, its settings, and its numbers of jobs, hosts and cores."""

    given: RunColumns
    settings: Settings
    jobs: int
    hosts: int
    cores: int
    sizes: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))  # sizes of dimensions, 0 if unknown

    def has(self, name: str) -> bool:
        """Whether ``RunColumns.has`` finds it, or it is a dimension that is not empty or a setting that features changed."""
        setting = fields_of(Settings).get(name)
        changed = setting is not None and getattr(self.settings, name) != setting.fill
        return changed or self.sizes[name] > 0 or self.given.has(name)


@dataclass(frozen=True, eq=False)
class PowerFacts:
    """Additions of a feature to the power of a run, outside the engine; none where a run does not use it."""

    give: Callable[[PowerPlan, RunColumns], None] = lambda plan, given: None  # adds its input to the engine
    by_cores: Callable[[PowerPlan], bool] = lambda plan: False  # whether counts of cores do not suffice for limits
    remarks: Callable[[PowerPlan], Iterable[str]] = lambda plan: ()  # lines about options without use
    # The time, ns, for which each row of the table of jobs held its cores before its start; None: 0
    waits: Callable[[PowerReport], Array | None] = lambda report: None
    metrics: tuple[str, ...] = ()  # the names of all its metrics
    measured: Callable[[PowerReport], Mapping[str, Any]] = lambda report: {}  # those of a run
    rows: Callable[[PowerReport], Iterable[tuple[str, str]]] = lambda report: ()  # the summary, as (name, text)
    record: Callable[[PowerReport], Mapping[str, Any]] = lambda report: {}  # entries in the record of the run
    tables: Callable[[PowerReport], Mapping[str, Mapping[str, Any]]] = lambda report: {}  # further tables, by name
    # Domains, which have power limits, besides the machine (``bls.power.domains``):
    domain_forms: str = ""  # how limits name one, for errors
    domain: Callable[[str, Platform, PowerTable, str], Domain] | None = None  # by its name; last: where that is
    domain_words: Callable[[PowerPlan], str] = lambda plan: ""  # of the summary, after the number of limits
    # Why no job ever fits these limits, mW by domain; and entries of limits in the record of the run
    stuck: Callable[[Mapping[str, int]], str] = lambda limits_mw: ""
    limit_record: Callable[[PowerPlan], Mapping[str, Any]] = lambda plan: {}
    # Lists of limits in such a record, and where they are; raises InputError if it is not valid
    recorded_limits: Callable[[Mapping[str, Any], str], Iterable[tuple[Any, str]]] = lambda record, where: ()


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature of the batch engine. ``bls.engine.features.order`` states which runs may have it."""

    there: Callable[[FeatureRun], Any] = lambda run: True  # whether such a run has the feature
    # Its part of a run's input, from the run's rules, policy and constraints: whole numbers are settings, all else columns of
    # fields of the state. If several features set one, the last one in their order counts
    given: Callable[[RunColumns], Mapping[str, Any]] = lambda run: {}
    on: Mapping[int, str] = field(default_factory=dict)  # event → ``"module:kernel"``
    plays: Mapping[int, str] = field(default_factory=dict)  # role → ``"module:kernel"``
    # Settings and sizes of dimensions; if several features set one, the greatest value counts:
    settings: Callable[[FeatureRun], Mapping[str, int]] = lambda run: {}
    sizes: Callable[[FeatureRun], Mapping[str, int]] = lambda run: {}
    state: Callable[[FeatureRun], Mapping[str, Any]] = lambda run: {}  # first values of its fields of the state
    begin: Callable[[BatchState], None] = lambda state: None  # sets first values of columns when all fields exist
    # By the ``BatchStatus`` that requests room: the table to double, and the number of further entries
    grow: Mapping[int, Callable[[BatchState], tuple[State, int]]] = field(default_factory=dict)
    carried: tuple[str, ...] = ()  # dimensions of the columns that ``carry`` copies to the next state of a stream
    carry: Callable[[BatchState, BatchState], None] = lambda old, new: None
    # The reason why no job starts any more, if this feature is the cause
    stuck: Callable[[BatchState], str] = lambda state: ""
    # Columns of the table of jobs that it fills, by name
    columns: Callable[[BatchState], Mapping[str, Array]] = lambda state: {}
    # Fields of ``traces.ledger.Ledger`` that it fills
    records: Callable[[BatchState], Mapping[str, Any]] = lambda state: {}
    up_to_now: Callable[[BatchState], None] = lambda state: None  # brings the log of hosts to the present
    power: str = ""  # ``"module:NAME"`` of its :class:`PowerFacts`, in runs whose power is known
    check: str = ""  # ``"module:function"`` that checks its invariants, called with a ``BatchChecks``
    find_held: str = ""  # the same, before other checks, to find the cores that jobs still hold
    # Its heaps, to be checked, and bounds of their keys
    heaps: Callable[[BatchState], Mapping[str, tuple[Heap, int]]] = lambda state: {}
    commands: int = 0  # most commands per core after one pass
    # Fields of ``bls.running_jobs.Dealings`` that are true in a run with this feature
    deals: Callable[[BatchState], Iterable[str]] = lambda state: ()
    overtakes: bool = False  # whether a later job may delay an earlier one in order of arrival without backfilling
