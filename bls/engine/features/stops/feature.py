"""Declaration of hosts that a power limit stops."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature
from bls.engine.features.limits.feature import begin_limits, stairs


def _out_of_service(state: b.BatchState) -> str:
    stopped = int(state.stops.n_stopped)
    hosts = "hosts are" if stopped > 1 else "host is"
    there = stopped > 0 and state.settings.order != b.DECIDED  # a deciding policy could start other jobs
    return f"{stopped} {hosts} out of service under a power limit that never ends" if there else ""


STOPS = Feature(
    on={
        h.NEXT: "bls.engine.features.limits.limits:next_change",
        h.HOST: f"{__package__}.stops:stop_hosts",
        h.INSTANT: f"{__package__}.stops:stop_hosts",
    },
    settings=lambda run: {"host_log_room": 2 * run.hosts} | stairs(run),
    begin=begin_limits,
    stuck=_out_of_service,
    check=f"{__package__}.stops:check_stops",
)
