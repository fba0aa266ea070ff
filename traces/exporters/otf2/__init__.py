"""OTF2, the trace format of Score-P and Vampir."""

from traces.exporters.otf2.writer import ANCHOR, write_otf2
from traces.exporters.shown.batch_level import MOST_LANES

__all__ = ["ANCHOR", "MOST_LANES", "write_otf2"]
