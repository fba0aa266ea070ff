"""How well an application used its cores: metrics of loops and of graphs, as kernels."""

#: Names and units of the values of ``als.metrics.graphs.measure_graph``, in its order; unit 1 is a ratio. All results use it.
GRAPH_METRICS = (
    ("critical_path_ns", "ns"),
    ("parallelism", "1"),
    ("slr", "1"),
    ("speedup", "1"),
    ("transfers", "transfers"),
    ("transfer_bytes", "bytes"),
    ("transfer_wait_ns", "ns"),
)
