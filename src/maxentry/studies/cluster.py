"""Cells on a Dask cluster: the same function as on this machine, so the same results."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from maxentry.errors import MissingDependencyError
from maxentry.studies import worker
from maxentry.studies.case import Cell
from maxentry.studies.outcomes import Failure, StudyError, failed
from maxentry.studies.record import Run

PATIENCE_S = 10.0


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at this address, such as tcp://host:8786."""
    distributed = _distributed()
    client = distributed.Client.__new__(distributed.Client)
    try:
        client.__init__(address, timeout=PATIENCE_S, set_as_default=False)
    # Refused, timed out, no address at all; one of tls or ucx, without a certificate or a library for it.
    except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
        _given_up(client)
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyError(
            f"expected a Dask scheduler at {address} (like tcp://host:8786), but: {why.rstrip('.')}."
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):  # of a scheduler that has died there is nothing to take leave of
            client.close()


def _given_up(client: Any) -> None:
    """End a client that has not come to be, now: the garbage collector may do it while the next one holds a lock."""
    with suppress(Exception):
        client.close(timeout=1.0)
    client.status = "closed"  # so that it is not tried again


def threads(client: Any) -> int:
    """How many cells the cluster runs at once."""
    try:
        n = sum(client.nthreads().values())
    except OSError as error:
        raise StudyError(f"expected a Dask cluster that answers, but: {str(error).rstrip('.')}.") from None
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
            yield k, _outcome(cells[k], future)
    finally:
        with suppress(Exception):
            client.cancel(list(futures), force=True)


def _outcome(cell: Cell, future: Any) -> Run | Failure:
    """What came of a cell, or why it did not come as far as our function: no maxentry there, a worker that died."""
    if future.status not in ("finished", "error"):
        return failed(cell, f"on the cluster: the run was {future.status}")
    try:
        outcome: Run | Failure = future.result()
    except Exception as error:  # the cell's, or of a worker that died with the result, or of the scheduler
        return failed(cell, f"on the cluster: {type(error).__name__}: {error}")
    return outcome


def _distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingDependencyError(
            "expected distributed to reach a Dask cluster, but it is not installed: pip install 'maxentry[dask]'."
        ) from None
