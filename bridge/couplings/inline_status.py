"""Why the inline loop stops where the batch engine alone would have gone on."""

from __future__ import annotations

from enum import IntEnum


class InlineStatus(IntEnum):
    """What ``bridge.couplings.inline_kernel.drive`` returns besides the batch engine's statuses; all are below 0."""

    LENGTHS_FULL = -1  #: A job has more tasks than there is room to draw.
    LEDGER_FULL = -2  #: The task records must grow.
    APPLICATION_FAULT = -3  #: An application has failed: ``job`` and ``fault_status`` say which, and how.
    ROWS_SHORT = -4  #: There are more attempts than rows.
    LENGTHS_FAULT = -5  #: The tasks of ``job`` cannot be drawn.
    TRANSFERS_FULL = -6  #: The records of transfers must grow.
    JOURNAL_FULL = -9  #: The journal of commands must grow.
    SAVED_FULL = -10  #: What is kept of running applications needs more room.
    WISHES_FULL = -7  #: The batch level's table of requests for cores must grow.
    RELEASES_FAULT = -8  #: The batch level refuses what ``job`` releases.
    OUTCOME_FAULT = -11  #: The batch level refuses how ``job`` ends, or what it promises.
