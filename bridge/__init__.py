"""Two levels, one clock: the bridge between the batch and the application level, studies, and the command line.

``result = bridge.simulate("log.swf.gz", bls="sjf", als="gss", variation=0.25, seed=1)`` runs both levels;
``result.jobs`` and ``result.tasks`` are frames, ``result.metrics`` is a mapping.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
