"""Declaration of the power of the facility."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bls.metrics.quantity import Quantity, WithPower
from traces.base.options import Option, Panel

if TYPE_CHECKING:
    from bls.metrics.quantity import Computed
    from bls.power.features.pue.facility import Pue

_FACILITY = "bls.power.features.pue.facility"

PUE = Option[str | None](
    name="pue",
    panel=Panel.POWER,
    default=None,
    metavar="PUE",
    help="Compute the facility's power from its PUE (power usage effectiveness): 1.4, or by load, e.g. '0%:2 50%:1.5 100%:1.3'",
)


class WithFacility(WithPower):
    """A finished run whose facility's power can be computed."""

    def facility(self, pue: str) -> Mapping[str, float | None]:
        """Compute the energy and the power of the whole facility (docs/reference/power.md#what-the-facility-draws).

        Parameters
        ----------
        pue : str
            The power usage effectiveness: ``1.4``, or at loads, ``0%:2 50%:1.5 100%:1.3``.

        Returns
        -------
        mapping of str to float or None
            ``facility_energy_j``, ``facility_mean_pue`` and ``facility_peak_w``.

        Raises
        ------
        InputError
            If the PUE is not valid, or the power of the run is not known.
        """
        from bls.power.features.pue.facility import facility_metrics, parse_pue

        return facility_metrics(self.finished_power, parse_pue(pue))


def _computed(run: WithFacility, pue: Pue) -> Computed:
    from bls.power.features.pue.facility import facility_metrics

    return facility_metrics(run.finished_power, pue), {}


FACILITY = Quantity(
    PUE,
    "power",
    f"{_FACILITY}:METRICS",
    f"{_FACILITY}:parse_pue",
    _computed,
    rows=f"{_FACILITY}:facility_rows",
    compared=f"{_FACILITY}:COMPARED",
)
