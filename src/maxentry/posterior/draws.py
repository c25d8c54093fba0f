"""Draws of a fit in factor form: how they are stored, and the quantities that diagnostics monitor.

| symbol | meaning | shape |
|---|---|---|
| left, right | factors of the low-rank part | (chain, draw, m1, R), (chain, draw, m2, R) |
| row, col | row and column effects | (chain, draw, m1), (chain, draw, m2) |
| mu, eta2, sigma2, nu | mean, noise variance, core variance, Student degrees of freedom | (chain, draw) |
| cuts | between the grades | (chain, draw, K - 1) |
| omega2 | variance of what entries deviate from the pattern, a part of eta2 | (chain, draw) |
| spread | noise of rows, or of columns, over sqrt(eta2), where grades have one of their own | (chain, draw, m) |
| rho | ridge variances of the features of rows and of columns | (chain, draw, 2) |

X_ij = mu + row_i + col_j + left_i . right_j. Nothing of size m1 x m2 is formed. Only quantities that do not depend on
the gauge of the factors are monitored: rotations leave X as it is, so chains need not agree on the factors.

A `DrawStore` holds the arrays while chains fill them: in memory, or as .npy files mapped into memory, for draws larger
than the memory.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from maxentry._io import check_memory, expand_home
from maxentry._types import Array, Indices
from maxentry.errors import DataError, ParameterError
from maxentry.observations import Observations
from maxentry.wording import show

MAX_ENTRIES = 200  # entries of X that are monitored
MAX_PROJECTIONS = 8  # coherences monitored on each side
Floats = NDArray[np.floating]  # draws may be kept in single precision
Labels = tuple[Sequence[object], Sequence[object]]
Shape = tuple[int, ...]
ASIDE = "aside"  # the folder, within a store, of draws that are not among its own yet
NOT_KNOWN_HERE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # the file system cannot do it


class Draws(NamedTuple):
    """The draws of a fit in factor form, in the user's units (with a transform, on its scale).

    `sigma2` may be None at rank 0, where nothing depends on it; `nu` are the degrees of freedom of Student noise
    (whose scale squared is eta2), None for Gaussian noise; `cuts` are None unless there are grades, and `omega2` unless
    it is told from noise, whose variance is eta2 - omega2; `rho` unless rows or columns have features; `spread` unless
    rows or columns of grades have a noise of their own.
    """

    left: Floats
    right: Floats
    row: Floats
    col: Floats
    mu: Array
    eta2: Array
    sigma2: Array | None
    nu: Array | None = None
    cuts: Array | None = None
    omega2: Array | None = None
    rho: Array | None = None
    spread: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """m1, m2."""
        return self.left.shape[2], self.right.shape[2]

    @property
    def rank(self) -> int:
        """R."""
        return int(self.left.shape[3])

    def append(self, later: Draws, places: list[int]) -> Draws:
        """Append later draws of the chains at `places`."""
        pairs = zip(self, later, strict=True)
        joined = [
            None if a is None or b is None else np.concatenate([a[places], b], axis=1) for a, b in pairs
        ]
        return Draws(*joined)  # type: ignore[arg-type]

    def select_chains(self, which: NDArray[np.intp], rank: int) -> Draws:
        """Keep some chains, with factors cut to their rank."""
        pick = slice(None) if which.size == self.mu.shape[0] else which  # all chains: views, no copy
        left, right = self.left[pick][..., :rank], self.right[pick][..., :rank]
        row, col, mu, eta2 = self.row[pick], self.col[pick], self.mu[pick], self.eta2[pick]
        sigma2 = self.sigma2[pick] if rank and self.sigma2 is not None else None
        rest = (None if array is None else array[pick] for array in self[7:])
        return Draws(left, right, row, col, mu, eta2, sigma2, *rest)


class Monitored(NamedTuple):
    """Quantities by name, each in a group, with their draws (chain, draw, quantity); entries of X come first."""

    names: tuple[str, ...]
    groups: tuple[str, ...]
    draws: Array
    entries: tuple[Indices, Indices]  # rows and columns of these


def monitor(draws: Draws, observations: Observations, seed: int = 0) -> Monitored:
    """Draws of a random subset of X, of eta2, sigma2, the singular values and a few coherences.

    `seed` fixes which entries and coherences these are.
    """
    o, (m1, m2), rng = observations, observations.shape, np.random.default_rng(seed)
    labels = (o.row_labels or range(m1), o.col_labels or range(m2))
    seen, unseen = choose_entries(draws.shape, observed_keys(o), rng)
    i, j = (np.concatenate(pair) for pair in zip(seen, unseen, strict=True))
    names = [f"X[{labels[0][a]}, {labels[1][b]}]" for a, b in zip(i, j, strict=True)]
    groups = ["X observed"] * len(seen[0]) + ["X unobserved"] * len(unseen[0])
    parts = [entry_draws(draws, i, j), draws.eta2[..., None]]
    names.append("eta2")
    groups.append("eta2")
    if draws.rank:
        for name, group, values in low_rank_quantities(draws, rng, labels):
            names += name
            groups += [group] * len(name)
            parts.append(values)
    return Monitored(tuple(names), tuple(groups), np.concatenate(parts, axis=2), (i, j))


def name_monitored(
    draws: Draws, observations: Observations, convert: Callable[..., Array]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What is monitored as ArviZ takes it: variables (chain, draw, …), coordinates and dimensions.

    convert: draws of entries, with their rows and columns, to the user's units.
    """
    watched = monitor(draws, observations)
    found: dict[str, Any] = {"mu": draws.mu}
    coords, dims = {}, {}
    for group in dict.fromkeys(watched.groups):
        members = [k for k, g in enumerate(watched.groups) if g == group]
        name = group.replace(" ", "_")
        values = watched.draws[..., members]
        if group.startswith("X "):
            flat = values.reshape(-1, len(members))
            at = (index[members] for index in watched.entries)
            values = convert(flat, *at).reshape(values.shape)
        if len(members) == 1 and name in ("eta2", "sigma2"):
            found[name] = values[..., 0]
            continue
        found[name], dims[name] = values, [f"{name}_of"]
        coords[f"{name}_of"] = [watched.names[k] for k in members]
    return found, coords, dims


