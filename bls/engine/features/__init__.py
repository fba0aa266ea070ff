"""Optional features of the batch engine, one folder per feature, compiled only for runs that use them.

Several features share the folder ``draws`` and the modules next to the folders (:mod:`bls.engine.hooks`).
"""
