"""What only some batch simulations do: a feature a file, compiled where a run has a use for it (:mod:`bls.engine.hooks`)."""
