"""The same sampler on GPUs, through JAX: `maxentry.gpu.engine` runs chains, the rest is its sweep."""

import os

# On processors JAX's linear algebra waits, on a thread of XLA's pool, for other threads of that pool. Where there are
# as many threads as cores, two such calls on two cores wait for each other for ever. So there are more threads than
# calls that can be open at once.
os.environ.setdefault("PJRT_NPROC", str(max(64, os.cpu_count() or 1)))
