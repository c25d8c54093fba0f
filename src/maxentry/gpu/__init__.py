"""The same sampler on GPUs, through JAX: `maxentry.gpu.engine` runs chains, the rest is its sweep."""
