"""Has the fit converged, and if not, what to do: R-hat and ESS of X, eta2, sigma2 and the spectrum."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from maxentry import frames
from maxentry.errors import ParameterError
from maxentry.posterior.convergence import drift, ess_between
from maxentry.posterior.convergence import ess_bulk as ess_bulk
from maxentry.posterior.convergence import ess_tail as ess_tail
from maxentry.posterior.convergence import split_rhat as split_rhat
from maxentry.posterior.monitored import Draws as Draws
from maxentry.posterior.monitored import monitor
from maxentry.posterior.verdict import Statistics, judge_long, judge_population, largest, median, members

Kind = Literal["long", "population"]
Array = NDArray[np.float64]

_COLUMNS = ("quantity", "count", "median R-hat", "worst R-hat", "least bulk ESS", "least tail ESS")


@dataclass(frozen=True, repr=False, eq=False)
class Diagnostics:
    """The record of a fit: R-hat and ESS of each watched quantity, a verdict and advice.

    Two kinds of runs are judged by different rules.

    `kind="long"`, a few long chains: converged if every R-hat is below 1.01 and every bulk and tail ESS is at
    least 100 a chain (Vehtari et al. 2021).

    `kind="population"`, dozens of short chains, each annealed on its own from the prior. They are
    independent by construction, so the spread of their means is an honest Monte Carlo error and the ESS
    comes from it (`ess_between`), never below the number of chains. Converged if
    - the median R-hat of X, over the watched observed and over the unobserved entries, and that of eta2 are
      below 1.1. Half-chains of a few draws leave an error of 0.02-0.03 in R-hat itself, so 1.01 would refuse
      perfect draws; at 1.1 the chains' means hold a sixth of an entry's variance, and as all chains are
      pooled, intervals include it;
    - the median ESS of X is at least 50;
    - no quantity drifts between the early and the late half of the kept draws (a t-test over the chains): a
      drift means that annealing was too short, which R-hat cannot tell from several modes.
    A large R-hat here means that chains sit in different modes, or that the kept draws are too close together
    to tell. Nested R-hat (Margossian et al. 2024) needs groups of chains with a common start; chains started
    independently form no such groups, and any grouping of them agrees whether or not they have converged.
    """

    kind: Kind
    n_chains: int
    n_draws: int
    names: tuple[str, ...]
    groups: tuple[str, ...]
    rhat: Array
    ess_bulk: Array
    ess_tail: Array
    converged: bool
    advice: str
    frame_kind: str | None = None

    def of(self, group: str) -> NDArray[np.bool_]:
        """Which quantities belong to a group; "X" stands for "X observed" and "X unobserved"."""
        return members(self.groups, group)

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat of X."""
        return largest(self.rhat[self.of("X")])

    @property
    def median_rhat(self) -> float:
        """The median R-hat of X."""
        return median(self.rhat[self.of("X")])

    def to_frame(self) -> Any:
        """One line a watched quantity: quantity, group, rhat, ess_bulk, ess_tail."""
        columns: dict[str, Any] = {"quantity": list(self.names), "group": list(self.groups)}
        columns |= {name: getattr(self, name) for name in ("rhat", "ess_bulk", "ess_tail")}
        return frames.make_frame(columns, self.frame_kind)

    def summary(self) -> str:
        """The verdict, a table of the groups, and the advice."""
        lines = [_COLUMNS, *self._table()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = [[cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
        return "\n".join([self._headline(), *("  ".join(line) for line in padded), self.advice])

    def __str__(self) -> str:
        return f"{self._headline()} {self.advice}"

    def __repr__(self) -> str:
        return f"<Diagnostics: {self._headline()}>"

    def _repr_html_(self) -> str:
        lines = [("th", _COLUMNS), *(("td", line) for line in self._table())]
        cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line) for tag, line in lines)
        table = "".join(f"<tr>{line}</tr>" for line in cells)
        return f"<p><b>{escape(self._headline())}</b></p><table>{table}</table><p>{escape(self.advice)}</p>"

    def _headline(self) -> str:
        verdict = "converged" if self.converged else "not converged"
        chains = f"{self.kind} run, {self.n_chains} chains x {self.n_draws} draws"
        return (
            f"{chains}: {verdict}; R-hat of X {self.median_rhat:.2f} (median), {self.worst_rhat:.2f} (worst)."
        )

    def _table(self) -> list[tuple[str, ...]]:
        return [self._table_line(group) for group in dict.fromkeys(self.groups)]

    def _table_line(self, group: str) -> tuple[str, ...]:
        inside = self.of(group)
        rhat = self.rhat[inside]
        least = (-largest(-ess[inside]) for ess in (self.ess_bulk, self.ess_tail))
        figures = f"{median(rhat):.3f}", f"{largest(rhat):.3f}", *(f"{ess:.0f}" for ess in least)
        return group, str(inside.sum()), *figures


def diagnose(
    draws: Draws,
    rows: NDArray[np.integer],
    cols: NDArray[np.integer],
    kind: Kind,
    *,
    seed: int = 0,
    row_labels: Sequence[object] | None = None,
    col_labels: Sequence[object] | None = None,
    frame_kind: str | None = None,
) -> Diagnostics:
    """Watch up to 200 entries of X (half unobserved), eta2, sigma2, spectrum and coherences; judge the run.

    `rows`, `cols` are the indices of the observed entries; `seed` fixes which quantities are watched. The
    cost is O(chains draws (m1 + m2) R^2).
    """
    if kind not in get_args(Kind):
        raise ParameterError(f'kind should be "long" or "population", got {kind!r}')
    labels = tuple(
        range(m) if names is None else names
        for m, names in zip(draws.shape, (row_labels, col_labels), strict=True)
    )
    rng = np.random.default_rng(seed)
    observed = np.unique(np.asarray(rows, dtype=np.int64) * draws.shape[1] + cols)
    names, groups, watched = monitor(draws, observed, rng, (labels[0], labels[1]))
    bulk, tail = ess_between(watched) if kind == "population" else (ess_bulk(watched), ess_tail(watched))
    n_chains, n_draws = watched.shape[:2]
    statistics = Statistics(
        n_chains=n_chains,
        n_draws=n_draws,
        names=names,
        groups=groups,
        finite=np.asarray(np.isfinite(watched).all(axis=(0, 1))),
        rhat=split_rhat(watched),
        ess_bulk=bulk,
        ess_tail=tail,
        drift=drift(watched),
        shape=draws.shape,
        rank=draws.rank,
        n_observed=observed.size,
    )
    verdict = judge_population(statistics) if kind == "population" else judge_long(statistics)
    return Diagnostics(
        kind, n_chains, n_draws, names, groups, statistics.rhat, bulk, tail, verdict.converged, verdict.advice,
        frame_kind,
    )  # fmt: skip
