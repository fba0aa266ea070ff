"""The names that a log has for single jobs, as traces show them after the jobs' numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from traces.base.errors import escaped
from traces.compiled import Array
from traces.exporters.shown.rows import Rows
from traces.ledger import Ledger


class JobNames:
    """The names of a ledger's jobs by row, each in one line (:func:`traces.base.errors.escaped`).

    Parameters
    ----------
    ledger : Ledger
    form : callable, optional
        Quotes a name as the format asks for.
    apart : str
        Characters that names must not have, as they part fields.

    Attributes
    ----------
    texts : list of str
        One per row, empty where the log has no name; no rows at all where it has none for any of these jobs.
    """

    def __init__(self, ledger: Ledger, form: Callable[[str], str] = str, *, apart: str = "") -> None:
        ids = ledger.ids
        numbers = ledger.jobs.job_id.tolist() if ids else []
        texts = [form(escaped(ids.get(number, ""), apart=apart)) for number in numbers]
        self.texts = texts if any(texts) else []

    def labels(self, numbers: Array) -> list[str]:
        """Return ``job NUMBER`` of each row, followed by its name where it has one."""
        named = [f" {text}" if text else "" for text in self.texts] or [""] * len(numbers)
        return [f"job {number}{text}" for number, text in zip(numbers.tolist(), named, strict=True)]

    def append(self, rows: Rows, row: Array, before: bytes) -> Rows:
        """Append ``before`` and the name of a job row to each of some rows, where the job has a name."""
        if not self.texts or not len(row):
            return rows
        has = np.array([bool(self.texts[one]) for one in row.tolist()])
        return rows.put(before, has).text(self.texts, row)
