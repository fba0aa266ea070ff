"""Optional features of the batch engine, compiled only for runs that use them (:mod:`bls.engine.hooks`)."""
