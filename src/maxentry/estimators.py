"""Completion as scikit-learn imputers: they fill the NaN of a dense array or frame and leave the rest as it is.

`fit` learns the columns from the rows it is given; `transform` fills each row, new or old, from what is observed
of it and the fitted columns ("fold-in"). `fit_transform(X)` is `fit(X).transform(X)`: for the rows of the fit
that is the posterior mean up to Monte Carlo error, and `posterior_` has everything else about them. A frame comes
back as a frame, an array as an array; `set_output` has the last word.

Needs scikit-learn: pip install 'maxentry[sklearn]'.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from threadpoolctl import threadpool_limits

from maxentry import frames
from maxentry._types import Array
from maxentry.belief import BLOCK_NUMBERS
from maxentry.cells import Words, read_cells
from maxentry.completion import Completion, nuclear_norm
from maxentry.completion.result import fold_in as fold_in_completion
from maxentry.errors import DataError, MissingDependencyError, ParameterError, is_whole
from maxentry.labels import as_array, floats
from maxentry.model.likelihood import DataKind, NoiseChoice, kind_words
from maxentry.model.priors import Priors
from maxentry.observations import Observations, find_kind
from maxentry.posterior.coefficients import Fitted
from maxentry.posterior.complete import complete
from maxentry.posterior.new_rows import NewRows
from maxentry.posterior.posterior import Posterior
from maxentry.posterior.schedule import Effort, Kind, Sampling
from maxentry.tables.layout import name_long
from maxentry.transform import Scaling
from maxentry.wording import is_word, show

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingDependencyError(
        "maxentry.estimators needs scikit-learn 1.6 or later: pip install 'maxentry[sklearn]'"
    ) from error


class _Completer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What both imputers share: reading X, and filling only what is missing."""

    _other_names: list[Any] | None = None  # of the columns of fit, where they are no text

    @abstractmethod
    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the columns of X."""

    @abstractmethod
    def _new_rows(self, Y: Array, ends: Sequence[Array] | None) -> Array:
        """The estimate of every entry of these rows; ends: of what was observed, where some are limits."""

    def _words(self) -> Words | None:
        """The words that stand for numbers in cells of text."""
        return None

    def transform(self, X: Any) -> Any:
        """X with its NaN and limits replaced, each row from what is observed of it and the fitted columns."""
        check_is_fitted(self, "rank_")
        Y, ends = self._read(X, reset=False)
        unknown = np.isnan(Y) if ends is None else np.isnan(Y) | (ends[0] < ends[1])
        rows = unknown.any(axis=1)
        filled = Y.copy()
        if rows.any():
            of_rows = None if ends is None else [end[rows] for end in ends]
            filled[rows] = np.where(
                unknown[rows], self._new_rows(Y[rows].astype(np.float64), of_rows), Y[rows]
            )
        return self._like(X, filled)

    def _like(self, X: Any, values: NDArray[np.floating]) -> Any:
        """Return the values in the form of X, or as an array if `set_output` says so."""
        output = getattr(self, "_sklearn_output_config", {}).get("transform")
        return values if output == "default" else frames.frame_like(X, values)

    def _read(self, X: Any, *, reset: bool) -> tuple[NDArray[np.floating], Any]:
        """X as floats, checked as scikit-learn's users expect; on fit (reset) it needs 2 rows and 2 columns.

        Cells of text may be words and limits: then the ends of what was observed are returned, too.
        """
        if issparse(X):
            raise DataError(
                f"{type(self).__name__} expected a dense array or frame with NaN where missing, got a sparse matrix; "
                "use maxentry.complete for those (unstored is missing there)"
            )
        if reset and frames.is_frame(X) and (long := name_long(X, quiet=True)):
            titles = zip(("index", "columns", "values"), long.values(), strict=False)
            given = ", ".join(f"{title}={name!r}" for title, name in titles)
            pivot = f", or pivot it: X.pivot({given})" if "value" in long else ""
            raise DataError(
                f"{type(self).__name__} expected one line a row, got a long frame, one measurement a line. Use "
                f"maxentry.complete for it{pivot}."
            )
        self._check_names(X, reset=reset)
        if reset and frames.frame_library(X) is not None and frames.is_frame(X):  # a series is neither
            self._check_labels(X)
        ends, text = None, _text_cells(X)
        if text is not None:
            values, *limits = read_cells(
                text, lambda k: f"row {k // text.shape[1]}, column {k % text.shape[1]}", self._words()
            )
            X, ends = frames.frame_like(X, values), None if limits[0] is None else limits
        least = {"ensure_min_samples": 2, "ensure_min_features": 2} if reset else {}
        Y: NDArray[np.floating] = validate_data(
            self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan", **least
        )
        return Y, ends

    def _check_names(self, X: Any, *, reset: bool) -> None:
        """Remember names of columns that are no text, which scikit-learn does not, and refuse another order.

        Without names columns are counted from 0. Names of which one is missing are not remembered.
        """
        names = [*getattr(X, "columns", ())] if frames.frame_library(X) == "pandas" else []
        counted = [*range(len(names))]
        plain = (
            names == counted or all(isinstance(x, str) for x in names) or any(map(frames.is_missing, names))
        )
        if reset:
            self._other_names = None if plain else names
        elif not plain and (self._other_names or {*names} == {*counted}):
            known = self._other_names or counted
            if names != known:
                raise DataError(
                    f"expected the columns of fit in their order, {show(known)}, got {show(names)}."
                )

    def _check_labels(self, X: Any) -> None:
        """Refuse a frame whose first column has labels of rows, and warn where it may have."""
        wide = frames.read_wide(X)
        labels, words = wide.form.row_labels or (), self._words()
        name = show(wide.form.row_name if wide.guessed else frames.open_frame(X).names[0])
        how = f"make it the index (X.set_index({name}) in pandas) or leave it out (X.drop({name}) in polars)."
        if wide.numbered:
            warn(
                f"the column {name} has distinct whole numbers and is taken for values. If it numbers the rows, {how}",
                stacklevel=6,
            )
        if wide.guessed and all(is_word(x) and not (words and words.has(x)) for x in labels):
            raise DataError(f"expected values in every column, got labels in {name}: {how}")

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the columns; whole numbers as they are in a pandas frame."""
        names = self._other_names
        if names is None or input_features is not None:
            return super().get_feature_names_out(input_features)
        check_is_fitted(self, "rank_")
        output = getattr(self, "_sklearn_output_config", {}).get("transform")
        return np.fromiter(map(str, names) if output == "polars" else names, dtype=object)

    def _observations(self, X: Any) -> Observations:
        """The observations to fit, by the labels of a frame; where its index repeats itself, rows by position."""
        Y, ends = self._read(X, reset=True)
        index: Any = getattr(X, "index", None)
        kind = frames.frame_library(X)
        rows = frames.index_labels(index) if kind == "pandas" and index.is_unique else None
        given: Any = Y if ends is None else _text_cells(X)
        names = getattr(self, "feature_names_in_", self._other_names)
        observations = Observations.from_array(given, rows, names)
        return replace(observations, frame_kind=kind, row_name=None if rows is None else index.name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class BayesianCompleter(_Completer):
    """Fill missing values by their posterior means under `maxentry.complete`'s low-rank model.

    rank, noise, kind, levels, limits, noise_sd, effects, priors, scale, sampling, effort, progress, threads: as in
        `maxentry.complete`; no progress bar by default. Filled values are probabilities of yes, or expected grades.
        Cells of text may be words (of yes and no, or names in `levels`), which become numbers, and limits like `<0.5`,
        which are filled like what is missing.
    random_state: an integer gives the draws of `maxentry.complete(X, ..., seed=random_state)`.

    A column without any observation is kept, and filled by the overall mean and the rows' effects; a row without
    any is filled by the columns' means.

    After `fit`: `posterior_` (a `maxentry.Posterior`: intervals, diagnostics, ...; by the labels of a frame), `rank_`
    (the rank, or that with the most weight), `n_features_in_`, and `feature_names_in_` for frames.
    """

    def __init__(
        self,
        rank: int | Literal["auto"] = "auto",
        *,
        noise: NoiseChoice = "auto",
        kind: DataKind | None = None,
        levels: Sequence[Any] | None = None,
        limits: tuple[float | None, float | None] | None = None,
        noise_sd: float | None = None,
        effects: bool = True,
        priors: Priors | None = None,
        scale: Scaling = "auto",
        sampling: Kind | Sampling = "population",
        effort: Effort = "normal",
        random_state: int | np.random.RandomState | None = None,
        progress: bool | None = False,
        threads: int | None = None,
    ) -> None:
        self.rank = rank
        self.noise = noise
        self.kind = kind
        self.levels = levels
        self.limits = limits
        self.noise_sd = noise_sd
        self.effects = effects
        self.priors = priors
        self.scale = scale
        self.sampling = sampling
        self.effort = effort
        self.random_state = random_state
        self.progress = progress
        self.threads = threads

    def fit(self, X: Any, y: object = None) -> Self:
        """Sample the posterior of the matrix X; y is ignored."""
        kind, levels = find_kind(X, self.kind, self.levels)
        self._kind = kind, levels
        self.posterior_: Posterior = complete(
            self._observations(X), self.rank, noise=self.noise, kind=kind, levels=levels,
            limits=self.limits, noise_sd=self.noise_sd, effects=self.effects, priors=self.priors, scale=self.scale,
            sampling=self.sampling, effort=self.effort, seed=_seed(self.random_state), progress=self.progress,
            threads=self.threads,
        )  # fmt: skip
        self.rank_ = self.posterior_.rank
        return self

    def predict_sd(self, X: Any) -> Any:
        """The posterior standard deviation of every entry of these rows, without measurement noise, as X came.

        At observed entries it is that of the true value behind the measurement.
        """
        check_is_fitted(self, "rank_")
        return self._like(X, fold_in(self.posterior_, *self._read(X, reset=False)).sd)

    def _words(self) -> Words | None:
        return kind_words(*self._kind)

    def _new_rows(self, Y: Array, ends: Sequence[Array] | None) -> Array:
        return fold_in_mean(self.posterior_, Y, ends)


class NuclearNormCompleter(_Completer):
    """Fill missing values by the nuclear-norm estimate, Eq. (nuc).

    penalty: lambda; None chooses it by predicting held-out entries.
    center: remove row and column means first, so that a row without observations is filled by the columns'
        means; without, missing values shrink to zero.
    tol, max_iter: as in `maxentry.completion.nuclear_norm`; a warning says if it stopped early.
    random_state: which entries are held out.

    After `fit`: `completion_` (with its certificate), `penalty_`, `rank_`, `n_iter_`, `n_features_in_`, and
    `feature_names_in_` for frames.
    """

    def __init__(
        self,
        penalty: float | None = None,
        *,
        center: bool = True,
        tol: float = 1e-4,
        max_iter: int = 1000,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.penalty = penalty
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: object = None) -> Self:
        """Solve Eq. (nuc) for X; y is ignored."""
        self.completion_: Completion = nuclear_norm(
            self._observations(X), self.penalty, tol=self.tol, max_iter=self.max_iter, center=self.center,
            seed=_seed(self.random_state),
        )  # fmt: skip
        if not self.completion_.converged:
            warn(self.completion_.status.advice, ConvergenceWarning, stacklevel=2)
        self.penalty_ = self.completion_.penalty
        self.rank_ = self.completion_.rank
        self.n_iter_ = self.completion_.iterations
        return self

    def _new_rows(self, Y: Array, ends: Sequence[Array] | None) -> Array:
        if ends is not None:
            raise DataError("expected plain values for the nuclear norm, got limits.")
        return fold_in_completion(self.completion_, Y)


def _text_cells(X: Any) -> NDArray[Any] | None:
    """The cells of an array or frame as objects, where one of them is text; else None."""
    cells = (
        X.to_numpy()
        if frames.frame_library(X) is not None
        else np.asarray(X)
        if frames.is_sequence(X)
        else None
    )
    if cells is None or cells.dtype.kind not in "OUS" or cells.ndim != 2:
        return None
    cells = cells.astype(object)
    return cells if any(isinstance(cell, str) for cell in cells.flat) else None


def _seed(random_state: Any) -> int:
    """A seed from scikit-learn's random_state: integers as they are, else drawn from the RandomState."""
    if is_whole(random_state):
        if random_state < 0:
            raise ParameterError(f"random_state must be at least 0, got {show(random_state)}")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except (ValueError, TypeError) as error:
        raise ParameterError(str(error)) from None


# New rows of a posterior: mean and sd of every entry, of rows that do not depend on each other


class RowMoments(NamedTuple):
    """Posterior mean and standard deviation of every entry of some new rows, (n, m2)."""

    mean: Array
    sd: Array


def fold_in(posterior: Fitted, Y: ArrayLike, ends: Sequence[Array] | None = None) -> RowMoments:
    """Mean and sd of every entry of new rows Y (n, m2), NaN where missing; no row depends on those beside it.

    ends: lower and upper ends (n, m2) of what was measured, where some of it is limits or ranges. The sd, without the
    noise of measurements, holds both the uncertainty of the row given the columns and that of the columns.
    """
    found = [(new.exact_mean(), new.arrays.sd) for new in _blocks(posterior, Y, ends)]
    return RowMoments(*map(np.vstack, zip(*found, strict=True)))


def fold_in_mean(posterior: Fitted, Y: ArrayLike, ends: Sequence[Array] | None = None) -> Array:
    """The mean of `fold_in`, without the cost of the sd."""
    return np.vstack([new.exact_mean() for new in _blocks(posterior, Y, ends)])


def _blocks(posterior: Fitted, Y: ArrayLike, ends: Sequence[Array] | None) -> Iterator[NewRows]:
    """New rows, so many at once that their draws stay small."""
    given, m2 = as_array(Y), posterior.shape[1]
    if given.ndim != 2 or given.shape[1] != m2:
        raise DataError(f"expected new rows as an array of n x {m2}, got shape {given.shape}")
    values = floats(given, lambda k: f"row {k // m2}, column {k % m2}")
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        raise DataError(f"expected finite numbers, got {values[i, j]} at row {i}, column {j}")
    columns = posterior.columns
    most = int((~np.isnan(values)).sum(1).max(initial=0))
    step = max(1, BLOCK_NUMBERS // (m2 + columns.Q[:, 0].size + len(columns.Q) * most))
    form = frames.Form(None, None, posterior.observations.col_labels)
    with threadpool_limits(1):  # threads on matrices this thin cost more than they give
        for start in range(0, len(values), step):
            part = values[start : start + step]
            i, j = np.nonzero(~np.isnan(part))
            low, high = (None, None) if ends is None else (end[start : start + step][i, j] for end in ends)
            shape = max(2, len(part)), m2  # the least that observations have
            told = Observations.from_triples(i, j, part[i, j], shape, low=low, high=high) if i.size else None
            yield NewRows(posterior, form._replace(row_labels=tuple(range(len(part)))), told, apart=True)
