"""The bridge protocol without any I/O: tables of states, messages, framing, and sessions."""
