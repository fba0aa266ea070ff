"""OTF2, the trace format of Score-P and Vampir."""

from traces.exporters.otf2.writer import ANCHOR as ANCHOR
from traces.exporters.otf2.writer import write_otf2 as write_otf2
from traces.exporters.shown.batch_level import MOST_LANES as MOST_LANES
