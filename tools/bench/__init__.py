"""The benchmark: ``python -m tools.bench`` measures the cases of ``cases.py`` (docs/reference/benchmarks.md)."""
