"""What the numbers are called that a run has of power, energy, carbon and sleep."""

from __future__ import annotations

from typing import Final

#: The metrics of a run of which it is known what its hosts draw.
METRICS: Final = (
    "energy_j",
    "energy_jobs_j",
    "energy_idle_j",
    "mean_power_w",
    "peak_power_w",
    "peak_limited_w",
    "above_limit_ns",
    "above_limit_j",
)

#: And of one that has limits: beside those of a run without a fallback they are the paper's indexes.
LIMIT_METRICS: Final = (
    "mean_power_in_limits_w",
    "mean_run_ns",
    "mean_run_allowed_ns",
    "mean_run_disallowed_ns",
    "mean_wait_allowed_ns",
    "mean_wait_disallowed_ns",
)

#: And of one that has signals: of the machine, and of the cores that jobs held.
SIGNAL_METRICS: Final = ("cost", "cost_jobs", "co2e_g", "co2e_jobs_g")

#: And of one in which it is predicted what jobs draw.
PREDICTION_METRICS: Final = ("mean_power_error",)

#: And of one that is told the PUE of its facility.
FACILITY_METRICS: Final = ("facility_energy_j", "facility_mean_pue", "facility_peak_w")

#: And of one in which hosts sleep: how often they fell asleep, and booted; for how long all together were off, and which share
#: of their time that is; and how many jobs waited for hosts to boot, and how long on average all did that started.
SLEEP_METRICS: Final = (
    "host_sleeps",
    "host_boots",
    "sleeping_host_ns",
    "sleeping_share",
    "boot_waits",
    "mean_boot_wait_ns",
)
