"""The batch level: workloads, the platform, the queue, policies, allocators, and the engine that runs them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
