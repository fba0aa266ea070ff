from .ahead import PlanAhead as PlanAhead, plan_ahead as plan_ahead
from .dispatch import dispatch as dispatch
from .instance import Instance as Instance, Queue as Queue, RunningUnits as RunningUnits
from .parameters import MODELS as MODELS, Parameters as Parameters
from .dispatch import DispatchPlan as DispatchPlan, PlannedStart as PlannedStart
