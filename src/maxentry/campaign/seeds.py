"""Random streams of a campaign: no generator is stored, each is made from the seed, its purpose and a number."""

import numpy as np

FIT, WARM, CHOICE, OUTLOOK, STATION = range(5)  # purposes


def stream(seed: int, purpose: int, number: int) -> np.random.Generator:
    """The generator of one purpose at one event (or number of measurements)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, number)))


def seed_of(seed: int, purpose: int, number: int) -> int:
    """The same as one whole number, for what takes a seed."""
    sequence = np.random.SeedSequence(seed, spawn_key=(purpose, number))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
