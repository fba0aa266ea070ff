"""Other simulators at an end of the bridge, each in a folder named as the simulator: programs that speak ``PROTOCOL.md``."""
