"""How many threads compiled loops may use where nobody says: MAXENTRY_THREADS, or one for each processor."""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from maxentry.errors import ParameterError
from maxentry.kernels.simd import data_of

VARIABLE = "MAXENTRY_THREADS"


def most_threads() -> int:
    """The bound of the environment; without one, the number of processors."""
    wish = os.environ.get(VARIABLE, "").strip()
    if not wish:
        return os.cpu_count() or 1
    if not (wish.isascii() and wish.isdigit() and int(wish) >= 1):
        raise ParameterError(f"{VARIABLE} must be a whole number of at least 1, got {wish!r}")
    return int(wish)


# Numbers dealt out to threads: each gets the next one that nobody has.


@intrinsic
def take(typing: Any, counter: Any) -> Any:
    """counter[0], and one more for whoever comes next, in one step that no other thread can come between."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = data_of(context, builder, signature.args[0], args[0])
        return builder.atomic_rmw("add", place, ir.IntType(64)(1), "seq_cst")

    return types.int64(counter), build
