"""Hosts that fall asleep as they idle, and boot when a job is given them."""
