from .ahead import Ahead as Ahead, plan_ahead as plan_ahead
from .dispatch import dispatch as dispatch
from .instance import Instance as Instance, Queue as Queue, Running as Running
from .parameters import MODELS as MODELS, Parameters as Parameters
from .plan import Plan as Plan, Start as Start
