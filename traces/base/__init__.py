"""What everything rests on: errors, ranges, names of plug-ins, files that a user names."""
