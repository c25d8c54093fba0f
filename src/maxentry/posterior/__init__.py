"""The posterior of the whole matrix: samplers, chains, diagnostics, rank, and the `Posterior` users hold."""
