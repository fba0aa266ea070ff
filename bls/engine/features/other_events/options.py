"""The option of reservations and maintenance, and their conflict."""

from typing import Final

from bls.engine.features.core_choices import unaware
from traces.base.options import Option, Panel, has

WINDOWS = Option[str | None](
    name="windows", panel=Panel.CONSTRAINTS, default=None, metavar="FILE",
    help="TOML of reservations and maintenance windows")

RESERVES: Final = has(str(WINDOWS), lambda run: run.windows, windows="windows.toml")
_GIVEN: Final = has(str(WINDOWS), lambda run: run.windows, "reservations and maintenance", windows="windows.toml")

UNAWARE: Final = (unaware("windows", _GIVEN, "no reservations and no maintenance"),)
