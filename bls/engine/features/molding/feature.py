"""Declarations of jobs that may start with another width than requested."""

from dataclasses import replace

from bls.engine import hooks as h
from bls.engine.feature import Feature

MOLDS = Feature(
    lambda run: run.settings.max_reservations <= 1,
    plays={h.WIDTH: "bls.engine.features.molding.molding:mold"},
    deals=lambda state: ("molds",),
    settings=lambda run: {"widest": run.cores},  # a job may get all cores
    sizes=lambda run: {"molding": run.jobs},
)

MOLDS_WITH_PLANS = replace(
    MOLDS,
    there=lambda run: run.settings.max_reservations > 1,
    plays={h.WIDTH: "bls.engine.features.molding.molding:mold_with_plans"},
)
