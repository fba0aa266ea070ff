"""The functions of ``import twolevel``: sweep options, run studies, open results of any kind, make tables for papers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
