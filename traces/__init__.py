"""What happened, in which units: time, the ledger, tables, trace writers, figures, and the errors all levels share."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
