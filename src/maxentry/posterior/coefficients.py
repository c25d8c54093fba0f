"""Which features matter: what they say of rows and columns, drawn given each draw of all else.

And the prior of a new row's coefficients, with features or without (`new_rows.py` has the laws).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from maxentry._io import check_memory
from maxentry._types import Array, Flags
from maxentry.belief import Belief, Floats
from maxentry.errors import ParameterError, SizeError
from maxentry.labels import is_sparse
from maxentry.model import relevance
from maxentry.model.likelihood import NoiseLaw
from maxentry.model.link import PRIOR, Basis, Observed, find_basis
from maxentry.model.priors import EffectLaw
from maxentry.observations import Observations
from maxentry.posterior.chains import Chain, ModelSpec
from maxentry.posterior.draws import Draws
from maxentry.wording import count

MOST_LOOKED_AT = 200  # lines, of those in whose entries a pattern is judged
CLEAR = 3.0  # sds by which the pattern of a feature must differ from none
LEAST_LEFT = 0.1  # of the variance of what features do not explain, where measured lines lack some
MOST_LACKING = 1_000  # features that measured lines lack, beyond which nothing is taken out
DONORS = 2_000  # lines, at most, whose features others may have that lack them


def leave_out_idle(fit: ModelSpec, observations: Observations) -> ModelSpec:
    """Leave out the features of a side that say nothing of the values beyond chance (`model.relevance`)."""
    z = fit.statements(observations)

    def judge(side: int) -> tuple[Basis | Observed | None, Basis | None, float | None]:
        given = fit.features[side]
        p = relevance.find_p_value(given, side, z) if isinstance(given, Basis) else None
        if isinstance(given, Basis) and p is not None and p > relevance.LEVEL:
            return None, given, p
        return given, None, p

    (rows, idle_rows, p_rows), (cols, idle_cols, p_cols) = judge(0), judge(1)
    return replace(fit, features=(rows, cols), idle=(idle_rows, idle_cols), p_values=(p_rows, p_cols))


def keep_features(fit: ModelSpec, start: Fitted, observations: Observations) -> ModelSpec:
    """Return the fit with the features of `start` where none are given and the rows (or columns) are the same.

    Those that `start` leaves out stay left out: its chains have no coefficients of them.
    """

    def find(k: int, name: str) -> Basis | Observed | None:
        new, old = fit.features[k], start.fit.idle[k] or start.fit.features[k]
        same = observations.shape[k] == start.observations.shape[k]
        if new is None and (old == "observed" or (old is not None and same)):
            new = old
        if (new is None) != (old is None) or (new == "observed") != (old == "observed"):
            wanted = "none" if old is None else "'observed'" if old == "observed" else "those of all"
            raise ParameterError(f"start= was fitted with other {name}_features; expected {wanted}")
        return new

    rows, cols = find(0, "row"), find(1, "col")
    idle_rows, idle_cols = (
        given if old is not None and isinstance(given, Basis) else None
        for given, old in zip((rows, cols), start.fit.idle, strict=True)
    )
    features = None if idle_rows else rows, None if idle_cols else cols
    return replace(fit, features=features, idle=(idle_rows, idle_cols), p_values=start.fit.p_values)


def describe_sides(fit: ModelSpec) -> list[tuple[str, str]]:
    """What the printed posterior says of the features of rows and of columns."""
    lines = []
    for given, idle, p, name in zip(fit.features, fit.idle, fit.p_values, ("row", "column"), strict=True):
        if idle is not None:
            number, *notes = str(idle).split("; ")
            what = "it says" if idle.p == 1 else "they say"
            why = f"{number}, left out: {what} nothing of the values beyond chance (p = {p:.3f})"
            lines.append((f"{name} features", "; ".join([why, *notes])))
        elif given is not None:
            used = "which entries were observed" if given == "observed" else str(given)
            lines.append((f"{name} features", used))
    return lines


def describe_choices(fit: ModelSpec) -> str:
    """What was chosen by the data, in a few words that follow the rank; empty where nothing was."""
    sides = zip(fit.idle, fit.p_values, ("row", "column"), strict=True)
    left_out = (f", {name} features left out (p = {p:.3f})" for idle, p, name in sides if idle is not None)
    own = f", {fit.noise} with noises of their own" if fit.likelihood.by_line else ""
    return own + "".join(left_out)


def list_sides(fit: ModelSpec) -> dict[str, Any]:
    """Of each side with features, how many it has, whether they are used, and p of the test that decides it."""
    found = {}
    sides = zip(fit.features, fit.idle, fit.p_values, ("rows", "columns"), strict=True)
    for given, idle, p, name in sides:
        basis = given if idle is None else idle
        if basis is not None:
            number = basis.p if isinstance(basis, Basis) else None
            found[name] = {"number": number, "used": idle is None, "p": p}
    return found


class Coefficients(NamedTuple):
    """What features say of a side in one draw, in user's units: rows g ~ N(centre + f W, Q^-1), f as a basis has it."""

    Q: Array  # (K, K), K the rank of the chain, and one more with effects
    centre: Array  # (K,)
    W: Array  # (p, K)


