"""Messages of DLS4LB. The library writes no log; its messages, if they are switched on in its source, have no times."""

from bridge.measure.readers.rows import CollectedRows
from traces.base.errors import InputError


def reads(source: str, data: bytes, region: str) -> CollectedRows:
    """Raise InputError, which says how to record times."""
    how = "a CSV file thread,first,iterations,begin,end of the times from DLS_StartChunk to DLS_EndChunk"
    raise InputError(f"{source}: DLS4LB's messages have no times; allowed: {how}")
