"""Other simulators at one end of the bridge, each in a folder with its name: programs that speak ``PROTOCOL.md``."""
