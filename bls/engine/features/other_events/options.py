"""The option of reservations and maintenance."""

from typing import Final

from traces.base.options import Option, Panel, has

WINDOWS = Option[str | None](
    name="windows", panel=Panel.CONSTRAINTS, default=None, metavar="FILE",
    help="TOML of reservations and maintenance windows")

RESERVES: Final = has(str(WINDOWS), lambda run: run.windows, windows="windows.toml")
