"""The computation of a job: phases in order, from text to tables that kernels draw tasks from."""
