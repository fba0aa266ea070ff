"""Random streams by name: what is drawn for one purpose does not depend on what is drawn for another."""

from __future__ import annotations

import hashlib

import numpy as np

from traces.base.shared_options import SEED


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of this seed and purpose. Raises InputError if the seed is no whole number from 0 to 2**64 - 1."""
    name = hashlib.sha256(f"{SEED.check(seed, 'seed')} generated {purpose}".encode()).digest()
    return np.random.Generator(np.random.Philox(key=np.frombuffer(name[:16], dtype="<u8")))
