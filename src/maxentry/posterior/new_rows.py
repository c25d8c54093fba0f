"""New rows given the fitted columns, in milliseconds: one small Gaussian law for each row and draw of the columns.

In a draw, a new row is x_j = mu + c_j + f_j'g with the features f_j = (b_j, 1) of column j and the coefficients
g = (a, r). Given what is observed of the row, g is drawn as the sampler draws the rows it was fitted to
(docs/mathematics.md):

    g | y ~ N(P^-1 h, P^-1),   P = Q + sum w_j f_j f_j' / eta2,   h = sum w_j f_j (y_j - mu - c_j) / eta2

where Q, the precision of g's prior, is that of a ~ N(0, Q_a^-1) and r | a ~ N(m'a, tau2), both at their conditional
means given the draw (X = A B', in any gauge):

    Q_a = E[L | A] + B'B / sigma2 = (m1 - R) (A'A)^-1 + B'B / sigma2
    Q   = [[Q_a + m m' / tau2, -m / tau2], [-m' / tau2, 1 / tau2]],    m and tau2: `_regress_effects` of coefficients.py

g is drawn once for each draw of the columns, so that everything a posterior answers can be asked of new rows. Weights w
of Student noise and latent values of limits, yes and no, or grades are drawn with it, by a few Gibbs steps; for plain
values with Gaussian noise w is 1, and the draws are independent.

What is observed of new rows also tells which draws of the columns are right: with e_j = y_j - mu - c_j, draw s has the
weight

    p(y | draw s) ∝ sqrt(|Q| / |P|) exp((h'P^-1 h - sum e_j^2 / eta2) / 2),

by which draws are resampled. Where few would be left, weights are raised to a power at which enough remain. Estimators
(`estimators.py`), whose rows must not depend on each other, have equal weights and the same random numbers for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

from maxentry import frames
from maxentry._io import check_memory
from maxentry._types import Array, Flags, Indices
from maxentry.acquisition import choose
from maxentry.acquisition.problem import Problem
from maxentry.acquisition.targets import GoalCriterion, average_lines
from maxentry.belief import Belief, Entries
from maxentry.cells import read_cells
from maxentry.errors import DataError, ParameterError, is_choice, is_whole
from maxentry.features import Features
from maxentry.kernels import ridge as kernel
from maxentry.labels import Axis, as_array, is_sparse, show, sparse_triples
from maxentry.model.goal import Goal
from maxentry.model.likelihood import kind_words
from maxentry.model.link import Basis, find_basis, normalise_mask
from maxentry.observations import Observations
from maxentry.posterior import intervals
from maxentry.posterior.coefficients import Columns, Fitted
from maxentry.posterior.gibbs import gather
from maxentry.posterior.intervals import Answers, Deviation, Maps, Prediction, quantiles
from maxentry.progress import compiling_notice
from maxentry.transform import NONE, ValueMap

LATENT_SWEEPS = 100  # of latent values and weights; a limit far from the mean row takes dozens
LEAST_EFFECTIVE = 0.5  # share of the draws that weights must leave
TIME_TO_REFIT = 0.05  # observations of new rows over those of the fit, from which it should be fitted again
UNNAMED = "new"  # the label of a single row that has none
MOST_WEIGHED = 64  # rows at once by which draws are weighted
MOST_COPIED = 100_000_000  # numbers of the columns' draws that are copied to be resampled

Group = tuple[Indices, Columns]  # rows, and the prior that they have


class NewRows:
    """Rows that were not fitted, given what is observed of them and the fitted columns; `posterior.rows` makes them.

    They answer as a posterior does, in the user's units and by label. `effective`: the share of the columns' draws that
    what is observed leaves, were they weighted by it (1 where nothing was weighted).
    """

    def __init__(
        self, posterior: Fitted, form: frames.Form, told: Observations | None, named: bool = False,
        apart: bool = False, features: Any = None,
    ) -> None:  # fmt: skip
        """Draw them; `read_new_rows` has the form, what was told, and whether rows came with labels.

        apart: rows do not depend on each other.
        """
        self._posterior, self._form, self._named = posterior, form, named
        self.observations = told
        """What is observed of them, by position; None if nothing is."""
        self.n = len(form.row_labels or ())
        given, columns = posterior.fit.features[0], posterior.columns
        encoded, hidden, new = self._encode(features)
        groups: list[Group] = []
        if features is None and isinstance(given, Basis):
            columns = columns.without_features(given)
        elif (
            hidden is not None
            and new is not None
            and hidden.any()
            and columns.W is not None
            and isinstance(given, Basis)
        ):
            patterns, place = np.unique(np.stack([hidden, new], axis=1), axis=0, return_inverse=True)
            groups = [
                (
                    np.flatnonzero(place.ravel() == k),
                    columns.without_some(given, own[0], own[1]) if own.any() else columns,
                )
                for k, own in enumerate(patterns)
            ]
        self._which, self._centre, self._G, self.effective = _draw_rows(
            posterior, self.n, self._repeats, apart, columns.means(encoded, self.n), columns, groups
        )

    def _encode(self, features: Any) -> tuple[Array | None, Flags | None, Flags | None]:
        """Features of the new rows as the basis of the fitted ones has them, which are not known, and of new levels.

        None: nothing is known; nothing is missing.
        """
        data, given = self._posterior.observations, self._posterior.fit.features[0]
        idle = self._posterior.fit.idle[0]
        if idle is not None and idle.features is not None:
            if features is not None:
                self._read_features(idle.features, features)  # refused where those of a used side are
            return None, None, None
        if isinstance(given, Basis):
            if given.features is None:
                return None, None, None
            if features is None:
                warn(
                    "expected features of the new rows, as the fit has, got none: they may be those of any fitted row",
                    stacklevel=4,
                )
                return None, None, None
            new = self._read_features(given.features, features)
            for note in new.notes:
                warn(f"features of new rows: {note}", stacklevel=4)
            known = None if new.table.is_sparse else ~new.known
            return given.encode(new.matrix), known, None if known is None else new.new
        if features is not None and given is not None:
            raise ParameterError(
                "the fit has row_features='observed', which of new rows is what is measured of them; leave features out"
            )
        if features is not None:
            raise ParameterError("the fit has no row_features: leave out those of new rows")
        if given is None or self.observations is None:
            return None, None, None
        mask = self.observations.observed[: self.n].astype(float)
        return find_basis(given, data.observed, 0).encode(normalise_mask(mask)), None, None

    def _read_features(self, known: Features, features: Any) -> Features:
        """Features of the new rows, in the columns of the known ones."""
        new = known.encode(features, self._form.row_labels or (), counted=not self._named)
        if new.shape[0] != self.n:
            raise DataError(f"expected features of {self.n} new rows, got {new.shape[0]}.")
        return new

    @cached_property
    def _repeats(self) -> Any:
        """What was observed, on the scale of the model."""
        told, fit = self.observations, self._posterior.fit
        return None if told is None else gather(fit.likelihood, fit.statements(told, self._value_map))

    @property
    def _value_map(self) -> ValueMap:
        """That of the posterior; new rows have no scales of their own."""
        fit = self._posterior.fit
        own = fit.scales is not None and fit.scales.side == "rows"
        return ValueMap(fit.transform, None if own else fit.scales)

    @property
    def refit(self) -> bool:
        """Whether so much is observed of these rows that the columns should be fitted again, with them."""
        new = 0 if self.observations is None else self.observations.n
        return new > TIME_TO_REFIT * self._posterior.observations.n

    @cached_property
    def belief(self) -> Belief:
        """Draws of the new rows and of the columns, on the scale of the model."""
        return self._with_columns(self._G)

    def _with_columns(self, G: Array) -> Belief:
        old, which, R = self._posterior.belief, self._which, self._posterior.draws.rank
        G = np.ascontiguousarray(G.swapaxes(0, 1))
        effect = G[:, :, R] if self._posterior.fit.effects else np.zeros(G.shape[:2])
        right, col = (part if which is None else part[which] for part in (old.right, old.col))
        mu, noise = (part if which is None else part[which] for part in (old.mu, old.noise_var))
        # A new row has the noise of a typical one.
        inform = old.inform
        if self._posterior.noise_law.by_row and (known := old.information) is not None:
            inform = partial(known._replace, lines=None) if known.cuts.size else None
        return Belief(G[:, :, :R], right, effect, col, mu, noise, inform)

    @cached_property
    def _answers(self) -> Answers:
        law, omega2 = self._posterior.noise_law, self._posterior.draws.omega2
        law = law._replace(spread=None, by_row=False) if law.by_row else law
        law = law if self._which is None else law.select(self._which)
        own = None
        if omega2 is not None:
            w2 = omega2.ravel() if self._which is None else omega2.ravel()[self._which]
            nu2 = law.var - w2
            none = np.empty(0)
            own = (
                Deviation(w2, nu2, none.astype(int), none, none, none, none, none, self._posterior.shape[1])
                if self._repeats is None
                else Deviation.of(self._repeats, w2, nu2)
            )
        return Answers(law, self._value_map, self._posterior.fit.likelihood, own)

    @cached_property
    def arrays(self) -> Maps:
        """`mean`, `sd`, `interval`, `predictive_interval` and `sample` as plain arrays (n, m2)."""
        return Maps(self.belief, self._answers)

    @property
    def mean(self) -> Any:
        """The mean of every entry, n x m2: a frame with labels if a frame came in or was fitted, else an array."""
        return self._form.wrap(self.exact_mean())

    def exact_mean(self) -> Array:
        """The mean as an array; where answers are linear in g, from its conditional means, not from its draws."""
        linear = self._answers.value_map.transform == NONE and not self._answers.likelihood.discrete
        return Maps(self._with_columns(self._centre), self._answers).mean if linear else self.arrays.mean

    @property
    def sd(self) -> Any:
        """The standard deviation of every entry, in the form of the mean."""
        return self._form.wrap(self.arrays.sd)

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """(low, high) maps: each entry, without noise, lies between with this probability."""
        low, high = self.arrays.interval(level)
        return self._form.wrap(low), self._form.wrap(high)

    def predictive_interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """(low, high) maps: a new measurement of the entry falls between with this probability."""
        low, high = self.arrays.predictive_interval(level)
        return self._form.wrap(low), self._form.wrap(high)

    def predict(self, rows: Any, cols: Any, level: float = 0.9, *, measured: bool = False) -> Prediction:
        """Mean, sd and intervals of the entries (rows[k], cols[k]), by label, as `Posterior.predict` has them."""
        intervals.check_level(level)
        i, j = np.broadcast_arrays(self._axis.index(rows), self._posterior.observations.col_axis.index(cols))
        return intervals.predict(self.belief, i, j, level, self._answers, self._form, measured)

    def average(self, level: float = 0.9, *, weights: Any = None) -> Any:
        """The average of each row as a frame: row, mean, sd, low, high.

        weights: how much each column counts, by label or in order.
        """
        intervals.check_level(level)
        x = average_lines(self.belief, self._convert, self._averaged(weights))
        low, high = quantiles(x.copy(), level)
        found = {"mean": x.mean(0), "sd": x.std(0, ddof=1), "low": low, "high": high}
        return frames.make_frame({"row": list(self._form.row_labels or ()), **found}, self._form.kind)

    def ask(
        self, n: int, *, about: Literal["row", "average"] = "row", weights: Any = None, again: bool = False
    ) -> Any:
        """The n entries of each row that tell most about all of it, or about its average, as a frame, in order.

        row, col, mean and sd of the entry, gain: the fall of the mean variance of the row's entries, or of the variance
        of its average. weights: of the columns in the average. again: entries that are known may be asked for again.
        """
        if not is_choice(about, ("row", "average")):
            raise ParameterError(f"about must be 'row' or 'average', got {show(about)}")
        if not is_whole(n, 1):
            raise ParameterError(f"expected a whole number of entries of at least 1, got {show(n)}")
        if about == "row" and weights is not None:
            raise ParameterError("weights are for about='average', got them with about='row'")
        told, shape = self.observations, (1, self._posterior.shape[1])
        average = GoalCriterion(self._averaged(weights), self._convert)
        criterion = "integrated_variance" if about == "row" else average
        lines = []
        for i in range(self.n):
            known = np.asarray([] if told is None else told.cols[told.rows == i], dtype=np.int64)
            belief = self.belief.row_alone(i)
            problem = Problem(shape, Entries(np.zeros_like(known), known), again=again)
            found = choose(criterion, belief, problem, n, rng=np.random.default_rng(0))
            lines.append((np.full(len(found.cols), i), found.cols, found.gain))
        rows, cols, gain = (np.concatenate(part) for part in zip(*lines, strict=True))
        mean, sd = self._answers.moments(self.belief.at(rows, cols), rows, cols)
        return self._form.entries(rows, cols, {"mean": mean, "sd": sd, "gain": gain})

    @property
    def _convert(self) -> Any:
        """How draws become answers; None where they are such."""
        return self._answers.of_pattern.convert  # deviations average out

    def _averaged(self, weights: Any) -> Goal:
        goal, cols = Goal("rank", 1, "row"), self._posterior.observations.col_axis
        return goal if weights is None else goal.weighted(weights, self._axis, cols)

    @property
    def _axis(self) -> Axis:
        return Axis.from_labels("row", self.n, self._form.row_labels)

    def __repr__(self) -> str:
        told = 0 if self.observations is None else self.observations.n
        again = "; time to fit again with them" if self.refit else ""
        return f"NewRows({self.n} x {self._posterior.shape[1]}, {told} measurements{again})"


def read_new_rows(
    posterior: Fitted, new: Any, features: Any = None
) -> tuple[frames.Form, Observations | None, bool]:
    """Read rows from a frame, an array, scipy.sparse, or a mapping {row: {column: value}} (one row: that, or a series).

    Returns their form, with labels, what is observed (None: nothing), with the fitted columns by position, and whether
    the labels were given: else rows are only counted. An empty mapping stands for all rows of `features`.
    """
    data, m2, likelihood = posterior.observations, posterior.shape[1], posterior.fit.likelihood
    axis = data.col_axis
    form = frames.Form(data.frame_kind, None, data.col_labels, data.row_name, data.col_name)
    names: list[Any]
    i: Any
    named = False
    if not frames.is_frame(new) and frames.frame_library(new) is not None:  # a series
        new = _read_series(new)
    if isinstance(new, Mapping):
        named = any(isinstance(value, Mapping) for value in new.values())
        lines = new if named else {UNNAMED: new}
        if not new:
            labels, named = _featured_rows(features)
            lines = dict.fromkeys(labels, new)
        if wrong := [value for value in lines.values() if not isinstance(value, Mapping)]:
            raise DataError(f"expected a mapping {{column: value}} for every new row, got {show(wrong[0])}.")
        names = list(lines)
        i = [k for k, line in enumerate(lines.values()) for _ in line]
        j = axis.look_up([col for line in lines.values() for col in line])
        cells: Any = frames.object_array([value for line in lines.values() for value in line.values()])
    elif is_sparse(new):
        if new.ndim != 2 or new.shape[1] != m2:
            raise DataError(f"expected new rows as a sparse matrix of n x {m2}, got shape {new.shape}.")
        names, (i, j, cells) = list(range(new.shape[0])), sparse_triples(new)
    elif frames.frame_library(new) is not None:
        wide = frames.read_wide(new)
        columns = np.column_stack(wide.columns) if wide.columns else np.empty((0, 0))
        named, names = wide.form.row_labels is not None, list(wide.form.row_labels or range(len(columns)))
        at = axis.look_up(list(wide.form.col_labels or range(columns.shape[1])))
        i, j, cells = np.repeat(np.arange(len(names)), len(at)), np.tile(at, len(names)), columns.ravel()
        form = form._replace(kind=wide.form.kind, row_name=wide.form.row_name)
    else:
        array = as_array(new)
        array = array[None] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] != m2:
            raise DataError(f"expected new rows as an array of n x {m2}, got shape {array.shape}.")
        names = list(range(len(array)))
        i, j, cells = np.repeat(np.arange(len(array)), m2), np.tile(np.arange(m2), len(array)), array.ravel()
    if not names:
        raise DataError("expected at least one new row, got none.")
    form = form._replace(row_labels=Axis.from_labels("row", len(names), names).labels)
    i, j = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    words = kind_words(likelihood.kind, likelihood.levels or None)

    def where(k: int) -> str:
        return f"row {show(names[i[k]])}, column {axis.show(j[k])}"

    values, low, high = read_cells(cells, where, words)
    if np.isinf(values).any():
        k = int(np.argmax(np.isinf(values)))
        raise DataError(f"expected finite numbers, got {values[k]} at {where(k)}.")
    known = ~np.isnan(values)
    if not known.any():
        return form, None, named
    ends = (None, None) if low is None or high is None else (low[known], high[known])
    shape = max(2, len(names)), m2  # the least that observations have
    told = Observations.from_triples(i[known], j[known], values[known], shape, low=ends[0], high=ends[1])
    return form, told, named


def _featured_rows(features: Any) -> tuple[list[Any], bool]:
    """Return the rows that features are of, and whether these have labels: else they are counted, or a single one."""
    from maxentry.features import find_labels

    labels = None
    if frames.is_frame(features):
        labels = frames.index_labels(getattr(features, "index", None))
        labels = None if labels is None else list(find_labels(features) or labels)
    elif isinstance(features, Mapping) and any(isinstance(line, Mapping) for line in features.values()):
        labels = list(features)
    if labels is not None:
        return labels, True
    shape = (
        features.shape if hasattr(features, "shape") else np.shape(features)
    )  # that of a sparse matrix, too
    return [UNNAMED] if len(shape) != 2 or shape[0] == 1 else list(range(shape[0])), False


def _read_series(series: Any) -> Any:
    """Return a series as a mapping {name: {label: value}}, without a name {label: value}; without labels an array."""
    labels = frames.index_labels(getattr(series, "index", None))
    if labels is None:
        return series.to_numpy()
    if len({*labels}) < len(labels):
        raise DataError("expected a series with every label once in its index, got one of them twice.")
    cells = dict(zip(labels, frames.to_list(series), strict=True))
    return cells if series.name is None else {series.name: cells}


def _draw_rows(
    posterior: Fitted,
    n: int,
    repeats: Any,
    apart: bool,
    means: Array | None = None,
    prior: Columns | None = None,
    groups: Sequence[Group] = (),
) -> tuple[Indices | None, Array, Array, float]:
    """Draw the coefficients of n new rows; groups: rows with priors of their own, all of them or none.

    Returns which draws of the columns these go with (None: all, once), their conditional means and draws, (n, S, K),
    and the share of the draws that is effective.
    """
    compiling_notice([kernel.draw_coefficients])
    columns, law = posterior.columns if prior is None else prior, posterior.noise_law
    S, K, rng = len(columns.Q), columns.Q.shape[1], np.random.default_rng(0)
    told = 0 if repeats is None else repeats.observations.n
    latent = repeats is not None and (law.nu is not None or repeats.observations.low is not None)
    numbers = S * (3 * n * K + (told * (columns.right.shape[2] + K + 6) if latent else 0))
    check_memory(8 * numbers, f"{S} draws of {n} new rows")
    rows = _Rows(columns, n, np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), means, groups)
    lines = 1 if apart else n
    if repeats is None:
        none = np.empty((1, 0))
        return None, *rows.draw(np.arange(S), none, none, rng.standard_normal((lines, S, K)))[:2], 1.0
    o, variances = repeats.observations, _noise_variances(posterior, repeats)
    starts = np.searchsorted(o.rows, np.arange(n + 1)).astype(np.int64)
    rows = rows._replace(starts=starts, cols=o.cols.astype(np.int32))
    every, Z = np.arange(S), rng.standard_normal((lines, S, K))
    if law.nu is None and o.low is None:
        centre, G, evidence = rows.draw(every, o.values[None], variances, Z)
        copied = columns.right.size + columns.offset.size
        if apart or n > MOST_WEIGHED or copied > MOST_COPIED:
            return None, centre, G, 1.0
        log_det = sum((len(i) * c.log_det for i, c in groups or [(np.arange(n), columns)]), np.zeros(S))
        which, effective = _resample(evidence.sum(0) + 0.5 * log_det, rng)
        return which, *rows.draw(which, o.values[None], variances[which], Z)[:2], effective
    centre, G = np.zeros((n, S, K)), np.zeros((n, S, K))
    for sweep in range(LATENT_SWEEPS):
        x = rows.pattern(o, G) if sweep else columns.offset[:, o.cols]
        # one random number for every column where rows are apart, else one for every observation
        m, at = (posterior.shape[1], o.cols) if apart else (o.n, slice(None))
        w = 1.0 if law.nu is None else _draw_weights(x, o, variances, law.nu[:, None], rng, m, at)
        z = (
            o.values[None]
            if o.low is None
            else _draw_between(x, np.sqrt(variances / w), o, law.cuts, rng.random((S, m))[:, at])
        )
        centre, G, _ = rows.draw(every, z, variances / w, rng.standard_normal((lines, S, K)))
    return None, centre, G, 1.0


class _Rows(NamedTuple):
    """New rows as the kernel takes them."""

    columns: Columns
    n: int
    starts: Indices
    cols: NDArray[np.int32]
    means: Array | None = None  # (n, S, K) of g a priori; None: zero
    groups: Sequence[Group] = ()  # of rows with a prior of their own; none: all have that of the columns

    def draw(self, which: Indices, values: Array, variances: Array, Z: Array) -> tuple[Array, Array, Array]:
        """Conditional means of g, draws of it, both (n, S, K), and the log density of the observations, (n, S)."""
        c, S = self.columns, which.size
        shape = self.n, S, Z.shape[2]
        centre, G, evidence = np.empty(shape), np.empty(shape), np.empty(shape[:2])
        if self.means is not None:  # g is drawn as its deviation from them
            values = values - self._said(which)
        for rows, own in self.groups or ((None, c),):
            starts, at = self._part(rows)
            x, v = (y if y.shape[1] < self.cols.size else y[:, at] for y in (values, variances))
            parts = [y if rows is None else y[rows] for y in (centre, G, evidence)]
            kernel.draw_coefficients(
                which, starts, self.cols[at], np.ascontiguousarray(x), np.ascontiguousarray(v), c.right, c.offset,
                own.Q, c.effects, Z if rows is None or len(Z) < self.n else Z[rows], *parts,
            )  # fmt: skip
            if rows is not None:
                centre[rows], G[rows], evidence[rows] = parts
        if self.means is not None:
            centre, G = centre + self.means[:, which], G + self.means[:, which]
        return centre, G, evidence

    def _part(self, rows: Indices | None) -> tuple[Indices, Any]:
        """Where the observations of these rows start, and which they are."""
        if rows is None:
            return self.starts, slice(None)
        sizes = np.diff(self.starts)
        row = np.repeat(np.arange(self.n), sizes)
        return np.concatenate([[0], np.cumsum(sizes[rows])]).astype(np.int64), np.flatnonzero(
            np.isin(row, rows)
        )

    def _said(self, which: Indices) -> Array:
        """What features say of the observations, (S, N)."""
        assert self.means is not None
        row = np.repeat(np.arange(self.n), np.diff(self.starts))
        g, R = self.means[row][:, which].swapaxes(0, 1), self.columns.right.shape[2]
        x = np.einsum("snr,snr->sn", self.columns.right[which][:, self.cols], g[..., :R])
        return np.asarray(x + g[..., R] if self.columns.effects else x)

    def pattern(self, o: Observations, G: Array) -> Array:
        """x at the observations, (S, N)."""
        R, g = self.columns.right.shape[2], G[o.rows].swapaxes(0, 1)
        x = self.columns.offset[:, o.cols] + np.einsum(
            "snr,snr->sn", self.columns.right[:, o.cols], g[..., :R]
        )
        return np.asarray(x + g[..., R] if self.columns.effects else x)


def _noise_variances(posterior: Fitted, repeats: Any) -> Array:
    """The variance of every observation around the pattern in each draw, (S, N), or (S, 1) where all are alike."""
    o, law, omega2 = repeats.observations, posterior.noise_law, posterior.draws.omega2
    if omega2 is not None:
        own = omega2.reshape(-1, 1)
        error = (law.var[:, None] - own) / np.maximum(repeats.times, 1.0)
        return np.asarray(own + np.where(repeats.times > 0, error, repeats.var))
    scale = 1.0 if law.spread is None or law.by_row else law.spread[:, o.cols] ** 2
    return np.asarray(law.var[:, None] * scale)


def _resample(log_weight: Array, rng: np.random.Generator) -> tuple[Indices, float]:
    """Draws in proportion to their weights, at even steps, and the share of them that is effective.

    Weights that leave fewer than LEAST_EFFECTIVE are raised to a power at which that many are left.
    """
    S, log_weight = log_weight.size, log_weight - log_weight.max()

    def weigh(power: float) -> tuple[Array, float]:
        w = np.exp(power * log_weight)
        w /= w.sum()
        return w, float(1 / (S * (w @ w)))

    w, effective = weigh(1.0)
    low, high = 0.0, 1.0
    for _ in range(30 if effective < LEAST_EFFECTIVE else 0):
        w, left = weigh(0.5 * (low + high))
        low, high = (0.5 * (low + high), high) if left > LEAST_EFFECTIVE else (low, 0.5 * (low + high))
    places = (np.arange(S) + rng.random()) / S
    return np.minimum(np.searchsorted(np.cumsum(w), places), S - 1), effective


def _draw_weights(
    x: Array, o: Observations, variances: Array, nu: Array, rng: np.random.Generator, m: int, at: Any
) -> Array:
    """Draw the weights of Student noise given the pattern, (S, N)."""
    gamma = rng.standard_gamma(0.5 * (nu + 1), (len(x), m))[:, at]
    return np.asarray(2 * gamma / (nu + (o.values - x) ** 2 / variances))


def _draw_between(x: Array, sd: Array, said: Observations, cuts: Array | None, u: Array) -> Array:
    """Draw latent values N(x, sd^2) between the ends of what was said, (S, N); plain values as they are.

    u: uniform random numbers.
    """
    assert said.low is not None
    assert said.high is not None
    low, high = said.low[None], said.high[None]
    if cuts is not None:
        infinite = np.full((len(cuts), 1), np.inf)
        edges, k = np.hstack([-infinite, cuts, infinite]), said.values.astype(np.intp)
        low, high = edges[:, k - 1], edges[:, k]
    a, b = (low - x) / sd, (high - x) / sd
    flip = a + b < 0  # the nearer end below: upper tails stay exact far out
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    top, bottom = log_ndtr(-a), log_ndtr(-b)
    t = -ndtri_exp(top + np.log1p(u * np.expm1(np.minimum(bottom - top, 0.0))))
    z = x + sd * np.where(flip, -1.0, 1.0) * np.clip(t, a, b)
    return np.where(said.low == said.high, said.values, z)
