"""Cells on a Dask cluster: the same function as on this machine, so the same results."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from maxentry.errors import MissingDependencyError, StorageError
from maxentry.studies import worker
from maxentry.studies.case import Cell
from maxentry.studies.outcomes import Failure, StudyError, failed
from maxentry.studies.record import Run

PATIENCE_S = 10.0


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at this address, such as tcp://host:8786."""
    distributed = _distributed()
    try:
        client = distributed.Client(address, timeout=PATIENCE_S, set_as_default=False)
    except (OSError, ValueError) as error:  # refused, timed out, no address at all
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StorageError(
            f"expected a Dask scheduler at {address} (like tcp://host:8786), but: {why.rstrip('.')}."
        ) from None
    try:
        yield client
    finally:
        client.close()


def threads(client: Any) -> int:
    """How many cells the cluster runs at once."""
    n = sum(client.nthreads().values())
    if n == 0:
        raise StudyError("expected a Dask cluster with workers, but it has none yet.")
    return int(n)


def results(cells: Sequence[Cell], client: Any) -> Generator[tuple[int, Run | Failure]]:
    """Run the cells, begun in their order; the position of each with what came of it, as soon as it is there."""
    distributed = _distributed()
    futures = {
        client.submit(worker.perform, cell, pure=False, priority=-k): k for k, cell in enumerate(cells)
    }
    try:
        for future in distributed.as_completed(list(futures), loop=client.loop):
            k = futures[future]
            if future.status == "finished":
                yield k, future.result()
            else:
                yield k, failed(cells[k], f"on the cluster: {_why(future)}")
    finally:
        client.cancel(list(futures), force=True)


def _why(future: Any) -> str:
    """Why a cell did not come as far as our function: no maxentry over there, a worker or a scheduler that died."""
    if future.status != "error":
        return f"the run was {future.status}"
    error = future.exception()
    return f"{type(error).__name__}: {error}"


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingDependencyError(
            "expected distributed to reach a Dask cluster, but it is not installed: pip install 'maxentry[dask]'."
        ) from None
