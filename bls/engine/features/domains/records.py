"""The table of the power over time of parts of the machine, ``power_domains.parquet``."""

from pathlib import Path
from typing import Any, Final

from bls.engine.features.limits.options import LIMITS
from traces.base.errors import InputError
from traces.tables import DataFrame, read_rows, rows_frame

NAME: Final = "power_domains"
COLUMNS: Final = ("instant_ns", "domain", "power_mw", "limit_mw")


def power_of_parts(result: Any) -> DataFrame:
    """Power over time of each part of the machine that has its own limits.

    Raises
    ------
    InputError
        If no part has.
    """
    columns = None if result.power is None else result.power.tables.get(NAME)
    if columns is None:
        raise InputError(f"no part of this result's machine has its own power limits ({LIMITS})")
    return rows_frame(columns)


def domain_table(run: Any) -> DataFrame | None:
    """The table of a result, or of its folder; None if it has none. Raises InputError if the file is another table."""
    if isinstance(run, Path):
        path = run / f"{NAME}.parquet"
        return read_rows(path, COLUMNS) if path.exists() else None
    power = None if run is None else run.power
    return None if power is None or NAME not in power.tables else run.power_of_domains
