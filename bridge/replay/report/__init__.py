"""What a replay is compared with, and how often it is repeated: ``twolevel replay --report`` (docs/reference/replay.md)."""
