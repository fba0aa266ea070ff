"""What a job computes: phases in order, from text to tables that kernels draw tasks from."""
