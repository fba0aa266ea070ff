"""The option of reservations and maintenance."""

from traces.base.options import Option, Panel

# fmt: off

WINDOWS = Option[str | None](
    name="windows", panel=Panel.CONSTRAINTS, default=None, metavar="FILE",
    help="TOML of reservations and maintenance windows")
