"""The foundations: errors, ranges, names of plug-ins, files given by the user."""
