"""Sweeps of one chain shared by several threads, bit for bit those of one.

Rows are drawn independently given the other side, and their normals are drawn before them, in the order of the rows. So
which thread draws a row, and when, changes nothing. Rows are dealt out in blocks of like work, by the compiled code: a
call of it from Python takes tens of microseconds for its many arrays, and only one thread at a time can make one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxentry.kernels import conjugate as kernel
from maxentry.kernels.lanes import LANES
from maxentry.kernels.random import fill_normal
from maxentry.posterior.workspace import Workspace

if TYPE_CHECKING:
    from maxentry.posterior.conjugate import Kept

Array = NDArray[np.float64]
Task = Callable[[], object]

BLOCKS = 48  # of rows: enough for threads to end together, few enough that dealing them out costs nothing


class Crew:
    """Threads that do tasks together with the one that asks for them."""

    def __init__(self, threads: int) -> None:
        self.helpers = threads - 1
        self._pool = ThreadPoolExecutor(max(1, self.helpers))  # begins a thread when it first needs one

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()

    def share(self, tasks: Iterable[Task]) -> None:
        """Do all tasks, begun in the order given; return when they are done."""
        waiting = deque(tasks)

        def work() -> None:
            while True:
                try:
                    task = waiting.popleft()
                except IndexError:
                    return
                task()

        others = [self._pool.submit(work) for _ in range(self.helpers)]
        try:
            work()
        finally:
            waiting.clear()  # where one fails, the others need not go on
            wait(others)
        for other in others:
            other.result()


def blocks(indptr: NDArray[np.int64], K: int) -> NDArray[np.int64]:
    """The edges of blocks of rows of like work, each a multiple of those that are solved side by side, but the last."""
    m = indptr.size - 1
    work = (indptr[1:] - indptr[0]) * float(K * K) + np.arange(1, m + 1) * float(K**3 + 20 * K)
    share = work[-1] / BLOCKS if m else 0.0
    edges = np.searchsorted(work, share * np.arange(1, BLOCKS)) // LANES * LANES
    return np.unique(np.concatenate([[0], edges, [m]])).astype(np.int64)


def sweeps(
    crew: Crew, betas: Array, keep_every: int, desk: Workspace, source: NDArray[np.int32], nu_grid: Array, hyper: Array,
    scalars: Array, rng: np.random.Generator, kept: Kept,
) -> None:  # fmt: skip
    """As `kernels.conjugate.sweeps`, phase by phase."""
    R, effects, left, right, room = desk
    aligned, K = desk.aligned, R + int(effects)
    rows, cols = blocks(left.indptr, K), blocks(right.indptr, K)

    def drawing(edges: NDArray[np.int64], this: Any, other: Any) -> list[Task]:
        dealt = np.zeros(1, dtype=np.int64), edges
        return [partial(kernel.draw_dealt, *dealt, this, other, room, R, effects, scalars)] * (
            crew.helpers + 1
        )

    for t, beta in enumerate(betas):
        crew.share([partial(fill_normal, left.Z, rng), partial(kernel.turn, left, right, room, R)])
        kernel.before_rows(left, right, room, R, effects, aligned, beta, scalars, rng)
        crew.share([partial(fill_normal, right.Z, rng), *drawing(rows, left, right)])
        kernel.between(left, right, room, R, effects, aligned, hyper, scalars, rng)
        crew.share(drawing(cols, right, left))
        kernel.after_columns(left, right, room, R, effects, aligned, source, nu_grid, hyper, scalars, rng)
        if keep_every > 0 and (t + 1) % keep_every == 0:
            kernel.keep(t // keep_every, R, left, right, scalars, *kept)
