"""Hosts that fall asleep when idle, and boot when a job is placed on them."""
