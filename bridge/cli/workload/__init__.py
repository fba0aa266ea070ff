"""The commands ``twolevel workload``."""
