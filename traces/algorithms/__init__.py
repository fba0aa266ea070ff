"""Algorithms that kernels share: heaps, sorting, copying."""
