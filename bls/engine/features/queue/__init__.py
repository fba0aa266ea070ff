"""What happens to jobs as they come and wait: predictions, presets, dependencies, withdrawals, windows, wake-ups."""
