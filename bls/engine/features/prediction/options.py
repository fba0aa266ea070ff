"""The option of the run times that the scheduler plans with."""

from traces.base.options import Option, Panel

# fmt: off

ESTIMATES = Option(
    name="estimates", first=True, panel=Panel.BATCH, names="bls.estimates:ESTIMATORS", default="requested", metavar="NAME",
    help="Run times that the scheduler plans with: requested, exact, within:X%, last-two, profile, data-driven, application, "
    "or FILE.py:NAME")
