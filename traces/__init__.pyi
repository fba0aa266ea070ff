from .base.errors import (
    InputError as InputError,
    PeerError as PeerError,
    PluginError as PluginError,
    TwolevelError as TwolevelError,
)
from .checks.ledger import check_ledger as check_ledger
from .exporters import exporter as exporter
from .ledger import (
    JobRecords as JobRecords,
    Ledger as Ledger,
    MachineShape as MachineShape,
    PassRecords as PassRecords,
    TaskRecords as TaskRecords,
    TransferRecords as TransferRecords,
)
from .ledger_tables import tasks_frame as tasks_frame, transfers_frame as transfers_frame
from .tables import jobs_frame as jobs_frame, timedeltas as timedeltas
