"""The power of the whole facility, from its power usage effectiveness."""
