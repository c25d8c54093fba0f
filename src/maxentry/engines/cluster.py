"""Run independent tasks on a Dask cluster: the same functions as on this machine, so the same results.

A cluster is given as the address of its scheduler (tcp://host:8786), as a `distributed.Client`, or as an object with a
`scheduler_address`, such as a `LocalCluster`. Its workers need the same version of maxentry.

A worker that dies costs the tasks it was running and nothing else: these run again on another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from maxentry.errors import MaxentryError, MissingDependencyError, ParameterError
from maxentry.progress import track
from maxentry.wording import show

PATIENCE_S = 10.0  # to find a scheduler
RESTART_S = 120.0  # to wait for a worker where all have died
TRIES = 3  # how often tasks are sent anew after all workers that had the shared data died


class ClusterError(MaxentryError):
    """The Dask cluster cannot be reached, has no workers, or lost them again and again."""

    code = "cluster"


@contextmanager
def open_client(cluster: Any) -> Iterator[Any]:
    """Yield a client of a cluster that has workers, and close it unless it was given; without a cluster, None."""
    if cluster is None:
        yield None
        return
    distributed = _import_distributed()
    if isinstance(cluster, distributed.Client):
        check_workers(cluster)
        yield cluster
        return
    address = cluster if isinstance(cluster, str) else getattr(cluster, "scheduler_address", None)
    if not isinstance(address, str):
        raise ParameterError(
            f"cluster must be the address of a Dask scheduler (tcp://host:8786), a Client or a cluster, "
            f"got {show(cluster)}"
        )
    client = _connect(distributed, address)
    try:
        check_workers(client)
        yield client
    finally:
        with suppress(Exception):  # the scheduler may have died
            client.close()


def _connect(distributed: Any, address: str) -> Any:
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
        raise ClusterError(
            f"no Dask scheduler at {address} (like tcp://host:8786): {why.rstrip('.')}."
        ) from None
    return client


def check_workers(client: Any) -> None:
    """Raise if the cluster has no workers."""
    try:
        threads = sum(client.nthreads().values())
    except OSError as error:
        raise ClusterError(f"the Dask cluster does not answer: {str(error).rstrip('.')}.") from None
    if threads == 0:
        raise ClusterError("expected a Dask cluster with workers, got one without any.")


class Workers:
    """The workers of a cluster, for tasks that share data. Several threads may call `run` at the same time."""

    def __init__(self, client: Any) -> None:
        self.client, self._stopped = client, threading.Event()
        self._futures: set[Any] = set()

    def run(
        self, function: Callable[[Any, Any], Any], items: Sequence[Any], shared: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield position and result of function(shared, item) for each item, as they arrive.

        Dask itself runs the tasks of a dead worker again. Where the last copy of the shared data died with it, the
        tasks that are left are sent anew. An error of the function is raised here.
        """
        left = dict(enumerate(items))
        for _ in range(TRIES):
            places = list(left)
            copies = self._share(shared)
            for k, future in submit_tasks(
                self.client, function, [left[k] for k in places], copies, known=self._futures
            ):
                if self._stopped.is_set():
                    raise KeyboardInterrupt
                there, result = _take_result(future)
                if there:
                    yield places[k], result
                    del left[places[k]]
            if not left:
                return
            with suppress(TimeoutError):  # a worker that died is started again
                self.client.wait_for_workers(1, timeout=RESTART_S)
            check_workers(self.client)
        raise ClusterError(f"the Dask cluster lost {len(left)} of {len(items)} tasks {TRIES} times.")

    def map_together(
        self, title: str, progress: bool | None, function: Callable[..., Any], *parts: Any
    ) -> list[Any]:
        """Return function(*items) for each of the zipped parts, all at once in threads that wait for the workers."""
        items = list(zip(*parts, strict=False))
        with ThreadPoolExecutor(len(items)) as pool, track(len(items), title, progress) as bar:
            futures = [pool.submit(function, *each) for each in items]
            try:
                for future in as_completed(futures):
                    future.result()
                    bar.advance()
            except BaseException:
                self.stop()
                raise
        return [future.result() for future in futures]

    def stop(self) -> None:
        """Cancel all tasks; threads that wait for them get a KeyboardInterrupt."""
        self._stopped.set()
        with suppress(Exception):  # the scheduler may have died
            self.client.cancel(list(self._futures), force=True)

    def _share(self, shared: Any) -> Any:
        """Send the shared data to all workers, and return their future."""
        try:
            return self.client.scatter(shared, broadcast=True, hash=False)
        except (OSError, TimeoutError) as error:
            raise ClusterError(f"the Dask cluster does not answer: {str(error).rstrip('.')}.") from None


def submit_tasks(
    client: Any,
    function: Callable[..., Any],
    items: Sequence[Any],
    *shared: Any,
    known: set[Any] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Start function(*shared, item) for each item, in their order; yield position and future of each when it ends.

    shared: futures of what all tasks read. known: a set that has the tasks' futures while they are under way. Tasks
    that are left when the caller stops are cancelled.
    """
    distributed, known = _import_distributed(), set() if known is None else known
    futures = {
        client.submit(function, *shared, item, pure=False, priority=-k): k for k, item in enumerate(items)
    }
    known.update(futures)
    try:
        for future in distributed.as_completed(list(futures), loop=client.loop):
            yield futures[future], future
    finally:
        known.difference_update(futures)
        with suppress(Exception):
            client.cancel(list(futures), force=True)


def _take_result(future: Any) -> tuple[bool, Any]:
    """Return whether a task has a result, and the result. It has none if it was lost with its worker."""
    if future.status not in ("finished", "error"):
        return False, None
    try:
        return True, future.result()
    except (MaxentryError, ArithmeticError):  # of the function
        raise
    except Exception as error:  # no maxentry there, a worker that died too often, no scheduler any more
        if future.status != "error":  # finished, and lost before it was fetched
            return False, None
        raise ClusterError(f"on the Dask cluster: {type(error).__name__}: {error}") from None


def is_cancelled() -> bool:
    """Whether the task that calls this was cancelled; False outside a cluster's worker."""
    try:
        worker = _import_distributed().get_worker()
        task = worker.state.tasks.get(worker.get_current_task())
    except (ValueError, KeyError, AttributeError, MissingDependencyError):
        return False
    return task is None or task.state == "cancelled"


def _import_distributed() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise MissingDependencyError(
            "a Dask cluster needs distributed, which is not installed: pip install 'maxentry[cluster]'."
        ) from None
