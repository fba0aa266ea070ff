"""Optional features of applications, one per file, compiled only for runs that use them (:mod:`als.engine.hooks`)."""