def observed_keys(observations: Observations) -> Indices:
    """The observed entries as sorted distinct keys i m2 + j."""
    keys: Indices = np.unique(observations.rows.astype(np.int64) * observations.shape[1] + observations.cols)
    return keys


def choose_entries(
    shape: tuple[int, int], observed: Indices, rng: np.random.Generator
) -> tuple[tuple[Indices, Indices], tuple[Indices, Indices]]:
    """Up to `MAX_ENTRIES` distinct entries, half unobserved; one half grows where the other is too small.

    `observed`: as `observed_keys` gives them.
    """
    m1, m2 = shape
    free = m1 * m2 - observed.size
    n_free = min(free, max(MAX_ENTRIES // 2, MAX_ENTRIES - observed.size))
    n_seen = min(observed.size, MAX_ENTRIES - n_free)
    seen = observed[rng.choice(observed.size, n_seen, replace=False)]
    # The k-th entry not in the sorted `observed` is k + how many of them come before it: no m1 x m2 list.
    k = rng.choice(free, n_free, replace=False)
    unseen = k + np.searchsorted(observed - np.arange(observed.size), k, side="right")
    return (seen // m2, seen % m2), (unseen // m2, unseen % m2)


def entry_draws(draws: Draws, i: Indices, j: Indices) -> Array:
    """Draws of X at the entries (i, j), shape (chain, draw, entry)."""
    return np.stack(
        [
            mu[:, None] + row[:, i] + col[:, j] + np.einsum("sea,sea->se", left[:, i], right[:, j])
            for left, right, row, col, mu in zip(*draws[:5], strict=True)
        ]
    ).astype(float)


def low_rank_quantities(
    draws: Draws, rng: np.random.Generator, labels: Labels
) -> list[tuple[list[str], str, Array]]:
    """sigma2, the R singular values of left right', diagonals of P_U and P_V: (names, group, draws)."""
    assert draws.sigma2 is not None
    i, j = (np.sort(rng.choice(m, min(m, MAX_PROJECTIONS), replace=False)) for m in draws.shape)
    with threadpool_limits(1):
        gram_left, gram_right = gram_matrices(draws.left), gram_matrices(draws.right)
        values = singular_values(gram_left, gram_right)
        mu_u = coherences(draws.left[:, :, i], gram_left)
        mu_v = coherences(draws.right[:, :, j], gram_right)
    return [
        (["sigma2"], "sigma2", draws.sigma2[..., None]),
        ([f"singular value {r + 1}" for r in range(draws.rank)], "singular values", values),
        ([f"P_U[{labels[0][a]}]" for a in i], "projections", mu_u),
        ([f"P_V[{labels[1][b]}]" for b in j], "projections", mu_v),
    ]


def gram_matrices(factors: Floats) -> Array:
    """F'F of every draw, (chain, draw, R, R); chain by chain, so that no copy of all the draws is made."""
    chains = (np.asarray(chain, dtype=float) for chain in factors)
    return np.stack([np.matmul(chain.swapaxes(1, 2), chain) for chain in chains])


def singular_values(gram_left: Array, gram_right: Array) -> Array:
    """Singular values of left right', largest first: roots of the eigenvalues of G_l^(1/2) G_r G_l^(1/2)."""
    eigenvalues, vectors = np.linalg.eigh(gram_left)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0))[..., None, :]
    squared = np.linalg.eigvalsh(root.swapaxes(-1, -2) @ gram_right @ root)
    return np.sqrt(np.maximum(squared, 0))[..., ::-1]


def coherences(factor_rows: Floats, gram_matrix: Array) -> Array:
    """Diagonal of P = F (F'F)^-1 F' at the given rows (chain, draw, row, R)."""
    inverse = np.linalg.pinv(gram_matrix, hermitian=True)
    diagonal: Array = np.einsum("csia,csab,csib->csi", factor_rows, inverse, factor_rows)
    return diagonal


class DrawStore:
    """Where the arrays of draws (chain, draw, …) are kept: here in memory, in `FolderStore` on disk."""

    def filled(self) -> AbstractContextManager[None]:
        """The context in which chains fill the arrays; if it fails, nothing is left behind."""
        return nullcontext()

    def zeros(self, name: str, shape: Shape, dtype: type[np.floating]) -> Floats:
        """Allocate an array of zeros."""
        check_memory(math.prod(shape) * np.dtype(dtype).itemsize, f"draws of {' x '.join(map(str, shape))}")
        return np.zeros(shape, dtype)

    def selected(self, array: Floats, chains: list[int], n_draws: int, top: int | None) -> Floats:
        """The first draws of some chains, the last axis cut to `top`, contiguous; `array` may be overwritten."""
        return np.ascontiguousarray(array[chains, :n_draws, ..., :top])

    def aside(self) -> AbstractContextManager[DrawStore]:
        """A store for draws that will replace others of this one; it is emptied when the context ends."""
        return nullcontext(self)

    def overwrite(self, old: Draws, new: Draws) -> Draws:
        """Put new draws, at most as many, in the place of old ones."""
        return new


MEMORY = DrawStore()


@dataclass(frozen=True)
class FolderStore(DrawStore):
    """Draws in .npy files of a folder, mapped into memory."""

    path: Path
    _made: list[Path] = field(default_factory=list, init=False, repr=False, compare=False)
    _maps: list[np.memmap[Any, Any]] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def create(cls, path: str | PathLike[str]) -> FolderStore:
        """Use a new or empty folder."""
        if not isinstance(path, str | PathLike):
            raise ParameterError(f"store must be the path of a folder or None, got {show(path)}")
        folder = expand_home(Path(path))
        _check_empty(folder)
        if not folder.parent.is_dir():
            why = "is not a folder" if folder.parent.exists() else "does not exist"
            raise DataError(f"cannot create {folder}: {folder.parent} {why}")
        return cls(folder)

    @contextmanager
    def filled(self) -> Iterator[None]:
        """Create the folder; if filling it fails, remove what was created here and nothing else."""
        new = False
        try:
            with contextlib.suppress(FileExistsError):
                self.path.mkdir()
                new = True
            _check_empty(self.path)  # again: choosing the rank may have taken a while
            yield
        except BaseException as error:
            self._remove(new)
            if isinstance(error, OSError):
                raise DataError(f"cannot write draws into {self.path}: {error.strerror or error}") from error
            raise
        finally:
            self._made.clear()
            self._maps.clear()

    def zeros(self, name: str, shape: Shape, dtype: type[np.floating]) -> Floats:
        """Allocate a file of zeros, mapped into memory; an empty array needs no file."""
        if 0 in shape:
            return np.zeros(shape, dtype)
        file = self.file(name)
        file.touch(exist_ok=False)  # fails if another fit was faster
        self._made.append(file)
        array = open_memmap(file, mode="w+", dtype=dtype, shape=shape)
        self._maps.append(array)
        _reserve_disk_space(file)
        # A plain array: Numba does not know np.memmap. The file stays open through the array's base.
        return np.asarray(array)

    def flush(self, last: str) -> None:
        """Write all draws to disk. `last` is the file written next, which makes the folder loadable."""
        for array in self._maps:
            array.flush()
        self._made.append(self.path / last)

    def selected(self, array: Floats, chains: list[int], n_draws: int, top: int | None) -> Floats:
        """Move the draws to the front of the same file: a mapped file cannot be replaced on every system.

        No number moves towards the end, so nothing still to be read is overwritten.
        """
        flat, at = array.reshape(-1), 0
        for c in chains:
            for d in range(n_draws):
                part = array[c, d, ..., :top].copy().ravel()
                flat[at : at + part.size] = part
                at += part.size
        shape = (len(chains), n_draws, *array[0, 0, ..., :top].shape)
        return flat[:at].reshape(shape)

    @contextmanager
    def aside(self) -> Iterator[DrawStore]:
        """A folder in this one, removed at the end."""
        store = FolderStore(self.path / ASIDE)
        store.path.mkdir()
        try:
            yield store
        finally:
            store._remove(folder_too=True)

    def overwrite(self, old: Draws, new: Draws) -> Draws:
        """Copy the new draws over the old ones: a mapped file cannot be replaced on every system."""

        def put(there: Floats, array: Floats) -> Floats:
            place: Floats = there.reshape(-1)[: array.size].reshape(array.shape)
            place[:] = array
            return place

        left, right = put(old.left, new.left), put(old.right, new.right)
        return new._replace(left=left, right=right, row=put(old.row, new.row), col=put(old.col, new.col))

    def read(self, name: str, shape: Shape, dtype: str) -> Floats:
        """Map an array of this shape, the first part of its file, read-only."""
        if 0 in shape:
            return np.zeros(shape, dtype)
        file = self.file(name)
        if file.resolve().parent != self.path.resolve() or (file.exists() and not file.is_file()):
            raise DataError(f"expected a file of draws in {self.path}, got {file.name}, which lies elsewhere")
        whole = open_memmap(file, mode="r")
        if whole.dtype != dtype or math.prod(shape) > whole.size:
            got = f"{whole.size} of {whole.dtype} in {file.name}"
            raise DataError(f"expected {math.prod(shape)} numbers of {dtype}, got {got}")
        return np.asarray(whole).reshape(-1)[: math.prod(shape)].reshape(shape)

    def file(self, name: str) -> Path:
        """The path of an array's file."""
        return self.path / f"{name}.npy"

    def _remove(self, folder_too: bool) -> None:
        for file in self._made:
            with contextlib.suppress(OSError):
                file.unlink()
        if folder_too:
            with contextlib.suppress(OSError):  # not empty: others use it
                self.path.rmdir()


def _check_empty(folder: Path) -> None:
    if not folder.exists():
        return
    expected = "expected a new or empty folder for the draws, got"
    if not folder.is_dir():
        raise DataError(f"{expected} {folder}, which is a file")
    if (folder / "posterior.npz").exists():
        raise DataError(
            f"{expected} {folder}, which holds a posterior: "
            "read it with Posterior.load, delete it, or name another folder"
        )
    if any(folder.iterdir()):
        raise DataError(f"{expected} {folder}, which is not empty")


def _reserve_disk_space(file: Path) -> None:
    """Reserve a file's bytes on the disk now: running out of space later would kill the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    with file.open("r+b") as opened:
        try:
            os.posix_fallocate(opened.fileno(), 0, file.stat().st_size)
        except OSError as error:
            if error.errno not in NOT_KNOWN_HERE:
                raise