def draw_coefficients(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, side: int
) -> Iterator[Coefficients]:
    """Draw the coefficients of the features given each draw of all else, so that they need not be stored."""
    assert draws.rho is not None
    assert fit.units is not None
    scale, rng = fit.units.scale, np.random.default_rng(side)
    basis = find_basis(fit.features[side], observations.observed, side)
    factors, effect = (draws.left, draws.row) if side == 0 else (draws.right, draws.col)
    # of factors and effects; those of columns are as the sampler has them
    sizes = [1.0 if side else scale, scale]
    for c, chain in enumerate(chains):
        for s in range(draws.mu.shape[1]):
            G = np.asarray(factors[c, s, :, : chain.rank], dtype=float) / sizes[0]
            unit = np.full(chain.rank, sizes[0])
            if fit.effects:
                G = np.column_stack([G, np.asarray(effect[c, s], dtype=float) / sizes[1]])
                unit = np.append(unit, sizes[1])
            Q, centre, W = basis.draw_coefficients(G, float(draws.rho[c, s, side]), PRIOR, fit.effects, rng)
            yield Coefficients(Q / np.outer(unit, unit), centre * unit, W * unit)


def stack_coefficients(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, Q: Array
) -> tuple[Array, Array]:
    """Draw what features say of new rows, the centres (S, K) and W (S, p, K), and the precisions around it into Q.

    Directions beyond a chain's rank have no columns, and any prior.
    """
    S, K, p = len(Q), Q.shape[1], find_basis(fit.features[0], observations.observed, 0).p
    check_memory(8 * S * p * K, f"{S} draws of the coefficients of {p} features")
    centre, W = np.zeros((S, K)), np.zeros((S, p, K))
    for s, drawn in enumerate(draw_coefficients(draws, chains, fit, observations, 0)):
        at = np.arange(len(drawn.Q))
        if fit.effects:
            at[-1] = K - 1
        Q[s] = np.eye(K)
        Q[s][np.ix_(at, at)], centre[s, at], W[s][:, at] = drawn.Q, drawn.centre, drawn.W
    return centre, W


