"""What happened, in which units: time, the ledger, tables, trace writers, figures, and the errors all levels share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.base.lazy import lazy_names

if TYPE_CHECKING:
    from traces.base.errors import InputError, PeerError, PluginError, TwolevelError
    from traces.checks.ledger import check_ledger
    from traces.exporters import exporter
    from traces.ledger import JobRecords, Ledger, Machine, TaskRecords, TransferRecords
    from traces.tables import jobs_frame, tasks_frame, transfers_frame

__all__ = [
    "InputError",
    "JobRecords",
    "Ledger",
    "Machine",
    "PeerError",
    "PluginError",
    "TaskRecords",
    "TransferRecords",
    "TwolevelError",
    "check_ledger",
    "exporter",
    "jobs_frame",
    "tasks_frame",
    "transfers_frame",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "InputError": "traces.base.errors",
        "JobRecords": "traces.ledger",
        "Ledger": "traces.ledger",
        "Machine": "traces.ledger",
        "PeerError": "traces.base.errors",
        "PluginError": "traces.base.errors",
        "TaskRecords": "traces.ledger",
        "TransferRecords": "traces.ledger",
        "TwolevelError": "traces.base.errors",
        "check_ledger": "traces.checks.ledger",
        "exporter": "traces.exporters",
        "jobs_frame": "traces.tables",
        "tasks_frame": "traces.tables",
        "transfers_frame": "traces.tables",
    },
)
