"""What a replay is compared with, and how often it is repeated: the report of ``twolevel replay --report`` (docs/replay.md)."""
