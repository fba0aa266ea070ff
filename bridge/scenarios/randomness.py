"""Whether a run uses random numbers, so its result may depend on the seed."""

import functools
from collections.abc import Callable, Mapping

from als.lengths import LENGTHS, lengths
from als.lengths.contract import COUNT, PATTERN, SCALED, TIMES
from als.options import ALS
from als.options import LENGTHS as LENGTHS_OPTION
from als.techniques import TECHNIQUES
from als.techniques.openmp import from_openmp
from bls.allocators import ALLOCATORS
from bls.engine.features.decisions.options import MEASURED
from bls.estimates import ESTIMATORS
from bls.policies import POLICIES
from bls.workloads import is_seeded
from bridge.scenarios.scenario import RECORDED
from traces.base.plugins import without_parameter


def _unset(value: object) -> bool:
    return value in (None, False, "", "none", []) or value == ()


def _kind(value: object) -> str:
    return str(value).partition(":")[0]


def _fixed_technique(name: object) -> bool:
    kind = _kind(from_openmp(str(name), str(ALS)))
    return kind in TECHNIQUES and kind != "rnd"


@functools.lru_cache(maxsize=64)
def _fixed_lengths(spec: str) -> bool:
    # Of these two modes only our own distributions are known to use no random numbers; files of patterns are not read here.
    kind = _kind(spec or "normal")
    if kind == "file":
        return without_parameter(spec, "sample", str(LENGTHS_OPTION), "lengths")[1] in (None, "no", "false")
    return kind in LENGTHS and lengths(spec, variation=0.0).mode in (COUNT, PATTERN, SCALED, TIMES)


#: The options of a run's record that may need random numbers, and their values that do not: built-in policies, allocators and
#: estimators are known; a plug-in may use random numbers.
_FIXED: Mapping[str, Callable[[object], bool]] = {
    "workload": lambda name: not is_seeded(str(name)),
    "bls": lambda name: _kind(name) in (*POLICIES, "expr"),
    "bls_command": _unset,
    "allocator": lambda name: _kind(name) in ALLOCATORS and name != "random",
    "estimates": lambda name: _kind(name) in ESTIMATORS,
    "failures": lambda text: _unset(text) or ":" not in str(text),
    "malleable": _unset,
    "decision_cost_ns": lambda cost: cost != MEASURED,
    "job_power": _unset,
    "allowed": lambda text: text in (None, "all"),
}

#: The same for runs that simulate applications, apart from equal lengths of all tasks of a job.
_FIXED_APPLICATIONS: Mapping[str, Callable[[object], bool]] = {
    "als": _fixed_technique,
    "lengths": lambda text: _fixed_lengths(str(text or "")),
    "variation": lambda value: value == 0,
    "applications": _unset,
    "speeds": _unset,
}


def draws(options: Mapping[str, object]) -> bool:
    """Whether a run with these arguments of run.json may use random numbers; missing options have their defaults."""
    fixed = dict(_FIXED) if options.get("als") == RECORDED else {**_FIXED, **_FIXED_APPLICATIONS}
    return not all(holds(options[name]) for name, holds in fixed.items() if name in options)
