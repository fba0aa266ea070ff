"""Means and differences of repeated runs, with confidence intervals. No difference is reported without an interval."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
