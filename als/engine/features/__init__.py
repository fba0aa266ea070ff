"""What only some applications do: a feature a file, compiled where a run has a use for it (:mod:`als.engine.hooks`)."""
