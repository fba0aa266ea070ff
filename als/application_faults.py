"""Errors for an application that cannot continue."""

from als.engine import codes
from als.engine import state as s
from als.engine.rule_table import RuleRows
from als.planners.contract import MAPPED
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS

#: What a technique or a planner did, by status.
_DID = {
    codes.ANSWER_OUT_OF_RANGE: "gave a chunk of {answer}; allowed: 0 to the remaining tasks, {left}",
    codes.PLACE_TAKEN: "chose task {answer}; allowed: unassigned tasks of the loop",
    codes.TASKS_LEFT: "sent every core away with tasks left, {left} of them",
    codes.BAD_PLAN: "gave task {answer} no core, or no start; allowed: a core that is there, and a start from 0 on",
    codes.STUCK: "made sequences that wait for each other, with {left} tasks left",
}


def application_fault(status: int, state: s.ApplicationState, rules: RuleRows, job: str = "") -> BaseException:
    """Return the error for a fault of the application engine; ``job`` as ``"job 17: "`` if known."""
    row, left = int(state.rule), int(state.n_left)
    name = rules.names[row]
    if status == codes.ANSWER_OUT_OF_RANGE and (raised := rules.error(row)) is not None:
        return PluginError(f"{job}{raised}") if isinstance(raised, PluginError) else raised
    if status == codes.STUCK and name == MAPPED.name:
        return InputError(f"{job}mapped: the order of the cores' tasks contradicts the edges, with {left} tasks left")
    if status in _DID:
        kind = "planner" if status in (codes.BAD_PLAN, codes.STUCK) else "application technique"
        return PluginError(f"{job}{kind} {name} {_DID[status].format(answer=int(state.answer), left=left)}")
    if status == codes.ALL_LOST:
        return InputError(f"{job}all cores are lost, with {left} tasks left; allowed: cores that come back")
    lengths = state.as_kernels_see("lengths")
    longest = int(lengths.argmax())
    return InputError(
        f"{job}the application would not end before the last simulated instant, {MAX_NS} ns; its longest task, {longest}, has "
        f"{lengths[longest]:g} GFLOP"
    )


def lost_error(state: s.ApplicationState) -> InputError:
    """Return the error for an application that is :attr:`als.application.ApplicationSimulator.lost`, for a caller that cannot
    continue without it."""
    left = int(state.n_left)
    if state.last_lost < 0:
        return InputError(
            f"{left} tasks are left, and cores are lost before any of them ends; allowed: cores that stay longer"
        )
    return InputError(f"all cores are lost, with {left} tasks left; allowed: cores that come back")
