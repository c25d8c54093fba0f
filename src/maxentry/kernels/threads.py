"""Threads of compiled loops: how many there may be, and the atomic counter that hands out their work."""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxentry.errors import ParameterError
from maxentry.kernels.simd import data_pointer

VARIABLE = "MAXENTRY_THREADS"


def max_threads() -> int:
    """Return the limit set by MAXENTRY_THREADS; without one, the number of processors."""
    limit = os.environ.get(VARIABLE, "").strip()
    if not limit:
        return os.cpu_count() or 1
    if not (limit.isascii() and limit.isdigit() and int(limit) >= 1):
        raise ParameterError(f"{VARIABLE} must be a whole number of at least 1, got {limit!r}")
    return int(limit)


@intrinsic
def fetch_and_increment(typing: Any, counter: Any) -> Any:
    """Return counter[0] and add one to it, as one atomic step; no two threads get the same number."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = data_pointer(context, builder, signature.args[0], args[0])
        return builder.atomic_rmw("add", pointer, ir.IntType(64)(1), "seq_cst")

    return types.int64(counter), build
