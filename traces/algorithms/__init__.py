"""Algorithms for kernels: heaps, sorting, copying."""
