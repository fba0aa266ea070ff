"""Measured applications: the chunks, tasks and waits of a running program, and the folder that holds them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
