"""The application level: programs, task lengths and graphs, loop-scheduling techniques, planners, the network between hosts,
and the engine that gives tasks to cores."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
