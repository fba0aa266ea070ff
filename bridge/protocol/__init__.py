"""The bridge protocol without any I/O: messages, framing, and the state of a session."""
