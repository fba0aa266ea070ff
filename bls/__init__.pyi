from .allocators import Allocator as Allocator, allocator as allocator, allocator_kernel as allocator_kernel
from .analysis.description import describe as describe
from .batch import Batch as Batch
from .engine.status import BatchStatus as BatchStatus
from .machine.partitions import Partition as Partition
from .machine.platform import (
    HostGroup as HostGroup,
    Network as Network,
    Platform as Platform,
    load_platform as load_platform,
)
from .metrics.batch import batch_metrics as batch_metrics, schedule_metrics as schedule_metrics
from .observers import AdditionalData as AdditionalData, Observer as Observer
from .policies import (
    AnyPolicy as AnyPolicy,
    DecidingPolicy as DecidingPolicy,
    KnownJobs as KnownJobs,
    Policy as Policy,
    ScorePolicy as ScorePolicy,
    ScoringPolicy as ScoringPolicy,
    account_kernel as account_kernel,
    policy as policy,
    score_kernel as score_kernel,
)
from .power.options import Power as Power
from .scheduler_options import ConstraintOptions as ConstraintOptions, Rules as Rules
from .seen.answers import Start as Start
from .seen.jobs import SeenJob as SeenJob
from .simulator import BatchSimulator as BatchSimulator
from .view import View as View
from .workloads import read_workload as read_workload, sample_path as sample_path
from .workloads.selection import fit as fit, select as select
from .workloads.workload import Workload as Workload
