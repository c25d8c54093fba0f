"""Compiled inner loops: plain arrays in and out. Each has a slow, obvious twin in `tests/reference`."""

from maxentry.kernels.compiled import use_shared_folder

use_shared_folder()
