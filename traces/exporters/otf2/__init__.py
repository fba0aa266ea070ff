"""OTF2, the trace format of Score-P and Vampir."""

from traces.exporters.otf2.writer import ANCHOR, MOST_LANES, write_otf2

__all__ = ["ANCHOR", "MOST_LANES", "write_otf2"]
