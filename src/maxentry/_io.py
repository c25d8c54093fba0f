"""What several parts need of the machine: atomic writes, JSON data, caches, threads, memory, cancellation."""

from __future__ import annotations

import base64
import errno
import math
import os
import re
import secrets
import stat
import struct
import sys
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from maxentry.errors import DataError, ParameterError, SizeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

THREADS_VARIABLE = "MAXENTRY_THREADS"


# Bytes of other encodings: two of UTF-8, and rows of letters that Western European words do not have
WESTERN = "windows-1252"
NOT_WESTERN = re.compile(rb"[\xc2\xc3][\x80-\xbf]|[\x80-\xff]{4}|[\x81\x8d\x8f\x90\x9d]")


def decode_text(content: bytes, source: str) -> tuple[str, str]:
    """Return a table's text and encoding: UTF-8, UTF-16 with its mark, else windows-1252, as Excel's "CSV" has.

    A warning says so where it is the last. source: what messages call the file.
    """
    try:
        text, encoding = _decode(content)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        place = f"{source}, line {line}" if source else f"line {line}"
        raise DataError(f"{place}: not UTF-8. In Excel, save as 'CSV UTF-8'.") from None
    if "\x00" in text:
        raise DataError(f"{source or 'the stream'} is not a CSV, Excel or Parquet file.")
    if encoding == WESTERN:
        warnings.warn(f"{source or 'the stream'}: read as {WESTERN}, since it is not UTF-8.", stacklevel=2)
    return text, encoding


def _decode(content: bytes) -> tuple[str, str]:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16"), "utf-16"
    try:
        return content.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        if NOT_WESTERN.search(content):
            raise
        return content.decode("cp1252"), WESTERN


@contextmanager
def write_atomically(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside `path`, and rename it to `path` when the block ends without an error.

    A crash leaves the old file or the new one, never half of it. A file that is replaced keeps its mode and, where the
    system allows it, its owner; `replace=False` raises FileExistsError instead. Errors of the file system pass through
    as OSError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        if replace and path.is_file():
            _take_mode(temporary, path.stat())
        yield temporary
        if replace:
            os.replace(temporary, path)
        else:
            _rename_new(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _take_mode(new: Path, old: os.stat_result) -> None:
    """Create an empty file with the mode and owner of another, before anything is written to it."""
    new.touch(0o600, exist_ok=False)
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(new, old.st_uid, old.st_gid)
    new.chmod(stat.S_IMODE(old.st_mode))


def _rename_new(temporary: Path, path: Path) -> None:
    """Rename a file unless the new name is taken, also by somebody who was quicker."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except (OSError, AttributeError):  # a file system without hard links
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        os.replace(temporary, path)


def can_be_path(text: str) -> bool:
    """Whether a file system can have this name: no NUL, and no lone surrogates but those that stand for bytes."""
    return "\0" not in text and not any(
        "\ud800" <= letter <= "\udc7f" or "\udd00" <= letter <= "\udfff" for letter in text
    )


def expand_home(path: Path) -> Path:
    """Replace ~ by the home of its user; a user that is not known is part of the name."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def is_device(path: Path) -> bool:
    """Whether it is a terminal, a pipe or another device, or an open file like /dev/stdout: nothing to be replaced."""
    if path.exists() and not path.is_file() and not path.is_dir():
        return True
    return os.path.abspath(path).startswith(("/dev/", "/proc/")) and path.exists()


@contextmanager
def open_output(name: str, *, replace: bool = False) -> Iterator[BinaryIO]:
    """Open a file to write: all of it appears at the end, or nothing. A device is written to as it is.

    A file that exists is refused unless `replace`, also if it appears while the block runs.
    """
    path = Path(name)
    try:
        if is_device(path):
            with path.open("ab") as stream:
                yield stream
            return
        target = path.resolve() if replace else path  # what a link points to is replaced, and the link stays
        with write_atomically(target, replace=replace) as part, part.open("wb") as stream:
            yield stream
    except BrokenPipeError:
        raise
    except FileExistsError:
        raise refuse_existing(name) from None
    except OSError as error:
        raise DataError(f"cannot write {name}: {error.strerror or error}.") from None


def refuse_existing(name: str) -> ParameterError:
    """The error for a file that would be written over."""
    return ParameterError(f"{name} exists. Name another file, or add --force to replace it.")


QUEUE = 1 << 60  # the first byte of a queue: no file is so long
LOCK = "hhqqi4x"  # struct flock of 64-bit Linux: kind, whence, first byte, number of bytes, process
HAS_QUEUES = sys.platform == "linux" and sys.maxsize > 2**32


@contextmanager
def in_queue(path: str | Path) -> Iterator[Callable[[], int]]:
    """Queue at a file behind the other threads and processes that do; yield a function: about how many are ahead?

    A place in the queue is a lock on a byte far beyond the end of the file: nothing is written, and the place of a
    process ends with it. If there is no such file, or the system has no such locks (those of other systems belong to a
    process, not to a thread), nobody is ever ahead: all try again and again.
    """
    file, place = None, QUEUE
    try:
        if not HAS_QUEUES:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        while not _lock_byte(file, place := _find_end(file, place)):
            pass  # somebody was quicker
    except OSError:
        place = QUEUE

    def count_ahead() -> int:
        first = None if file is None or place == QUEUE else _find_lock(file, QUEUE, place - QUEUE)
        return 0 if first is None else place - first

    try:
        yield count_ahead
    finally:
        if file is not None:
            os.close(file)


def _find_end(file: int, place: int) -> int:
    """Return the first place behind all that are taken."""
    while (taken := _find_lock(file, place, 0)) is not None:
        place = taken + 1
    return place


def _find_lock(file: int, first: int, n: int) -> int | None:
    """Return a byte that others have locked, of n bytes from the first on (0: of all); None if there is none."""
    import fcntl

    found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, struct.pack(LOCK, fcntl.F_WRLCK, os.SEEK_SET, first, n, 0))
    kind, _, start, _, _ = struct.unpack(LOCK, found)
    return None if kind == fcntl.F_UNLCK else max(int(start), first)


def _lock_byte(file: int, place: int) -> bool:
    """Lock one byte, unless others have."""
    import fcntl

    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(LOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))
        return True
    except BlockingIOError:
        return False


