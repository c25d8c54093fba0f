"""The table of the first page: 12 ligands by 8 substrates, simulated, five of eight entries measured."""

from __future__ import annotations

import numpy as np

LIGANDS = [f"L{i}" for i in range(1, 13)]
SUBSTRATES = [f"S{j}" for j in range(1, 9)]
NOISE = 2.0  # per cent of yield


def truth() -> np.ndarray:
    """Yields in per cent: each row and column has its level, and there is one pattern that they share."""
    rng = np.random.default_rng(4)
    levels = 50 + 8 * rng.normal(size=(12, 1)) + 8 * rng.normal(size=8)
    return levels + 9 * np.outer(rng.normal(size=12), rng.normal(size=8))


def table() -> str:
    """What was measured as CSV, with holes: five of the eight substrates of each ligand."""
    rng = np.random.default_rng(5)
    measured = truth() + NOISE * rng.normal(size=(12, 8))
    known = rng.permuted(np.tile([True] * 5 + [False] * 3, (12, 1)), axis=1)
    lines = [",".join(["ligand", *SUBSTRATES])]
    for label, values, seen in zip(LIGANDS, measured, known, strict=True):
        cells = (f"{v:.0f}" if s else "" for v, s in zip(values, seen, strict=True))
        lines.append(",".join([label, *cells]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
