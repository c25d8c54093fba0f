"""Run cells on a Dask cluster: the same function as on this machine, so the same results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from maxentry.compare.runner import Engine, Failure, Outcomes, StudyError, perform
from maxentry.compare.scenario import Cell
from maxentry.compare.store import Run
from maxentry.errors import MissingDependencyError

PATIENCE_S = 10.0


def connect(address: str) -> Engine:
    """Return an engine that runs cells on the cluster of the scheduler at this address, such as tcp://host:8786."""

    def run(cells: Sequence[Cell]) -> Outcomes:
        with open_client(address) as client:
            check_workers(client)
            yield from run_on(client, cells)

    return run


@contextmanager
def open_client(address: str) -> Iterator[Any]:
    """Connect to a scheduler."""
    distributed = _import_distributed()
    client = distributed.Client.__new__(distributed.Client)
    try:
        client.__init__(address, timeout=PATIENCE_S, set_as_default=False)
    # Refused, timed out, no address at all; one of tls or ucx, without a certificate or a library for it.
    except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
        # Close it now: the garbage collector may do so while the next client holds a lock.
        with suppress(Exception):
            client.close(timeout=1.0)
        client.status = "closed"  # so that it does not try again
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StudyError(
            f"no Dask scheduler at {address} (like tcp://host:8786): {why.rstrip('.')}."
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):  # the scheduler may have died
            client.close()


def check_workers(client: Any) -> None:
    """Raise if the cluster has no workers."""
    try:
        threads = sum(client.nthreads().values())
    except OSError as error:
        raise StudyError(f"the Dask cluster does not answer: {str(error).rstrip('.')}.") from None
    if threads == 0:
        raise StudyError("expected a Dask cluster with workers, got one without any.")


def run_on(client: Any, cells: Sequence[Cell]) -> Outcomes:
    """Run the cells, started in their order, and yield the position and outcome of each as it arrives."""
    distributed = _import_distributed()
    futures = {client.submit(perform, cell, pure=False, priority=-k): k for k, cell in enumerate(cells)}
    try:
        for future in distributed.as_completed(list(futures), loop=client.loop):
            k = futures[future]
            yield k, _outcome(cells[k], future)
    finally:
        with suppress(Exception):
            client.cancel(list(futures), force=True)


def _outcome(cell: Cell, future: Any) -> Run | Failure:
    """Return the outcome of a cell, or why our function was not even reached: no maxentry there, a dead worker."""
    if future.status not in ("finished", "error"):
        return Failure.from_cell(cell, f"on the cluster: the run was {future.status}")
    try:
        outcome: Run | Failure = future.result()
    except Exception as error:  # of the cell, of a worker that died with the result, or of the scheduler
        return Failure.from_cell(cell, f"on the cluster: {type(error).__name__}: {error}")
    return outcome


def _import_distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingDependencyError(
            "a Dask cluster needs distributed, which is not installed: pip install distributed."
        ) from None
