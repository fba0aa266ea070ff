"""Results and their units: time, the ledger, tables, trace writers, figures, and the errors shared by all levels."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