def describe_features(
    draws: Draws, chains: Sequence[Chain], fit: ModelSpec, observations: Observations, level: float
) -> dict[str, Any]:
    """Columns of `Posterior.features`: coefficients for one sd of a feature, in the units of the model.

    Those of features that were left out are 0.
    """
    parts: list[dict[str, Any]] = []
    for name, idle in zip(("row", "column"), fit.idle, strict=True):
        if idle is not None and idle.features is not None:
            zeros = dict.fromkeys(("coefficient", "low", "high", "pattern"), np.zeros(idle.p))
            own = {"side": [name] * idle.p, "feature": list(idle.features.names)}
            parts.append({**own, **zeros, "matters": np.zeros(idle.p, dtype=bool)})
    sides = (("row", draws.right, observations.col_axis), ("column", draws.left, observations.row_axis))
    for side, (name, others, axis) in enumerate(sides):
        basis = find_basis(fit.features[side], observations.observed, side)
        if not basis.p or draws.rho is None:
            continue
        average, pattern = np.empty((draws.mu.size, basis.p)), np.zeros(basis.p)
        some = np.random.default_rng(side).permutation(others.shape[2])[:MOST_LOOKED_AT]
        sums = np.zeros(
            (2, basis.p, some.size)
        )  # of what it adds to entries of these lines, and of its squares
        unit = basis.spread / basis.length
        drawn = draw_coefficients(draws, chains, fit, observations, side)
        for s, coefficients in enumerate(drawn):
            c, rank = s // draws.mu.shape[1], len(coefficients.Q) - fit.effects
            B = np.asarray(others[c, s % draws.mu.shape[1], :, :rank], dtype=float)
            W = coefficients.W * unit[:, None]
            average[s] = W[:, :rank] @ B.mean(axis=0) + (W[:, rank] if fit.effects else 0.0)
            pattern += ((W[:, :rank] @ (B - B.mean(axis=0)).T) ** 2).mean(axis=1) / draws.mu.size
            added = W[:, :rank] @ (B[some] - B.mean(axis=0)).T
            sums += added, added**2
        low, high = np.percentile(average, [50 * (1 - level), 100 - 50 * (1 - level)], axis=0)
        mean, square = sums / draws.mu.size
        by_pattern = (mean**2).mean(axis=1) > CLEAR**2 * (square - mean**2).mean(axis=1)
        observed = [f"observed {label}" for label in axis.labels or range(axis.size)]
        names = observed if basis.features is None else basis.features.names
        parts.append(
            {"side": [name] * basis.p, "feature": list(names), "coefficient": average.mean(axis=0), "low": low,
             "high": high, "pattern": np.sqrt(pattern), "matters": (low > 0) | (high < 0) | by_pattern}
        )  # fmt: skip
    whole = {key: np.concatenate([np.asarray(part[key]) for part in parts]) for key in parts[0]}
    order = np.argsort(-(whole["coefficient"] ** 2 + whole["pattern"] ** 2), kind="stable")
    return {key: column[order] for key, column in whole.items()}


# Features that are missing


def vary_missing(posterior: Fitted, side: int, factors: Floats, effect: Floats) -> tuple[Floats, Floats]:
    """Vary the pooled draws (S, m, R) and (S, m) of lines without a measurement by what features they lack may be.

    A fit takes a missing feature for the mean of its column, as if that were certain, and what it adds to measured
    lines for something that features do not explain. Of a line without a measurement nothing else is known. So in each
    draw its deviation from what features say is shrunken by what measured lines lack (`Lack`), and it takes what it
    lacks itself from another line: f W is added, f of `_fill_features`. The chains, and the draws that are kept, stay
    as they are. Draws larger than the memory do, too.
    """
    given, o, d = posterior.fit.features[side], posterior.observations, posterior.draws
    if not isinstance(given, Basis) or given.features is None or given.features.table.is_sparse:
        return factors, effect
    hidden, measured = ~given.features.known, (o.row_counts, o.col_counts)[side] > 0
    lack, lacking = Lack.of(given, measured), np.asarray(hidden.any(axis=1))
    lines = np.flatnonzero(~measured & (lacking | bool(lack.at.size)))
    if not lines.size:
        return factors, effect
    own = np.flatnonzero(lacking[lines])
    at, rng = np.flatnonzero(hidden[lines].any(axis=0)), np.random.default_rng((side, own.size))
    lacks, f = hidden[np.ix_(lines[own], at)] * lack.widen[at], _fill_features(given, at, rng)
    try:
        check_memory(factors.nbytes, f"a copy of {len(factors)} draws")
    except SizeError as error:
        warn(
            f"what features are missing of {count(lines.size, 'line')} is taken for the mean: {error}",
            stacklevel=4,
        )
        return factors, effect
    factors, effect, effects = factors.copy(), effect.copy(), posterior.fit.effects
    said = (given.F[lines] - given.centre) / given.length
    for s, drawn in enumerate(draw_coefficients(d, posterior.chains, posterior.fit, o, side)):
        R = len(drawn.Q) - effects
        G = np.column_stack([factors[s, lines, :R], effect[s, lines]][: 1 + effects])
        if lack.at.size:
            mean = drawn.centre + said @ drawn.W
            G = mean + (G - mean) @ lack.shrink(drawn.Q, drawn.W)[0].T
        if own.size:
            G[own] += (f[rng.integers(len(f), size=own.size)] * lacks) @ drawn.W[at]
        factors[s, lines, :R] = G[:, :R]
        if effects:
            effect[s, lines] = G[:, R]
    return factors, effect


