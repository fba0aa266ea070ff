"""How well an application used its cores: metrics of loops and of graphs, as kernels."""
