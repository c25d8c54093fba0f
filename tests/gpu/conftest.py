"""All of these run on JAX's CPU backend, or on the one that MAXENTRY_TEST_PLATFORM names (cuda: a GPU)."""

import os

import pytest


@pytest.fixture(autouse=True)
def processor():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_platforms
    jax.config.update("jax_platforms", os.environ.get("MAXENTRY_TEST_PLATFORM", "cpu"))
    yield
    jax.config.update("jax_platforms", before)