class Lack(NamedTuple):
    """What features that measured lines lack add to them, which a fit takes for something features do not explain.

    In a draw its covariance over the lines is V = W'CW, and the deviations of lines that lack nothing vary by Q^-1 - V.
    At least `LEAST_LEFT` of Q^-1 is left in every direction.
    """

    at: NDArray[np.int64]  # columns of features that some of them lack
    C: Array  # covariances of these, times the share of the measured lines that lack both
    widen: Array  # (p,) root of 1 + 1/n where n measured lines lack a feature: the mark of it is the mean of so few

    @classmethod
    def of(cls, basis: Basis, measured: Flags) -> Lack:
        """Find it; of sparse features none is missing."""
        if basis.features is None or basis.features.table.is_sparse:
            return cls(np.empty(0, np.int64), np.empty((0, 0)), np.empty(0))
        hidden = ~basis.features.known[measured]
        times = hidden.sum(axis=0)
        at = np.flatnonzero(times) if np.count_nonzero(times) <= MOST_LACKING else np.empty(0, np.int64)
        lacks, (F, n) = hidden[:, at].astype(float), _known_features(basis, at)
        both = lacks.T @ lacks / max(len(hidden), 1)
        widen = np.sqrt(1 + np.where(times > 0, 1 / np.maximum(times, 1), 0.0))
        return cls(at, F.T @ F / np.sqrt(np.outer(n, n)) * both, widen)

    def shrink(self, Q: Array, W: Array) -> tuple[Array, Array]:
        """The matrix A that shrinks deviations, A Q^-1 A' = Q^-1 - V, and the precision of what is left."""
        L = np.linalg.cholesky(Q)
        share, U = np.linalg.eigh(L.T @ W[self.at].T @ self.C @ W[self.at] @ L)
        left = U * np.sqrt(np.maximum(1 - share, LEAST_LEFT)) @ U.T
        more = np.linalg.solve(left, L.T)
        return np.linalg.solve(L.T, left @ L.T), more.T @ more


