"""Compiled inner loops: plain arrays in and out. Each has a slow, obvious twin in `tests/reference`."""

from maxentry.kernels import jit_cache

jit_cache.install_locators()
