"""NumPyro 0.22: NUTS on a probabilistic matrix factorisation with row and column effects, in JAX's single precision.

    y_ij ~ N(mu + r_i + c_j + a_i' b_j, eta^2),  a, b, r, c normal with scales of their own (half-normal priors)

written without centring, which suits NUTS where rows are sparse. One transition of NUTS counts as a sweep. Compiled
programs are kept on disk between processes, as ours are.
"""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import common
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import NUTS

jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

SCALES = ("factor", "row", "col")


def model(shape, rank, rows, cols, values):
    m1, m2 = shape
    scale = {name: numpyro.sample(f"s_{name}", dist.HalfNormal(1.0)) for name in SCALES}
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    a = numpyro.sample("a", dist.Normal(0.0, 1.0).expand([m1, rank]).to_event(2))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0).expand([m2, rank]).to_event(2))
    r = numpyro.sample("r", dist.Normal(0.0, 1.0).expand([m1]).to_event(1))
    c = numpyro.sample("c", dist.Normal(0.0, 1.0).expand([m2]).to_event(1))
    eta = numpyro.sample("eta", dist.HalfNormal(1.0))
    X = mean_at({"mu": mu, "a": a, "b": b, "r": r, "c": c}, scale, rows, cols)
    numpyro.sample("y", dist.Normal(X, eta), obs=values)


def mean_at(p, scale, rows, cols):
    low_rank = scale["factor"] * jnp.sum(p["a"][rows] * p["b"][cols], axis=-1)
    return p["mu"] + scale["row"] * p["r"][rows] + scale["col"] * p["c"][cols] + low_rank


def one_chain(job, record, seed):
    centre, spread, warm_up = job.values.mean(), job.values.std(), job.burnin
    if job.what == "timed":  # its step size and masses must have been learnt before a transition is typical
        job.sweeps += warm_up
    with record.set_up():
        values = jnp.asarray((job.values - centre) / spread)
        arguments = (job.shape, job.rank, jnp.asarray(job.rows), jnp.asarray(job.cols), values)
        kernel = NUTS(model)
        state = kernel.init(jax.random.PRNGKey(seed), warm_up, None, arguments, {})
        step = jax.jit(lambda state: kernel.sample(state, arguments, {}))
        state = jax.block_until_ready(step(state))
    places = job.places
    predict = jax.jit(lambda z: mean_at(z, {name: jnp.exp(z[f"s_{name}"]) for name in SCALES}, *places))
    while not record.over:
        with record.timed():
            state = jax.block_until_ready(step(state))
        if job.what == "recorded":  # z is unconstrained: scales are kept as logarithms
            record.predicted(centre + spread * jax.device_get(predict(state.z)))
    if job.what == "timed":
        ended = len(record.laps) > warm_up
        record.laps[:] = record.laps[warm_up:] if ended else record.laps[len(record.laps) // 2 :]
        record.note = "" if ended else "timed in its warm-up, which did not end in the time"


if __name__ == "__main__":
    common.main(one_chain)
