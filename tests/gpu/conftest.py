"""All of these run on JAX's CPU backend."""

import pytest


@pytest.fixture(autouse=True)
def processor():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_platforms
    jax.config.update("jax_platforms", "cpu")
    yield
    jax.config.update("jax_platforms", before)
