"""Optional features of the batch engine, a folder each, compiled only for runs that use them (:mod:`bls.engine.hooks`)."""