def to_json_data(x: Any) -> Any:
    """Convert to what JSON can hold: arrays become lists, NaN and infinity null, dates text."""
    if isinstance(x, Mapping):
        return {str(key): to_json_data(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [to_json_data(item) for item in x]
    if hasattr(x, "tolist"):  # NumPy's arrays and numbers
        return to_json_data(x.tolist())
    if isinstance(x, float):
        return x if math.isfinite(x) else None
    if x is None or isinstance(x, str | int):
        return x
    return x.isoformat() if hasattr(x, "isoformat") else str(x)


def pack(array: NDArray[Any] | None) -> dict[str, Any] | None:
    """Pack an array of floats or booleans for JSON: little-endian bytes (booleans as bits), compressed, base64."""
    import numpy as np

    if array is None:
        return None
    kind = "bool" if array.dtype == np.bool_ else "float64"
    data = np.packbits(array) if kind == "bool" else array.astype("<f8")
    text = base64.b64encode(zlib.compress(data.tobytes())).decode("ascii")
    return {"shape": list(array.shape), kind: text}


def unpack(packed: Mapping[str, Any] | None) -> NDArray[Any] | None:
    """Unpack an array; it is read-only."""
    import numpy as np

    if packed is None:
        return None
    shape = tuple(packed["shape"])
    kind = "bool" if "bool" in packed else "float64"
    data = zlib.decompress(base64.b64decode(packed[kind]))
    if kind == "float64":
        return np.frombuffer(data, dtype="<f8").reshape(shape)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=int(np.prod(shape)))
    array = bits.astype(bool).reshape(shape)
    array.setflags(write=False)
    return array


def user_cache() -> Path:
    """Return the folder for caches that is customary on this system; it may not exist yet.

    Everything in it can be computed again and may be deleted at any time.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "maxentry" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "maxentry"
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))  # a relative one is not valid
    return (base if base.is_absolute() else Path.home() / ".cache") / "maxentry"


def max_threads() -> int:
    """Return the limit set by MAXENTRY_THREADS; without one, the number of processors."""
    limit = os.environ.get(THREADS_VARIABLE, "").strip()
    if not limit:
        return os.cpu_count() or 1
    if not (limit.isascii() and limit.isdigit() and int(limit) >= 1):
        raise ParameterError(f"{THREADS_VARIABLE} must be a whole number of at least 1, got {limit!r}")
    return int(limit)


def check_memory(needed: int, what: str) -> None:
    """Refuse, before memory is taken, what needs more of it than there is at all."""
    if needed > (limit := _memory_limit()):
        raise SizeError(
            f"expected what fits in memory, got {what}, which needs {needed / 1e9:.3g} GB of {limit / 1e9:.3g} GB."
        )


def _memory_limit() -> float:
    """Bytes of memory of this machine, or as many as this process may use."""
    limits = [math.inf]
    with suppress(AttributeError, ValueError, OSError):  # no sysconf on Windows
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ImportError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        limits += [soft] if soft != resource.RLIM_INFINITY else []
    return min(limits)


_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check of a cancelled job", default=None)


@contextmanager
def cancellable(check: Callable[[], None]) -> Iterator[None]:
    """Let `checkpoint` call `check`, which raises once the work is cancelled, within this block."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def checkpoint() -> None:
    """End work that was cancelled; for long loops that do not report progress."""
    if (check := _CHECK.get()) is not None:
        check()


Task = Callable[[], object]


class ThreadTeam:
    """Threads that run tasks together with the calling thread.

    Draws do not depend on the number of threads: rows are independent given the other side, and their normals are
    drawn beforehand, in the order of the rows.
    """

    def __init__(self, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor, wait  # here: most commands start no threads

        self.helpers, self._wait = threads - 1, wait
        self._pool = ThreadPoolExecutor(max(1, self.helpers))  # starts a thread when it first needs one

    def __enter__(self) -> ThreadTeam:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()

    def share(self, tasks: Iterable[Task]) -> None:
        """Run all tasks, started in the order given; return when all are done."""
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
            waiting.clear()  # if one fails, the others stop
            self._wait(others)
        for other in others:
            other.result()
