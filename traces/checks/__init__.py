"""What must hold of every run."""
