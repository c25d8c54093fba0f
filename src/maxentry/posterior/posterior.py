"""`Posterior`: the draws of a fit, and the answers users take from them, in their units and by their labels.

Draws are kept as factors; `intervals` computes maps and predictions from them. `archive` saves it in a file.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import replace
from functools import cached_property
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from maxentry import frames
from maxentry._types import Array
from maxentry.belief import Belief, Information
from maxentry.errors import MissingDependencyError, ParameterError, is_choice
from maxentry.model.goal import OVERALL, Goal, Line, note_units
from maxentry.model.likelihood import Likelihood, NoiseLaw
from maxentry.observations import Observations
from maxentry.posterior import archive, coefficients, decisions, intervals
from maxentry.posterior.archive import Parts
from maxentry.posterior.chains import (
    Chain,
    ModelSpec,
    describe_far,
    draws_in_user_units,
    model_values,
    run_chains,
)
from maxentry.posterior.coefficients import Columns
from maxentry.posterior.diagnostics import Diagnostics, describe_errors, diagnose
from maxentry.posterior.draws import Draws, FolderStore, name_monitored
from maxentry.posterior.gibbs import gather
from maxentry.posterior.intervals import Answers, Deviation, Maps, Prediction
from maxentry.posterior.rank import RankChoice, describe_means
from maxentry.posterior.schedule import Sampling
from maxentry.posterior.streaming import Watched, entry_positions
from maxentry.progress import track
from maxentry.transform import NONE, Transform, ValueMap, describe_scales
from maxentry.wording import count, show

if TYPE_CHECKING:
    from maxentry.posterior.new_rows import NewRows

Map = Literal["mean", "sd", "low", "high"]


class Posterior:
    """Draws of the whole matrix given the observations, kept as factors; dense maps are computed on request.

    Returned by `maxentry.complete`. The draws themselves are in `draws` (chain, draw, …), pooled in `belief`.
    With a `transform` these, `diagnostics` and `noise_sd` are on its scale; columns or rows on scales of their own are
    divided by these in them. All else is in the user's units.
    """

    def __init__(
        self,
        observations: Observations,
        fit: ModelSpec,
        sampling: Sampling,
        chains: tuple[Chain, ...],
        draws: Draws,
        rank_choice: RankChoice | None = None,
        interrupted: bool = False,
        watched: Watched | None = None,
    ) -> None:
        self.observations = observations
        self.fit = fit
        self.sampling = sampling
        self.chains = chains
        self.draws = draws
        self.rank_choice = rank_choice
        self.interrupted = interrupted
        self.watched = watched
        """Mean and sd over all sweeps of the entries that `complete(..., watch=)` named; None where it named none."""

    # What was fitted

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        return self.observations.shape

    @property
    def transform(self) -> Transform:
        """The scale on which the values were modelled."""
        return self.fit.transform

    @property
    def likelihood(self) -> Likelihood:
        """What a measurement says of its entry: numbers with or without limits, yes or no, grades."""
        return self.fit.likelihood

    @property
    def value_map(self) -> ValueMap:
        """From values in the user's units to those of `draws` and `belief`, and back."""
        return ValueMap(self.fit.transform, self.fit.scales)

    @property
    def scales(self) -> dict[Any, float]:
        """The columns (or rows) on scales of their own, by label, and how many times the others' scale each has."""
        scales = self.fit.scales
        if scales is None:
            return {}
        data = self.observations
        labels = data.col_labels if scales.side == "columns" else data.row_labels
        return {(int(k) if labels is None else labels[k]): float(scales.factor[k]) for k in scales.own}

    @property
    def rank_weights(self) -> dict[int, float]:
        """The share of the chains that each rank has; a single one unless the rank was chosen by stacking."""
        counts = Counter(chain.rank for chain in self.chains)
        return {rank: counts[rank] / len(self.chains) for rank in sorted(counts)}

    @property
    def rank(self) -> int:
        """The rank, or the one with the most weight where several are stacked."""
        weights = self.rank_weights
        return max(weights, key=lambda rank: weights[rank])

    @property
    def noise_sd(self) -> float:
        """Posterior mean of eta, the standard deviation (the scale, for Student noise) of one measurement.

        It holds what no pattern explains, too, unless a known noise or replicates tell that apart (`deviation_sd`).
        With a transform it is that of the transformed measurement: 0.1 on the log scale is about 10% of the value.
        """
        eta2, omega2 = self.draws.eta2, self.draws.omega2
        return float(np.sqrt(eta2 if omega2 is None else np.maximum(eta2 - omega2, 0.0)).mean())

    @property
    def noise_df(self) -> float | None:
        """Posterior mean of the degrees of freedom of Student noise; None for other noise."""
        nu = self.draws.nu if self.fit.noise == "student" else None
        return None if nu is None else float(nu.mean())

    @property
    def noise_sds(self) -> dict[Any, float]:
        """The noise sd of each column (or row), by label, where they have a noise of their own; else empty."""
        law, data = self.noise_law, self.observations
        if law.spread is None:
            return {}
        labels = data.row_labels if law.by_row else data.col_labels
        sds = (law.spread * np.sqrt(law.var)[:, None]).mean(0)
        return {(k if labels is None else labels[k]): float(sd) for k, sd in enumerate(sds)}

    @property
    def deviation_sd(self) -> float | None:
        """Posterior mean of omega, the sd of entries around the pattern; None where nothing tells it from noise."""
        return None if self.draws.omega2 is None else float(np.sqrt(self.draws.omega2).mean())

    @cached_property
    def deviation(self) -> Deviation | None:
        """The deviations of entries from the pattern, on the scale of `belief`; None where they are not told apart."""
        omega2, eta2 = self.draws.omega2, self.draws.eta2
        if omega2 is None:
            return None
        repeats = gather(self.likelihood, self.fit.statements(self.observations))
        return Deviation.of(repeats, omega2.ravel(), (eta2 - omega2).ravel())

    @cached_property
    def noise_law(self) -> NoiseLaw:
        """The law of the noise in each draw, on the scale of `belief`."""
        d, var = self.draws, self.belief.noise_var
        nu, cuts, own = (None if x is None else x.reshape(-1, *x.shape[2:]) for x in (d.nu, d.cuts, d.spread))
        if nu is None or not self.likelihood.by_line:
            return NoiseLaw(var, nu, cuts)
        own = self._draw_spread(var, nu) if own is None else own
        return NoiseLaw(var, None, cuts, own, self.fit.noise == "rows")

    def _draw_spread(self, var: Array, nu: Array) -> Array:
        """Draw the noise of each line given a draw of all else: eta / sqrt(w), so that weights need not be stored."""
        data, rng = model_values(self.value_map, self.observations), np.random.default_rng(0)
        line, m = (data.rows, self.shape[0]) if self.fit.noise == "rows" else (data.cols, self.shape[1])
        n, spread = np.bincount(line, minlength=m), np.empty((nu.size, m))
        for s in range(nu.size):
            squares = (data.values - self.pooled.draw_at(s, data.rows, data.cols)) ** 2 / var[s]
            rate = nu[s] + np.bincount(line, squares, m)
            spread[s] = np.sqrt(rate / (2 * rng.standard_gamma(0.5 * (nu[s] + n))))
        return spread

    @cached_property
    def belief(self) -> Belief:
        """The pooled draws of all chains, on the scale of the transform: the input of `acquisition`.

        Rows and columns without a measurement vary by what features they lack may be.
        """
        belief = self.pooled
        if self.fit.features[0] is not None:
            left, row = coefficients.vary_missing(self, 0, belief.left, belief.row)
            belief = replace(belief, left=left, row=row)
        if self.fit.features[1] is not None:
            right, col = coefficients.vary_missing(self, 1, belief.right, belief.col)
            belief = replace(belief, right=right, col=col)
        return belief

    @property
    def pooled(self) -> Belief:
        """The same of the draws as chains have them, where missing features are at their mean."""
        d = self.draws
        left, right, row, col = (array.reshape(d.mu.size, *array.shape[2:]) for array in d[:4])
        law = self.likelihood
        plain = not (law.discrete or law.limits is not None or law.by_line)
        return Belief(left, right, row, col, d.mu.ravel(), d.eta2.ravel(), None if plain else self._inform)

    def _inform(self) -> Information:
        """How much a measurement tells of its entry."""
        limits, scales, ends = self.likelihood.limits, self.fit.scales, None
        by_row = scales is not None and scales.side == "rows"
        if limits is not None:
            lines = np.arange(1 if scales is None else scales.factor.size)
            low, high = (self.value_map.forward_end(np.full(lines.size, end), lines, lines) for end in limits)
            ends = low, high
        found = self.likelihood.information(self.noise_law, ends, by_row)
        assert found is not None
        return found

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """R-hat and ESS of X, eta2, sigma2, singular values and projections, of the chains of the main rank."""
        which = np.array([c for c, chain in enumerate(self.chains) if chain.rank == self.rank])
        draws = self.draws.select_chains(which, self.rank)
        return diagnose(draws, self.observations, self.sampling.kind, pooled=self.draws)

    # Dense maps

    @cached_property
    def arrays(self) -> Maps:
        """`mean`, `sd`, `interval`, `predictive_interval` and `sample` as plain arrays, also where a frame came in."""
        return Maps(self.belief, self.answers)

    @property
    def mean(self) -> Any:
        """Posterior mean of every entry, m1 x m2: a frame with labels if a frame came in, else an array.

        The array is read-only, since it is cached: `.copy()` to change it.
        """
        return self._in_form(self.arrays.mean)

    @property
    def sd(self) -> Any:
        """Posterior standard deviation of every entry, m1 x m2, in the form of the mean."""
        return self._in_form(self.arrays.sd)

    def interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """(low, high) maps: each entry, without noise, lies between with this probability under the fitted ranks.

        Where few data leave weight on rank 0, unseen structure counts as noise: only `predictive_interval` includes it.
        """
        low, high = self.arrays.interval(level)
        return self._in_form(low), self._in_form(high)

    def predictive_interval(self, level: float = 0.9) -> tuple[Any, Any]:
        """(low, high) maps: a new measurement of the entry falls between with this probability."""
        low, high = self.arrays.predictive_interval(level)
        return self._in_form(low), self._in_form(high)

    def sample(self, n: int = 1, seed: int | None = None) -> Any:
        """`n` matrices from the posterior, without replacement while there are enough draws.

        An array (n, m1, m2); if a frame came in, a frame of n m1 lines: pandas' index is (draw, row), polars' first
        columns are draw and the row's label.
        """
        return self.observations.form.stack(self.arrays.sample(n, seed))

    def framed(self, kind: Literal["pandas", "polars"] | None) -> Posterior:
        """The same posterior, answering in frames of this kind, or in arrays (None)."""
        if kind is not None:
            frames.make_frame({}, kind)  # refuses what is not installed
        other = copy(self)  # with what is cached
        other.observations = replace(self.observations, frame_kind=kind)
        other.__dict__.pop("diagnostics", None)  # its table has the other kind
        return other

    def _in_form(self, matrix: Array) -> Any:
        return self.observations.form.wrap(matrix)

    @property
    def answers(self) -> Answers:
        """How draws of `belief` become answers in the user's units."""
        return Answers(self.noise_law, self.value_map, self.likelihood, self.deviation)

    @cached_property
    def goal_answers(self) -> Answers:
        """The same for goals: within the ends of the scale; measured values count by shares of any size if not told."""
        answers = self.answers._replace(ends=self.likelihood.limits)
        if self.likelihood.split or self.likelihood.discrete or self.likelihood.weighted:
            return answers
        own = Deviation.suppose(self.fit.statements(self.observations), self.belief.noise_var)
        return answers._replace(deviation=own)

    def entries_at(self, rows: Any, cols: Any) -> Array:
        """Draws (S, n) of the entries at these positions, in the user's units."""
        x, plain = self.belief.at(rows, cols), not self.likelihood.discrete and self.deviation is None
        return self.value_map.inverse(x, rows, cols) if plain else self.answers.entries(x, rows, cols)

    # By label

    def predict(self, rows: Any, cols: Any, level: float = 0.9, *, measured: bool = False) -> Prediction:
        """Mean, sd and intervals of the entries (rows[k], cols[k]), by label; one row or column is used for all.

        measured: of what a new measurement would show instead, noise included, clipped at the limits of the scale.
        """
        intervals.check_level(level)
        if not isinstance(measured, bool):
            raise ParameterError(f"measured must be True or False, got {show(measured)}")
        i, j = entry_positions(self.observations, rows, cols)
        return intervals.predict(self.belief, i, j, level, self.answers, self.observations.form, measured)

    def probabilities(self, rows: Any = None, cols: Any = None) -> Any:
        """The probability of each grade, or of no and of yes.

        Of all entries: an array (K, m1, m2); if a frame came in, a frame of K m1 lines, whose index is (grade, row) in
        pandas and whose first columns are the grade and the row's label in polars. Of the entries (rows[k], cols[k]):
        an array (K, n); if a frame came in, a table with row, col and one column for each grade.
        """
        form, names = self.observations.form, self.likelihood.names
        if rows is None and cols is None:
            return form.stack(self.arrays.probabilities(), "grade", names)
        p, i, j = self._probabilities_at(rows, cols)
        if form.kind is None:
            return p
        columns = zip(map(str, names), p.reshape(len(names), -1), strict=True)
        return form.entries(i.ravel(), j.ravel(), dict(columns))

    def most_likely(self, rows: Any = None, cols: Any = None) -> Any:
        """The most likely grade (or "yes" or "no") of every entry, in the form of the mean.

        Of the entries (rows[k], cols[k]) an array; of a single one the grade itself.
        """
        if rows is None and cols is None:
            p = self.arrays.probabilities()
        else:
            p, _, _ = self._probabilities_at(rows, cols)
        grades = frames.object_array(self.likelihood.names)[p.argmax(0)]
        return self._in_form(grades) if rows is None and cols is None else grades

    def _probabilities_at(self, rows: Any, cols: Any) -> tuple[Array, Any, Any]:
        if not self.likelihood.discrete:
            raise ParameterError("probabilities are for kind='yes/no' or 'grades', got kind='numbers'")
        i, j = entry_positions(self.observations, rows, cols)
        p = self.answers.probabilities(self.belief, i.ravel(), j.ravel())
        return p.reshape(-1, *i.shape), i, j

    def to_frame(self, form: Literal["long", "wide"] = "long", what: Map = "mean", level: float = 0.9) -> Any:
        """A frame by label, of the kind that came in (pandas where none did).

        long: one line an entry with row, col, mean, sd, low, high, observed (how often it was measured).
        wide: one line a row and one column a column, holding `what`: "mean", "sd", "low" or "high".
        """
        if not is_choice(form, ("long", "wide")) or not is_choice(what, get_args(Map)):
            raise ParameterError(
                f"form must be 'long' or 'wide' and what 'mean', 'sd', 'low' or 'high', got {form!r} and {what!r}"
            )
        data, (m1, m2) = self.observations, self.shape
        if form == "wide":
            intervals.check_level(level)
            maps, ends = self.arrays, {"low": 0, "high": 1}
            found = maps.interval(level)[ends[what]] if what in ends else getattr(maps, what)
            return data.form.frame(found)
        self.arrays.check_size(8)  # a long frame holds that many columns and copies
        low, high = self.arrays.interval(level)
        times = np.bincount(data.rows.astype(np.int64) * m2 + data.cols, minlength=m1 * m2)
        maps_of = {"mean": self.arrays.mean, "sd": self.arrays.sd, "low": low, "high": high}
        measures = {name: grid.ravel() for name, grid in maps_of.items()} | {"observed": times}
        i, j = np.divmod(np.arange(m1 * m2), m2)
        return data.form.entries(i, j, measures)

    # What people want to know

    def best(
        self, k: int | None = None, per: Line | None = None, *, smallest: bool = False, level: float = 0.9
    ) -> Any:
        """The largest (or smallest) entries as a frame: of all (10, unless k says how many), or of each row or column.

        place: 1, 2, ... by the mean, 0 for others that may be better; probability: of being among the k best; regret:
        by how much those with a place are expected to fall short of the k best, on average.
        """
        usual = OVERALL if per is None else 1
        goal = Goal("best", -1 if smallest else 1, per, usual if k is None else k)
        return self.answer(goal, level).to_frame()

    def ranking(
        self,
        of: Literal["rows", "columns"] = "rows",
        *,
        weights: Any = None,
        smallest: bool = False,
        level: float = 0.9,
    ) -> Any:
        """The rows (or columns) by their average, the best first, as a frame.

        probability: of being the best; rank_low, rank_high: the interval of the rank; above_next: the probability of
        a better average than the next one's; tied: that is below the level. weights: how much each column (row) counts,
        by label or in order.
        """
        return self.answer(Goal.rank(of, smallest), level, weights).to_frame()

    def pairs(
        self, of: Literal["rows", "columns"] = "rows", *, weights: Any = None, smallest: bool = False
    ) -> Any:
        """P(the row of this line has a better average than that of this column), as a frame, the best row first."""
        return self.answer(Goal.rank(of, smallest), weights=weights).pairs()

    def exceeds(self, threshold: float) -> Any:
        """The probability that each entry is greater than the threshold, m1 x m2, in the form of the mean."""
        goal = Goal("threshold", threshold=threshold)
        self.arrays.check_size()
        return self._in_form(decisions.chances_to_exceed(self.belief, self.goal_answers, goal.threshold))

    def answer(
        self, goal: Goal | str, level: float = 0.9, weights: Any = None, *, row_name: str | None = None,
        col_name: str | None = None,
    ) -> decisions.Answer:  # fmt: skip
        """Answer a goal: "best", "best 3 per row", "rank columns", "threshold 6.5", ...; prints as sentences.

        row_name, col_name: what a row and a column are called in them; the names in the frame if not given.
        """
        intervals.check_level(level)
        data, wanted = self.observations, Goal.parse(goal)
        keys = data.rows.astype(np.int64) * data.shape[1] + data.cols
        nouns = row_name or data.row_name, col_name or data.col_name
        names = decisions.Names(data.row_labels, data.col_labels, keys, *nouns)
        if weights is not None:
            wanted = wanted.weighted(weights, data.row_axis, data.col_axis)
        found = decisions.answer(self.belief, self.goal_answers, wanted, level, names)
        return replace(found, frame_kind=data.frame_kind, note=note_units(wanted, data, self.transform))

    def features(self, level: float = 0.9) -> Any:
        """Which features matter, as a frame, the strongest first.

        coefficient, low, high: by how much the average of a row (or column) rises with one sd of the feature, and the
        interval of that. pattern: the sd of what it adds to single entries beside that. matters: whether zero is
        outside the interval, or the pattern beyond doubt. Features that were left out, since they say nothing of the
        values beyond chance, have 0 throughout.
        """
        intervals.check_level(level)
        if not self.fit.linked and self.fit.idle == (None, None):
            raise ParameterError("features are of a fit with row_features or col_features, got one without")
        found = coefficients.describe_features(self.draws, self.chains, self.fit, self.observations, level)
        return frames.make_frame(found, self.observations.frame_kind)

    # Newcomers

    def rows(self, new: Any, features: Any = None) -> NewRows:
        """Rows that were not fitted, in milliseconds: `.mean`, `.interval`, `.predict`, `.average`, `.ask(n)`.

        new: what is known of them, NaN where missing: a frame with columns by label, an array (n, m2), a sparse matrix,
        or {row: {column: value}} (of one row {column: value}, or a series). The fitted columns are taken as they are.
        features: of these rows, one line each, where the fit had `row_features`; new={} stands for all of them. Where
        the fit left its own out, answers do not depend on them.
        """
        from maxentry.posterior.new_rows import NewRows, read_new_rows

        return NewRows(self, *read_new_rows(self, new, features), features=features)

    @cached_property
    def columns(self) -> Columns:
        """What the draws say of the columns, for new rows."""
        return Columns.of(self)

    # Continue, save, show

    def more(self, draws: int, *, progress: bool | None = None, threads: int | None = None) -> Posterior:
        """Continue the chains: a new posterior with `draws` more draws of every chain, all in memory."""
        plan = Sampling(self.sampling.kind, len(self.chains), 0, 0, draws, self.sampling.thin)
        data, priors = self.fit.data(self.observations), self.fit.priors_of(self.shape)
        watched = None if self.watched is None else self.watched.select_chains(list(range(len(self.chains))))
        with track(len(self.chains) * plan.sweeps, "sampling", progress) as bar:
            run = run_chains(
                self.chains, data, priors, plan, bar, threads=threads, dtype=self.draws.left.dtype.type,
                observer=None if watched is None else watched.observer(self.fit),
            )  # fmt: skip
        places = list(run.places)
        both = self.draws.append(draws_in_user_units(run, self.fit), places)
        return Posterior(
            self.observations, self.fit, self.sampling, run.chains, both, self.rank_choice, run.interrupted,
            None if watched is None else watched.select_chains(places),
        )  # fmt: skip

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one .npz file (no pickle); `Posterior.load` reads it, and `more` can continue it."""
        archive.write(path, self._parts)

    def save_rest(self, folder: FolderStore) -> None:
        """Write all but the large draws into the folder that holds them (called by `complete`)."""
        archive.write_rest(folder, self._parts)

    @property
    def _parts(self) -> Parts:
        return Parts(
            self.observations, self.fit, self.sampling, self.chains, self.draws, self.rank_choice,
            self.interrupted, self.watched,
        )  # fmt: skip

    @staticmethod
    def load(path: str | PathLike[str]) -> Posterior:
        """Read a posterior written by `save`, or one in a folder, by `complete(..., store=folder)`."""
        return Posterior(*archive.read(path))

    def to_arviz(self) -> Any:
        """ArviZ's InferenceData (a DataTree, from ArviZ 1), with chain and draw in front of every variable.

        The variables are mu, eta2, sigma2, singular values and a fixed random subset of entries. With a transform, the
        entries are in the user's units, all else is on the scale of the transform.
        """
        try:
            import arviz
        except ImportError:
            raise MissingDependencyError("to_arviz needs ArviZ: pip install 'maxentry[arviz]'") from None
        found, coords, dims = name_monitored(self.draws, self.observations, self.answers.entries)
        if int(arviz.__version__.split(".")[0]) >= 1:
            return arviz.from_dict({"posterior": found}, coords=coords, dims=dims)
        return arviz.from_dict(posterior=found, coords=coords, dims=dims)

    def __repr__(self) -> str:
        return "\n".join(["Posterior", *(f"  {name}: {value}" for name, value in summary_lines(self))])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in summary_lines(self)
        )
        return f"<table><caption>Posterior</caption>{rows}</table>"


def summary_lines(posterior: Posterior) -> list[tuple[str, str]]:
    """(name, value) pairs of the summary that a user sees first."""
    p, data = posterior, posterior.observations
    (m1, m2), chains, draws = p.shape, *p.draws.mu.shape
    ranks = ", ".join(f"{rank} ({share:.0%})" for rank, share in p.rank_weights.items())
    noise = f"{p.noise_sd:.4g}" + (
        f", Student with {p.noise_df:.3g} degrees of freedom" if p.noise_df else ""
    )
    if p.noise_sds:
        low, middle, high = np.quantile(list(p.noise_sds.values()), [0, 0.5, 1])
        noise = f"{middle:.4g} for a typical one of the {p.fit.noise}, {low:.4g} to {high:.4g} for each"
    if p.deviation_sd is not None:
        how = "as given" if p.likelihood.noise_sd is not None else "by replicates"
        noise += f" ({how}); entries deviate from the pattern by {p.deviation_sd:.4g}"
    if data.se is not None:
        noise += f", beside the standard errors of {int((data.se > 0).sum())} measurements"
    transform = []
    if p.transform != NONE:
        noise += f", on the {p.transform} scale"
        transform = [("transform", f"{p.transform}; answers are in the units of the data")]
    if p.fit.scales is not None:
        transform.append((f"{p.fit.scales.side} on scales of their own", describe_scales(p.scales)))
    if p.likelihood.discrete or p.likelihood.limits is not None or data.low is not None:
        transform.insert(0, ("measurements", describe_kind(p)))
    transform += coefficients.describe_sides(p.fit)
    found = [
        ("matrix", f"{m1} x {m2}, {data.n} measurements of {data.observed.nnz} entries ({data.density:.2%})"),
        ("rank", str(p.rank) if len(p.rank_weights) == 1 else f"{p.rank}, stacked: {ranks}"),
        *transform,
        ("noise sd", noise),
        ("draws", f"{chains} chains x {draws}" + _missing_chains(p)),
    ]
    found += [("far values", far)] if (far := describe_far(p.fit, data)) else []
    found += [("scale", beyond)] if (beyond := p.arrays.hint_scale(data)) else []
    found += [("note", note)] if (note := describe_means(p.rank_weights)) else []
    verdict = "converged" if p.diagnostics.converged else "NOT converged"
    found.append((verdict, describe_errors(p.diagnostics)))
    if not p.diagnostics.converged:
        found.append(("advice", p.diagnostics.advice))
    return found


def describe_kind(posterior: Posterior) -> str:
    """What was measured, and what answers are."""
    likelihood, data = posterior.likelihood, posterior.observations
    if likelihood.discrete:
        cuts = posterior.draws.cuts
        between = "" if cuts is None else f"; cuts at {', '.join(f'{c:.2f}' for c in cuts.mean((0, 1)))}"
        return f"{likelihood}; answers are {'probabilities' if cuts is None else 'expected grades'}{between}"
    limited = f"{count_limited(posterior)} of {count(data.n, 'value')} are at or beyond a limit"
    return f"{likelihood}; {limited}; answers are the entries themselves, which may lie beyond it"


def count_limited(posterior: Posterior) -> int:
    """How many measurements of numbers say no more than a limit or a range."""
    if posterior.likelihood.discrete:
        return 0
    said = posterior.likelihood.statements(posterior.observations)
    return 0 if said.low is None or said.high is None else int((said.low < said.high).sum())


def _missing_chains(posterior: Posterior) -> str:
    if posterior.interrupted:
        return ", interrupted"
    lost = posterior.sampling.chains - len(posterior.chains)
    return f", {lost} left out (stuck in a mode without mass)" if lost > 0 else ""