def _fill_features(basis: Basis, at: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """What lines may have in the columns `at`: as lines have it that know some of them, at most `DONORS`.

    What one of these does not know it takes from any line that knows it, all columns of a feature from the same.
    """
    assert basis.features is not None
    known, source = basis.features.known[:, at], basis.features.encoding.source[at]
    F, _ = _known_features(basis, at)
    donors = rng.permutation(np.flatnonzero(known.any(axis=1)))[:DONORS]
    filled = F[donors]
    for k in np.unique(source):
        own = np.flatnonzero(source == k)
        having, lacking = np.flatnonzero(known[:, own[0]]), np.flatnonzero(~known[donors, own[0]])
        filled[np.ix_(lacking, own)] = F[np.ix_(rng.choice(having, lacking.size), own)]
    return np.asarray(filled)


def _known_features(basis: Basis, at: NDArray[np.int64]) -> tuple[Array, Array]:
    """Features of all lines in some columns, 0 where they are not known, and how many lines know each."""
    assert basis.features is not None
    known = basis.features.known[:, at].astype(float)
    F = (basis.F[:, at] - basis.centre[at]) / basis.length
    return np.asarray(F * known), np.maximum(known.sum(axis=0), 1.0)


# New rows


class Fitted(Protocol):
    """What is needed of a `Posterior`."""

    observations: Observations
    fit: ModelSpec
    chains: tuple[Chain, ...]
    draws: Draws

    @property
    def shape(self) -> tuple[int, int]:
        """m1, m2."""

    @property
    def noise_law(self) -> NoiseLaw:
        """The noise in each draw."""

    @property
    def belief(self) -> Belief:
        """The pooled draws."""

    @property
    def columns(self) -> Columns:
        """`Columns.of` it, kept."""


class Columns(NamedTuple):
    """All draws of the columns, pooled: what a new row's coefficients g = (a, r) are regressed on, and their prior."""

    right: NDArray[np.floating]  # (S, m2, R)
    offset: Array  # (S, m2), mu + c_j
    Q: Array  # (S, K, K)
    log_det: Array  # (S,) of Q
    effects: bool
    centre: Array | None = None  # (S, K) mean of g a priori, where there are features
    W: Array | None = None  # (S, p, K) coefficients of the rows' features
    lack: Lack | None = None  # what measured rows lack of these

    @classmethod
    def of(cls, posterior: Fitted) -> Columns:
        """Compute the priors; directions beyond a chain's rank have no columns, and any prior."""
        d, fit, (m1, _) = posterior.draws, posterior.fit, posterior.shape
        assert fit.units is not None
        R, K = d.rank, d.rank + fit.effects
        Q = np.zeros((*d.mu.shape, K, K))
        for c, chain in enumerate(posterior.chains):
            r, law = chain.rank, fit.priors_of(posterior.shape)(chain.rank).rows
            left, right = (np.asarray(x[c], np.float64)[..., :r] for x in (d.left, d.right))
            if r:
                assert d.sigma2 is not None
                AA, BB = (x.swapaxes(1, 2) @ x for x in (left, right))
                Q[c, :, :r, :r] = (m1 - r) * np.linalg.inv(AA) + BB / d.sigma2[c, :, None, None]
            Q[c, :, range(r, R), range(r, R)] = 1.0
            if fit.effects:
                slope, precision = _regress_effects(left, np.asarray(d.row[c], float), law, fit.units.scale)
                f = np.hstack([-slope, np.ones((len(slope), 1))])
                at = np.ix_(range(len(f)), [*range(r), R], [*range(r), R])
                Q[c][at] += precision[:, None, None] * f[:, :, None] * f[:, None, :]
        Q = Q.reshape(-1, K, K)
        belief = posterior.belief
        offset = belief.mu[:, None] + np.asarray(belief.col, dtype=np.float64)
        columns = cls(belief.right, offset, Q, np.linalg.slogdet(Q)[1], fit.effects)
        if not fit.linked:
            return columns
        centre, W = stack_coefficients(d, posterior.chains, fit, posterior.observations, Q)
        lack = None
        if isinstance(basis := fit.features[0], Basis):
            lack = Lack.of(basis, posterior.observations.row_counts > 0)
            for s in range(len(Q) if lack.at.size else 0):
                Q[s] = lack.shrink(Q[s], W[s])[1]
        return columns._replace(log_det=np.linalg.slogdet(Q)[1], centre=centre, W=W, lack=lack)

    def means(self, features: Array | None, n: int) -> Array | None:
        """What features say of n new rows in each draw, (n, S, K); those at the mean where none are given."""
        if self.centre is None or self.W is None:
            return None
        centre = np.broadcast_to(self.centre, (n, *self.centre.shape))
        return centre if features is None else np.asarray(centre + np.einsum("np,spk->nsk", features, self.W))

    def without_features(self, basis: Basis) -> Columns:
        """The prior of rows that have features nobody told: what these say of them varies as among the fitted rows."""
        few = basis.p <= basis.m and not is_sparse(basis.F)
        gram = basis.apply_transposed(basis.apply(np.eye(basis.p))) if few else None
        assert self.W is not None
        told = (
            W.T @ (basis.apply_transposed(basis.apply(W)) if gram is None else gram @ W) / basis.m
            for W in self.W
        )
        if self.lack is None:
            return self._widen(told)
        at, C = self.lack.at, self.lack.C  # the others have what they lack, too
        return self._widen(more + W[at].T @ C @ W[at] for more, W in zip(told, self.W, strict=True))

    def without_some(self, basis: Basis, hidden: Flags, new: Flags | None = None) -> Columns:
        """The same of rows whose features in the columns `hidden` (p,) are not known.

        new: of levels that are new. The coefficient of such a level is around 0, as those of the others are a priori,
        with (L + 1)/(L - 1) times the mean square of these L as its variance. Each counts the same: how many rows have
        it says nothing of another.
        """
        assert self.W is not None
        new = np.zeros_like(hidden) if new is None else new
        at, missing = np.flatnonzero(hidden), hidden & ~new
        F, n = _known_features(basis, at)
        missing_at = missing[at] * (1.0 if self.lack is None else self.lack.widen[at])
        covariance = (F.T @ F) / np.sqrt(np.outer(n, n)) * np.outer(missing_at, missing_at)
        if new.any():
            assert basis.features is not None
            e = basis.features.encoding
            L = np.maximum(np.bincount(e.source, e.part >= 0)[e.source], 2.0)
            covariance += np.diag((new * (L + 1) / ((L - 1) * L) / (e.scale * basis.length) ** 2)[at])
        return self._widen(W[at].T @ covariance @ W[at] for W in self.W)

    def _widen(self, covariances: Iterable[Array]) -> Columns:
        """The prior with these covariances added to its own, one for each draw."""
        Q = np.empty_like(self.Q)
        for s, more in enumerate(covariances):
            Q[s] = np.linalg.solve(np.eye(len(more)) + self.Q[s] @ more, self.Q[s])
        Q = 0.5 * (Q + Q.swapaxes(1, 2))
        return self._replace(Q=Q, log_det=np.linalg.slogdet(Q)[1])


def _regress_effects(A: Array, effects: Array, law: EffectLaw, unit: float) -> tuple[Array, Array]:
    """The slopes m, (S, R), and the precision of r given a, (S,), of effects (S, m1) of rows A (S, m1, R).

    In the model r_i = m'a_i + e_i with e_i ~ N(0, tau2) and m ~ N(0, s2 (A'A)^-1); tau2 and s2 R/m1 have a law. With
    p = A m^, m^ = (A'A)^-1 A'r, of R degrees of freedom with variance s2 + tau2, and r - p, of m1 - R with tau2,

        E[m | r] = k m^,  k = s2 / (s2 + tau2),      Var(r | a) = tau2 (1 + k R / m1)   for a like those of the rows.
    """
    S, m1, R = A.shape

    def variance(x: Array, df: int, size: float = 1.0) -> Array:
        squares, unit2 = np.square(x).sum(1), size * unit**2
        scale = law.scale_near(squares / (df * unit2)) * unit2
        return np.asarray((scale + 0.5 * squares) / (law.shape + 0.5 * df))

    if not R:
        return np.empty((S, 0)), 1.0 / variance(effects, m1)
    slope = np.linalg.solve(A.swapaxes(1, 2) @ A, np.einsum("sir,si->sr", A, effects)[..., None])[..., 0]
    aligned = np.einsum("sir,sr->si", A, slope)
    k = np.maximum(1 - variance(effects - aligned, m1 - R) / variance(aligned, R, m1 / R), 0.0)
    return k[:, None] * slope, 1.0 / variance(effects - k[:, None] * aligned, m1) / (1 + k * R / m1)
